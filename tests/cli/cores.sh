#!/bin/sh
# Goal: libtrack as a plug-in gives the reports that the built-in core gives, byte by byte; a plug-in
# that is none, crashes, loops or leaves is told of and ends nobody but itself.
# Method: all scenario files and a recorded trace, with and without the plug-in; plug-ins that are
# wrong in one way each.
#   cores.sh TRK TOOLS LIBTRACK_CORE BAD_FOLDER SCENARIOS
. "$(dirname "$0")/lib.sh"
core=$3
bad=$4
scenarios=$5

# Scenario files: text and JSON, all and one, one that fails.
cat >failed.json <<CASE
{"scenario": 1, "name": "failed", "memory": {"A": {"at": "0x200010000", "size": "2P"}},
 "threads": {"guest": ["store A 8 1"],
             "render": ["upload A 1P", "gpu_read A 8"]},
 "schedule": "explore", "finally": ["gpu_read A 8 => 1"]}
CASE
for form in "" --json; do
    for what in "$scenarios" "$scenarios/handed/core/download-keeps-or-clears.json"; do
        run 0 sim $form "$what"
        cp out built-in
        run 0 sim $form --core "$core" -j 3 "$what"
        cmp built-in out || fail "$form $what: not the same report"
    done
    run 1 sim $form failed.json
    cp out built-in
    run 1 sim $form --core "$core" failed.json
    cmp built-in out || fail "$form: not the same report of a failure"
done
line=$(sed -n 's/.*--schedule \(trk1:[^ ]*\).*/\1/p' built-in)
[ -n "$line" ] || line=$(get schedule built-in)
run 1 sim --core "$core" --schedule "$line" failed.json
run 0 sim --core "$core" --engine both "$scenarios/handed/litmus"

# A plug-in that prints does not print into the report.
run 1 sim --json --core "$bad/bad_core_0.so" failed.json
same "outcome of a tracker that tracks nothing" "$(get outcome)" failed
same "how it was tried" "$(get core.inside)" false
said "a plug-in that prints"
run 1 sim --core "$bad/bad_core_0.so" failed.json
grep -q "^core bad: tried operation by operation" out || fail "not said how it was tried"

# What is no plug-in, or one that cannot be used.
refused() {
    for command in "sim --core $1 failed.json" "core-check $1"; do
        # shellcheck disable=SC2086 # words
        run 4 $command
        said "$2"
        [ ! -s out ] || fail "$command: a report"
    done
}
refused "$dir/absent.so" "No such file"
cp failed.json text.so
refused "$dir/text.so" "invalid ELF header\|file too short"
refused "$bad/bad_core_nothing.so" "no function trk_core_plugin"
refused "$bad/bad_core_1.so" "version 2 of the interface, this program 1"
refused "$bad/bad_core_2.so" "table is of 4 bytes"
refused "$bad/bad_core_3.so" "table has no fault"
refused "$bad/bad_core_4.so" "refuses this host"

# One that ends its process: while it is loaded, and while it runs.
run 1 sim --core "$bad/bad_core_5.so" failed.json
said "crashed while it was loaded: SIGABRT"
run 1 core-check "$bad/bad_core_5.so"
said "crashed while it was loaded: SIGABRT"
mkdir two
cp failed.json two/a.json
cat >two/b.json <<CASE
{"scenario": 1, "name": "fine", "memory": {"A": {"at": "0x200010000", "size": "2P"}},
 "threads": {"guest": ["store A 8 1", "load A 8 => 1"]}}
CASE
# ends N WORDS [SECONDS]
ends() {
    seconds=${3:-1}
    run 1 sim --core "$bad/bad_core_$1.so" --core-limit "$seconds" two
    grep -q "$2" out || fail "$1: not said how it ended"
    grep -q "^2 files: 1 held, 0 failed, 0 refused, 0 broken, 1 crashed" out || fail "$1: not counted"
    run 1 sim --core "$bad/bad_core_$1.so" --core-limit "$seconds" --json two
    same "$1: outcome" "$(get files.0.outcome)" crashed
    same "$1: crashed" "$(get crashed)" 1
    run 1 sim --core "$bad/bad_core_$1.so" --core-limit "$seconds" --junit "junit$1.xml" two
    grep -q 'errors="1"' "junit$1.xml" || fail "$1: no error in the XML"
    run 1 core-check --core-limit "$seconds" --json "$bad/bad_core_$1.so" two
    same "$1: crashes" "$(get crashes)" 1
    same "$1: holds" "$(get holds)" 1
}
ends 6 "crashed: SIGSEGV"
ends 7 "took longer than 1 s and was ended"
# It ends with all that it has in its hands, which a leak checker would make another exit code of.
asan_options=${ASAN_OPTIONS:-}
export ASAN_OPTIONS="$asan_options:detect_leaks=0"
ends 8 "ended its process: exit code 7"
ASAN_OPTIONS=$asan_options
ends 9 "crashed: SIGABRT" 30 # all the memory it is given takes a while
ends 10 "took longer than 1 s and was ended"
ends 11 "took longer than 1 s and was ended"
timeout 60 sh -c '"$1" core-check --core-limit 1 "$2" two 2>&1 | cat >piped' sh "$trk" \
    "$bad/bad_core_11.so" || fail "a process of the plug-in's is left, and keeps the output"

# What it leaves ends with it, in a session of its own too.
left_behind() {
    for line in /proc/[0-9]*/cmdline; do
        tr '\0' ' ' 2>/dev/null <"$line" | grep -q '^sleep 98613 ' && return 0
    done
    return 1
}
run 1 core-check "$bad/bad_core_12.so" failed.json
left_behind && fail "a process in a session of its own is left"

# A file that is cut short, wherever, is no plug-in.
for part in 1 64 1000 20000 50000; do
    head -c "$part" "$core" >cut.so
    run 4 core-check ./cut.so
    [ ! -s out ] || fail "a report of $part bytes of a plug-in"
done
said "cut short"
mkdir folder.so
for what in folder.so /dev/null; do
    run 4 core-check "$what"
    said "no regular file"
done

# Scaled to larger pages the cases mean the same: libtrack holds them all.
run 0 core-check --json "$bad/coarse_core.so"
same "scaled: departs" "$(get departs)" 0
same "scaled: crashes" "$(get crashes)" 0
same "scaled: undecided" "$(get undecided)" 0
at_least "scaled" "$(get scaled)" 150
at_least "not scaled" "$(get unscaled)" 1
run 0 core-check "$bad/coarse_core.so"
grep -q "^scaled: [0-9]* cases of 4096-byte pages ran with pages of 16384 bytes" out ||
    fail "not said that cases were scaled"
grep -q "^not scaled: " out || fail "not said why others were not"
run 0 core-check --json "$core"
same "needlessly scaled" "$(get scaled)" 0

# core-check of the core as it is, and of one that tracks nothing.
run 0 core-check "$core"
grep -q "^best match: default" out || fail "no best match"
run 0 core-check --json -j 2 "$core"
cp out jobs
same schema "$(get schema)" trk-core-check/1
same departs "$(get departs)" 0
same lacks "$(get lacks)" 0
same cases "$(get cases.#)" "$(find "$scenarios/handed" "$scenarios/own" -name '*.json' | wc -l)"
run 0 core-check --json "$core"
cmp out jobs || fail "the number of jobs shows in the report"
run 1 core-check --json "$bad/bad_core_0.so"
at_least departs "$(get departs)" 18 # it calls done(), as it has to
grep -q "an order of libtrack's own steps" out || fail "a plug-in is held to libtrack's own steps"
at_least lacks "$(get lacks)" 20
run 2 core-check
run 2 core-check "$core" absent

# A trace that ends in mid-air, and a crash under a trace.
run 0 demo --help
"$tools/trace_tool" make made.trk
same_trace() {
    for form in "" --json; do
        "$trk" sim $form "$1" >built-in 2>built-in.err
        want=$?
        run $want sim $form --core "$core" "$1"
        sed -i "s| --core $core||" out # of the command that says it again
        cmp built-in out || fail "$1 $form: not the same report"
        cmp built-in.err err || fail "$1 $form: not the same talk"
    done
}
same_trace made.trk
head -c 3000 made.trk >cut.trk
same_trace cut.trk
run 1 sim --core "$bad/bad_core_5.so" made.trk
said "crashed while it was loaded: SIGABRT"
[ ! -s out ] || fail "a report of a crash"
run 4 sim --core "$dir/absent.so" made.trk

finish
