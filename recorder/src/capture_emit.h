/* What the annotation calls ask of the session. */
#ifndef RECORDER_CAPTURE_EMIT_H
#define RECORDER_CAPTURE_EMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "track/backend.h"

/* Whether the session wants hashes of uploaded pages. */
bool trk_capture_wants_hashes(void);

/* Put a foreign tracker where the recording parent looks; policy 0: none of the core's. */
void trk_capture_know_foreign(uint32_t tracker_id, uint64_t policy, enum trk_backend_kind backend);

#endif
