#!/bin/sh
# What an event costs here and with other recorders, side by side: one JSON object on stdout.
#   peers.sh TRK_BENCH [BATCHES]
# The same loop each time: batches of 4096 events, a pause after each, the median time of a batch. Ours
# is the bench's append. uftrace writes two records a call; lttng-ust one record of an integer. Bytes
# are those of an event in what the other wrote, as it lies there and by zstd at level 3; ours come from
# trk_bench_mixes. gfxreconstruct's page guard stands beside our faults in one process, where
# trk_bench_page_guard lies beside TRK_BENCH; and once more without its layer, for what the submits alone
# take. What is not installed is null. Compare within one run only.
set -u
bench=$(realpath "$1") batches=${2:-200}
[ -x "$bench" ] || {
    echo "peers.sh: no program $1" >&2
    exit 70
}
dir=$(mktemp -d) || exit 70
sessiond=
clean()
{
    [ -z "$sessiond" ] || kill "$sessiond" 2>/dev/null
    rm -rf "$dir"
}
trap clean EXIT
cd "$dir" || exit 70

cat >peer.c <<'CODE'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef LTTNG
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "peer_tp.h"
#define EVENT(i) lttng_ust_tracepoint(trk_peer, event, i)
#else
static volatile unsigned sink;
__attribute__((noinline)) void hot(unsigned i) { sink = i; }
#define EVENT(i) hot(i)
#endif
__attribute__((no_instrument_function)) static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
__attribute__((no_instrument_function)) static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
int main(int argc, char **argv)
{
    static double ns[1024];
    unsigned batches = argc > 1 ? (unsigned)atoi(argv[1]) : 200;
    for (unsigned b = 0; b < batches && b < 1024; b++) {
        struct timespec pause = {0, 3000000};
        uint64_t start = now();
        for (unsigned i = 0; i < 4096; i++)
            EVENT(i);
        ns[b] = (double)(now() - start) / 4096;
        nanosleep(&pause, NULL);
    }
    qsort(ns, batches, sizeof *ns, compare);
    fprintf(stderr, "peer %.2f\n", ns[batches / 2]);
    return 0;
}
CODE
cat >peer_tp.h <<'CODE'
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER trk_peer
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./peer_tp.h"
#if !defined(PEER_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define PEER_TP_H
#include <lttng/tracepoint.h>
LTTNG_UST_TRACEPOINT_EVENT(trk_peer, event, LTTNG_UST_TP_ARGS(unsigned, number),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned, number, number)))
#endif
#include <lttng/tracepoint-event.h>
CODE

# figure FILE: what the program said, or null.
figure()
{
    sed -n 's/^peer \([0-9.]*\)$/\1/p' "$1" 2>/dev/null | grep . || echo null
}

# weigh NAME FOLDER: bytes of an event in it, and what zstd leaves of them.
weigh()
{
    events=$((batches * 4096))
    plain=$(find "$2" -type f -exec cat {} + 2>/dev/null | wc -c)
    packed=$(find "$2" -type f -exec cat {} + 2>/dev/null | zstd -3 -q -c | wc -c)
    if [ "$plain" -eq 0 ]; then
        plain=null packed=null
    else
        plain=$(awk "BEGIN { printf \"%.2f\", $plain / $events }")
        packed=$(awk "BEGIN { printf \"%.2f\", $packed / $events }")
    fi
    printf ' "%s_bytes_per_event": %s,\n "%s_zstd_bytes_per_event": %s,\n' "$1" "$plain" "$1" "$packed"
}

cc -O2 -o bare peer.c && ./bare "$batches" 2>bare.txt
if command -v uftrace >/dev/null && cc -O2 -pg -o traced peer.c; then
    uftrace record --no-libcall -d data ./traced "$batches" >uftrace.log 2>uftrace.txt
fi
if command -v lttng-sessiond >/dev/null &&
    cc -O2 -DLTTNG -I. -o probed peer.c -llttng-ust -ldl 2>lttng.log; then
    export LTTNG_HOME="$dir"
    lttng-sessiond --no-kernel >sessiond.log 2>&1 &
    sessiond=$!
    tries=0
    while ! lttng list >/dev/null 2>&1 && [ "$tries" -lt 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    {
        lttng create peer --output="$dir/lttng" && lttng enable-event -u 'trk_peer:*' && lttng start
    } >lttng.log 2>&1 && ./probed "$batches" 2>lttng.txt
    lttng destroy peer >>lttng.log 2>&1
fi
"$bench" --rounds "$batches" >own.json 2>own.log || {
    cat own.log >&2
    exit 70
}
# guard FILE VARIABLE...: the page guard's bench with these variables, or null. The layer writes no file
# but in this folder.
guard()
{
    out=$1
    shift
    if [ ! -x "$(dirname "$bench")/trk_bench_page_guard" ] ||
        ! env GFXRECON_CAPTURE_FILE="$dir/guard.gfxr" GFXRECON_MEMORY_TRACKING_MODE=page_guard \
            GFXRECON_LOG_OUTPUT_TO_CONSOLE=false "$@" \
            "$(dirname "$bench")/trk_bench_page_guard" --rounds "$batches" >"$out" 2>"$out.err"; then
        echo null >"$out"
    fi
}

guard guarded.json VK_INSTANCE_LAYERS=VK_LAYER_LUNARG_gfxreconstruct
guard plain.json VK_INSTANCE_LAYERS=
own()
{
    sed -n "s/.*\"$1\": {[^}]*\"median\": \([0-9.e+-]*\).*/\1/p" own.json | grep . || echo null
}
printf '{"schema": "trk-bench-peers/1",\n "append_ns": %s,\n "bare_append_ns": %s,\n "bare_call_ns": %s,\n' \
    "$(own append_ns)" "$(own append_bare_ns)" "$(figure bare.txt)"
weigh uftrace data
weigh lttng_ust lttng
printf ' "uftrace_ns": %s,\n "lttng_ust_ns": %s,\n' "$(figure uftrace.txt)" "$(figure lttng.txt)"
printf ' "page_guard": %s,\n "without_layer": %s}\n' "$(cat guarded.json)" "$(cat plain.json)"
