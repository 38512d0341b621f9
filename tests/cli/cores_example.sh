#!/bin/sh
# Goal: the example's tracker, a C++ class that is not libtrack's, runs as a plug-in; each of its three
# bugs is found by core-check and by exploring, and nothing is found without.
# Method: the plug-in without a bug and with each; the cases that it has, and one of them by name.
#   cores_example.sh TRK TOOLS EXAMPLES SCENARIOS WRONG_FOLDER
. "$(dirname "$0")/lib.sh"
examples=$3
own=$4/own

# Cases of its own pages hold. Scaled ones show where it is another design than the model: loads of the
# GPU's pages do not fault, a refused protection call leaves a part done.
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
run 1 core-check --json -j 2 --schedules 1000 "$examples/example_core.so"
same crashes "$(get crashes)" 0
at_least holds "$(get holds)" 95
at_least scaled "$(get scaled)" 120
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
    run 0 sim --core "$core" "bug$3.json"
}
explored 0x2000c0000 1 1 stale-gpu-read
explored 0x200050000 8 2 stale-cpu-read
explored 0x2000a8000 1 3 stale-gpu-read
run 3 explore own.trk
grep -q "^core " out && fail "a plug-in where there is none"

# A plug-in that gives no answer, or not the same twice, is told of; the other cases go on.
tells() {
    run 1 core-check --json "${wrong}_$1.so" own_pages
    at_least "$1: crashes" "$(get crashes)" 1
    same "$1: cases" "$(get cases.#)" "$all"
    run 1 core-check "${wrong}_$1.so" own_pages
    grep -q "$2" out || fail "$1: not said: $2"
}
run 0 core-check --json "$examples/example_core.so" own_pages
all=$(get cases.#)
tells 1 "an operation gave 2147483647, which is no status"
tells 2 "create gave no tracker, and no refusal"
tells 3 'an operation gave the status "memory"'
tells 4 "an exception left invalidate: map::at"
tells 5 "does not answer the same twice"

# Calls against the interface, and what leaves a method.
tells 9 "upload called done() twice"
tells 10 "it gave back a lock that nobody holds"
tells 11 "an exception left fault: no such page"
tells 13 "upload reported a run behind done()"
run 1 sim --core "${wrong}_10.so" own.trk
said "it gave back a lock that nobody holds"

# Watches that do nothing are found by cases of 4 KiB pages, which the right tracker holds.
mkdir watches
for name in own/hundred-and-twenty-seven-watches handed/pages/the-128th-write-watch-is-refused \
    handed/litmus/two-clients-watch-and-release; do
    cp "$4/$name.json" watches
done
run 0 core-check --json "$examples/example_core.so" watches
same "watches scaled" "$(get scaled)" 3
run 1 core-check --json "${wrong}_12.so" watches
at_least "without watches: departs" "$(get departs)" 2

# What the plug-in has not is unknown.
run 0 sim --json --core "${wrong}_7.so" own.trk
same "without questions" "$(get verdict)" ok

# Nothing that was run again is no "ok".
run 3 sim --json --core "${wrong}_8.so" own.trk
same "without changes" "$(get verdict)" unknown
same "why" "$(get foreign.judged.core.why)" "the plug-in lacks unmark_gpu, mark_cpu or mark_gpu"
run 0 record -f -o one.trk -- "$examples/example_emulator" 1
run 3 sim --json --core "${wrong}_1.so" one.trk
same "no status" "$(get foreign.judged.core.why)" "an operation gave 2147483647, which is no status"

# A tracker that is never made is waited for once, not in each case.
run 1 core-check --core-limit 1 "${wrong}_6.so"
said "took longer than 1 s"
[ ! -s out ] || fail "cases of a tracker that is never made"

# What is no scenario is the file's fault.
echo '{"scenario": 1,' >broken.json
run 2 core-check "$examples/example_core.so" broken.json
grep -q "^broken: broken.json" out || fail "a file that is no scenario is the tracker's fault"
run 2 core-check --json "$examples/example_core.so" broken.json
same "broken" "$(get broken)" 1
same "departs" "$(get departs)" 0

# A name without a slash is one of this folder's; the empty name is none, nor is a pipe.
cp "$examples/example_core.so" plain.so
run 0 core-check plain.so own_pages
run 4 core-check ""
said "no regular file"
mkfifo pipe.so
run 4 core-check pipe.so
said "no regular file"
finish
