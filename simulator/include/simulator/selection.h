/*
 * Which events of a trace belong to regions that have nothing to do with the others.
 *
 * Operations tie the regions together that they touch, and so does a frame that is seen in several,
 * at whatever time. What is tied falls into groups. A group can be re-executed without the others:
 * none of its holds is in an operation that is left out, and none of its bytes are stored
 * elsewhere.
 */
#ifndef SIMULATOR_SELECTION_H
#define SIMULATOR_SELECTION_H

#include "recorder/trace.h"

TRK_EXTERN_C_BEGIN

struct trk_selection {
    uint64_t *bits; /* a bit an event, by number; to be freed with trk_selection_deinit */
    uint64_t events;
    uint64_t chosen;                /* of them */
    uint32_t regions, regions_left; /* all that were touched; those left out */
};

static inline bool trk_selection_has(const struct trk_selection *selection, uint64_t number)
{
    return number < selection->events && (selection->bits[number / 64] >> number % 64 & 1) != 0;
}

/**
 * Choose the group of one region. Events that are about no memory are chosen too.
 *
 * @return TRK_OK; what reading gives; TRK_E_MEMORY. The trace is left at its beginning.
 *
 * Allocates: a bit an event. Blocks: reads the trace twice. Threads: one trace, one thread.
 */
TRK_MUST_USE enum trk_status trk_selection_region(struct trk_selection *out,
                                                  struct trk_trace *trace, uint64_t guest_addr,
                                                  struct trk_error *error);

/* Choose all groups of which no hold is missing and no operation was cut by a loss. */
TRK_MUST_USE enum trk_status trk_selection_untainted(struct trk_selection *out,
                                                     struct trk_trace *trace,
                                                     struct trk_error *error);

void trk_selection_deinit(struct trk_selection *selection);

TRK_EXTERN_C_END

#endif
