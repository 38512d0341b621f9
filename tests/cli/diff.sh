# Goal: trk diff tells what two programs did otherwise, first things first, and nothing that may differ by
# right; of scenarios what their runs come to.
# Method: recordings of one demo, with bugs and without, of other seeds, redacted, cut; a case and the one that
# passes; two policies, of a program that differs in known places; what cannot be meant.
. "$(dirname "$0")/lib.sh"
record_all
need_vulkan

demo() {
    out_name=$1
    shift
    "$trk" record -f -o "$out_name" -- "$trk" demo --frames 16 "$@" >out 2>err || fail "record $*: $(cat err)"
}
demo a.trk
demo b.trk
demo seed.trk --seed 2
demo bug.trk --bug kernel-store

# The same trace, however it is written down; two runs of one program.
run 0 diff a.trk a.trk
grep -q "^traces: same" out || fail "a trace differs from itself"
run 0 pack --redact a.trk -o redacted.trk
run 0 diff --json a.trk redacted.trk
same schema "$(get schema)" trk-diff/1
same same "$(get same)" true
same complete "$(get complete)" true
at_least "parts compared" "$(get compared)" 100
run 0 diff --asked a.trk b.trk
grep -q "^traces: same" out || fail "two runs: $(cat out)"

# Another seed does otherwise from the beginning. The bug lacks an invalidate: that is all.
run 1 diff --asked --json a.trk seed.trk
at_least "differences of another seed" "$(get differ)" 50
run 1 diff --asked --json a.trk bug.trk
same "bug: parts that differ" "$(get differ)" 1
get differences.0.text_a | grep -q "op=invalidate" || fail "bug: $(get differences.0.text_a)"
same "bug: of A there" "$(get differences.0.count_a)" 2
same "bug: of B there" "$(get differences.0.count_b)" 0
same "bug: nothing of B" "$(get differences.0.event_b)" null
cp out first
run 0 dump a.trk "$(get differences.0.event_a first)"
grep -q "invalidate" out || fail "bug: the event of A: $(cat out)"
run 1 diff --asked bug.trk a.trk
grep -q "^first: thread render, region 0x" out || fail "text: $(cat out)"
grep -q "^  A: nothing here" out || fail "text: no word of nothing"
run 1 sim --json bug.trk
page=$(get guest_addr)
run 1 diff --asked --json a.trk bug.trk
same "the page of the verdict" "$(get differences.0.page_addr)" "$(printf '0x%x' $((page & ~4095)))"
cp out first
run 1 diff --asked --json a.trk bug.trk
cmp -s out first || fail "another report the second time"
run 1 diff a.trk bug.trk

# What is not whole.
head -c "$(($(wc -c <a.trk) - 8))" a.trk >cut.trk
run 3 diff a.trk cut.trk
head -c "$(($(wc -c <a.trk) / 2))" a.trk >half.trk
run 3 diff a.trk half.trk
grep -q "^not compared: [0-9]* events that the other trace may have lost" out || fail "half: $(cat out)"
run 3 diff --json half.trk a.trk
same "half: same" "$(get same)" true
same "half: complete" "$(get complete)" false
at_least "half: missing" "$(get missing)" 100
run 1 diff --asked half.trk seed.trk

# Scenarios: a case, and what passes.
run 0 minimise bug.trk -o case.json --passing passing.json
run 0 diff case.json case.json
run 1 diff --json case.json passing.json
same "case: first row" "$(get rows.0.key)" verdict
same "case: verdict of A" "$(get rows.0.a)" stale-gpu-read
same "case: verdict of B" "$(get rows.0.b)" ok
run 1 diff case.json passing.json
grep -q "^runs: differ" out || fail "scenario text"

# Policies: where the flush marks again one refuses and the other does not; of a trace, a window, which has
# more orders where all regions are locked at once.
cat >again.json <<'CASE'
{"scenario": 1, "name": "again", "memory": {"A": {"at": "0x200010000", "size": "2P"}},
 "init": ["upload A 2P written { }"],
 "threads": {"main": ["invalidate A 2P { unmark_gpu A 1P ; mark_gpu A 1P ; drain A+P 1P }"]},
 "finally": ["drain A 2P"]}
CASE
run 1 diff --json again.json --policies strict,default
same "strict" "$(get rows.0.a)" fatal:retained
run 2 diff again.json --policies strict,nonsense
run 0 diff again.json --policies strict,strict
run 0 diff again.json --policies default,default
"$trk" record -o race.trk -- "$tools/race_tool" good 2>err || fail "record race"
run 0 diff race.trk --policies default,strict
run 1 diff --json race.trk --policies default,kyty-2026-08
same "a window: schema" "$(get schema)" trk-diff/1
same "a window: verdict" "$(get rows.0.same)" true
same "a window: orders" "$(get rows.1.key) $(get rows.1.same)" "orders false"

# All of a trace, each region: the same policy twice is the same; of a program that is otherwise in one region
# for each reason, behind many operations that are not, just these, with the operation that does it.
run 0 diff --json a.trk --policies default,default
same "one policy: regions that differ" "$(get differ)" 0
at_least "regions" "$(get compared)" 2
at_least "operations run" "$(get operations)" 500
at_least "accesses run" "$(get accesses)" 100
same "left out" "$(get left_out)" 0
run 0 diff a.trk --policies default,strict
grep -q "^trace: same" out || fail "the demo, strict: $(cat out)"
"$trk" record -o policies.trk -- "$tools/policy_tool" 300 2>err || fail "record policies"
run 0 diff --json policies.trk --policies default,default
same "regions" "$(get compared)" 4
same "all of it" "$(get complete)" true
run 1 diff --json policies.trk --policies default,strict
cp out strict.txt
same "strict: regions" "$(get differ)" 1
same "strict: region" "$(get differences.0.region_addr)" 0x200400000
same "strict: what comes of it" "$(get differences.0.text_a), $(get differences.0.text_b)" "ok, retained"
at_least "strict: event" "$(get differences.0.event)" 1000
run 0 dump policies.trk "$(get differences.0.event strict.txt)"
grep -q "op_begin *op=invalidate guest_addr=0x200400000" out || fail "strict: the event: $(cat out)"
run 1 diff --json policies.trk --policies default,kyty-2026-08
cp out kyty.txt
same "kyty: regions" "$(get differ)" 3
# difference N: where, and what it came to.
difference() {
    for key in region_addr text_a text_b; do
        get "differences.$1.$key" kyty.txt
    done | tr '\n' ' '
}
same "kyty: the arena" "$(difference 0)" "0x80000000000 ok range "
same "kyty: one flush, and no look behind it" "$(difference 1)" "0x200400000 flushes: 2 flushes: 1 "
same "kyty: the page behind the store's goes with it" "$(difference 2)" \
    "0x200800000 page 0x200801000 is CLEAN, open to loads page 0x200801000 is CPU, open to stores "
run 0 dump policies.trk "$(get differences.2.event kyty.txt)"
grep -q " fault .*0x200800ffc" out || fail "kyty: the fault: $(cat out)"
run 1 diff policies.trk --policies kyty-2026-08,default
grep -q "^first: region 0x80000000000: 4 of 4 differ" out || fail "text: $(cat out)"
head -c "$(($(wc -c <policies.trk) - 8))" policies.trk >cut.trk
run 3 diff cut.trk --policies default,default
run 1 diff cut.trk --policies default,strict
run 0 trim -f policies.trk 900-1000 -o part.trk
run 4 diff part.trk --policies default,strict
said "begins with a snapshot"

# What cannot be meant.
run 2 diff a.trk
said "expected two files"
run 2 diff a.trk case.json
said "a.trk is a trace by its name, and case.json is a scenario by its name: these cannot be compared"
mkdir folder.trk
run 2 diff folder.trk a.trk
said "folder.trk is a folder, and a.trk is a trace by its name"
run 2 diff case.json folder.trk
said "folder.trk is a folder"
run 2 diff --asked case.json case.json
run 2 diff a.trk b.trk --policies default,strict
run 2 diff policies.trk --policies default,nonsense
said "'nonsense' is none of"
run 2 diff absent.trk --policies default,strict
run 2 diff case.json --policies default
said "two names"
run 2 diff absent.trk a.trk
run 2 diff a.trk absent.trk
run 2 diff absent.json case.json
finish
