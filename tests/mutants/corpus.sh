#!/bin/sh
# Goal: `trk regress` over the stored traces and scenarios tells seeded faults of the core, as plug-ins,
# by a verdict that is not the expected one: the traces alone see three quarters of them.
# Method: each fault against the corpus, and where that sees nothing, against the scenario files; both are
# counted. 6 changes nothing that can be seen (exempt.txt), so that 1 is left out of what is to be found.
#   corpus.sh TRK PLUGIN MUTANTS CORPUS SCENARIOS
set -eu
trk=$1
plugin=$2
total=0
alone=0
both=0
missed=
unseen=
TRK_MUTANT=0 "$trk" regress --core "$plugin" -j 2 "$4" "$5" >/dev/null
while read -r number name; do
    [ "$number" != 6 ] || continue
    total=$((total + 1))
    got=0
    TRK_MUTANT=$number "$trk" regress --core "$plugin" --limit 5 -j 2 "$4" >/dev/null 2>&1 || got=$?
    if [ "$got" -eq 1 ]; then
        alone=$((alone + 1))
        both=$((both + 1))
        continue
    fi
    missed="$missed $number"
    got=0
    TRK_MUTANT=$number "$trk" regress --core "$plugin" --limit 5 -j 2 "$5" >/dev/null 2>&1 || got=$?
    if [ "$got" -eq 1 ]; then
        both=$((both + 1))
    else
        unseen="$unseen $number"
    fi
done <"$3"
echo "$total faults: $alone seen by the stored traces, $both with the scenarios"
echo "not by the traces:$missed"
echo "by neither:$unseen"
[ "$total" -gt 60 ] && [ $((alone * 4)) -ge $((total * 3)) ]
