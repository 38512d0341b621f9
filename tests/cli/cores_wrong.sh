#!/bin/sh
# Goal: a plug-in that is wrong in one way is told of, in a case and in a trace, and the other cases go on.
# Method: the example's plug-in with one thing in front of it that is wrong (wrong_core.cc), each by its number.
#   cores_wrong.sh TRK TOOLS EXAMPLES SCENARIOS WRONG_FOLDER
. "$(dirname "$0")/lib.sh"
examples=$3
wrong=$5/wrong_core
mkdir own_pages
for case in $(grep -rlE '"page_size": *16384' "$4"); do
    cp "$case" own_pages
done
run 0 record -f -o own.trk -- "$examples/example_emulator" 6

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

# A case of another design is left out only for a tracker that says so: the same one departs where it
# claims that loads fault, or that it has libtrack's locks and counts.
mkdir design
for name in handed/faults/read-into-a-gpu-page handed/faults/kernel-takes-bytes-behind-a-read-watch \
    handed/litmus/two-written-uploads-in-one-region own/no-upload-over-a-full-count \
    handed/pages/trackers-watch-taken-by-a-client; do
    cp "$4/$name.json" design
done
run 1 core-check --json "${wrong}_15.so" design
same "loads that do not fault" "$(get departs)" 2
same "the rest of its design" "$(get lacks)" 3
run 1 core-check --json "${wrong}_16.so" design
same "locks and counts" "$(get departs)" 3
same "loads" "$(get lacks)" 2

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
