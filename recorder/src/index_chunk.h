/*
 * The payload of an INDEX chunk: where the chunks behind the one before are [F-35].
 */
#ifndef RECORDER_INDEX_CHUNK_H
#define RECORDER_INDEX_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"

struct trk_index_entry {
    uint64_t offset;
    struct trk_format_chunk chunk; /* stream, file_chunk, events, ordinal, time stamps, dropped,
                                  places */
};

struct trk_index_chunk_head {
    uint64_t previous; /* offset of the INDEX chunk before; 0: this is the first */
    uint32_t count;
};

#define TRK_INDEX_CHUNK_BYTES(count)                                                               \
    (TRK_FORMAT_INDEX_BYTES + (size_t)(count)*TRK_FORMAT_INDEX_ENTRY_BYTES)

/* Write a payload into `to`, which has TRK_INDEX_CHUNK_BYTES of room. */
void trk_index_chunk_put(uint8_t *to, const struct trk_index_chunk_head *head,
                         const struct trk_index_entry *entries);

/* Read the fixed part. False: the size is not that of so many entries. */
bool trk_index_chunk_head(const uint8_t *from, size_t size_bytes,
                          struct trk_index_chunk_head *head);
/* Read entry `number` of a payload whose head was read. */
struct trk_index_entry trk_index_chunk_entry(const uint8_t *from, uint32_t number);

#endif
