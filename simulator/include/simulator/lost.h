/*
 * Where events of a trace may be missing, for who reads it: lost by its recorder, or with parts of
 * a file that was damaged or cut off.
 *
 * What lies before them is as in the whole trace. What lies behind them may be too, where only
 * events are missing that change nothing for good.
 */
#ifndef SIMULATOR_LOST_H
#define SIMULATOR_LOST_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/trace.h"

TRK_EXTERN_C_BEGIN

struct trk_lost;

/**
 * Find what is missing. Reads the trace from its beginning to its end where it is known not to be
 * whole, and rewinds it.
 *
 * @return TRK_OK; what trk_trace_next gives, but for TRK_E_END.
 *
 * Allocates: yes. Blocks: reads the trace. Signal-safe: no. Threads: one call at a time a trace.
 */
TRK_MUST_USE enum trk_status trk_lost_create(struct trk_lost **out, struct trk_trace *trace,
                                             struct trk_error *error);
void trk_lost_destroy(struct trk_lost *lost);

/* The next event, in the trace's order, from its first on. */
void trk_lost_pass(struct trk_lost *lost, const struct trk_trace_event *event);

/* Whether events may be missing at or behind an event, as far as was read. */
bool trk_lost_since(const struct trk_lost *lost, uint64_t event);

TRK_EXTERN_C_END

#endif
