/*
 * The set of 4 MiB regions that events were about.
 *
 * A region counts when its lock was taken or one of its pages was protected, once for all trackers
 * and lock classes. Memory: at most a bit a region, whatever the trace holds.
 */
#ifndef CLI_REGIONS_H
#define CLI_REGIONS_H

#include <stdint.h>

#include "track/event.h"

struct trk_regions;

/* NULL when memory is short. */
struct trk_regions *trk_regions_create(void);
void trk_regions_destroy(struct trk_regions *regions);

/* Note the event's region, if it has one. */
void trk_regions_note(struct trk_regions *regions, const struct trk_event *event);

uint64_t trk_regions_count(const struct trk_regions *regions);

#endif
