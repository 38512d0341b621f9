#!/bin/sh
# What the recorder aims at, with what is measured here beside each aim: one JSON object on stdout.
#
#     recorder.sh BUILD [ROUNDS [FRAME_ROUNDS]]
#
# BUILD is a build folder with tests and benchmarks. Runs trk_bench, trk_bench_mixes, peers.sh and
# trk_bench_frames, some minutes on an idle machine; a busy one measures the others. Nothing is judged
# but by comparison with the aim; a figure without an aim stands there as what the aim is held against.
set -eu
build=$(cd "$1" && pwd)
rounds=${2:-300}
frame_rounds=${3:-100}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
trk=$build/cli/trk
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

get()
{
    "$build/tests/cli/json_get" "$1" "$2" 2>/dev/null || echo null
}

# row TARGET AIM UNIT VALUE COMPARISON BOUND [NOTE]; COMPARISON: le, ge or none.
rows=0
row()
{
    [ "$rows" -eq 0 ] || printf ',\n'
    rows=$((rows + 1))
    met=null
    if [ "$4" != null ] && [ "$5" != none ]; then
        case $5 in le) sign='<=' ;; *) sign='>=' ;; esac
        met=$(awk "BEGIN { if ($4 $sign $6) print \"true\"; else print \"false\" }")
    fi
    printf '  {"target": "%s", "aim": "%s", "unit": "%s", "measured": %s, "met": %s, "note": "%s"}' \
        "$1" "$2" "$3" "$4" "$met" "${7:-}"
}

# ratio A B
ratio()
{
    if [ "$1" = null ] || [ "$2" = null ]; then echo null; else awk "BEGIN { printf \"%.4f\", $1 / $2 }"; fi
}

append_rows()
{
    row 'append, median' '<= 50' ns "$(get bench.json append_ns.median)" le 50
    row 'append, 99th percentile of groups of 64' '<= 150' ns "$(get bench.json append_group_p99_ns)" le 150
    row 'append to a bare append (goal 8)' '<= 1.3' ratio "$(get bench.json append_to_bare.median)" le 1.3
    row 'two recording threads to one (goal 8)' '>= 1.9' ratio \
        "$(get bench.json append_two_threads_to_one.median)" ge 1.9 'two idle processors are needed'
    row 'hook when recording is off' '<= 1.5' ns "$(get bench.json hook_off_ns.median)" le 1.5
    row 'fault with the recorder to one without (goal 8)' '<= 1.03' ratio \
        "$(get bench.json fault_recorder_to_tracker.median)" le 1.03
    row 'five appends, the events of a fault, to a fault' '<= 0.01' ratio \
        "$(ratio "$(awk "BEGIN { print 5 * $(get bench.json append_ns.median) }")" \
            "$(get bench.json fault_tracker_ns.median)")" le 0.01
}

mix_rows()
{
    for i in 0 1 2 3; do
        name=$(get mixes.json mixes.$i.mix)
        bytes=$(get mixes.json mixes.$i.bytes_per_event)
        encode=$(get mixes.json mixes.$i.encode_ns_per_event.median)
        row "$name: append" '<= 50' ns "$(get mixes.json mixes.$i.append_ns.median)" le 50 \
            "99th percentile $(get mixes.json mixes.$i.append_group_p99_ns) ns"
        row "$name: bytes an event" '<= 4.0' bytes "$bytes" le 4.0 \
            "$(get mixes.json mixes.$i.events) events"
        row "$name: bytes to those of raw records and zstd 3 (goal 14)" '<= 0.41' ratio \
            "$(ratio "$bytes" "$(get mixes.json mixes.$i.raw_zstd_bytes_per_event)")" le 0.41
        row "$name: encode and compress an event" '<= 75' ns "$encode" le 75
        row "$name: rate to that of raw records and zstd 3 (goal 14)" '>= 2' ratio \
            "$(ratio "$(get mixes.json mixes.$i.raw_zstd_ns_per_event.median)" "$encode")" ge 2
        row "$name: decode" '>= 20e6' events/s \
            "$(get mixes.json mixes.$i.decode_events_per_second.median)" ge 20e6
    done
}

packed_row()
{
    "$trk" record -f -o demo.trk -- "$trk" demo --frames 300 >demo.log 2>&1
    "$trk" pack demo.trk -o packed.trk >pack.log 2>&1
    "$trk" info --json packed.trk >packed.json 2>/dev/null || true
    row 'demo, packed: bytes an event' '<= 3.6' bytes \
        "$(ratio "$(get packed.json bytes)" "$(get packed.json events)")" le 3.6
}

peer_rows()
{
    row 'uftrace: an event' - ns "$(get peers.json uftrace_ns)" none 0 'two records'
    row 'lttng-ust: an event' - ns "$(get peers.json lttng_ust_ns)" none 0
    row 'append beside them' - ns "$(get peers.json append_ns)" none 0 'in their run'
    for peer in uftrace lttng_ust; do
        row "$peer: bytes an event" - bytes "$(get peers.json ${peer}_bytes_per_event)" none 0 \
            "by zstd 3: $(get peers.json ${peer}_zstd_bytes_per_event)"
    done
    row 'gfxreconstruct, page guard' - ns null none 0 'not in Debian 12'
}

frame_rows()
{
    for i in 0 1; do
        name=$(get frames.json loads.$i.load)
        note="$(get frames.json loads.$i.events_a_frame.median) events, \
$(get frames.json loads.$i.plain_frame_ns.median) ns without"
        for kind in recorded_ratio recorded_median_ratio recorded_cpu_ratio; do
            interval="[$(get frames.json loads.$i.$kind.low), $(get frames.json loads.$i.$kind.high)]"
            row "frame, $name: $kind, upper end of the 95 % interval" '<= 1.01' ratio \
                "$(get frames.json loads.$i.$kind.high)" le 1.01 \
                "median $(get frames.json loads.$i.$kind.median) $interval; $note"
        done
    done
}

"$build/tests/bench/trk_bench" --rounds "$rounds" >bench.json 2>bench.err
"$build/tests/bench/trk_bench_mixes" --trk "$trk" --rounds "$rounds" >mixes.json 2>mixes.err
sh "$here/peers.sh" "$build/tests/bench/trk_bench" "$rounds" >peers.json 2>peers.err
"$build/tests/bench/trk_bench_frames" --trk "$trk" --rounds "$frame_rounds" --frames 150 \
    >frames.json 2>frames.err
printf '{"schema": "trk-bench-recorder/1", "rounds": %s, "frame_rounds": %s, "processors": %s, "rows": [\n' \
    "$rounds" "$frame_rounds" "$(nproc)"
append_rows
mix_rows
packed_row
peer_rows
frame_rows
printf '\n],\n'
for part in bench mixes peers frames; do
    printf '"%s": ' $part
    cat $part.json
    [ $part = frames ] || printf ',\n'
done
printf '}\n'
