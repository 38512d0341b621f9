#!/bin/sh
# Goal: a plug-in that is wrong in one way is told of, in a case and in a trace, and the other cases go on.
# Method: the example's plug-in with one thing in front of it that is wrong (wrong_core.cc), each by its number.
#   cores_wrong.sh TRK TOOLS EXAMPLES SCENARIOS WRONG_FOLDER
. "$(dirname "$0")/lib.sh"
record_all
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
tells 17 "upload came to its end without done()"
tells 37 "page() takes a lock: it is to look, and to call nobody"
tells 38 "page() yields: it is to look, and to call nobody"
tells 39 "fail() was called with 0, which is no refusal"
tells 22 "page() says that the host was told 0x3 of 0x200010000, and it was told 0x1"
while read -r number words; do
    run 1 sim --core "${wrong}_$number.so" own.trk
    said "$words"
    [ ! -s out ] || fail "$number: a report"
    # In a window that takes long, too, nothing goes on behind it.
    run 1 explore --core "${wrong}_$number.so" --core-limit 60 --page 0x2000c0000 own.trk
    said "$words"
    grep -q "took longer" err && fail "$number: the search went on"
done <<'CALLS'
9 upload called done() twice
10 it gave back a lock that nobody holds
13 upload reported a run behind done()
17 upload came to its end without done()
21 changes what the host lets through of 0x[0-9a-f]* without one
22 page() says that the host was told
37 page() takes a lock
38 page() yields
39 fail() was called with 0
CALLS

# One that waits for a lock that it holds itself, now or since an earlier operation, is told of at once,
# long before its time is over.
for number in 35 36; do
    run 1 sim --json --core-limit 3600 --core "${wrong}_$number.so" own.trk
    same "$number: verdict" "$(get verdict)" deadlock
    get text | grep -q "^upload .* of foreign tracker 0: the core waits for a lock that it has taken itself" ||
        fail "$number: text: $(get text)"
    quiet
done

case=$(ls own_pages/*.json | head -1)
# Where there is no operation to end, in destroy and create, that is told, at once too.
for number in 42 43; do
    run 1 sim --core-limit 3600 --core "${wrong}_$number.so" own.trk
    said "it waits for a lock that nobody is there to give back"
    run 1 sim --core-limit 3600 --core "${wrong}_$number.so" "$case"
    grep -q "it waits for a lock that nobody is there to give back" out || fail "$number: $(cat out err)"
done

# A program that asks for JSON gets the reason there, of a plug-in that is none and of one that crashes.
for arguments in "sim --core absent.so own.trk" "explore --core absent.so own.trk" \
    "sim --core absent.so $case" "sim --core absent.so own_pages" "core-check absent.so" \
    "regress --core absent.so own_pages" "regress --against absent.so own_pages" \
    "bisect --good absent.so --bad absent.so own.trk" "bisect --good absent.so --bad absent.so $case"; do
    # shellcheck disable=SC2086 # the arguments are words
    run 4 $arguments --json
    same "$arguments: error" "$(get error.status)" unsupported
    [ -n "$(get error.text)" ] || fail "$arguments: no text"
done
asan_options=${ASAN_OPTIONS:-}
export ASAN_OPTIONS="$asan_options:handle_segv=0" # the signal is what is asked for
for command in sim explore; do
    run 1 $command --json --core "${wrong}_14.so" own.trk
    same "$command: a crash" "$(get error.status)" incomplete
    get error.text | grep -q "crashed: SIGSEGV" || fail "$command: a crash: $(get error.text)"
done
ASAN_OPTIONS=$asan_options

# What page() says of whose a page is, and a fault's word, are held against the trace.
run 1 sim --core "${wrong}_18.so" own.trk
grep -q "is the GPU's; the core did say that it is clean" out || fail "never the GPU's: $(head -2 out)"
run 1 sim --core "${wrong}_19.so" own.trk
grep -q "the core did retry, which changes nothing, and changed the page" out ||
    fail "always retry: $(head -2 out)"

# What it hands over is held against the trace byte for byte, and what it refuses in words against what it says.
while read -r number words; do
    run 1 sim --core "${wrong}_$number.so" own.trk
    grep -q "$words" out || fail "$number: not said: $words: $(head -2 out)"
done <<'RUNS'
26 recorded page 0x[0-9a-f]* handed over; the core did hand over [0-9]* of its 16384 bytes
27 recorded no byte handed over twice; the core did hand 0x[0-9a-f]* over twice
28 recorded only pages of the range handed over; the core did hand over 0x[0-9a-f]*, which is outside
29 recorded no run without a byte handed over; the core did hand over 0 bytes at 0x
30 ^download .* handed over; the core did hand over [0-9]* of its 16384 bytes
31 recorded ok; the core did refuse it (conflict), and end with ok
RUNS

# A lock for each page is no mere word.
mkdir unlike
cp "$4/own/operations-on-unlike-large-pages.json" unlike
run 0 core-check "$examples/example_core.so" unlike
run 1 core-check "${wrong}_20.so" unlike
grep -q "each page has a lock of its own, and an operation on 0x200020000 waits for a lock of one on 0x200010000" \
    out || grep -q "each page has a lock of its own, and an operation on 0x200010000 waits for a lock of one on 0x200020000" \
    out || fail "one lock over all is not seen: $(head -2 out)"
tells 21 "each page has a lock of its own, and changes what the host lets through of 0x"

# What it does with descriptors that it has not opened is no part of trk's report, nor of other files.
run 0 sim --core "$examples/example_core.so" own.trk
cp out right
for number in 23 24; do
    run 0 sim --core "${wrong}_$number.so" own.trk
    cmp out right || fail "$number: another report"
    quiet
    run 0 sim --junit "report$number.xml" --core "${wrong}_$number.so" own_pages
    grep -q garbage "report$number.xml" && fail "garbage in an output"
    run 0 explore --core "${wrong}_$number.so" --page 0x2000a8000 own.trk
    grep -q garbage out && fail "garbage in a report"
    # A reader that goes away ends nothing, and is no crash.
    { "$trk" sim --core "${wrong}_$number.so" own.trk 2>err; echo $? >code; } | true
    same "$number: without a reader" "$(cat code)" 0
    quiet
done
# Nor is what a thread prints that it has left running, or a timer, since whenever that runs.
run 0 explore --core "$examples/example_core.so" --page 0x2000a8000 own.trk
cp out explored
for number in 25 32 33 34 32 33 32 33 32 33; do
    run 0 sim --core "${wrong}_$number.so" own.trk
    cmp out right || fail "$number: the plug-in prints into the report"
    run 0 explore --core "${wrong}_$number.so" --page 0x2000a8000 own.trk
    cmp out explored || fail "$number: the plug-in prints into the report of exploring"
    run 2 sim --json --core "${wrong}_$number.so" absent.trk
    same "$number: an absent trace, in JSON" "$(get error.status)" system
done
run 2 sim --json --core "$examples/example_core.so" absent.trk
same "an absent trace, in JSON" "$(get error.status)" system

# A right one that has too little time, or too few schedules, is undecided, whatever was expected of it.
cat >long.json <<CASE
{"scenario": 1, "name": "long", "policy": {"page_size": 16384},
 "memory": {"A": {"at": "0x200010000", "size": "8G"}},
 "threads": {
  "guest": ["repeat 9 { store A 8 1; store A+G 8 1; store A+2G 8 1 }"],
  "render": ["repeat 9 { upload A 3G; upload A+2G 3G }"],
  "copy": ["repeat 9 { upload A+G 3G; upload A 8G }"]},
 "schedule": "explore", "expect": {"verdict": "ok"}}
CASE
run 1 core-check --json --core-limit 1 --schedules 1000000 "$examples/example_core.so" long.json
same "too slow" "$(get undecided)" 1
same "too slow: crashes" "$(get crashes)" 0
get cases.0.text | grep -q "took longer than 1 s and was ended, though it was going on" ||
    fail "too slow: $(get cases.0.text)"
run 1 core-check --json --schedules 100 "$examples/example_core.so" \
    "$4/own/gpu-write-before-or-after-a-fault-looks.json"
same "cut short" "$(get undecided)" 1
same "cut short: departs" "$(get departs)" 0

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
