#!/bin/sh
# Goal: trk sim takes scenario files and folders of them, and says with text, JSON, JUnit XML and its
# exit code what became of each.
# Method: one file of each kind, alone and together.
. "$(dirname "$0")/lib.sh"

memory='"memory": {"A": {"at": "0x200010000", "size": "2P"}}'
mkdir -p all/below
cat >held.json <<CASE
{"scenario": 1, "name": "held", $memory, "threads": {"main": ["store A 8 1", "load A 8 => 1"]}}
CASE
cat >failed.json <<CASE
{"scenario": 1, "name": "failed", $memory,
 "threads": {"main": ["store A 8 1", "here: load A 8 => 2 "]}}
CASE
cat >refused.json <<CASE
{"scenario": 1, "name": "refused", "memory": {"A": {"at": "0x200000000", "size": "1P"}},
 "threads": {"a": ["mark_cpu A 8GiB"], "b": ["frame"]}, "schedule": {"random": 1, "runs": 2}}
CASE
cat >broken.json <<CASE
{"scenario": 1, "name": "broken", $memory, "threads": {"main": ["frame", "stor A 8 1"]}}
CASE

# One file.
run 0 sim held.json
quiet
same "first line" "$(sed -n 1p out)" "held: held.json"
run 1 sim failed.json
grep -q "verdict: mismatch, expected ok" out || fail "no verdict"
grep -q "thread main, operation 2, label here: load A 8" out || fail "no place"
grep -q "expected 2, found 1" out || fail "no result"
run 4 sim refused.json
grep -q "needs several schedules of a program that reaches more than 1024 regions" out || fail "nothing needed"
run 2 sim broken.json
grep -q "threads.main, operation 2, column 1: unknown operation 'stor'; did you mean 'store'" out ||
    fail "no place of the fault"
run 2 sim absent.json

# JSON.
run 0 sim --json held.json
same schema "$(get schema)" trk-sim-scenario/1
same outcome "$(get outcome)" held
same verdict "$(get verdict)" ok
same thread "$(get thread)" null
same operations "$(get operations)" 2
run 1 sim --json failed.json
same outcome "$(get outcome)" failed
same name "$(get name)" failed
same verdict "$(get verdict)" mismatch
same operation "$(get operation)" 2
same label "$(get label)" here
same guest_addr "$(get guest_addr)" 0x200010000
run 4 sim --json refused.json
same needs "$(get needs)" "needs several schedules of a program that reaches more than 1024 regions"
same verdict "$(get verdict)" null
run 2 sim --json broken.json
same where "$(get error.where)" "threads.main, operation 2"
same column "$(get error.column)" 1

# A folder: what stands below it counts too, other files do not; the worst gives the exit code.
cp held.json all/a.json
cp held.json all/below/b.json
echo nonsense >all/note.txt
run 0 sim all
same "text of a folder" "$(cat out)" "2 files: 2 held, 0 failed, 0 refused, 0 broken"
cp refused.json all/c.json
run 4 sim all
grep -q "^refused: all/c.json: needs several schedules of a program that reaches more than 1024 regions" out || fail "refused is not listed"
cp broken.json all/below/d.json
run 2 sim all
cp failed.json all/e.json
run 1 sim all/
same "last line" "$(tail -1 out)" "5 files: 2 held, 1 failed, 1 refused, 1 broken"
run 1 sim --json all
same schema "$(get schema)" trk-sim-scenarios/1
same held "$(get held)" 2
same broken "$(get broken)" 1
same "paths in order" "$(get files.1.path)" all/below/b.json
same outcome "$(get files.2.outcome)" broken
cp out first
run 1 sim --json all
cmp -s first out || fail "the second report differs"

# Schedules: what was found in some order is found again by its line.
cat >race.json <<CASE
{"scenario": 1, "name": "race", $memory, "schedule": "explore",
 "threads": {"a": ["raw_write A 8 1"], "b": ["load A 8 => 0"]}}
CASE
run 1 sim race.json
grep -q "schedules: 2 run, for all of 2" out || fail "no number of schedules"
grep -q "fails in 1 of 2 interleavings: mismatch in 1" out || fail "not how many fail"
line=$(sed -n 's/^  again, .*: --schedule //p' out)
run 1 sim --json race.json
same schedule "$(get schedule)" "$line"
same interleavings "$(get interleavings)" 2
same failing "$(get failing)" 1
same endings "$(get endings.mismatch) $(get endings.ok)" "1 1"
same "share in per cent" "$(get failing_percent)" null
run 1 sim --schedule "$line" race.json
grep -q "verdict: mismatch, expected ok" out || fail "another verdict"
grep -q "schedules:" out && fail "more than one schedule"
run 2 sim --schedule "$line" held.json
said "held.json: --schedule: .*another scenario"
[ ! -s out ] || fail "the file is blamed for the line"
run 2 sim --schedule nonsense race.json
said "race.json: --schedule: expected trk1"
# A line that was cut anywhere is none.
cut=$line
while [ "${cut%:}" = "$cut" ]; do
    cut=${cut%?}
    run 2 sim --schedule "$cut" race.json
    said "cut or damaged"
done

run 2 sim --schedule "$line" all
said "one scenario file"

# Where what came is as expected, and the file fails all the same, the reason stands there.
cat >many.json <<CASE
{"scenario": 1, "name": "many", $memory, "schedule": "explore",
 "threads": {"a": ["raw_write A 8 1"], "b": ["load A 8"]}, "expect": {"verdict": "ok", "schedules": 1}}
CASE
run 1 sim --junit many.xml many.json
grep -q "verdict: ok, expected ok, but 2 schedules, at most 1 expected" out || fail "no reason"
grep -q 'message="ok, expected ok, but 2 schedules, at most 1 expected"' many.xml ||
    fail "no reason in JUnit"

# A story ends with the operation that broke, also where it touches no byte.
cat >nested.json <<CASE
{"scenario": 1, "name": "nested", $memory, "threads": {"main": ["upload A 1P { lock A => fatal lock }"]}}
CASE
run 1 sim nested.json
grep -q "main: lock A: expected fatal lock, found fatal reentry  <- event at fault, visible here" out ||
    fail "the operation is not in its story"
cat >later.json <<CASE
{"scenario": 1, "name": "later", $memory, "threads": {"a": ["upload A 1P", "is_cpu A 1P => 1"]}}
CASE
run 1 sim --json later.json
same "the story's last operation" "$(get story.2.text)" "is_cpu A 1P: expected 1, found 0"
same "its role" "$(get story.2.role)" "event at fault, visible here"

# A long program is no slower for its length: without end if each store looked at all before it.
cat >long.json <<CASE
{"scenario": 1, "name": "long", $memory, "threads": {"a": ["repeat 450000 { store A 8 1 }"]}}
CASE
(
    ulimit -t 60
    run 0 sim long.json
    [ "$failures" -eq 0 ]
) || fail "a long program"

# Several processes: the same bytes, whatever their number.
run 1 sim all
cp out one
run 1 sim --json all
cp out one.json
run 1 sim --junit one.xml all
for jobs in 2 3 64; do
    run 1 sim -j $jobs all
    cmp -s out one || fail "text of $jobs processes differs"
    run 1 sim --json --jobs $jobs all
    cmp -s out one.json || fail "JSON of $jobs processes differs"
    run 1 sim --junit $jobs.xml -j $jobs all
    cmp -s $jobs.xml one.xml || fail "JUnit XML of $jobs processes differs"
done
run 0 sim -j 8 held.json
run 2 sim -j 0 all
said "not within 1"
run 2 sim -j many all

# What is no regular file is not read in a folder, and that is told.
mkdir odd
cp held.json odd
mkfifo odd/pipe.json
ln -s /dev/zero odd/zero.json
ln -s ../held.json odd/link.json
run 2 sim odd
same "outcomes of odd files" "$(tail -1 out)" "4 files: 2 held, 0 failed, 0 refused, 2 broken"
grep -q "no regular file" out || fail "a pipe is not told of"

# Interrupted while a file is run: nothing stays. Each process ends with the first.
mkdir halt
cp held.json halt
cat >halt/slow.json <<CASE
{"scenario": 1, "name": "slow", $memory, "schedule": {"random": 1, "runs": 1000000},
 "threads": {"a": ["repeat 900 { frame }"], "b": ["repeat 900 { frame }"]}}
CASE
for jobs in 1 2; do
    env --default-signal=INT "$trk" sim -j $jobs --junit halt.xml halt >out 2>err &
    process=$!
    until [ "$(cat "/proc/$process/comm")" = "${trk##*/}" ]; do # before that the signal is ignored
        sleep 0.05
    done
    sleep 0.3
    kill -INT $process
    wait $process
    same "end of $jobs interrupted processes" $? 130
    [ ! -e halt.xml ] || fail "half a file of $jobs interrupted processes"
    [ "$(find . -name '.trk-*')" = "" ] || fail "a file without a name stays"
done

# JUnit.
run 1 sim --junit junit.xml all
grep -q 'tests="5" failures="1" errors="1" skipped="1"' junit.xml || fail "counts in JUnit"
grep -q '<testcase classname="all/below" name="b.json"></testcase>' junit.xml || fail "case held"
grep -q '<failure message="mismatch, expected ok">' junit.xml || fail "case failed"
grep -q '<skipped message="needs several schedules of a program that reaches more than 1024 regions"/>' junit.xml || fail "case refused"
grep -q '<error message="threads.main, operation 2: unknown' junit.xml || fail "case broken"
cp junit.xml before
run 2 sim --junit junit.xml all
said "File exists"
cmp -s before junit.xml || fail "an output was overwritten"
run 2 sim --junit no/such/folder.xml held.json
"$tools/trace_tool" make t.trk || fail "trace_tool make"
run 2 sim --junit - held.json
said "standard output has the report"
run 2 sim --json --junit - held.json

# Options that would do nothing where they stand.
while IFS='|' read -r message arguments; do
    # shellcheck disable=SC2086 # the arguments are words
    run 2 sim $arguments
    said "$message"
    [ ! -s out ] || fail "sim $arguments: a report"
done <<'CASES'
--junit goes with scenario files|--junit other.xml t.trk
--schedule goes with scenario files|--schedule trk1:x t.trk
--engine goes with scenario files|--engine dpor t.trk
--walk goes with scenario files|--walk 10 t.trk
--seed goes with scenario files|--seed 1 t.trk
--jobs goes with scenario files|-j 2 t.trk
--oracle-only goes with traces|--oracle-only held.json
--granule goes with traces|--granule 1 held.json
--engine does not go with --walk|--walk 3 --engine dpor race.json
--walk does not go with --schedule|--walk 3 --schedule trk1:x race.json
--engine does not go with --schedule|--engine dpor --schedule trk1:x race.json
--seed goes with --walk|--seed 3 race.json
walk: 0 is not within 1 to|--walk 0 race.json
8192 is no power of two up to 4096|--granule 8192 t.trk
3 is no power of two up to 4096|--granule 3 t.trk
CASES
run_with TRK_SIM_JOBS=2 3 sim t.trk # no tracker in it; the setting is for other files

# A scenario that is no file by its name.
cp held.json unnamed
for command in sim explore dump info; do
    run 3 $command unnamed
    said "but JSON; a scenario is run by its name"
done
"$trk" sim - <held.json >out 2>err
same "a scenario on standard input" $? 3
said "but JSON; a scenario is run by its name"
finish
