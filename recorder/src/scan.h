/*
 * The one pass over a file that finds its chunks, its streams and its damage.
 *
 * Tries every chunk's checksums and decodes no event. After a damaged place it goes on at the next
 * undamaged header. Rules: [F-6] to [F-17].
 */
#ifndef RECORDER_SCAN_H
#define RECORDER_SCAN_H

#include "index.h"
#include "schema_text.h"
#include "unpack.h"

/* What is read with what, and into what. */
struct trk_scan_target {
    struct trk_unpack *unpack;
    struct trk_index *index;
    struct trk_schema schema; /* takes in what SCHEMA adds */
    struct trk_trace_watch watch;
};

/* Where the pass begins, and what the index has already. */
struct trk_scan_from {
    uint64_t offset;
    uint64_t file_chunk; /* number that the chunk there should have */
    uint64_t last_index; /* offset of the INDEX before; 0: there is none */
};

/**
 * Fill an index from the first chunk behind HEADER on, or from a later one.
 *
 * @return TRK_OK, whatever the damage; TRK_E_VERSION, TRK_E_MEMORY, TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status trk_scan_run(const struct trk_scan_target *target,
                                          const struct trk_scan_from *from,
                                          struct trk_error *error);

/* Tell how far it has come. */
void trk_scan_tell(const struct trk_trace_watch *watch, bool scanning, uint64_t done,
                   uint64_t total);

#endif
