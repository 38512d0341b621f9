# Goal: doctor names each damage with its place, and recover makes a whole file of what is left,
# leaves nothing behind when it cannot, and overwrites only when told.
# Method: small traces, cut at every 7th byte and flipped at every 13th, through the program.
. "$(dirname "$0")/lib.sh"

"$tools/trace_tool" make t.trk || fail "trace_tool make"
"$tools/trace_tool" unended u.trk || fail "trace_tool unended"
size=$(wc -c <t.trk)

run 0 doctor t.trk
quiet
run 0 doctor --json t.trk
json
same complete "$(get complete)" true
same events "$(get events)" 40
run 3 doctor --json u.trk
same ended "$(get ended)" false
same "where it ends" "$(get damage.0.file_offset)" "$(wc -c <u.trk)"
run 2 doctor
said "no trace"
run 2 doctor nowhere.trk
: >empty.trk
run 3 doctor --json empty.trk
json

run 2 recover u.trk
said "-o G is needed"
run 0 recover u.trk -o r.trk
run 2 recover u.trk -o r.trk
run 0 recover -f u.trk -o r.trk
run 3 doctor --json r.trk
same cut "$(get cut)" true
same "damage of a repaired file" "$(get damage_count)" 0
run 0 recover --json t.trk -o again.trk
same complete "$(get complete)" true
cmp t.trk again.trk || fail "a whole trace is not copied as it is"
run 3 recover empty.trk -o none.trk
echo "no trace at all" >text.trk
run 3 recover --json text.trk -o none.trk
json
[ ! -e none.trk ] || fail "a file is left of a recovery that failed"
run 0 recover u.trk -o -
"$trk" doctor - <out >out2 2>err
same "doctor of what came through a pipe" $? 3
run 2 recover u.trk -o nofolder/r.trk

at=0
while [ "$at" -lt "$size" ]; do
    head -c "$at" t.trk >cut.trk
    "$trk" doctor cut.trk >out 2>err
    same "doctor of $at bytes" $? 3
    at=$((at + 7))
done
at=70
while [ "$at" -lt "$size" ]; do
    cp t.trk bad.trk
    printf '\377' | dd of=bad.trk bs=1 seek="$at" conv=notrunc 2>/dev/null
    if ! cmp -s t.trk bad.trk; then
        "$trk" doctor --json bad.trk >out 2>err
        same "doctor of byte $at" $? 3
        run 0 recover -f bad.trk -o fixed.trk
        "$trk" doctor --json fixed.trk >out 2>err
        same "damage left of byte $at" "$(get damage_count)" 0
    fi
    at=$((at + 13))
done
[ -z "$(find . -name '.trk-*')" ] || fail "temporary files are left"
finish
