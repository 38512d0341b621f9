/*
 * When a trace's recorder lost events, as its DROP events say.
 *
 * Where the span is known, what is over before it is as in a trace without losses, and so is what
 * begins behind it, but for what a lost event may have changed for good.
 */
#ifndef SIMULATOR_LOSSES_H
#define SIMULATOR_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/trace.h"

struct losses {
    bool any;     /* lost events that something may rest on */
    bool bounded; /* the span is known */
    uint64_t first_tsc, end_tsc;
};

/*
 * Find them: reads the trace from its beginning to its end, and rewinds it.
 *
 * @return As trk_trace_next, but for TRK_E_END.
 */
TRK_MUST_USE enum trk_status losses_find(struct losses *losses, struct trk_trace *trace);

#endif
