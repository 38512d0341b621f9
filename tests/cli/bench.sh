# Goal: trk bench and trk advise say of a trace's copies what was measured, in each of their forms, and
# refuse what they cannot do.
# Method: a small trace of the demo on the first Vulkan device; whatever is a time is looked at for its
# being there, not for its size.
. "$(dirname "$0")/lib.sh"
record_all

# What cannot be meant, before any device or trace is looked at.
while IFS='|' read -r message arguments; do
    # shellcheck disable=SC2086 # the arguments are words
    run 2 $arguments
    said "$message"
done <<'CASES'
nothing to compare with per-range: give --b or --all|bench absent.trk
--b auot: .* at column 1|bench --b auot absent.trk
--c auto+copy+direct: .* at column 11|bench --b auto --c auto+copy+direct absent.trk
--a coalesce:4Q: .* at column |bench --a coalesce:4Q --b auto absent.trk
both want standard output|bench --b auto --csv --json absent.trk
not within|bench --b auto --rounds 5 absent.trk
not within|bench --b auto --seconds 0 absent.trk
not within|bench --b auto --detect 0 absent.trk
not within|bench --b auto --detect 101 absent.trk
No such file|bench --b auto absent.trk
No such file|advise absent.trk
none of auto|bench --b auto --clock wall absent.trk
CASES

: >empty.trk
run 3 bench --b auto empty.trk
said 'empty.trk'
run 3 bench --json --b auto empty.trk
same 'complete' "$(get complete)" false
run 3 advise empty.trk
echo '{}' >s.trk
run 3 bench --b auto s.trk
said 'no .trk file but JSON'

# no_talk: nothing but how far it is, on a slow machine.
no_talk() {
    grep -v 'checking policy [0-9]* of\|measuring: pass [0-9]* of' err >talk
    [ ! -s talk ] || fail "unexpected talk: $(cat talk)"
}

# A named pipe can be read once.
mkfifo pipe
for command in "bench --b auto" advise replay; do
    # shellcheck disable=SC2086 # words
    timeout 20 "$trk" $command pipe >out 2>err
    same "trk $command of a named pipe" $? 2
    said 'is a named pipe'
done

# In JSON, too, where a program has asked.
run 2 bench --json absent.trk
get error.text | grep -q 'nothing to compare with per-range: give --b or --all' || fail "no text of what is lacking"
run 2 bench --json --b nope absent.trk
same 'a policy that is none' "$(get error.status)" argument
same 'a refusal is complete' "$(get complete)" false
get error.text | grep -q '^--b nope: ' || fail "no text of the option"
run 2 bench --json --csv --b auto absent.trk
get error.text | grep -q -- '--csv and --json both want' || fail "no text of both"
run 2 replay --json --policy nope absent.trk
get error.text | grep -q -- '--policy: ' || fail "no text of the policy"

need_vulkan
"$trk" record --payload hash -o t.trk -- "$trk" demo --frames 4 >out 2>err || fail "recording the demo"
run 2 bench --b auto --from 3 --to 2 t.trk
said 'the frames end before they begin'
run 4 bench --b auto --device 4000 t.trk
said 'no Vulkan device 4000'
VK_DRIVER_FILES=/nonexistent/driver.json
export VK_DRIVER_FILES
run_with VK_ICD_FILENAMES=/nonexistent/driver.json 4 bench --b auto t.trk
said 'no Vulkan: there is no driver'
[ -s out ] && fail "a bench without a device prints something"

# Without a device advise still says what the trace is like.
run_with VK_ICD_FILENAMES=/nonexistent/driver.json 4 advise t.trk
said 'no Vulkan: there is no driver'
grep -q '^up       [0-9.]* MB in [0-9]* ranges' out || fail "no word on the uploads"
grep -q '^pages    [1-9][0-9]* uploaded with a hash' out || fail "no word on the pages"
grep -q '^gaps between neighbours' out || fail "no gaps"
run_with VK_ICD_FILENAMES=/nonexistent/driver.json 4 advise --json t.trk
same 'schema' "$(get schema)" trk-advise/1
same 'advice' "$(get advice)" null
at_least 'ranges' "$(get up.ranges)" 1
at_least 'moved' "$(get up.moved_bytes)" "$(get up.changed_bytes)"
at_least 'hashed' "$(get pages_hashed)" "$(get pages_redundant)"
unset VK_DRIVER_FILES

run 0 bench --b auto --c whole --rounds 6 t.trk
quiet
grep -q '^a  per-range ' out || fail "no row for a"
grep -q '^b  auto ' out || fail "no row for b"
grep -Eq '^whole .*(no difference shown|slower|faster|times as)' out || fail "no verdict on c"
# Six rounds on a busy machine may be too far apart to know it.
[ "$(grep -Ec 'time .*smallest detectable ([0-9.]+ %|not known)$' out)" -eq 2 ] || fail "not two smallest detectable"

run 0 bench --b per-range,slow=5% --rounds 6 --json t.trk
quiet
same 'schema' "$(get schema)" trk-bench/1
same 'rounds' "$(get rounds)" 6
same 'b' "$(get policies.1.policy)" 'per-range,slow=5%'
for key in device.name device.driver machine.kernel comparisons.0.clock trace.hash seed turns \
    policies.0.host_ns.median policies.0.regions comparisons.0.low comparisons.0.detectable \
    comparisons.0.sign_p passes.23.host_ns; do
    [ -n "$(get $key)" ] || fail "the JSON has no $key"
done
same 'passes' "$(get 'passes.#')" "$(($(get turns) * 24))"
at_least 'compared bytes' "$(get policies.1.compared_bytes)" 1
hash=$(get trace.hash)
run 0 bench --b per-range --rounds 6 --json --no-check --clock host t.trk
same 'the hash of the same trace' "$(get trace.hash)" "$hash"
same 'the clock' "$(get comparisons.0.clock)" host
same 'nothing was compared' "$(get policies.0.compared_bytes)" null

# As many rounds as it takes, and what it says where there are fewer.
run 0 bench --b auto --detect 100 --no-check --json t.trk
quiet
same 'detect' "$(get detect)" 1
same 'detected' "$(get detected)" true
same 'wanted' "$(get rounds_wanted)" 2000
at_least 'rounds' "$(get rounds)" 20
at_most 'not all rounds' "$(get rounds)" 1999
run 0 bench --b auto --detect 100 --no-check t.trk
grep -Eq '^rounds   [0-9]+, .*; as many as it takes to detect 100 %$' out || fail "no word on the end"
run 0 bench --b auto --detect 1 --rounds 6 --no-check --json t.trk
same 'rounds' "$(get rounds)" 6
[ "$(get comparisons.0.detectable)" = null ] ||
    same 'detected' "$(get detected)" "$(get comparisons.0.detectable | awk '{ print $1 <= 0.01 ? "true" : "false" }')"
run 0 bench --b whole --all --detect 1 --seconds 1 --no-check t.trk
grep -Eq '^rounds   [0-9]{1,3}, .*; too few to detect 1 %; 2000 were allowed, but 1 seconds were over$' out ||
    fail "no word on what was not reached"
run 0 bench --b auto --rounds 6 --no-check --json t.trk
same 'detect' "$(get detect)" null
same 'detected' "$(get detected)" null

run 0 bench --b auto --rounds 6 --csv --no-check t.trk
quiet
at_least 'rows of the CSV' "$(wc -l <out)" 25
[ "$(($(wc -l <out) % 24))" -eq 1 ] || fail "the CSV has $(wc -l <out) lines"
head -n 1 out | grep -qx 'round,place,policy,expression,device_ns,host_ns' || fail "the CSV's first line"
grep -Evq '^[0-5],[0-9]+,[01],"(per-range|auto)",[0-9]*,[0-9]+$' <<ROWS && fail "a row of the CSV"
$(tail -n +2 out)
ROWS

# All kinds, each run or left out by name, beside the same bytes in one region.
run 0 bench --all --rounds 6 --json t.trk
quiet
at_least 'policies' "$(get 'policies.#')" 8
at_least 'bytes of one region' "$(get one_region.bytes)" 4096
same 'passes' "$(get 'passes.#')" "$(($(get turns) * 12 * ($(get 'policies.#') + 1)))"
same 'one region against itself' "$(get one_region.device_of_one_region)" \
    "$([ "$(get one_region.device_ns)" = null ] && echo null || echo 1)"
same 'per-range against itself' "$(get policies.0.host_times_per_range)" 1
for key in one_region.host_ns.median one_region.host_gb_s policies.1.host_gb_s \
    policies.1.host_of_one_region policies.1.host_times_per_range auto_gap.slower auto_gap.clock; do
    [ -n "$(get $key)" ] || fail "the JSON has no $key"
done
get auto_gap.best | grep -q '^coalesce:' || fail "auto is not held against a gap"
# One that was left out, asked for by name, ends the run with the reason.
if [ "$(get 'left_out.#')" -gt 0 ]; then
    policy=$(get left_out.0.policy)
    reason=$(get left_out.0.text)
    run 4 bench --b "$policy" t.trk
    said "policy $policy: $reason"
    [ -s out ] && fail "a bench that did not run prints something"
fi

# In the last round there is nothing to end: all was run. (Before the rounds it ends the program.)
for delay in 0.2 0.4 0.6 0.8 1.0 1.2; do
    env --default-signal=INT "$trk" bench --b auto --rounds 6 --no-check t.trk </dev/null >out 2>err &
    pid=$!
    sleep "$delay"
    kill -s INT "$pid" 2>/dev/null
    wait "$pid"
    case $? in
    0) grep -q 'interrupted' out err && fail "interrupted after all rounds: $(cat out err)" ;;
    3) said 'interrupted: [1-5] of 6 rounds were run' ;;
    130) ;;
    *) fail "interrupted after $delay s: $(cat out err)" ;;
    esac
done

# One that was ignored at the start stays so, as in a script's background.
sh -c 'trap "" INT; exec "$@"' sh "$trk" bench --b auto --no-check --seconds 1 --rounds 10000 t.trk </dev/null >out 2>err &
pid=$!
sleep 0.5
kill -s INT "$pid"
wait "$pid"
same "an ignored interrupt: exit code" $? 0
grep -q '10000 were asked for, but 1 seconds were over' out || fail "an interrupt that is ignored is heeded: $(cat out err)"

# await_rounds N OF: until the process says that so many of all rounds are over, or it is.
await_rounds() {
    total=0
    while [ "$total" -eq 0 ] || [ $((passes * $2)) -lt $(($1 * total)) ]; do
        kill -0 "$pid" || return
        sleep 0.1
        total=0
        grep '"unit": "passes"' err | tail -1 >line
        [ -s line ] || continue
        passes=$(get done line)
        total=$(get total line)
    done
}

# An interrupt ends the rounds, and those that were run are judged; in each form.
interrupted() { # CODE ARGUMENT...
    env --default-signal=INT "$trk" bench --b auto --rounds 10000 --no-check --progress json "$@" t.trk \
        </dev/null >out 2>err &
    pid=$!
    await_rounds 7 10000
    kill -s INT "$pid"
    wait "$pid"
    same "an interrupted bench: exit code" $? 3
    said 'bench: interrupted: [1-9][0-9]* of 10000 rounds were run'
}
interrupted
grep -Eq '^rounds   [0-9]+, .*; 10000 were asked for, but the bench was interrupted$' out ||
    fail "no word on the interrupt"
grep -Eq '^auto .*(no difference shown|slower|faster|times as)' out || grep -q '^b  auto ' out || fail "no verdict"
interrupted --json
same 'interrupted' "$(get interrupted)" true
at_least 'rounds' "$(get rounds)" 6
same 'comparisons' "$(get 'comparisons.#')" 1
interrupted --csv
at_least 'rows of the CSV' "$(wc -l <out)" 25

# A second is over with the first round, and that is said.
run 0 bench --all --seconds 1 --no-check t.trk
quiet
grep -Eq '^rounds   [1-5], .*; 30 were asked for, but 1 seconds were over$' out || fail "no word on the time"
grep -Eq '^one region  .*100.0% ' out || fail "no row of one region"
grep -Eq '^auto takes [0-9.]* % of the time of coalesce:' out || fail "auto is not held against a gap"
grep -q '^Too few rounds to compare: it takes 6' out || fail "rounds are compared that were not run"
run 0 bench --all --seconds 1 --no-check --json t.trk
same 'wanted' "$(get rounds_wanted)" 30
same 'comparisons' "$(get 'comparisons.#')" 0
run 0 bench --all --seconds 1 --no-check --csv t.trk
grep -q ',"one region",' out || fail "the CSV has no row of one region"
run 0 bench --b auto --rounds 6 --no-check --json t.trk
same 'one region without --all' "$(get one_region)" null
same 'not interrupted' "$(get interrupted)" false

# advise says how far it is, on a terminal and where it is asked; it ends in time, and an interrupt
# ends it with what was run.
TERM=xterm "$tools/on_terminal" shown "$trk" advise --seconds 1 --rounds 1000 t.trk >out
same "advise on a terminal" $? 0
grep -q '1000 rounds were asked for, but 1 seconds were over' out || fail "no word on the time: $(cat out)"
grep -q 'checking policy [0-9]* of [0-9]*' shown || fail "advise does not say what it checks: $(cat shown)"
grep -q 'measuring: pass [0-9]* of [0-9]*' shown || fail "advise does not say what it measures: $(cat shown)"
run 0 advise --seconds 1 --rounds 1000 --json --progress json t.trk
for unit in policies passes; do
    grep -q "\"command\": \"advise\", \"unit\": \"$unit\", \"pass\": 1, \"done\": [1-9][0-9]*, \"total\": [1-9]" err ||
        fail "advise tells no line of $unit: $(head -5 err)"
done
at_most "rounds in a second" "$(get rounds)" 999
at_least "policies in a second" "$(get 'policies.#')" 1
same "wanted" "$(get rounds_wanted)" 1000
same "interrupted" "$(get interrupted)" false
env --default-signal=INT "$trk" advise --rounds 1000 --json --progress json t.trk </dev/null >out 2>err &
pid=$!
await_rounds 2 1000
kill -s INT "$pid"
wait "$pid"
same "an interrupted advise: exit code" $? 3
said 'advise: interrupted: [1-9][0-9]* of 1000 rounds were run'
same "interrupted" "$(get interrupted)" true
[ "$(get advice)" != null ] || fail "an interrupted advise advises nothing"

run 0 advise --rounds 6 t.trk
no_talk
grep -q '^cost     a region [0-9]* ns, a byte ' out || fail "no cost"
grep -q '^advice   [^ ]*: the least time of [0-9]* policies' out || fail "no advice"
run 0 advise --rounds 6 --json t.trk
no_talk
advice=$(get advice)
found=no
i=0
while [ "$i" -lt "$(get 'policies.#')" ]; do
    [ "$(get policies.$i.policy)" = "$advice" ] && found=yes
    i=$((i + 1))
done
same 'the advice is one of the policies' "$found" yes
for key in policies.0.predicted_ns policies.0.host_ns policies.0.region_ns policies.0.gap_bytes; do
    [ -n "$(get $key)" ] || fail "the JSON has no $key"
done

# Wrong bytes that the recorded program left are no fault of a policy.
"$trk" record -o bug.trk -- "$trk" demo --frames 4 --bug copy-before-arm >out 2>err
run 0 bench --b auto --rounds 6 bug.trk
quiet

# A trace that moves nothing.
"$trk" record -o none.trk -- true >out 2>err
run 3 bench --b auto none.trk
finish
