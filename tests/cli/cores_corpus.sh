#!/bin/sh
# Goal: libtrack as a plug-in says of the stored traces what the built-in core says, generations too; and a
# report that cannot be written is told of, though another process prints it.
# Method: both reports of each trace; a full standard output, and none.
#   cores_corpus.sh TRK TOOLS LIBTRACK_CORE CORPUS
. "$(dirname "$0")/lib.sh"
core=$3
for trace in "$4"/*.trk; do
    "$trk" sim "$trace" >built-in 2>built-in.err
    want=$?
    run "$want" sim --core "$core" "$trace"
    sed "/^[^a-z]*again/s, --core $core,," out >as-built-in # the command that tells it again names the plug-in
    cmp built-in as-built-in || fail "$trace: not the same report"
done

# A report that cannot be written is told of, though another process prints it.
for form in "" --json; do
    # shellcheck disable=SC2086 # no word, or one
    "$trk" sim $form --core "$core" "$4/policy-generations.trk" >/dev/full 2>err
    same "full $form" $? 4
    said "standard output: No space left on device"
done
"$trk" sim --core "$core" "$4/policy-generations.trk" >&- 2>err
same "closed" $? 4
said "standard output: Bad file descriptor"
finish
