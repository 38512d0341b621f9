# Goal: a long trace with a cause far before its symptom, on a page that is looked at all the time, comes
# down to as few operations as a short one.
# Method: make one of N events, twice: the same bytes; minimise it, run the case. Prints the
# time; asserts none.
#
#     sh long_trace.sh TRK TOOLS TRK_LONG_TRACE N
trk=$1
tools=$2
maker=$3
events=$4
dir=$(mktemp -d) || exit 70
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
cd "$dir" || exit 70
fail() {
    echo "FAIL: $*"
    exit 1
}
get() {
    "$tools/json_get" out "$1"
}
"$maker" --events "$events" -o long.trk || fail "making it"
"$maker" --events "$events" -o again.trk || fail "making it again"
cmp -s long.trk again.trk || fail "other bytes the second time"
rm again.trk
start=$(date +%s%N)
"$trk" minimise --json long.trk -o case.json >out || fail "minimise: $?"
end=$(date +%s%N)
[ "$(get verdict)" = stale-gpu-read ] || fail "verdict: $(get verdict)"
[ "$(get detail)" = "stored without invalidate" ] || fail "detail: $(get detail)"
[ "$(get same_detail)" = true ] || fail "another way than the trace's"
[ "$(get complete)" = true ] || fail "not complete"
[ "$(get to.operations)" -le 4 ] || fail "$(get to.operations) operations"
[ "$(get to.threads)" -le 2 ] || fail "$(get to.threads) threads"
[ "$(get to.pages)" -le 2 ] || fail "$(get to.pages) pages"
[ "$(get replays)" -le 100 ] || fail "$(get replays) replays"
"$trk" sim case.json >out && fail "the case holds"
grep -q "verdict: stale-gpu-read" out || fail "the case ends otherwise"
echo "$events events minimised in $(((end - start) / 1000000)) ms"
