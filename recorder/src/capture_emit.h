/* How annotation calls hand over their event. */
#ifndef RECORDER_CAPTURE_EMIT_H
#define RECORDER_CAPTURE_EMIT_H

#include <stdbool.h>

#include "capture_session.h"
#include "track/event.h"

/* One that is never open as long as no session is joined. */
extern struct trk_capture_gate *trk_capture_gate __attribute__((visibility("hidden")));

static inline bool trk_capture_gate_is_open(void)
{
    return atomic_load_explicit(&trk_capture_gate->open, memory_order_relaxed) != 0;
}

/* Append an event to the calling thread's ring, in a process that records: the gate is open. */
void trk_capture_append(const struct trk_event *event);

/* Whether the session wants hashes of uploaded pages. */
bool trk_capture_wants_hashes(void);

#endif
