/* The second decoder's sets of regions: F-42 of docs/format.md. */
#ifndef TESTS_SECOND_PLACES_H
#define TESTS_SECOND_PLACES_H

#include "second_decoder.h"

/* What the INDEX says of a chunk with these events. */
uint32_t second_places(const struct second_event *events, uint64_t count);

#endif
