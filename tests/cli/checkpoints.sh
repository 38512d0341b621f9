# Goal: a trace with checkpoints is judged as without; behind damage it is re-executed again from the
# next checkpoint to its end, in the damaged file and in what is recovered of it, and a rule that breaks
# there is told.
# Method: recordings of the demo, whole and with a bug, packed with checkpoints, then damaged in front.
. "$(dirname "$0")/lib.sh"
record_all
need_vulkan

"$trk" record --payload hash -o ok.trk -- "$trk" demo --frames 40 >out 2>err || fail "record"
run 0 pack --checkpoints 4000 ok.trk -o cp.trk
run 0 doctor cp.trk
run 0 sim --json cp.trk
same verdict "$(get verdict)" ok
same complete "$(get complete)" true
operations=$(get operations)
text_keeps cp.trk
at_least checkpoints "$(grep -c '^checkpoint ' text.txt)" 10
# damage FILE: eight bytes in the first third of a copy of it, bad.trk, where it has events.
damage() {
    at=$(($(wc -c <"$1") / 6))
    while [ "$at" -lt $(($(wc -c <"$1") / 3)) ]; do
        cp "$1" bad.trk
        printf 'TRKdamag' | dd of=bad.trk bs=1 seek="$at" conv=notrunc 2>/dev/null
        run 3 doctor --json bad.trk
        [ "$(get dropped)" -eq 0 ] || return
        at=$((at + 1000))
    done
    fail "$1: no event is in its first third"
}

# resumed FILE: it is re-executed again behind damage.
resumed() {
    damage "$1"
    run 3 sim --json bad.trk
    get text | grep -q 're-executed again from event [0-9]* on$' || fail "$1 is not resumed: $(get text)"
}

# Whoever writes the same events again keeps them, at their places.
grep '^checkpoint ' text.txt >checkpoints.txt
run 0 unpack cp.trk -o plain.trk
quiet
run 0 dump --text plain.trk
grep '^checkpoint ' out | cmp -s - checkpoints.txt || fail "unpack has other checkpoints"
run 0 pack plain.trk -o repacked.trk
quiet
run 0 dump --text repacked.trk
grep '^checkpoint ' out | cmp -s - checkpoints.txt || fail "pack has other checkpoints"
resumed repacked.trk
run 0 pack --checkpoints 9000 -f plain.trk -o fewer.trk
run 0 dump --text fewer.trk
at_least "checkpoints that were made anew" "$(grep -c '^checkpoint ' out)" 3
[ "$(grep -c '^checkpoint ' out)" -lt "$(wc -l <checkpoints.txt)" ] || fail "pack keeps those that it replaces"

# A part has those that are in it: the first one says all, whatever it said before.
run 0 trim cp.trk 6000-30000 -o part.trk
quiet
run 0 dump --text part.trk
cp out part.txt
kept=$(grep -c '^checkpoint ' part.txt)
at_least "checkpoints of a part" "$kept" 4
[ "$kept" -lt "$(wc -l <checkpoints.txt)" ] || fail "a part has all checkpoints"
grep '^checkpoint ' part.txt | head -n 1 | grep -q '"\\x01' || fail "the first checkpoint of a part does not say all"
run 0 doctor part.trk
run 0 sim --json part.trk
same "verdict of a part with checkpoints" "$(get verdict)" ok
resumed part.trk
run 0 pack part.trk -o again-part.trk
run 0 dump --text again-part.trk
same "checkpoints of a part that is packed" "$(grep -c '^checkpoint ' out)" "$kept"
same "what they say" "$(grep '^checkpoint ' out | cksum)" "$(grep '^checkpoint ' part.txt | cksum)"

# A part gets new ones like any trace.
run 0 trim ok.trk 6000-30000 -o part.trk -f
run 0 pack --checkpoints 3000 part.trk -o part-cp.trk
run 0 dump --text part-cp.trk
at_least "checkpoints made in a part" "$(grep -c '^checkpoint ' out)" 4
run 0 sim part-cp.trk
resumed part-cp.trk

# What cannot be kept, or cannot be made, is told.
run 0 pack --redact cp.trk -o hidden.trk
said "cp.trk: $(wc -l <checkpoints.txt) checkpoints are left out: the state has the addresses"
run 0 dump --text hidden.trk
grep -q '^checkpoint ' out && fail "a checkpoint with the addresses that were to be left out"
run 0 trim cp.trk region:0x200000000 -o region.trk
said "checkpoints are left out: the state is of all regions"
run 0 pack --checkpoints 999999999 ok.trk -o none.trk
said "no checkpoint was made"
rm none.trk
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

# What is recovered and packed is judged as far as before: only checkpoints whose own place is a guess go.
compared=0
for twentieth in 1 2 3 4 5 6 7 8 9 11 12 13; do
    cp cp.trk bad.trk
    printf 'TRKdamag' |
        dd of=bad.trk bs=1 seek=$(($(wc -c <cp.trk) * twentieth / 20)) conv=notrunc 2>/dev/null
    run 0 recover -f bad.trk -o mended.trk
    "$trk" dump --text mended.trk >out 2>/dev/null
    before=$(grep -c '^checkpoint ' out)
    "$trk" doctor mended.trk >doctored 2>&1 && continue # no events were there
    run 3 pack --level 1 -f mended.trk -o repacked.trk
    "$trk" dump --text repacked.trk >out 2>/dev/null
    at_least "checkpoints kept behind a loss at $twentieth/20" "$(grep -c '^checkpoint ' out)" $((before - 2))
    run 3 sim --json mended.trk
    get text | grep -q 're-executed again' || continue
    compared=$((compared + 1))
    run 3 sim --json repacked.trk
    get text | grep -q 're-executed again' || fail "packed, it is not resumed behind $twentieth/20: $(get text)"
done
at_least "losses that packing was compared behind" "$compared" 1

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
