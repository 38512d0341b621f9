/*
 * Which pages of a trace are worth exploring: those that its threads take turns at.
 */
#ifndef SIMULATOR_EXPLORE_CHOOSE_H
#define SIMULATOR_EXPLORE_CHOOSE_H

#include "recorder/trace.h"

/* Pages that one operation may touch and still count for; pages that are kept count of. */
#define CHOOSE_SPAN_PAGES 4096u
#define CHOOSE_PAGES_MOST (UINT32_C(1) << 20)
/* Pages chosen of those that the same uploads cover: they tell the same story. */
#define CHOOSE_ALIKE_MOST 2u

struct choice {
    uint64_t from, to; /* events to look at, both included */
    uint64_t page_bytes;
    uint32_t most;      /* at most 64 */
    bool alone;         /* pages that one thread alone touched, too, behind the others */
    uint64_t met;       /* out: pages that could have been chosen */
    uint32_t count;     /* out */
    uint64_t pages[64]; /* out: numbers of pages, the most shared first */
};

/* Read the trace from its start, and choose. */
TRK_MUST_USE enum trk_status choose_pages(struct trk_trace *trace, struct choice *choice,
                                          struct trk_error *error);

#endif
