# Goal: whatever a signal handler annotates in the middle of an operation of its thread, the trace is
# re-executed as it was, and nothing is found.
# Method: storm_target, eight threads under a timer whose handler goes through all annotations; events
# wait for room, so that a busy machine loses none.
. "$(dirname "$0")/lib.sh"

head -c 65536 /dev/zero >shared
# A signal in the middle of a thread's claim of a ring finds none; that is counted, and tried again.
tries=0
while [ "$tries" -lt 8 ]; do
    tries=$((tries + 1))
    run 0 record --json --block 20000 -f -o storm.trk -- "$tools/storm_target" shared 40
    [ "$(get dropped)" = 0 ] && break
done
same "dropped" "$(get dropped)" 0
run 0 sim --json storm.trk
same "verdict" "$(get verdict)" ok
same "divergences" "$(get divergences)" 0
same "faults" "$(get faults)" 20480
# Each kind came, and some in an operation: between a thread's op_begin and its op_end.
run 0 dump --json storm.trk
for kind in tracker copy_begin copy_end gpu_read gpu_complete guest_protect map unmap \
    invalidate_request frame witness_store witness_check signal await mark; do
    grep -q "\"type\":\"$kind\"" out || fail "no $kind in the trace"
done
awk -F'"thread":"' '
    { split($2, rest, "\""); thread = rest[1] }
    /"type":"(op_begin|fault)"/ { open[thread]++ }
    /"type":"op_end"/ { open[thread]-- }
    /"type":"(tracker|mark|copy_begin|map)"/ && open[thread] > 0 { inside++ }
    END { exit inside > 0 ? 0 : 1 }' out || fail "no annotation in the middle of an operation"
finish
