# Goal: trk diff tells what two programs did otherwise, first things first, and nothing that may differ by
# right; of scenarios what their runs come to.
# Method: recordings of one demo, with bugs and without, of other seeds, redacted, cut; a case and the one that
# passes; two policies; what cannot be meant.
. "$(dirname "$0")/lib.sh"
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
run 1 diff a.trk half.trk

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
same "a window: verdict" "$(get rows.0.same)" true
same "a window: orders" "$(get rows.1.key) $(get rows.1.same)" "orders false"

# What cannot be meant.
run 2 diff a.trk
said "expected two files"
run 2 diff a.trk case.json
said "cannot be compared"
run 2 diff --asked case.json case.json
run 2 diff a.trk b.trk --policies default,strict
run 2 diff case.json --policies default
said "two names"
run 2 diff absent.trk a.trk
run 2 diff a.trk absent.trk
run 2 diff absent.json case.json
finish
