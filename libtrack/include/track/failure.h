/*
 * Fail-fast: what happens when an operation breaks a rule of the model.
 *
 * The failure goes to the handler that the owner installed when it created the tracker. All locks
 * of the refused operation have been released by then and, for the classes range, reentry,
 * conflict, untrack, watch and retained, nothing has changed: the handler may return, and the
 * operation gives the class as its status. Without a handler the line and a stack are written to
 * stderr and the process aborts.
 *
 * Rules: [M-62] [M-63].
 */
#ifndef TRACK_FAILURE_H
#define TRACK_FAILURE_H

#include <stdint.h>

#include "track/event.h"
#include "track/status.h"

TRK_EXTERN_C_BEGIN

struct trk_failure {
    enum trk_status failure_class; /* TRK_E_RANGE .. TRK_E_LIVELOCK */
    enum trk_op op;
    uint64_t guest_addr;
    uint64_t size_bytes;
    uint32_t thread_id;
    char text[128]; /* one line */
};

/* Runs on the failing thread, possibly inside its fault handler: signal-safe calls only. */
typedef void trk_failure_fn(void *context, const struct trk_failure *failure);

TRK_EXTERN_C_END

#endif
