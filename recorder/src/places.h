/*
 * Where the events of a chunk are that no hold says it of: a small set in the chunk's INDEX entry,
 * so that a chunk is passed over without being read [F-42].
 *
 * The set says of a region of guest memory "not there" or "perhaps".
 */
#ifndef RECORDER_PLACES_H
#define RECORDER_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/record_entry.h"

/* The set of the events of a chunk; never 0, which stands for a set that was not said. */
uint32_t trk_places_of(const struct trk_record *records, size_t count);

/* What is held against what a file says of a chunk, in one pass over its events. */
struct trk_places_met {
    uint32_t places;  /* of those whose type is known here; without the bit that says so */
    uint64_t dropped; /* what the DROP events among them tell */
};

struct trk_places_met trk_places_meet(const struct trk_record *records, size_t count);

/* Whether events were met elsewhere than a set says: who trusts it would miss them. */
bool trk_places_lack(uint32_t places, uint32_t met);

/* Whether an event about a guest address may be among them. */
bool trk_places_may_have(uint32_t places, uint64_t guest_addr);

#endif
