/*
 * Comparing a lane of one trace with that of another (trace_diff.h).
 */
#ifndef CLI_LANE_DIFF_H
#define CLI_LANE_DIFF_H

#include "trace_diff.h"

/* A side's lane, its items one after the other. */
struct trk_lane {
    const struct trk_items *of;
    uint32_t *at; /* indices of items; TRK_DIFF_NONE: a gap */
    uint32_t count, capacity;
};

/* Where compared lanes differ, and how much of them was compared. */
struct trk_lane_diff {
    struct trk_diff_hunk first; /* hunks: how many there are; event_a, event_b and counts */
    uint64_t items[2];          /* in hunks */
    uint64_t judged[2];
};

void trk_lane_compare(const struct trk_lane lanes[2], struct trk_lane_diff *out);

#endif
