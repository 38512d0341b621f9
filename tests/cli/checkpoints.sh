# Goal: a trace with checkpoints is judged as without; behind damage it is re-executed again from the
# next checkpoint to its end, in the damaged file and in what is recovered of it, and a rule that breaks
# there is told.
# Method: recordings of the demo, whole and with a bug, packed with checkpoints, then damaged in front.
. "$(dirname "$0")/lib.sh"
need_vulkan

"$trk" record --payload hash -o ok.trk -- "$trk" demo --frames 40 >out 2>err || fail "record"
run 0 pack --checkpoints 4000 ok.trk -o cp.trk
run 0 doctor cp.trk
run 0 sim --json cp.trk
same verdict "$(get verdict)" ok
same complete "$(get complete)" true
operations=$(get operations)
run 0 dump --text cp.trk
cp out text.txt
at_least checkpoints "$(grep -c '^checkpoint ' text.txt)" 10
run 0 assemble text.txt -o again.trk
cmp cp.trk again.trk || fail "other bytes after text and assemble"
run 0 unpack cp.trk -o plain.trk
run 0 dump --text plain.trk
grep -q '^checkpoint ' out && fail "unpack keeps checkpoints that nobody made"

# damage FILE: eight bytes in the first third of a copy of it, bad.trk.
damage() {
    cp "$1" bad.trk
    printf 'TRKdamag' | dd of=bad.trk bs=1 seek=$(($(wc -c <"$1") / 6)) conv=notrunc 2>/dev/null
    run 3 doctor bad.trk
}
damage cp.trk
run 3 sim --json bad.trk
same "verdict of damage" "$(get verdict)" trace-incomplete
get text >said.txt
grep -q 're-executed again from event [0-9]* on$' said.txt || fail "not resumed: $(cat said.txt)"
at_least "operations behind damage" "$(get operations)" $((operations / 2))
run 0 recover bad.trk -o mended.trk
run 3 sim --json mended.trk
get text >said.txt
grep -q 're-executed again from event [0-9]* on$' said.txt || fail "not resumed: $(cat said.txt)"

# Without checkpoints there is no going on.
run 0 pack ok.trk -o packed.trk
damage packed.trk
run 3 sim --json bad.trk
get text | grep -q 're-executed again' && fail "resumed without a checkpoint"

# A state that is another than recorded is found behind the damage too: the first hash of the last half.
sed "$(($(wc -l <text.txt) / 2)),\$s/\( state .*argument=\).*/\10x1234/" text.txt >wrong.txt
run 0 assemble wrong.txt -o wrong.trk
damage wrong.trk
run 1 sim --json bad.trk
same "verdict of a wrong state" "$(get verdict)" divergence

# Events by their number, from a checkpoint: the same as from the beginning.
run 0 dump cp.trk 20000-20050
cp out from-checkpoint.txt
run 0 dump ok.trk 20000-20050
cmp out from-checkpoint.txt || fail "other events from a checkpoint"
run 2 pack --checkpoints 4000 --redact ok.trk -o none.trk
finish
