#!/bin/sh
# Goal: the tests find the seeded fault that a program was built with.
# Method: kill.sh PROGRAM STEPS runs it; a difference that it reports, or its crash or standstill, is
# what is wanted. Prints where; exit 1 when the mutant lives.
set -u
grep -q 'seeded fault' "$1" || {
    echo "$1: nothing is seeded there"
    exit 1
}
out=$(TRK_STEPS=$2 timeout 60 "$1" 2>&1)
rc=$?
case $rc in
0)
    echo "alive after $2 operations"
    exit 1
    ;;
1)
    echo "$out" | head -n 2
    ;;
124)
    echo 'found: it stands still'
    ;;
*)
    echo "found: it ends with $rc"
    echo "$out" | head -n 2
    ;;
esac
