/* The parent's side of the session object: made here, shared with one command. */
#ifndef RECORDER_RECORD_SESSION_H
#define RECORDER_RECORD_SESSION_H

#include <stdbool.h>

#include "recorder/trace.h"
#include "session_layout.h"
#include "track/status.h"

struct trk_record_session {
    int fd;
    void *map;
    uint64_t size_bytes;
    struct trk_session_control *control;
    struct trk_session_ring *rings;
    struct trk_session_losses *losses; /* one a ring, and one for threads without */
    struct trk_record *records;
    struct trk_session_pages *pages; /* NULL: contents of pages are not kept */
    /* Own copies: the program may write over the control page. */
    uint32_t ring_count;
    uint32_t ring_records;
    bool watched; /* trk_record_session_held can tell */
};

/*
 * Make the object; memory comes with its first use. ring_records 0: the default. TRK_E_ARGUMENT for
 * a count that is no power of two or out of bounds, TRK_E_SYSTEM. On failure *out needs no deinit.
 */
TRK_MUST_USE enum trk_status trk_record_session_init(struct trk_record_session *out,
                                                     uint32_t ring_records,
                                                     enum trk_record_payload payload,
                                                     struct trk_error *error);
void trk_record_session_deinit(struct trk_record_session *session);

/*
 * Open the object once more, for the command: through this descriptor, which the caller closes once
 * the command has it, trk_record_session_held sees the command and what it starts. -1 with errno.
 */
int trk_record_session_share(struct trk_record_session *session);

/* Whether a process still has the shared descriptor, or a mapping made with it. */
bool trk_record_session_held(const struct trk_record_session *session);

/* The name and role of a ring's thread, if they stand still; version tells one from the next. */
bool trk_record_session_name(const struct trk_session_ring *shared, struct trk_trace_stream *stream,
                             uint32_t *version);

#endif
