# Goal: trk bisect --good --bad names the first event, or operation, at which two builds of a tracker
# part: by a page's state, by going another way, by a crash; and says when it cannot.
# Method: libtrack's plug-in and one with seeded faults over a stored trace, held against where trk sim
# sees the bad one go another way; the example's tracker and its bugs over its own trace and over
# scenarios in which they break; plug-ins that crash, loop, or are none.
#   bisect_cores.sh TRK TOOLS CORPUS EXAMPLES LIBTRACK_CORE MUTABLE_CORE BAD_FOLDER WRONG_FOLDER SCENARIOS
. "$(dirname "$0")/lib.sh"
corpus=$3
examples=$4
core=$5
mutable=$6
bad=$7
wrong=$8/wrong_core
shift 8
own=$1/own
demo=$corpus/demo-seed-1.trk
right=$examples/example_core.so

# The same build twice, of a trace and of a scenario; what the oracle finds is no difference.
run 0 bisect --json "$demo" --good "$core" --bad "$core"
same schema "$(get schema)" trk-bisect-cores/1
same "the same build: found" "$(get found)" false
same "the same build: probes" "$(get probes)" 1
same "the same build: runs" "$(get runs)" 2
TRK_MUTANT=0
export TRK_MUTANT
run 0 bisect "$demo" --good "$core" --bad "$mutable"
grep -q "^no difference  to the end" out || fail "no difference: $(cat out)"
run 0 bisect "$corpus/bug-kernel-store.trk" --good "$core" --bad "$mutable"
run 0 bisect "$own/short-transfers.json" --good "$core" --bad "$mutable"
run 0 bisect "$corpus/foreign.trk" --good "$right" --bad "$right"

# parts FAULT: as a libtrack with that seeded fault goes another way, or breaks a rule, where trk sim
# says so. The trace is shorter than a block: one hash for all, and then log2 of a block.
parts() {
    TRK_MUTANT=$1
    run 1 sim --json --core "$mutable" "$demo"
    sees=$(get event_visible)
    verdict=$(get verdict)
    run 1 bisect --json "$demo" --good "$core" --bad "$mutable"
    same "fault $1: found" "$(get found)" true
    same "fault $1: what" "$(get what)" end
    same "fault $1: event" "$(get event)" "$sees"
    same "fault $1: good" "$(get good)" "goes on as the trace does"
    get bad | grep -q "^$verdict: " || fail "fault $1: bad: $(get bad)"
    at_least "fault $1: story" "$(get story.#)" 1
    at_most "fault $1: probes" "$(get probes)" 18
    same "fault $1: runs" "$(get runs)" 4
}
for fault in 1 5 9 15 16 25 26; do
    parts "$fault"
done
# A fault that no event tells of, and that trk sim does not see: the page's state does.
TRK_MUTANT=50
run 0 sim --core "$mutable" "$demo"
run 1 bisect --json "$demo" --good "$core" --bad "$mutable"
cp out first
same "state: what" "$(get what)" state
same "state: runs" "$(get runs)" 6
event=$(get event)
page=$(get guest_addr)
get good | grep -q "not registered" || fail "state, good: $(get good)"
get bad | grep -q "'s, registered" || fail "state, bad: $(get bad)"
[ -n "$(get state)" ] || fail "no word of the trace about the page"
run 1 bisect --json "$demo" --good "$core" --bad "$mutable"
cmp -s out first || fail "another report the second time"
run 1 bisect "$demo" --good "$core" --bad "$mutable"
grep -q "^they part      event $event, thread render: unlock" out || fail "state: $(cat out)"
# The other way round the words change sides; where the operation before has ended they agree.
run 1 bisect --json "$demo" --good "$mutable" --bad "$core"
same "other way round: event" "$(get event)" "$event"
same "other way round: page" "$(get guest_addr)" "$page"
get good | grep -q "'s, registered" || fail "other way round: $(get good)"
run 0 dump "$demo" 0-"$event"
grep -q "unregister .*" out || fail "no unregister before event $event"
TRK_MUTANT=0

# The example's tracker over a trace of its own: operation by operation.
for bug in 2 3; do
    run 1 sim --json --core "${right%.so}_bug$bug.so" "$corpus/foreign.trk"
    sees=$(get event_visible)
    run 1 bisect --json "$corpus/foreign.trk" --good "$right" --bad "${right%.so}_bug$bug.so"
    same "bug $bug: event" "$(get event)" "$sees"
    same "bug $bug: thread" "$(get thread)" render
done
# One that crashes in its third upload is told of, and where; the other way round, too.
run 1 bisect --json "$corpus/foreign.trk" --good "$right" --bad "${wrong}_14.so"
event=$(get event)
get bad | grep -q "crashed: SIGSEGV" || fail "a crash: $(get bad)"
run 0 dump "$corpus/foreign.trk" "$event"
grep -q "op_end  .*upload" out || fail "a crash, not where an upload ends: $(cat out)"
run 1 bisect --json "$corpus/foreign.trk" --good "${wrong}_14.so" --bad "$right"
same "a crash of the good one" "$(get event)" "$event"
run 3 bisect --json "$corpus/foreign.trk" --good "${wrong}_14.so" --bad "${wrong}_14.so"
same "both crash" "$(get why)" "both crash at the same place"
# So is one that an exception leaves, or that breaks the interface.
run 1 bisect --json "$corpus/foreign.trk" --good "$right" --bad "${wrong}_9.so"
same "done() twice: event" "$(get event)" "$event"
same "done() twice: bad" "$(get bad)" "upload called done() twice"
run 1 bisect --json "$corpus/foreign.trk" --good "$right" --bad "${wrong}_4.so"
same "an exception: what" "$(get what)" end
get bad | grep -q "^an exception left invalidate: " || fail "an exception: $(get bad)"
event=$(get event)
run 0 dump "$corpus/foreign.trk" "$event"
grep -q "op_end  .*invalidate" out || fail "an exception, not where an invalidate ends: $(cat out)"
run 1 bisect --json "$corpus/foreign.trk" --good "${wrong}_4.so" --bad "$right"
same "an exception of the good one" "$(get event)" "$event"
run 3 bisect --json "$corpus/foreign.trk" --good "${wrong}_4.so" --bad "${wrong}_4.so"
same "both throw" "$(get why)" "both crash at the same place"
run 1 bisect "$corpus/foreign.trk" --good "$right" --bad "${wrong}_3.so"
grep -q '^bad  *an operation gave the status "memory"' out || fail "no memory: $(cat out)"
run 1 bisect --json "$own/an-invalidate-of-large-pages-reaches-its-end.json" --good "$right" \
    --bad "${wrong}_4.so"
same "an exception in a scenario: verdicts" "$(get good_verdict) $(get bad_verdict)" "ok crashed"
get bad | grep -q "^an exception left invalidate: " || fail "an exception in a scenario: $(get bad)"
run 1 bisect "$own/an-invalidate-of-large-pages-reaches-its-end.json" --good "$right" --bad "${wrong}_4.so"
grep -q "^they part  *operation 2 to end" out || fail "an exception in a scenario, where: $(cat out)"
# Only in some order, which a crash does not tell: that the verdicts differ is not "no difference".
run 3 bisect --json "$own/a-store-during-an-upload-of-large-pages.json" --good "$right" \
    --bad "${wrong}_11.so"
same "an order that is not known: verdicts" "$(get good_verdict) $(get bad_verdict)" "ok crashed"
get why | grep -q "the verdicts differ" || fail "an order that is not known: $(cat out)"

# Scenarios: by a state, by a result, by an order that only the bad one has.
run 1 bisect --json "$own/an-invalidate-of-large-pages-reaches-its-end.json" --good "$right" \
    --bad "${right%.so}_bug3.so"
same "scenario, state: what" "$(get what)" state
same "scenario, state: operation" "$(get operation_text)" "invalidate A+8 1G"
get bad | grep -q "^the GPU's" || fail "scenario, state: $(get bad)"
same "scenario, state: verdicts" "$(get good_verdict) $(get bad_verdict)" "ok mismatch"
run 1 bisect --json "$own/a-clearing-download-of-large-pages-brings-all-home.json" --good "$right" \
    --bad "${right%.so}_bug2.so"
same "scenario, result: what" "$(get what)" end
get bad | grep -q "^mismatch: expected" || fail "scenario, result: $(get bad)"
run 1 bisect --json "$own/a-store-during-an-upload-of-large-pages.json" --good "$right" \
    --bad "${right%.so}_bug1.so"
same "scenario, order: verdicts" "$(get good_verdict) $(get bad_verdict)" "ok stale-gpu-read"
line=$(get schedule)
run 1 sim --core "${right%.so}_bug1.so" --schedule "$line" \
    "$own/a-store-during-an-upload-of-large-pages.json"

# What crashes or loops in a scenario.
cat >one.json <<CASE
{"scenario": 1, "name": "one", "memory": {"A": {"at": "0x200010000", "size": "2P"}},
 "threads": {"main": ["is_cpu A 8", "upload A 1P"]}}
CASE
sed 's/"is_cpu A 8", //' one.json >two.json
run 1 bisect --json two.json --good "$bad/bad_core_0.so" --bad "$bad/bad_core_6.so"
get bad | grep -q "crashed: SIGSEGV" || fail "a crash in a scenario: $(get bad)"
same "a crash in a scenario: verdict" "$(get bad_verdict)" crashed
run 1 bisect --json two.json --good "$bad/bad_core_0.so" --bad "$bad/bad_core_7.so" --core-limit 1
get bad | grep -q "took longer than 1 s" || fail "a loop in a scenario: $(get bad)"

# What cannot be asked.
run 4 bisect one.json --good "$bad/bad_core_0.so" --bad "$bad/bad_core_6.so"
said "the good core cannot be tried: "
run 3 bisect --json "$demo" --good "$core" --bad "$right"
same "a plug-in without events" "$(get found)" false
get why | grep -q "the plug-in tells no events" || fail "a plug-in without events: $(get why)"
run 4 bisect "$demo" --good "$core" --bad absent.so
said "absent.so"
run 4 bisect "$demo" --good "$bad/bad_core_1.so" --bad "$core"
said "version 2 of the interface"
run 1 bisect "$demo" --good "$core" --bad "$bad/bad_core_5.so"
grep -q "crashed while it was loaded: SIGABRT" out || fail "a crash of loading: $(cat out)"
run 0 trim "$demo" 1000- -o part.trk
run 4 bisect part.trk --good "$core" --bad "$core"
said "begins with a snapshot"
head -c 8000 "$demo" >cut.trk
run 3 bisect cut.trk --good "$core" --bad "$core"

# What cannot be meant.
run 2 bisect "$demo" --good "$core"
said "expected two plug-ins"
run 2 bisect "$demo" --good "$core" --bad "$core" --symptom frame:1,range:0x200000000+64
run 2 bisect "$demo" "$demo" --good "$core" --bad "$core"
run 2 bisect "$demo" --core-limit 3
run 2 bisect absent.trk --good "$core" --bad "$core"
echo '{"scenario": 1,' >broken.json
run 2 bisect broken.json --good "$core" --bad "$core"
finish
