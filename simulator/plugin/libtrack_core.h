/* Inside libtrack's plug-in. */
#ifndef SIMULATOR_LIBTRACK_CORE_H
#define SIMULATOR_LIBTRACK_CORE_H

#include "simulator/core_plugin.h"
#include "track/pages.h"

/* What the host calls a tracker. */
struct core {
    struct trk_backend backend; /* first: what the tracker calls leads back here */
    const struct trk_core_owner *owner;
    struct trk_tracker *tracker;
};

extern const struct trk_core_state libtrack_core_state;

static inline struct trk_tracker *its(void *core)
{
    return ((struct core *)core)->tracker;
}

#endif
