/* What the annotation calls ask of the session. */
#ifndef RECORDER_CAPTURE_EMIT_H
#define RECORDER_CAPTURE_EMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "session_layout.h"
#include "track/backend.h"

/* Whether the session wants hashes of uploaded pages. */
bool trk_capture_wants_hashes(void);

/* What the recording parent shares with this program; NULL: nothing is recorded. */
struct trk_session_control *trk_capture_control(void);

/* The hash of a page, whose content is kept if the session wants that. After the former. */
uint64_t trk_capture_page(const void *bytes);

/* capture_pages.c: hand a page over, if there is room and it was not before; its hash. */
uint64_t trk_capture_keep_page(struct trk_session_control *control, struct trk_session_pages *pages,
                               const void *bytes);

/* Put a foreign tracker where the recording parent looks; policy 0: none of the core's. */
void trk_capture_know_foreign(uint32_t tracker_id, uint64_t policy, enum trk_backend_kind backend);

#endif
