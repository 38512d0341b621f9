/*
 * The lock domains that a run has met: the newest hold of each and who is in it.
 */
#ifndef SIMULATOR_DOMAINS_H
#define SIMULATOR_DOMAINS_H

#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

struct domain {
    uint32_t domain; /* trk_domain(); never 0 */
    uint32_t seq;    /* of the newest hold, 0 before the first */
    uint32_t holder; /* 1 + the stream that is in it, 0 when free */
    uint32_t reserved;
    uint64_t event; /* that began the hold */
};

/* Zero-initialised is empty. */
struct domains {
    struct domain *slots; /* open addressing, a power of two; domain 0 is free */
    size_t slot_count, count;
};

void domains_deinit(struct domains *domains);

/* NULL when it was never met. Valid until the next domains_touch. */
struct domain *domains_find(const struct domains *domains, uint32_t domain);

/* Find or make; NULL when there is no memory. */
struct domain *domains_touch(struct domains *domains, uint32_t domain);

/* All, ascending by number: an array of `count`, the caller's to free; NULL when there is no
 * memory or none was met. */
uint32_t *domains_sorted(const struct domains *domains);

#endif
