/*
 * Where the order of a trace's events is not the order of their times.
 *
 * Where holds are missing a thread waits for what never comes, while the others go on: what it did
 * then stands behind what they did later. Whoever reads such a trace must not conclude from where
 * an event stands that another came before it, or that none came between two.
 *
 * Events are taken into *blocks*: all that stands before a block was earlier than all that is in
 * it, and all behind it was later. Blocks of one event are in order, and are not kept.
 */
#ifndef SIMULATOR_DISORDER_H
#define SIMULATOR_DISORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/trace.h"

/* While the trace is read so many blocks are kept; older ones are joined then. */
#define DISORDER_BLOCKS_MAX 65536u

struct disorder_block {
    uint64_t first, last; /* events */
    uint64_t latest_tsc;
    uint64_t views; /* blocks up to this one that hold a change of views; while reading, whether */
    bool mixed;     /* its events are not in order */
};

/* Zero-initialised is empty: all is in order. */
struct disorder {
    struct disorder_block *blocks; /* ascending */
    size_t count, room;
};

/* The next event, in the trace's order, of any type. TRK_E_MEMORY. */
TRK_MUST_USE enum trk_status disorder_add(struct disorder *disorder,
                                          const struct trk_trace_event *event);
/* Behind the last one, and before anything is asked. */
void disorder_finish(struct disorder *disorder);
void disorder_deinit(struct disorder *disorder);

/* Whether an event from first to last, both included, stands where it does without having come
 * there. NULL: nothing is known, and that is no. */
bool disorder_between(const struct disorder *disorder, uint64_t first, uint64_t last);

/* Likewise where that may have changed which bytes an address shows. */
bool disorder_of_views(const struct disorder *disorder, uint64_t first, uint64_t last);

#endif
