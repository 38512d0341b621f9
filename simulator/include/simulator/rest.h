/*
 * What is under way in a trace, from its events alone: where nothing is, it can be cut.
 *
 * Allocates: at its creation. Threads: one.
 */
#ifndef SIMULATOR_REST_H
#define SIMULATOR_REST_H

#include "recorder/trace.h"

TRK_EXTERN_C_BEGIN

struct trk_rest {
    uint64_t open;      /* operations, holds and copies */
    uint64_t ahead;     /* MASKs and OPERANDs whose OP_BEGIN is to come, FAULT_ATs before a FAULT */
    uint64_t *ahead_of; /* MASKs and OPERANDs of each stream */
    bool *at_fault;     /* the newest event of each stream is a FAULT_AT */
    size_t stream_count;
};

/* For a trace that was scanned. TRK_E_MEMORY. */
TRK_MUST_USE enum trk_status trk_rest_init(struct trk_rest *rest, const struct trk_trace *trace);
void trk_rest_deinit(struct trk_rest *rest);

/* Take an event of the trace. */
void trk_rest_take(struct trk_rest *rest, const struct trk_trace_event *event);

/* Whether nothing is under way behind the events that were taken. */
static inline bool trk_rest_is(const struct trk_rest *rest)
{
    return rest->open == 0 && rest->ahead == 0;
}

TRK_EXTERN_C_END

#endif
