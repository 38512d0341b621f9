/*
 * Whether holds of a domain are missing, from the summaries of all chunks [F-34].
 *
 * A hold ends once. So all that ended lie between the first hold seen and the newest that ended,
 * and are as many, or some are missing.
 */
#ifndef RECORDER_HOLDS_H
#define RECORDER_HOLDS_H

#include <stddef.h>
#include <stdint.h>

#include "summary.h"

struct trk_holds_domain {
    uint32_t domain; /* 0: free slot; no domain has this number */
    uint32_t first;
    uint32_t ended;
    uint64_t ends;
};

/* Zero-initialised is empty. */
struct trk_holds {
    struct trk_holds_domain *slots; /* open addressing, a power of two */
    size_t slot_count, count;
};

void trk_holds_deinit(struct trk_holds *holds);

/* Take in what a chunk has of a domain. TRK_OK, TRK_E_MEMORY. */
TRK_MUST_USE enum trk_status trk_holds_add(struct trk_holds *holds,
                                           const struct trk_summary_domain *domain);

/* How many holds are missing of a slot's domain. */
uint64_t trk_holds_missing(const struct trk_holds_domain *slot);

#endif
