#!/bin/sh
# Scenario files as tests.
#   run.sh handed TRK FOLDER REFUSED   every file below FOLDER/<f> holds, but those listed as refused
#   run.sh mutated TRK TOOL FOLDER     files whose expectations were changed must not hold
# FOLDER is tests/scenarios/handed; REFUSED lists `folder/file.json: needs ...`, sorted.
set -eu
kind=$1
trk=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

handed()
{
    cd "$1"
    code=0
    "$trk" sim . >"$dir/out" || code=$?
    grep -vE '^refused: ' "$dir/out"
    sed -n 's/^refused: \.\/\(.*\): needs /\1: needs /p' "$dir/out" >"$dir/refused"
    # Only what is listed may be refused, and what is listed must be: the list shrinks by hand.
    diff "$2" "$dir/refused" || exit 1
    if [ -s "$dir/refused" ]; then
        [ "$code" -eq 4 ]
    else
        [ "$code" -eq 0 ]
    fi
}

mutated()
{
    mkdir "$dir/mutants"
    count=$("$1" "$dir/mutants" "$2"/*/*.json)
    code=0
    "$trk" sim "$dir/mutants" >"$dir/out" || code=$?
    tail -1 "$dir/out"
    # A tool that mutates nothing proves nothing.
    [ "$count" -ge 800 ]
    [ "$code" -eq 1 ]
    grep -q "^$count files: 0 held, $count failed, 0 refused, 0 broken\$" "$dir/out" || {
        echo "held although changed, refused or broken:"
        "$trk" sim --json "$dir/mutants" | tr '{' '\n' |
            grep -E '"outcome":[[:space:]]*"(held|refused|broken)"' | head -20
        exit 1
    }
}

shift 2
"$kind" "$@"
