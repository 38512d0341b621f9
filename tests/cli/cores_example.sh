#!/bin/sh
# Goal: the example's tracker, a C++ class that is not libtrack's, runs as a plug-in; each of its three
# bugs is found by core-check and by exploring, and nothing is found without.
# Method: the plug-in without a bug and with each; the cases that it has, and one of them by name.
#   cores_example.sh TRK TOOLS EXAMPLES SCENARIOS WRONG_FOLDER
. "$(dirname "$0")/lib.sh"
record_all
examples=$3
own=$4/own

# Cases of its own pages hold, and scaled ones too, but those of another design than it says is its own.
mkdir own_pages
for case in $(grep -rlE '"page_size": *16384' "$4"); do
    cp "$case" own_pages
done
run 0 core-check --json "$examples/example_core.so" own_pages
same departs "$(get departs)" 0
same crashes "$(get crashes)" 0
same undecided "$(get undecided)" 0
same scaled "$(get scaled)" 0
at_least holds "$(get holds)" 6
run 0 core-check --json -j 2 --core-limit 300 "$examples/example_core.so"
same departs "$(get departs)" 0
same crashes "$(get crashes)" 0
same undecided "$(get undecided)" 0
at_least holds "$(get holds)" 112
at_least scaled "$(get scaled)" 100
lacking() {
    same "lacks: $1" "$(tr -d '\t' <out | grep -c "^\"lacks\":\"$1\"")" "$2"
}
lacking "loads that fault" 19
lacking "operations that wait for a lock of other pages" 2
lacking "one count of the tracker's watch and the clients'" 2
lacking "an order of libtrack's own steps" 1
same "best match" "$(get best)" default
same inside "$(get core.inside)" true
same returns "$(get core.returns)" false
same knows "$(get core.knows)" true

# found BUG CASE VERDICT
found() {
    core=$examples/example_core_bug$1.so
    case=$own/$2.json
    run 1 core-check --json "$core" own_pages
    same "bug $1: crashes" "$(get crashes)" 0
    at_least "bug $1: departs" "$(get departs)" 1
    run 1 core-check "$core" own_pages
    grep -q "^departs: own_pages/$2" out || fail "bug $1: the case is not there"
    run 0 sim "$case"
    run 0 sim --core "$examples/example_core.so" "$case"
    run 1 sim --json --core "$core" "$case"
    same "bug $1: verdict" "$(get verdict)" "$3"
    cp out first
    run 1 sim --json --core "$core" "$case"
    cmp out first || fail "bug $1: another report the second time"
}
found 1 a-store-during-an-upload-of-large-pages stale-gpu-read
line=$(get schedule)
run 1 sim --core "$examples/example_core_bug1.so" --schedule "$line" \
    "$own/a-store-during-an-upload-of-large-pages.json"
grep -q "what happened:" out || fail "no story"
found 2 a-clearing-download-of-large-pages-brings-all-home mismatch
found 3 an-invalidate-of-large-pages-reaches-its-end mismatch

# Exploring comes to the same inside its locks and with all orders as when states are known again.
run 0 sim --core "$examples/example_core.so" --engine both \
    "$own/a-store-over-a-large-page-of-the-gpu.json"
run 1 sim --core "$examples/example_core_bug1.so" --walk 200 \
    "$own/a-store-during-an-upload-of-large-pages.json"

# A tracker that tells no events runs no trace of libtrack's again; a trace of its own is compared with
# it, operation by operation. A bug that the plug-in has and the emulator had not is a divergence.
"$tools/trace_tool" make made.trk
run 3 sim --json --core "$examples/example_core.so" made.trk
same "trace of libtrack" "$(get verdict)" unknown
run 0 record -f -o own.trk -- "$examples/example_emulator" 6
run 0 sim --json --core "$examples/example_core.so" own.trk
same "own trace" "$(get verdict)" ok
at_least "operations compared" "$(get foreign.judged.core.judged)" 20
for bug in 2 3; do
    run 1 sim --json --core "$examples/example_core_bug$bug.so" own.trk
    same "bug $bug against the right tracker's trace" "$(get verdict)" divergence
done
wrong=$5/wrong_core
run 1 sim --json --core "${wrong}_0.so" own.trk
same "faults that are nobody's" "$(get verdict)" divergence
run 1 sim --core "${wrong}_0.so" own.trk
grep -q "recorded served; the core did unhandled" out || fail "not said that a fault is unhandled"

# explored PAGE PAGES BUG VERDICT: in the orders of the right tracker's trace the bug is found, and again
# by its line; without the bug nothing is.
explored() {
    run 0 explore --json --core "$examples/example_core.so" --page "$1" --pages "$2" own.trk
    same "$1: findings without a bug" "$(get finding_count)" 0
    at_least "$1: windows" "$(get windows)" 2
    same "$1: unfaithful" "$(get unfaithful)" 0
    same "$1: left out" "$(get left_out)" 0
    same "$1: inside" "$(get core.inside)" true
    core=$examples/example_core_bug$3.so
    run 1 explore --json --core "$core" --page "$1" --pages "$2" own.trk
    cp out first
    same "explore, bug $3" "$(get findings.0.verdict first)" "$4"
    run 1 explore --json --core "$core" --schedule "$(get findings.0.schedule first)" own.trk
    same "explore, bug $3 again" "$(get findings.0.verdict)" "$4"
    run 1 explore --core "$core" --page "$1" --pages "$2" --export "bug$3.json" own.trk
    grep -q "again: trk explore --core $core own.trk --schedule trkw1:" out || fail "no line"
    grep -q "^core page-tracker, build 1: tried inside its operations" out || fail "not said how"
    # The case that is kept expects the bug.
    run 0 sim --core "$core" "bug$3.json"
    run 1 sim --core "$examples/example_core.so" "bug$3.json"
}
explored 0x2000c0000 1 1 stale-gpu-read
explored 0x200050000 8 2 stale-cpu-read
explored 0x2000a8000 1 3 stale-gpu-read
# What was not looked at is said, and is no "ok": every order of eight pages says nothing of the others.
run 3 explore --json --core "$examples/example_core_bug2.so" --window 1 own.trk
same "all orders of some pages: stopped" "$(get stopped)" 0
same "all orders of some pages: findings" "$(get finding_count)" 0
same "all orders of some pages: complete" "$(get complete)" false
same "pages looked at" "$(get sets_of_pages)" 8
at_least "pages that come into question" "$(get pages_met)" 9
met=$(get pages_met)
run 3 explore --core "$examples/example_core_bug2.so" --window 1 own.trk
grep -q "^8 of the $met pages that come into question were looked at" out || fail "not said what was looked at"
run 3 explore own.trk
grep -q "^core " out && fail "a plug-in where there is none"
finish
