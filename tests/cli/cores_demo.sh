#!/bin/sh
# Goal: libtrack as a plug-in says of the demo's traces what the built-in core says, byte by byte.
# Method: a trace without a bug and one of each bug, as text and as JSON.
#   cores_demo.sh TRK TOOLS LIBTRACK_CORE
. "$(dirname "$0")/lib.sh"
record_all
core=$3
need_vulkan

run 0 demo --list-bugs --json
cp out bugs.json
count=$(get bugs.# bugs.json)
index=-1
while [ "$index" -lt "$count" ]; do
    name=none
    bug=
    frames=12
    if [ "$index" -ge 0 ]; then
        name=$(get "bugs.$index.name" bugs.json)
        bug="--bug $name"
        frames=$(get "bugs.$index.frames" bugs.json)
        [ "$frames" -ge 12 ] || frames=12
    fi
    index=$((index + 1))
    # shellcheck disable=SC2086 # no word, or two
    run 0 record -f -o demo.trk -- "$trk" demo --frames "$frames" $bug
    for form in "" --json; do
        "$trk" sim $form demo.trk >built-in 2>built-in.err
        want=$?
        [ "$name" = none ] || same "$name: found" "$want" 1
        run "$want" sim $form --core "$core" demo.trk
        sed "/^[^a-z]*again/s, --core $core,," out >as-built-in # the command that tells it again names the plug-in
        cmp built-in as-built-in || fail "$name $form: not the same report"
        cmp built-in.err err || fail "$name $form: not the same talk"
    done
done
finish
