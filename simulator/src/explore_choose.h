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

/* Read events [from, to] of the trace; *count pages, at most `most`, the most shared first. */
TRK_MUST_USE enum trk_status choose_pages(struct trk_trace *trace, uint64_t from, uint64_t to,
                                          uint64_t *pages, uint32_t most, uint32_t *count,
                                          struct trk_error *error);

#endif
