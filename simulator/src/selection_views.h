/*
 * Which regions show the same frames, at any time of a trace: what is stored through one of them is
 * seen through the others.
 */
#ifndef SIMULATOR_SELECTION_VIEWS_H
#define SIMULATOR_SELECTION_VIEWS_H

#include <stddef.h>

#include "track/event.h"
#include "track/status.h"

/* Frames, and the addresses that showed them. */
struct selection_view {
    uint64_t frame, end; /* of the backing object, end excluded */
    uint64_t guest_addr; /* of the first one */
};

/* Zero-initialised is empty. */
struct selection_views {
    struct selection_view *view;
    size_t count, room;
};

void selection_views_deinit(struct selection_views *views);

/* Note a MAP; of one beyond its band what is in it. TRK_E_MEMORY. */
TRK_MUST_USE enum trk_status selection_views_note(struct selection_views *views,
                                                  const struct trk_event *event);

typedef void selection_views_fn(void *context, uint32_t region, uint32_t other);

/* Behind the last one: give pairs of regions that join all that show a frame together. */
void selection_views_pairs(struct selection_views *views, selection_views_fn *fn, void *context);

#endif
