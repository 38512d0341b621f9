/*
 * How long the tracker took, for trk report: latencies of faults, and its share of the threads'
 * time.
 *
 * Tracking is what lies between the outermost OP_BEGIN or FAULT of a thread and its OP_END, without
 * the copies in between, which are the owner's.
 */
#ifndef CLI_REPORT_TIMES_H
#define CLI_REPORT_TIMES_H

#include "recorder/trace.h"

/* Operations within operations that are told apart. */
#define TRK_REPORT_DEEP 16

struct trk_report_thread {
    uint64_t first, last, outer, copy; /* ticks; copy: where the one under way began */
    uint64_t copied;                   /* ticks of copies in the outermost operation */
    uint64_t fault[TRK_REPORT_DEEP];   /* where it began; 0: no fault */
    uint32_t depth;
    bool seen, copying;
};

/* Zero-initialised is empty. */
struct trk_report_times {
    struct trk_report_thread *threads;
    size_t thread_count;
    uint64_t *latencies; /* of faults, ticks; ascending after the end */
    size_t count, capacity;
    uint64_t tracking, total; /* ticks */
};

TRK_MUST_USE enum trk_status trk_report_times_note(struct trk_report_times *times,
                                                   const struct trk_trace_event *event,
                                                   struct trk_error *error);
/* Sum up. */
void trk_report_times_end(struct trk_report_times *times);
/* The latency that so many of a thousand are not above; TRK_NOT_KNOWN: there is none. */
uint64_t trk_report_times_latency(const struct trk_report_times *times, unsigned per_mille);
void trk_report_times_deinit(struct trk_report_times *times);

#endif
