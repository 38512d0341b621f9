#!/bin/sh
# Goal: `trk core-check` refuses each seeded fault of the core in a plug-in, but those that no scenario
# file can show; and takes the right core in the same plug-in.
# Method: one plug-in has all faults, the environment says which is in force.
#   plugin.sh TRK PLUGIN MUTANTS EXEMPT
set -eu
trk=$1
plugin=$2
failures=0
check()
{
    want=$1
    number=$2
    got=0
    out=$(TRK_MUTANT=$number "$trk" core-check --core-limit 4 -j 2 "$plugin" 2>&1) || got=$?
    if [ "$got" -ne "$want" ]; then
        echo "mutant $number: exit code $got, expected $want"
        echo "$out" | tail -1
        failures=$((failures + 1))
    fi
}
check 0 0
count=0
while read -r number name; do
    if grep -q "^$number " "$4"; then
        check 0 "$number"
    else
        check 1 "$number"
    fi
    count=$((count + 1))
done <"$3"
echo "$count mutants as plug-ins, $failures not as expected"
[ "$count" -gt 60 ] && [ "$failures" -eq 0 ]
