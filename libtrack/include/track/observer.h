/*
 * The one way by which events leave the core.
 *
 * An observer is two functions. With emit NULL nobody listens, and the core pays an untaken branch
 * an event. Both are called on the thread that acts, also inside its fault handler and under
 * region locks: they must not block, allocate, take a lock or call the tracker.
 */
#ifndef TRACK_OBSERVER_H
#define TRACK_OBSERVER_H

#include "track/event.h"

TRK_EXTERN_C_BEGIN

struct trk_observer {
    /* One event; the pointer is good during the call only. NULL: nobody listens. */
    void (*emit)(void *context, const struct trk_event *event);
    /* A lock is held by another thread and this one is about to wait for it. May be NULL. */
    void (*wait)(void *context, uint32_t domain);
    void *context;
};

TRK_EXTERN_C_END

#endif
