/*
 * What an event says that is compared between two traces.
 */
#ifndef CLI_TRACE_ITEM_H
#define CLI_TRACE_ITEM_H

#include <stdbool.h>
#include <stdint.h>

#include "track/event.h"

/* Whether events of a type may be compared. asked: only what the programs did. */
bool trk_item_type_counts(unsigned type, bool asked);

/* Whether an event is compared: what the program did, or else what came of it. */
bool trk_item_counts(const struct trk_event *event, bool asked);

/* What it says, without what may differ between two runs that do the same; never 0. */
uint64_t trk_item_hash(const struct trk_event *event);

/* A hash with one more word. */
uint64_t trk_item_mix(uint64_t hash, uint64_t word);

#endif
