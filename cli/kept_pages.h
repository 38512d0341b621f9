/* The contents of pages that a part of a trace names, so that it takes no others along. */
#ifndef CLI_KEPT_PAGES_H
#define CLI_KEPT_PAGES_H

#include "recorder/blobs.h"

/* Zero-initialised is empty. */
struct trk_kept_pages {
    uint64_t *hashes;
    size_t count, room;
};

/* Note the hash of a PAGE event. False: no memory to keep it. */
TRK_MUST_USE bool trk_kept_pages_note(struct trk_kept_pages *pages, const struct trk_event *event);

/* Copy what was noted, as far as the trace has it. The hashes are sorted. */
TRK_MUST_USE enum trk_status trk_kept_pages_copy(struct trk_kept_pages *pages,
                                                 struct trk_writer *writer, struct trk_trace *trace,
                                                 struct trk_error *error);
void trk_kept_pages_deinit(struct trk_kept_pages *pages);

#endif
