/*
 * A call into a tracker's own code on a stack of its own.
 *
 * What waits for a lock that nobody will ever give back is left there for good: nothing on that
 * stack is cleaned up, and the tracker is not to be entered again.
 */
#ifndef SIMULATOR_CORE_APART_H
#define SIMULATOR_CORE_APART_H

#include "track/status.h"

typedef void core_apart_fn(void *context);

/**
 * Make the call.
 *
 * @return TRK_OK: it came back; TRK_E_LOCK: it never will; TRK_E_MEMORY: it was not made.
 *
 * Threads: one call at a time in a process, and none from inside another.
 */
TRK_MUST_USE enum trk_status core_apart(core_apart_fn *call, void *context);

/* From inside: it never comes back. Does, where no such call is under way. */
void core_apart_leave(void);

#endif
