# Goal: doctor names each damage with its place, and recover makes a whole file of what is left,
# leaves nothing behind when it cannot, and overwrites only when told; a text of what is damaged is of no
# whole trace.
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
# Chunks are copied as they were compressed, and the file says so [F-4]: as text it comes back.
run 0 pack --level 17 t.trk -o packed.trk
run 0 recover packed.trk -o whole.trk
text_keeps whole.trk
grep -q '^file level=17 ' text.txt || fail "recover forgets how a file was compressed"
run 3 recover empty.trk -o none.trk
echo "no trace at all" >text.trk
run 3 recover --json text.trk -o none.trk
json
[ ! -e none.trk ] || fail "a file is left of a recovery that failed"
run 0 recover u.trk -o -
"$trk" doctor - <out >out2 2>err
same "doctor of what came through a pipe" $? 3
run 2 recover u.trk -o nofolder/r.trk

# Each thread has first what the other one must have before: no order is right, and nothing is missing.
assembled circle <<END
$(text_begin '{}' '1 one' '1 two')
events stream=0 shift=5 flags=1
3200 lock domain=0x800 seq=2
3232 unlock domain=0x800 seq=2
3264 lock domain=0x801 seq=1
3296 unlock domain=0x801 seq=1
events stream=1 shift=5 flags=1
3200 lock domain=0x801 seq=2
3232 unlock domain=0x801 seq=2
3264 lock domain=0x800 seq=1
3296 unlock domain=0x800 seq=1
end status=0 cut=0
END
run 3 doctor circle.trk
grep -q 'and nothing is missing: a fault of the recorder' out || fail "a circle is not called one"
grep -q '^whole  *no$' out || fail "a circle is called whole"
run 3 doctor --json circle.trk
at_least "events out of order" "$(get order_gaps)" 1
same "damage of a circle" "$(get damage_count)" 0
sed 's/seq=2/seq=3/; s/seq=1/seq=2/; s/seq=3/seq=1/' circle.txt >line.txt
run 0 assemble line.txt -o line.trk
run 0 doctor line.trk

# [F-40] A checkpoint of anything is damage, and so is a first one that builds on others; a recovery leaves
# it out, and none is made of a text. One without an end is not read again.
"$trk" dump --text t.trk >text.txt
for bytes in x '\x01\x00\x00\x00\x00\x00\x07' '\x00\x00\x00\x00\x00\x00'; do
    { grep -v ^end text.txt && printf 'checkpoint event=40 "%s"\n' "$bytes"; } >points.txt
    run 0 assemble -f points.txt -o points.trk
    run 3 doctor --json points.trk
    same "damage of checkpoint $bytes" "$(get damage_count) $(get damaged_chunks) $(get damage.0.text)" \
        "2 1 the checkpoint of chunk $(get damage.0.chunk) is not readable"
    same "what is where it says" 9 \
        "$(tail -c +$(($(get damage.0.file_offset) + 25)) points.trk | head -c 1 | od -An -tu1 | tr -d ' ')"
    run 0 recover -f points.trk -o mended.trk
    run 3 doctor --json mended.trk
    same "damage without checkpoint $bytes" "$(get damage_count)" 0
    echo "end status=0 cut=0" >>points.txt
    run 3 assemble points.txt -o none.trk
    said 'the checkpoint of chunk [0-9]* is not readable (at byte '
    [ ! -e none.trk ] || fail "a trace is left of a text with a checkpoint that is none"
done
sed 's/^end /checkpoint event=40 "\\x01\\x00\\x00\\x00\\x00\\x00"\n&/' text.txt >points.txt
grep -q '^checkpoint' points.txt || fail "no checkpoint in the text"
run 0 assemble -f points.txt -o points.trk
run 0 doctor points.trk

# A NOTE or a SNAPSHOT that is not readable under right checksums is lost in a recovery, which stands without it.
# Nothing else is lost, but that is not all that there was; and a stream has no name that may have been another's.
assembled note <<END
$(text_begin '{}' '1 one' '1 two')
events stream=0 shift=5 flags=1
3200 mark argument=1
note stream=0 "no note"
events stream=0 shift=5 flags=1
3300 mark argument=2
END
run 0 recover -f --json note.trk -o mended.trk
same "a lost note" "$(get complete) $(get chunks_lost) $(get dropped)" "false 1 0"
run 3 info --json mended.trk
same "threads behind a lost note" "$(get thread_list.0.name), $(get thread_list.1.name)" ", two"
sed '/^note.*no note/d; s/^note stream=1.*/&\nchunk kind=7 flags=0 stream=4294967295 "\\x05"/' note.txt >state.txt
run 0 assemble -f state.txt -o state.trk
run 0 recover -f --json state.trk -o mended.trk
same "a snapshot that is none" "$(get state_lost) $(get chunks_lost) $(get dropped)" "true 1 1"

# A thread that was killed behind a hold of a page manager had no time to note it; one hold, not two.
assembled killed <<END
$(text_begin '{}' '1 one' '1 two')
events stream=0 shift=5 flags=1
3200 watch domain=0x30000800 seq=1
events stream=1 shift=5 flags=1
3232 watch domain=0x30000800 seq=3
end status=9 cut=0
END
run 0 doctor killed.trk
grep -q '^unwritten  *1 holds' out || fail "an unwritten hold is not named"
grep -q '^whole  *yes$' out || fail "a killed program's trace is not whole"
run 0 doctor --json killed.trk
same "unwritten holds" "$(get unwritten_holds)" 1
same "events out of order" "$(get order_gaps)" 0
sed 's/seq=3/seq=4/' killed.txt >lost.txt
run 0 assemble lost.txt -o lost.trk
run 3 doctor lost.trk
grep -q 'and nothing is missing: a fault of the recorder' out || fail "a lost hold is excused"

at=0
while [ "$at" -lt "$size" ]; do
    head -c "$at" t.trk >cut.trk
    "$trk" doctor cut.trk >out 2>err
    same "doctor of $at bytes" $? 3
    at=$((at + 7))
done
at=70
texts=0
while [ "$at" -lt "$size" ]; do
    cp t.trk bad.trk
    printf '\377' | dd of=bad.trk bs=1 seek="$at" conv=notrunc 2>/dev/null
    if ! cmp -s t.trk bad.trk; then
        "$trk" doctor --json bad.trk >out 2>err
        same "doctor of byte $at" $? 3
        run 0 recover -f bad.trk -o fixed.trk
        "$trk" doctor --json fixed.trk >out 2>err
        same "damage left of byte $at" "$(get damage_count)" 0
        lost=$(get dropped)
        # What is made of its text is no more whole, and says the same of what is missing.
        "$trk" dump --text bad.trk >bad.txt 2>err
        if [ $((at % 5)) -eq 0 ] && grep -q ^header bad.txt; then
            texts=$((texts + 1))
            run 0 assemble -f bad.txt -o again.trk
            run 3 doctor --json again.trk
            same "end of the text of byte $at" "$(get ended) $(get cut)" \
                "$(grep -q ^end bad.txt && echo true true || echo false false)"
            same "missing in the text of byte $at" "$(get dropped)" "$lost"
        fi
    fi
    at=$((at + 13))
done
at_least "texts of damaged traces" "$texts" 25
head -c $((size - 32)) t.trk >cut.trk # all chunks are there, and the end mark is not
"$trk" dump --text cut.trk >out 2>err
same "dump --text without an end mark" $? 3
grep -q '^end status=0 cut=1$' out || fail "a text hides that the end mark is missing: $(tail -n 1 out)"
[ -z "$(find . -name '.trk-*')" ] || fail "temporary files are left"
finish
