#!/bin/sh
# Goal: the product holds no seeded fault.
# Method: none.sh LIBRARY NM ROOT PROGRAM looks for the mark that every mutated object has, in the live
# library and in the program with its simulated core, for switches in the build's files, and that each
# fault of the list is one that the core knows; and that the list and the README's table agree.
set -eu
library=$1
nm=$2
program=$4
cd "$3"
failures=0

complain()
{
    echo "$1"
    failures=$((failures + 1))
}

for product in "$library" "$program"; do
    if grep -q 'seeded fault' "$product"; then
        complain "$product holds a seeded fault"
    fi
    if "$nm" "$product" 2>/dev/null | grep 'trk_mutant'; then
        complain "$product holds a symbol of one"
    fi
done
if grep -rn 'TRK_MUTATION' CMakeLists.txt CMakePresets.json cmake libtrack/CMakeLists.txt simulator cli; then
    complain 'a build file of the product switches one on'
fi
for mutant in $(grep -oE '^ +[0-9]+:[a-z_]+:' tests/mutants/list.cmake); do
    number=${mutant%%:*}
    file=${mutant#*:}
    cat "libtrack/src/${file%:}".[ch] 2>/dev/null | grep -q "MUTANT($number)" ||
        complain "mutant $number is not in libtrack/src/${file%:}"
    if [ "$number" -lt 100 ]; then
        grep -qE "^\\| M0?$number .*\\| seeded" tests/mutants/README.md ||
            complain "the README does not say that M$number is seeded"
    fi
done
for number in $(grep -ohE 'MUTANT\([0-9]+\)' libtrack/src/*.[ch] | tr -dc '0-9\n' | sort -un); do
    grep -qE "^ +$number:" tests/mutants/list.cmake || complain "mutant $number is in no list"
done
for number in $(grep -oE '^\| M[0-9]+ .*\| seeded' tests/mutants/README.md | grep -oE '^\| M[0-9]+' |
    sed 's/^| M0*//'); do
    grep -qE "^ +$number:" tests/mutants/list.cmake || complain "M$number of the README is in no list"
done
exit $((failures > 0))
