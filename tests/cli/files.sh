# Goal: what is no trace, ends early or was changed gives 3 and says where; results that nobody
# takes end quietly, results that cannot be written do not.
# Method: small traces made by trace_tool, then cut, flipped, piped and refused.
. "$(dirname "$0")/lib.sh"

"$tools/trace_tool" make t.trk || fail "trace_tool make"
"$tools/trace_tool" unended u.trk || fail "trace_tool unended"
"$tools/trace_tool" odd o.trk || fail "trace_tool odd"
: >empty.trk
echo "this is no trace, however long the line may be made to be for it" >text.trk
head -c 65536 /dev/zero >zero.trk

for file in empty.trk text.trk zero.trk; do
    for command in sim info dump; do
        run 3 "$command" "$file"
        said "$file"
        run 3 "$command" --json "$file"
        json
        same "$file complete" "$(get complete)" false
    done
done

# A whole trace, by name, through a pipe, as standard input.
run 0 info --full --json t.trk
quiet
json
same read "$(get read)" all
same events "$(get events)" 40
same threads "$(get threads)" 2
same faults "$(get faults)" 0
same complete "$(get complete)" true
same "thread name" "$(get thread_list.0.name)" thread1
same "header command" "$(get header.command.0)" made
for how in --json "--quick --json"; do
    run 0 info $how t.trk
    same "read, $how" "$(get read)" index
    same "events, $how" "$(get events)" 40
    same "faults, $how" "$(get faults)" null
done
run 2 info --quick --full t.trk
said "does not go with --quick"
run_with TRK_QUICK=1 0 info --full --json t.trk
same "what is read, by the command line" "$(get read)" all
run 0 dump t.trk
quiet
same "lines of dump" "$(wc -l <out)" 40
cp out all.txt
"$trk" dump - <t.trk >out 2>err || fail "dump of standard input"
cmp -s out all.txt || fail "dump of standard input differs"
cat t.trk | "$trk" dump - >out 2>err || fail "dump of a pipe"
cmp -s out all.txt || fail "dump of a pipe differs"
run 0 dump --json t.trk
json
same "JSON lines" "$(wc -l <out)" 40
run 0 dump t.trk 10-20
same "lines of 10-20" "$(wc -l <out)" 11
sed -n '11,21p' all.txt | cmp -s - out || fail "10-20 is not a part of all"
run 0 dump --json t.trk frame:1
same "lines of frame:1" "$(wc -l <out)" 10
run 0 dump t.trk 39-
same "lines of 39-" "$(wc -l <out)" 1
run 0 dump t.trk 1000
same "lines of 1000" "$(wc -l <out)" 0
said "nothing in range: the last event is 39"
run 0 dump t.trk frame:99
same "lines of frame:99" "$(wc -l <out)" 0
said "nothing in range: the last frame is 3"
run 0 dump --json t.trk region:0x200000000
said "nothing in range: no event is about"

# What is no trace is refused before it has come to its end; an object a line from dump.
mkfifo pipe
exec 3<>pipe # the pipe has no end while this is open
for command in sim info dump; do
    cat text.trk >&3
    timeout 100 "$trk" "$command" pipe >out 2>err
    same "exit code of $command of a pipe that stays open" $? 3
    said "no .trk file"
done
exec 3>&-
run 3 dump --json text.trk
same "lines of an error" "$(wc -l <out)" 1

# No tracker in it: nothing could be judged.
run 3 sim t.trk

# Names from a file neither steer the terminal nor break the JSON.
run 0 dump o.trk
grep -q "$(printf '\033')" out && fail "an escape sequence got through dump"
run 0 info o.trk
grep -q "$(printf '\033')" out && fail "an escape sequence got through info"
run 0 dump --json o.trk
json
run 0 info --json o.trk
json

# Without its end: everything that was written, and 3.
run 3 info --json u.trk
said "end mark"
same "times that the end is missed" "$(grep -c "end" err)" 1
same events "$(get events)" 40
same ended "$(get ended)" false
same "read of an unended trace" "$(get read)" all
run 3 dump u.trk
same "lines of an unended trace" "$(wc -l <out)" 40

# Cut and flipped: 3 and a place, and what is given is the original's, but for numbers and times,
# which count from the first event that is left.
content() {
    sed 's/^ *[0-9]* *[-0-9.]* *//'
}
content <all.txt >all-content.txt
size=$(wc -c <t.trk)
cut=1
while [ "$cut" -lt "$size" ]; do
    head -c "$cut" t.trk >cut.trk
    run 3 dump cut.trk
    content <out | grep -vxFf all-content.txt && fail "cut at $cut: a line that the original has not"
    said "cut.trk"
    cut=$((cut + size / 23 + 1))
done
at=0
while [ "$at" -lt "$size" ]; do
    cp t.trk flip.trk
    byte=$(od -An -tu1 -j "$at" -N 1 t.trk | tr -d ' ')
    # shellcheck disable=SC2059 # the format is the byte
    printf "\\$(printf %03o $((byte ^ 16)))" | dd of=flip.trk bs=1 seek="$at" conv=notrunc 2>/dev/null
    run 3 info --full flip.trk
    said "byte"
    at=$((at + size / 31 + 1))
done

# A reader that goes away is no error; a full disk is. The writer waits until it is gone.
{
    while [ ! -e gone ]; do
        sleep 0.1
    done
    "$trk" dump t.trk 2>err
    echo $? >code
} | {
    exec 0<&-
    : >gone
}
same "exit code with a closed pipe" "$(cat code)" 0
quiet
if [ -w /dev/full ]; then
    "$trk" dump t.trk >/dev/full 2>err
    same "exit code with a full disk" $? 4
    said "standard output"
fi
if [ "$(id -u)" -ne 0 ]; then
    chmod 0 t.trk
    run 4 info t.trk
    said "denied"
fi
finish
