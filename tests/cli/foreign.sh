# Goal: a tracker that is not the core's is recorded on real faults and judged as far as its trace says;
# each of its own bugs is found from its trace.
# Method: the example emulator without a bug and with each; cut, redacted and trimmed traces of it.
. "$(dirname "$0")/lib.sh"
record_all
examples=$tools/../../examples
# word KEY: what was judged of it in the JSON of the last run.
word() {
    get "foreign.judged.$1.word"
}

run 0 record -o good.trk -- "$examples/example_emulator" 20
grep -q "^20 frames, [0-9]* faults, 0 mismatches$" out || fail "the example is wrong: $(cat out)"
run 0 sim --json good.trk
same "verdict" "$(get verdict)" ok
for key in bytes states protection locks; do
    same "$key" "$(word $key)" ok
    at_least "$key judged" "$(get foreign.judged.$key.judged)" 20
done
same "re-execution" "$(word core)" unknown
same "why not" "$(get foreign.judged.core.why)" "it follows no policy of the core's"
at_least "faults" "$(get faults)" 20
same "checks that nobody can judge" "$(get unknown)" 0
run 0 sim good.trk
grep -q "^core  *unknown  *0 judged" out || fail "unknown is not said to people"
run 0 info good.trk
run 0 doctor good.trk
run 0 dump good.trk
for type in foreign locks host_protect handed decision object label; do
    grep -q " $type " out || fail "dump has no $type"
done
grep -q "text=vertices" out || fail "dump has no text of a label"

# Its operations cannot be run in another order.
run 3 explore good.trk
grep -q "^orders: not complete" out || fail "orders of what cannot be run: $(head -1 out)"

# The three bugs, by the tracker's own words and by the bytes alone.
for bug in 1:stale-gpu-read:stale-gpu-read 2:illegal-state:stale-cpu-read 3:illegal-state:stale-gpu-read; do
    number=${bug%%:*}
    verdicts=${bug#*:}
    run 0 record -f -o "bug$number.trk" -- "$examples/example_emulator_bug$number" 20
    grep -q " 0 mismatches" out && fail "bug $number does nothing"
    run 1 sim --json "bug$number.trk"
    same "bug $number" "$(get verdict)" "${verdicts%%:*}"
    # Without its operations: stores, copies, looks and edges alone tell it, too.
    "$trk" dump --text "bug$number.trk" |
        grep -vE '^[0-9]+ (op_begin|op_end|handed|fault|decision|host_protect|lock|unlock|callback|foreign|locks) ' \
            >bytes.txt
    run 0 assemble -f bytes.txt -o bytes.trk
    run 1 sim --oracle-only --json bytes.trk
    same "bug $number by the bytes alone" "$(get verdict)" "${verdicts#*:}"
done
run 1 sim bug2.trk
grep -q "left to the GPU by a download" out || fail "bug 2 is not told by its operation"

# Where it follows a policy of the core's its operations are run again, all of them on one thread.
run 0 record -o policy.trk -- "$tools/policy_target" 3000
run 0 sim --json policy.trk
same "a policy that is followed" "$(get verdict)" ok
same "its operations" "$(word core)" ok
at_least "operations run again" "$(get foreign.judged.core.judged)" 3000
same "not run again" "$(get foreign.judged.core.unknown)" 0
run 0 record -f -o policy.trk -- "$tools/policy_target" 3000 wrong
run 1 sim --json policy.trk
case $(get verdict) in
divergence | illegal-state) ;;
*) fail "a wrong answer is $(get verdict)" ;;
esac

# judged VERDICT CODE: the events that are given are judged so.
judged() {
    {
        "$trk" dump --text good.trk | sed '/^events/,$d'
        echo "events stream=0 shift=5 flags=1"
        awk '{ printf "%d %s\n", 78070983672672 + 3200 * NR, $0 }'
        echo "end status=0 cut=0"
    } >made.txt
    run 0 assemble -f made.txt -o made.trk
    run "$2" sim --json made.trk
    same "$(cat what)" "$(get verdict)" "$1"
}
echo "a page that is left open" >what
judged protection-loose 1 <<EVENTS
foreign flags=0x7 context=1 seq=4096
op_begin context=7 seq=4096 argument=0x200000000
host_protect flags=3 seq=4096 argument=0x200000000
handed seq=4096 argument=0x200000000
op_end context=7 argument=0x1
EVENTS
echo "a fault that opens more than its page" >what
judged ok 0 <<EVENTS
foreign flags=0x7 context=1 seq=4096
op_begin context=7 seq=8192 argument=0x200000000
host_protect flags=1 seq=8192 argument=0x200000000
handed seq=8192 argument=0x200000000
op_end context=7 argument=0x1
fault flags=1 context=4 argument=0x200000010
host_protect flags=3 seq=8192 argument=0x200000000
op_end context=19 argument=0x1
op_begin context=8 flags=2 seq=4096 argument=0x200001000
op_end context=8 argument=0x0
EVENTS
echo "a store inside an upload, which a question follows" >what
judged ok 0 <<EVENTS
foreign flags=0x7 context=1 seq=4096
op_begin context=7 seq=4096 argument=0x200000000
host_protect flags=1 seq=4096 argument=0x200000000
handed seq=4096 argument=0x200000000
op_begin context=1 seq=4096 argument=0x200000000
op_end context=1 argument=0x0
fault flags=1 context=4 argument=0x200000010
host_protect flags=3 seq=4096 argument=0x200000000
op_end context=19 argument=0x1
op_end context=7 argument=0x1
op_begin context=7 seq=4096 argument=0x200000000
host_protect flags=1 seq=4096 argument=0x200000000
handed seq=4096 argument=0x200000000
op_end context=7 argument=0x1
EVENTS
at_least "rights that are certain again" "$(get foreign.judged.protection.judged)" 1

# What the file does not have is not said.
run 0 trim -o frames.trk good.trk frame:5-9
run 0 sim --json frames.trk
[ "$(get verdict)" = ok ] || [ "$(get verdict)" = unknown ] || fail "of a part: $(get verdict)"
head -c 2500 good.trk >cut.trk
run 3 sim --json cut.trk
case $(get verdict) in
trace-incomplete | unknown) ;;
*) fail "a cut trace is $(get verdict)" ;;
esac

# Labels are the program's own words.
run 0 pack --redact -o shared.trk good.trk
run 0 dump shared.trk
grep -q vertices out && fail "a redacted trace has labels"
run 0 sim shared.trk
finish
