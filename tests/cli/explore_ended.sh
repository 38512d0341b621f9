# Goal: an exploration that is ended before everything was tried loses nothing that it has found, says that it
# was ended and what to do about it, and gives 1 where something is found and 3 where nothing is.
# Method: a plug-in that hands nothing over and that no state is known again of, so that one window takes
# longer than anybody waits; one that never comes back in the midst; the right one; a demo's trace on the core
# that is built in. Each ended by --budget, by --core-limit, by an interrupt.
#   explore_ended.sh TRK TOOLS EXAMPLES WRONG_FOLDER LONG_TRACE
. "$(dirname "$0")/lib.sh"
examples=$3
wrong=$4/wrong_core
bad=$4
run 0 record -f -o own.trk -- "$examples/example_emulator" 6

# ended CODE FOUND WHY: the last run's report; as JSON.
ended() {
    same "$2: ended" "$(get ended)" true
    same "$2: complete" "$(get complete)" false
    said "$3: not everything was tried"
    said "--page, RANGE, --window, --schedules"
    if [ "$1" -eq 1 ]; then
        at_least "$2: findings" "$(get finding_count)" 1
        [ -n "$(get findings.0.verdict)" ] || fail "$2: no verdict"
    else
        same "$2: findings" "$(get finding_count)" 0
    fi
}
# interrupt SECONDS CODE ARGUMENT...
interrupt() {
    after=$1
    want=$2
    shift 2
    env --default-signal=INT "$trk" "$@" </dev/null >out 2>err &
    pid=$!
    sleep "$after"
    kill -s INT "$pid"
    wait "$pid"
    same "interrupted: exit code" $? "$want"
}

long="--window 40 --schedules 1000000"
# A window that takes for ever, of a tracker that is wrong: what it had found stays.
# shellcheck disable=SC2086 # the options are words
{
    run 1 explore --json --core "${wrong}_40.so" --core-limit 3 $long own.trk
    ended 1 "--core-limit" "--core-limit is over (3 s)"
    said "the plug-in has no digest()"
    run 1 explore --core "${wrong}_40.so" --core-limit 3 $long own.trk
    grep -q "^orders: broken" out || fail "no verdict: $(head -3 out)"
    grep -q "^not everything was tried: it was ended before" out || fail "not said that it was ended"
    grep -q "^  again: trk explore --core " out || fail "no line to run it again"
    run 1 explore --json --core "${wrong}_40.so" --budget 2 $long --export window.json own.trk
    ended 1 "--budget" "--budget is over"
    [ -s window.json ] || fail "the window of the finding is not written"
    interrupt 4 1 explore --json --core "${wrong}_40.so" $long own.trk
    ended 1 "an interrupt" "interrupted"
    # What is right: nothing is found.
    run 3 explore --json --core "$examples/example_core.so" --core-limit 2 --engine random $long own.trk
    ended 3 "right, --core-limit" "--core-limit is over (2 s)"
    run 3 explore --json --core "$examples/example_core.so" --budget 1 --engine pct $long own.trk
    ended 3 "right, --budget" "--budget is over"
}

# One that never comes back in the midst of a window is ended, and what was found before is told.
run 1 explore --json --core "${wrong}_41.so" --core-limit 2 --window 8 --schedules 300 own.trk
same "it hangs: ended" "$(get ended)" true
at_least "it hangs: findings" "$(get finding_count)" 1
same "it hangs: the plug-in" "$(get core.name)" page-tracker
said "took longer than 2 s and was ended"
run 1 explore --core "${wrong}_41.so" --core-limit 2 --window 8 --schedules 300 --export kept.json own.trk
grep -q "^not everything was tried" out || fail "it hangs: not said"
run 0 sim --json --core "${wrong}_41.so" --core-limit 2 kept.json
[ "$(get verdict)" != ok ] || fail "it hangs: not the window of its finding"
# Where nothing was found before, the window that it was trying is what there is to look at.
run 1 explore --core "$bad/bad_core_7.so" --core-limit 1 --export trying.json own.trk
said "trying.json has the window that was being tried"
run 1 sim --json --core "$bad/bad_core_7.so" --core-limit 1 trying.json
same "a window that hangs" "$(get outcome)" crashed
# An interrupt that was ignored at the start stays so.
sh -c 'trap "" INT; exec "$@"' sh "$trk" explore --json --core "${wrong}_40.so" --budget 1 $long own.trk \
    </dev/null >out 2>err &
pid=$!
sleep 0.5
kill -s INT "$pid"
wait "$pid"
same "an ignored interrupt: exit code" $? 1
said "--budget is over"

# The core that is built in.
"$trk" record -o demo.trk -- "$trk" demo --frames 40 --threads 4 >out 2>err || fail "record: $(cat err)"
# shellcheck disable=SC2086 # the options are words
{
    run 3 explore --json --budget 1 --engine random $long demo.trk
    ended 3 "built in, --budget" "--budget is over"
    interrupt 2 3 explore --json --engine random $long demo.trk
    ended 3 "built in, an interrupt" "interrupted"
}
# While it reads, nothing was tried.
"$5" --events 3000000 -o long.trk || fail "no long trace"
interrupt 0.4 3 explore --json long.trk
same "reading: error" "$(get error.status)" incomplete
said "interrupted before anything was tried"

# A part of a trace does not say in which state pages are: no window begins, and that is said.
run 0 trim -o part.trk own.trk 500-1500
run 3 explore --json --core "$examples/example_core.so" part.trk
same "a part: windows" "$(get windows)" 0
same "a part: unsettled" "$(get unsettled)" "$(get sets_of_pages)"
same "a part: ended" "$(get ended)" false
run 3 explore --core "$examples/example_core.so" part.trk
grep -q "^[1-9][0-9]* sets of pages are never in a state that the trace proves, as where it begins in the middle" out ||
    fail "a part: no reason: $(cat out)"
run 3 explore --json --core "$examples/example_core.so" --page 0x2000a8000 part.trk
same "a part, one page: unsettled" "$(get unsettled)" 1
run 0 explore --json --core "$examples/example_core.so" --page 0x2000a8000 own.trk
same "the whole, one page: unsettled" "$(get unsettled)" 0

# All that was to be tried, in time: not ended.
run 1 explore --json --core "${wrong}_40.so" --budget 600 --window 3 --schedules 20 own.trk
same "in time" "$(get ended)" false
quiet
finish
