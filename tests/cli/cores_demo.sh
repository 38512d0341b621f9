#!/bin/sh
# Goal: libtrack as a plug-in says of the demo's traces what the built-in core says, byte by byte.
# Method: a trace without a bug and one of each bug, as text and as JSON.
#   cores_demo.sh TRK TOOLS LIBTRACK_CORE
. "$(dirname "$0")/lib.sh"
core=$3
need_vulkan

run 0 demo --list-bugs
cp out names.txt
for name in none $(cat names.txt); do
    bug=
    [ "$name" = none ] || bug="--bug $name"
    # shellcheck disable=SC2086 # no word, or two
    run 0 record -f -o demo.trk -- "$trk" demo --frames 12 $bug
    for form in "" --json; do
        "$trk" sim $form demo.trk >built-in 2>built-in.err
        want=$?
        [ "$name" = none ] || same "$name: found" "$want" 1
        run "$want" sim $form --core "$core" demo.trk
        cmp built-in out || fail "$name $form: not the same report"
        cmp built-in.err err || fail "$name $form: not the same talk"
    done
done
finish
