/*
 * Comparing two traces lane by lane (trace_items.h).
 *
 * What stands in a gap is not known, and not judged: lanes differ where no filling of their gaps
 * makes them the same.
 */
#ifndef CLI_TRACE_DIFF_H
#define CLI_TRACE_DIFF_H

#include "trace_items.h"

#define TRK_DIFF_NONE UINT32_MAX

/* Neighbouring items of a lane that one side has otherwise, or alone. */
struct trk_diff_hunk {
    char thread[32];
    uint64_t place;
    uint32_t event_a, event_b; /* the first of each side; TRK_DIFF_NONE: it has none here */
    uint32_t count_a, count_b;
    uint32_t hunks; /* of the lane, with this one */
};

struct trk_diff {
    struct trk_diff_hunk *lanes; /* the first hunk of each lane that differs, by event */
    uint32_t lane_count;         /* that differ */
    uint32_t compared;           /* lanes */
    uint64_t items_a, items_b;   /* in all hunks */
    uint64_t judged[2];          /* items of either side that were compared */
    uint64_t missing[2];         /* that were not: the other may have lost them */
};

struct trk_diff_options {
    bool places_unknown; /* pages of one side may be others than they seem: they are not judged */
};

/* TRK_OK or TRK_E_MEMORY; out is to be freed in any case. */
TRK_MUST_USE enum trk_status trk_diff_items(const struct trk_items *a, const struct trk_items *b,
                                            const struct trk_diff_options *options,
                                            struct trk_diff *out);
void trk_diff_free(struct trk_diff *diff);

#endif
