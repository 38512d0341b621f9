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

/* Whether events are elsewhere than a set says: who trusts it would miss them. Of types that are
 * not known here, and have no address, nothing is. */
bool trk_places_lack(uint32_t places, const struct trk_record *records, size_t count);

/* Whether an event about a guest address may be among them. */
bool trk_places_may_have(uint32_t places, uint64_t guest_addr);

#endif
