#!/bin/sh
# Goal: the product holds no seeded fault.
# Method: none.sh LIBRARY NM ROOT looks for the mark that every mutated object has, for switches in the
# build's files, and that each fault of the list is one that the core knows.
set -eu
library=$1
nm=$2
cd "$3"
failures=0

complain()
{
    echo "$1"
    failures=$((failures + 1))
}

if grep -q 'seeded fault' "$library"; then
    complain "$library holds a seeded fault"
fi
if "$nm" "$library" 2>/dev/null | grep 'trk_mutant'; then
    complain "$library holds a symbol of one"
fi
if grep -rn 'TRK_MUTATION' CMakeLists.txt CMakePresets.json cmake libtrack/CMakeLists.txt; then
    complain 'a build file of the product switches one on'
fi
for mutant in $(grep -oE '^ +[0-9]+:[a-z_]+:' tests/mutants/list.cmake); do
    number=${mutant%%:*}
    file=${mutant#*:}
    grep -q "MUTANT($number)" "libtrack/src/${file%:}.c" ||
        complain "mutant $number is not in libtrack/src/${file%:}.c"
done
for number in $(grep -ohE 'MUTANT\([0-9]+\)' libtrack/src/*.[ch] | tr -dc '0-9\n' | sort -un); do
    grep -qE "^ +$number:" tests/mutants/list.cmake || complain "mutant $number is in no list"
done
exit $((failures > 0))
