/*
 * A BLOB chunk: whole pages, and in front of them the frame that lists their hashes [F-39].
 */
#ifndef RECORDER_BLOB_CHUNK_H
#define RECORDER_BLOB_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"

#define TRK_BLOB_FRAME_BYTES(count) (TRK_FORMAT_FRAME_PREFIX + 8 * (size_t)(count) + 4)

/* How many pages a chunk has by its header; 0: its sizes are not those of a BLOB. */
uint32_t trk_blob_chunk_pages(const struct trk_format_chunk *chunk);

/* Write the frame for so many pages into `to`, which has TRK_BLOB_FRAME_BYTES of room. */
void trk_blob_chunk_frame(uint8_t *to, const uint8_t *pages, uint32_t count);

/* Whether the frame is undamaged and has so many hashes. */
bool trk_blob_chunk_sealed(const uint8_t *frame, size_t size_bytes, uint32_t count);

/* One of its hashes. */
uint64_t trk_blob_chunk_hash(const uint8_t *frame, uint32_t number);

/* Whether an undamaged frame lists the hashes of these pages. */
bool trk_blob_chunk_match(const uint8_t *frame, const uint8_t *pages, uint32_t count);

#endif
