/*
 * The sums of generations in a trace whose addresses were moved.
 *
 * A sum is a hash over addresses, too: where they have moved, the core gives another one than was
 * recorded. What a sum says is left: sums that were equal must be equal, others must differ, and
 * none must stay none. So each recorded sum goes with one of the core's.
 */
#ifndef SIMULATOR_SUMS_H
#define SIMULATOR_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

struct sums_slot {
    uint64_t from, to; /* 0: free */
};

/* Zero-initialised: nothing has moved, each sum goes with itself. */
struct sums {
    bool low_moved, arena_moved;
    struct sums_slot *slots; /* both ways, open addressing, a power of two */
    size_t slot_count, count;
};

/* From the header's text. */
void sums_init(struct sums *sums, const char *header_json);
void sums_deinit(struct sums *sums);

/*
 * Whether the recorded sum of a range at guest_addr may be the core's: set *same.
 *
 * @return TRK_OK or TRK_E_MEMORY.
 */
TRK_MUST_USE enum trk_status sums_compare(struct sums *sums, uint64_t guest_addr, uint64_t recorded,
                                          uint64_t done, bool *same);

#endif
