/*
 * When a trace's recorder lost events, as its DROP events say, and when those were that a damaged
 * file has not.
 *
 * Where the span is known, what is over before it is as in a trace without losses, and so is what
 * begins behind it, but for what a lost event may have changed for good.
 */
#ifndef SIMULATOR_LOSSES_H
#define SIMULATOR_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "disorder.h"
#include "recorder/trace.h"
#include "simulator/lost.h"

struct losses {
    bool any;     /* lost events that something may rest on */
    bool bounded; /* the span is known */
    uint64_t first_tsc, end_tsc;
    /* Of those that may have changed which bytes an address shows, or stored there what nobody
     * knows, when they were lost; end_tsc 0: there are none. */
    uint64_t views_first_tsc, views_end_tsc;
    struct disorder disorder; /* where what is missing leaves the order of the others a guess */
};

void losses_deinit(struct losses *losses);

/*
 * Find them: reads the trace from its beginning to its end, and rewinds it. losses_deinit in any
 * case.
 *
 * @return As trk_trace_next, but for TRK_E_END.
 */
TRK_MUST_USE enum trk_status losses_find(struct losses *losses, struct trk_trace *trace);

/* Likewise, with what the file has lost. */
TRK_MUST_USE enum trk_status losses_find_all(struct losses *losses, struct trk_trace *trace);

/* Into views_* and disorder: of all that is missing. What was found before is kept but for these.
 */
TRK_MUST_USE enum trk_status losses_find_views(struct losses *losses, struct trk_trace *trace);

/* Where a reader of the trace stands beside them. Zero-initialised, but for losses, at its start.
 */
struct losses_passed {
    struct losses losses;
    uint64_t number; /* of the last event */
    bool among;      /* events may be missing where it stands */
    uint64_t first;  /* 1 + the first event at which they may be; 0: none until now */
    uint64_t end;    /* likewise the last */
};

/* The next event, in the trace's order. */
void losses_pass(struct losses_passed *passed, const struct trk_trace_event *event);

/* Whether events may be missing at or behind an event, or out of order, as far as was read. */
bool losses_since(const struct losses_passed *passed, uint64_t event);

#endif
