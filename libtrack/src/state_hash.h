/*
 * What a region's locks protect, as a hash: for the event STATE, and for a simulator that knows
 * states again.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: in a hold of what is hashed.
 */
#ifndef TRACK_STATE_HASH_H
#define TRACK_STATE_HASH_H

#include "internal.h"

uint64_t trk_state_mix(uint64_t digest, uint64_t value);
uint64_t trk_state_mix_words(uint64_t digest, const uint64_t *words, size_t count);

/* Page states, registered bytes, invalidates under way. */
uint64_t trk_state_region(const struct region *region);
/* Watches and the guest's rights. */
uint64_t trk_state_pages(const struct region *region);

/* STATE goes with every so-manieth hold. */
#define STATE_HOLDS 256u

static inline bool state_is_due(uint32_t seq)
{
    return TRK_UNLIKELY(seq % STATE_HOLDS == 0);
}

#endif
