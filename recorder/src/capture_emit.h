/* How annotation calls hand over their event. */
#ifndef RECORDER_CAPTURE_EMIT_H
#define RECORDER_CAPTURE_EMIT_H

#include <stdbool.h>

#include "track/event.h"

/* Append an event to the calling thread's ring, if this process records. */
void trk_capture_emit(const struct trk_event *event);

/* Whether the session wants hashes of uploaded pages. */
bool trk_capture_wants_hashes(void);

#endif
