/* How annotation calls hand over their event. */
#ifndef RECORDER_CAPTURE_EMIT_H
#define RECORDER_CAPTURE_EMIT_H

#include <stdbool.h>

#include "session_layout.h"
#include "track/event.h"

/* Append an event to the calling thread's ring, if this process records. */
void trk_capture_emit(const struct trk_event *event);

/* Whether the session wants hashes of uploaded pages. */
bool trk_capture_wants_hashes(void);

/* The hash of a page, whose content is kept if the session wants that. After the former. */
uint64_t trk_capture_page(const void *bytes);

/* capture_pages.c: hand a page over, if there is room and it was not before; its hash. */
uint64_t trk_capture_keep_page(struct trk_session_control *control, struct trk_session_pages *pages,
                               const void *bytes);

#endif
