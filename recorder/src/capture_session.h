/* The recorded program's view of its session: found, checked, mapped. */
#ifndef RECORDER_CAPTURE_SESSION_H
#define RECORDER_CAPTURE_SESSION_H

#include "session_layout.h"
#include "track/status.h"

/*
 * On a page of its own that the kernel clears in every forked child: a child shares the mapping of
 * its parent's rings and must not append to them.
 */
struct trk_capture_gate {
    _Atomic uint32_t open;
};

struct trk_capture_session {
    struct trk_session_control *control;
    struct trk_session_ring *rings;
    struct trk_session_losses *losses; /* one a ring, and one for threads without */
    struct trk_record *records;
    struct trk_session_pages *pages;
    struct trk_capture_gate *gate;
    uint32_t ring_count;
    uint32_t ring_records;
    uint32_t block_ms; /* 0: events do not wait for room */
    uint32_t payload;  /* enum trk_record_payload */
};

/*
 * Join the session that the environment names: claims it for this process, closes the descriptor
 * and takes the variable away, so that programs started from here are not recorded into it. On any
 * status but TRK_OK nothing has changed and *out is untouched. Statuses: trk_capture_open.
 */
TRK_MUST_USE enum trk_status trk_capture_session_join(struct trk_capture_session *out,
                                                      struct trk_error *error);

/* Say in the session of which build this program is. */
void trk_capture_session_build(struct trk_session_control *control);

#endif
