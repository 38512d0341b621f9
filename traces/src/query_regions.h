/*
 * The regions that a trace's locks are of, from the summaries of its chunks.
 */
#ifndef TRACES_QUERY_REGIONS_H
#define TRACES_QUERY_REGIONS_H

#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

struct trk_query;

struct trk_query_region {
    uint32_t region; /* its number */
    uint32_t tracker;
    uint64_t locks;            /* holds of the region that end in the trace */
    uint64_t protection_holds; /* and of its page manager */
    uint64_t chunks;           /* that touch it */
    size_t last_chunk;         /* counted last */
};

/* By region and tracker, ascending. */
struct trk_query_regions {
    struct trk_query_region *at;
    size_t count, room;
};

void trk_query_regions_deinit(struct trk_query_regions *regions);

/* TRK_OK; what reading gives. Chunks without summaries are decoded. */
TRK_MUST_USE enum trk_status trk_query_regions_find(struct trk_query *query,
                                                    struct trk_query_regions *out,
                                                    struct trk_error *error);

#endif
