#!/bin/sh
# What the recorder aims at, with what is measured here beside each aim: one JSON object on stdout.
#
#     recorder.sh BUILD [ROUNDS [FRAME_ROUNDS [MEGABYTES]]]
#
# BUILD is a build folder with tests and benchmarks. Runs trk_bench, trk_bench_mixes, peers.sh,
# trk_bench_frames (FRAME_ROUNDS 0: not) and trk_bench_large on a trace of so many MEGABYTES (0: not),
# six to eight minutes on an idle machine; a busy one measures the others. Nothing is judged but by
# comparison with the aim; a figure without an aim stands there as what the aim is held against. The
# figure is a median, "spread" the 5th and the 95th percentile of the same; a percentile or a size has
# none.
set -eu
build=$(cd "$1" && pwd)
rounds=${2:-300}
frame_rounds=${3:-100}
megabytes=${4:-1000}
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
spread=null
row()
{
    [ "$rows" -eq 0 ] || printf ',\n'
    rows=$((rows + 1))
    met=null
    if [ "$4" != null ] && [ "$5" != none ]; then
        case $5 in le) sign='<=' ;; *) sign='>=' ;; esac
        met=$(awk "BEGIN { if ($4 $sign $6) print \"true\"; else print \"false\" }")
    fi
    printf '  {"target": "%s", "aim": "%s", "unit": "%s", "measured": %s, "spread": %s, "met": %s, "note": "%s"}' \
        "$1" "$2" "$3" "$4" "$spread" "$met" "${7:-}"
}

# spread_row TARGET AIM UNIT FILE KEY COMPARISON BOUND [NOTE]: likewise, of a benchmark's figure.
spread_row()
{
    value=$(get "$4" "$5.median")
    [ "$value" = null ] || spread="[$(get "$4" "$5.p5"), $(get "$4" "$5.p95")]"
    row "$1" "$2" "$3" "$value" "$6" "$7" "${8:-}"
    spread=null
}

# ratio A B
ratio()
{
    if [ "$1" = null ] || [ "$2" = null ]; then echo null; else awk "BEGIN { printf \"%.4f\", $1 / $2 }"; fi
}

# single KEY: what bench.json says of appends that were timed one by one.
single()
{
    echo "median $(get bench.json "$1.median") ns, worst of $(get bench.json "$1.count") \
$(get bench.json "$1.worst") ns"
}

append_rows()
{
    spread_row 'append, median' '<= 50' ns bench.json append_ns le 50
    row 'append, 99th percentile of groups of 64' '<= 150' ns "$(get bench.json append_group_p99_ns)" le 150
    spread_row 'append in a signal handler, groups of 64' '<= 50' ns bench.json append_handler_ns le 50
    spread_row 'the same to the same outside of a handler' - ratio bench.json append_handler_to_called none 0
    row 'append in a signal handler, 99th percentile of the first in each' '<= 150' ns \
        "$(get bench.json append_single_handler.p99)" le 150 \
        "$(single append_single_handler); the clock steps by $(get bench.json clock_step_ns) ns"
    row 'the same outside of a handler' '<= 150' ns "$(get bench.json append_single_called.p99)" le 150 \
        "$(single append_single_called)"
    row 'the first append after 3 ms of sleep, median' - ns \
        "$(get bench.json append_single_after_sleep.median)" none 0 "$(single append_single_after_sleep)"
    spread_row 'append to a bare append (goal 8)' '<= 1.3' ratio bench.json append_to_bare le 1.3
    spread_row 'two recording threads to one (goal 8)' '>= 1.9' ratio \
        bench.json append_two_threads_to_one ge 1.9 \
        "$(get bench.json two_threads_dropped) events found no room; wants two idle processors, and the parent one"
    row 'events of all other figures here that were lost' 0 events "$(get bench.json live_dropped)" le 0
    spread_row 'hook when recording is off' '<= 1.5' ns bench.json hook_off_ns le 1.5
}

# Goal 15: what a thread pays where the drain's chunk is full.
handover_rows()
{
    row 'append where a chunk ends, 99th percentile (goal 15)' '<= 1000' ns \
        "$(get bench.json append_single_chunk_edge.p99)" le 1000 "$(single append_single_chunk_edge)"
    row 'append inside a chunk, 99th percentile' - ns \
        "$(get bench.json append_single_inside_chunk.p99)" none 0 "$(single append_single_inside_chunk)"
    row 'calls of the system by appends, ends of chunks and rings among them (goal 15)' 0 calls \
        "$(get bench.json their_system_calls)" le 0 "$(get bench.json appends_watched) appends"
    row 'append to a full ring, 99th percentile (goal 15: never blocked on)' '<= 1000' ns \
        "$(get bench.json append_single_ring_full.p99)" le 1000 "$(single append_single_ring_full)"
    row 'of these, counted as lost (goal 15)' "= $(get bench.json append_single_ring_full.count)" appends \
        "$(get bench.json ring_full_counted)" ge "$(get bench.json append_single_ring_full.count)"
    row 'names of zstd in what a recorded program links (goal 15)' 0 names \
        "$(nm "$build/recorder/libtrk_capture.a" "$build/libtrack/libtrack.a" | grep -c ZSTD || true)" le 0
}

fault_rows()
{
    spread_row 'fault with the recorder to one without (goal 8)' '<= 1.03' ratio \
        bench.json fault_recorder_to_tracker le 1.03
    row 'six appends, the events of a fault, to a fault' '<= 0.01' ratio \
        "$(ratio "$(awk "BEGIN { print 6 * $(get bench.json append_ns.median) }")" \
            "$(get bench.json fault_tracker_ns.median)")" le 0.01
}

# column_rows MIX NAME: sizes and rates of its columns. Resolutions 0, 1, 2 lose 0, 5, 6 bits.
column_rows()
{
    columns=mixes.$1.columns
    spread_row "$2: encode and compress an event" '<= 75' ns mixes.json $columns.1.encode_ns_per_event le 75
    for at in 0 1 2; do
        case $at in
        0) stamp='whole time stamps' bytes=4.3 share=0.48 ;;
        1) stamp='at 13 ns' bytes=4.0 share=0.41 ;;
        *) stamp='at 26 ns' bytes=3.6 share=0.41 ;;
        esac
        row "$2, $stamp: bytes an event (goal 14)" "<= $bytes" bytes \
            "$(get mixes.json $columns.$at.bytes_per_event)" le $bytes
        row "$2, $stamp: bytes to those of raw records and zstd 3 (goal 14)" "<= $share" ratio \
            "$(get mixes.json $columns.$at.bytes_to_raw)" le $share \
            "raw: $(get mixes.json $columns.$at.raw_bytes_per_event) bytes"
        spread_row "$2, $stamp: writer's rate to that of raw records (goal 14)" '>= 2' ratio \
            mixes.json $columns.$at.writer_to_raw ge 2 \
            "raw: $(get mixes.json $columns.$at.raw_encode_ns_per_event.median) ns"
        spread_row "$2, $stamp: reader's rate to that of raw records (goal 14)" '>= 1.4' ratio \
            mixes.json $columns.$at.reader_to_raw ge 1.4 \
            "raw: $(get mixes.json $columns.$at.raw_decode_events_per_second.median) events/s"
        spread_row "$2, $stamp: the same in one order of all threads" - ratio \
            mixes.json $columns.$at.ordered_to_raw none 0
    done
    spread_row "$2: decode, one order of all threads" '>= 20e6' events/s \
        mixes.json $columns.1.ordered_events_per_second ge 20e6
    spread_row "$2: decode, chunk by chunk" '>= 20e6' events/s \
        mixes.json $columns.1.decode_events_per_second ge 20e6
}

mix_rows()
{
    for i in 0 1 2 3; do
        name=$(get mixes.json mixes.$i.mix)
        spread_row "$name: append" '<= 50' ns mixes.json mixes.$i.append_ns le 50 \
            "99th percentile of groups $(get mixes.json mixes.$i.append_group_p99_ns) ns"
        row "$name: bytes an event, as recorded" '<= 4.0' bytes \
            "$(get mixes.json mixes.$i.bytes_per_event)" le 4.0 "$(get mixes.json mixes.$i.events) events"
        column_rows $i "$name"
    done
}

# Its events wait for room: what a busy machine loses would not be packed.
packed_row()
{
    "$trk" record -f --block 60000 -o demo.trk -- "$trk" demo --frames 300 >demo.log 2>&1 || true
    "$trk" pack demo.trk -o packed.trk >pack.log 2>&1 || true
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
}

# gfxreconstruct's page guard, in one process with ours.
guard_rows()
{
    if [ "$(get peers.json page_guard.layer)" != true ]; then
        row 'gfxreconstruct, page guard: a fault' - ns null none 0 'left out: not installed, or no device'
        return
    fi
    spread_row 'bare SIGSEGV and mprotect: a fault' - ns peers.json page_guard.fault_bare_ns none 0
    spread_row 'ours, recorded: a fault' - ns peers.json page_guard.fault_recorder_ns none 0
    spread_row 'gfxreconstruct, page guard: a fault' - ns peers.json page_guard.fault_peer_ns none 0
    spread_row 'ours, recorded: to a bare fault' - ratio peers.json page_guard.fault_recorder_to_bare none 0
    spread_row 'gfxreconstruct, page guard: to a bare fault' - ratio peers.json page_guard.fault_peer_to_bare none 0
    spread_row 'ours, recorded: to arm a page again' - 'ns of the processor' peers.json page_guard.arm_recorder_ns_a_page none 0
    spread_row 'gfxreconstruct, page guard: to keep a page and arm it again, in a submit' - 'ns of the processor' \
        peers.json page_guard.arm_peer_ns_a_page none 0 \
        "the submit without it: $(get peers.json without_layer.arm_peer_ns_a_page.median) ns"
}

large_rows()
{
    note="$(get large.json bytes) bytes, $(get large.json events) events"
    for memory in open_and_seek_ms decode_events_a_second scan_ms; do
        row "reader's memory, $memory" '<= 256' MiB "$(get large.json $memory.memory_mib)" le 256 "$note"
    done
    row 'open and first seek' '<= 50' ms "$(get large.json open_and_seek_ms.median)" le 50 \
        "$(get large.json open_and_seek_ms.least) to $(get large.json open_and_seek_ms.most); $note"
    row 'decode of the same, one order of all threads' '>= 20e6' events/s \
        "$(get large.json decode_events_a_second.median)" ge 20e6 \
        "$(get large.json decode_events_a_second.least) to $(get large.json decode_events_a_second.most)"
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
if [ "$frame_rounds" -gt 0 ]; then
    "$build/tests/bench/trk_bench_frames" --trk "$trk" --rounds "$frame_rounds" --frames 150 \
        >frames.json 2>frames.err
fi
if [ "$megabytes" -gt 0 ]; then
    "$build/tests/bench/trk_bench_large" --path large.trk --megabytes "$megabytes" --rounds 3 \
        >large.json 2>large.err
fi
printf '{"schema": "trk-bench-recorder/2", "rounds": %s, "frame_rounds": %s, "processors": %s, "rows": [\n' \
    "$rounds" "$frame_rounds" "$(nproc)"
append_rows
handover_rows
fault_rows
mix_rows
packed_row
peer_rows
guard_rows
[ "$frame_rounds" -eq 0 ] || frame_rows
[ "$megabytes" -eq 0 ] || large_rows
printf '\n]'
for part in bench mixes peers frames large; do
    if [ -s $part.json ]; then
        printf ',\n"%s": ' $part
        cat $part.json
    fi
done
printf '}\n'
