/*
 * What the tracker said of its pages: the state of each, as the log's operations leave it.
 *
 * Nothing is run again and nothing is believed beyond the log: an operation that ended well leaves
 * its pages in the state that it is for. That is what names the bit that should have told of a
 * store. A page that no operation has met is the CPU's, and dirty.
 *
 * Rules: [M-8]; docs/model.md.
 */
#ifndef SIMULATOR_SAID_H
#define SIMULATOR_SAID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

#define SAID_TRACKERS    16u
#define SAID_REGIONS_MAX 4096u /* each takes 24 KiB; further ones are not followed */

enum said_state {
    SAID_CPU = 0,
    SAID_CLEAN = 1,
    SAID_GPU = 2,
};

struct said_page {
    uint64_t event;   /* that made the state; 1 + its number, 0: none has */
    uint64_t protect; /* likewise the newest change of the guest's own rights */
    uint32_t stream;
    uint8_t state, op;
    int16_t watches; /* taken directly and not given back */
};

struct said_region;

/* Zero-initialised is empty. */
struct said {
    struct said_region **slots; /* open addressing, a power of two */
    size_t slot_count, count;
    uint32_t trackers; /* a bit each that was met */
};

void said_deinit(struct said *said);

/* Which event, of which stream and operation, changes which pages of a tracker. */
struct said_change {
    uint64_t event;
    uint64_t first_addr, end_addr; /* a valid range of whole pages */
    uint32_t stream;
    uint8_t op;
    uint8_t tracker;
};

#define SAID_FROM_ANY    (~0u)
#define SAID_FROM(state) (1u << (state))

/* Put the pages that are in one of the states of `from` into a state. */
TRK_MUST_USE enum trk_status said_set(struct said *said, const struct said_change *change,
                                      unsigned from, enum said_state to);
/* The guest's rights of the pages were changed. */
TRK_MUST_USE enum trk_status said_protect(struct said *said, const struct said_change *change);
/* A watch of each page was taken, or given back. */
TRK_MUST_USE enum trk_status said_watch(struct said *said, const struct said_change *change,
                                        bool taken);
/* The lowest page with a watch that was not given back; false: none. */
bool said_watched(const struct said *said, uint64_t *guest_addr);
/* A tracker was declared anew: all its pages are as untouched. */
void said_forget(struct said *said, uint32_t tracker);

/* The page of an address, of the lowest tracker that has met its region; NULL: none. */
const struct said_page *said_find(const struct said *said, uint64_t guest_addr);

#endif
