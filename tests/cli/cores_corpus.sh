#!/bin/sh
# Goal: libtrack as a plug-in says of the stored traces what the built-in core says, generations too; and a
# report that cannot be written is told of.
# Method: both reports of each trace; a full standard output, and none.
#   cores_corpus.sh TRK TOOLS LIBTRACK_CORE CORPUS BAD_CORES
. "$(dirname "$0")/lib.sh"
core=$3
bad=$5
for trace in "$4"/*.trk; do
    "$trk" sim "$trace" >built-in 2>built-in.err
    want=$?
    run "$want" sim --core "$core" "$trace"
    sed "/^[^a-z]*again/s, --core $core,," out >as-built-in # the command that tells it again names the plug-in
    cmp built-in as-built-in || fail "$trace: not the same report"
done

# A report that cannot be written is told of.
for form in "" --json; do
    # shellcheck disable=SC2086 # no word, or one
    "$trk" sim $form --core "$core" "$4/policy-generations.trk" >/dev/full 2>err
    same "full $form" $? 4
    said "standard output: No space left on device"
done
"$trk" sim --core "$core" "$4/policy-generations.trk" >&- 2>err
same "closed" $? 4
said "standard output: Bad file descriptor"
# Nor is it lost with what a plug-in closes, or gets into a file that it opens instead.
"$trk" sim --core "$bad/bad_core_15.so" "$4/foreign.trk" >out 2>err
same "other files" $? 3
grep -q "^verdict: unknown" out || fail "other files: no report"
quiet

# One that waits for what never comes is ended, too, though it hardly uses a processor.
cat >one.json <<CASE
{"scenario": 1, "name": "one", "memory": {"A": {"at": "0x200010000", "size": "1P"}},
 "threads": {"render": ["upload A 1P"]}, "schedule": "in-order"}
CASE
timeout 30 "$trk" sim --core-limit 1 --core "$bad/bad_core_14.so" one.json >out 2>err
same "a plug-in that polls" $? 1
grep -q "took longer than 1 s" out err || fail "a plug-in that polls: $(cat out err)"
finish
