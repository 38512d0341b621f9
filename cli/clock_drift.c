#include "clock_drift.h"

#include <stdlib.h>

#include "json_out.h"

static uint64_t number_of(const cJSON *anchor, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(anchor, key));
    return text != NULL ? strtoull(text, NULL, 10) : 0;
}

/* The last moment at which the clocks were read; ticks 0: none. */
static struct trk_trace_anchor end_of(const struct trk_trace *trace)
{
    struct trk_trace_anchor end = {.ticks = 0};
    for (size_t i = 0; i < trk_trace_stream_count(trace); i++) {
        const struct trk_trace_anchor *clocks = &trk_trace_stream(trace, i)->clocks;
        end = clocks->ticks > end.ticks ? *clocks : end;
    }
    return end;
}

struct trk_clock_drift trk_clock_drift_of(const struct trk_trace *trace)
{
    struct trk_clock_drift out = {.known = false};
    cJSON *header = cJSON_Parse(trk_trace_header_json(trace));
    const cJSON *clock = cJSON_GetObjectItemCaseSensitive(header, "clock");
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(clock, "anchors"), 0);
    const cJSON *hz = cJSON_GetObjectItemCaseSensitive(header, "tsc_hz");
    const struct trk_trace_anchor begin = {.ticks = number_of(first, "ticks"),
                                           .monotonic_raw_ns = number_of(first, "monotonic_raw_ns"),
                                           .realtime_ns = number_of(first, "realtime_ns")};
    const struct trk_trace_anchor end = end_of(trace);
    if (begin.ticks != 0 && end.ticks > begin.ticks &&
        end.monotonic_raw_ns > begin.monotonic_raw_ns && cJSON_IsNumber(hz) &&
        hz->valuedouble >= 1.0) {
        double passed_ns = (double)(end.monotonic_raw_ns - begin.monotonic_raw_ns);
        out.known = true;
        out.seconds = passed_ns / 1e9;
        double ticks_a_second = (double)(end.ticks - begin.ticks) / out.seconds;
        out.ppm = (ticks_a_second / hz->valuedouble - 1.0) * 1e6;
        out.wall_known = begin.realtime_ns != 0 && end.realtime_ns != 0;
        /* Small differences of large numbers: exact as integers. */
        int64_t wall_ns = (int64_t)(end.realtime_ns - begin.realtime_ns);
        out.wall_ms = out.wall_known ? ((double)wall_ns - passed_ns) / 1e6 : 0.0;
    }
    cJSON_Delete(header);
    return out;
}
