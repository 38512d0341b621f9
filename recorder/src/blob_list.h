/* Where the contents of pages are in a file that is read. */
#ifndef RECORDER_BLOB_LIST_H
#define RECORDER_BLOB_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

/* A content: in which chunk of the list, and its place there. */
struct trk_blob_entry {
    uint64_t hash;
    uint32_t chunk;
    uint32_t place;
};

#define TRK_BLOB_CACHED 4u

/* A chunk that is unpacked. */
struct trk_blob_cached {
    uint8_t *bytes; /* NULL: none */
    uint32_t chunk;
    uint64_t used; /* when it was asked for last */
};

struct trk_blob_list {
    uint64_t *offsets; /* of BLOB chunks that are not damaged as far as was looked */
    size_t chunk_count, chunk_room;
    struct trk_blob_entry *entries; /* by hash, once it is loaded */
    size_t entry_count, entry_room;
    bool loaded;
    uint64_t asked;
    struct trk_blob_cached cached[TRK_BLOB_CACHED];
};

void trk_blob_list_deinit(struct trk_blob_list *list);

/* Note a BLOB chunk. TRK_E_MEMORY; TRK_E_DAMAGED: one too many. */
TRK_MUST_USE enum trk_status trk_blob_list_add(struct trk_blob_list *list, uint64_t offset);

#endif
