/*
 * Inside the simulator: making the core synchronise a page in the midst of a trace.
 */
#ifndef SIMULATOR_SYMPTOM_FORCE_H
#define SIMULATOR_SYMPTOM_FORCE_H

#include "recorder/trace.h"
#include "simulator/symptom.h"

struct symptom_forced {
    bool done;     /* false: the core was not followed that far */
    bool busy;     /* or it holds a lock there */
    bool up, down; /* the byte's page was handed over for a copy to that side */
    bool from_checkpoint;
    uint64_t events;
};

/* Re-execute up to behind an event, and upload and download the page of an address. */
TRK_MUST_USE enum trk_status symptom_force(struct trk_trace *trace, uint64_t guest_addr,
                                           uint64_t event, struct symptom_forced *out,
                                           struct trk_error *error);

#endif
