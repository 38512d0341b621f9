#include "blob_chunk.h"

#include "bytes.h"
#include "crc32c.h"
#include "recorder/page_hash.h"
#include "summary.h"

uint32_t trk_blob_chunk_pages(const struct trk_format_chunk *chunk)
{
    uint32_t count = chunk->raw_bytes / TRK_FORMAT_BLOB_BYTES;
    return chunk->raw_bytes % TRK_FORMAT_BLOB_BYTES == 0 ? count : 0;
}

static uint64_t hash_of(const uint8_t *pages, uint32_t number)
{
    return trk_page_hash(pages + (size_t)number * TRK_FORMAT_BLOB_BYTES, TRK_FORMAT_BLOB_BYTES);
}

void trk_blob_chunk_frame(uint8_t *to, const uint8_t *pages, uint32_t count)
{
    size_t size_bytes = TRK_BLOB_FRAME_BYTES(count);
    uint8_t *at = trk_bytes_put32(to, TRK_FORMAT_FRAME_SUMMARY);
    at = trk_bytes_put32(at, (uint32_t)(size_bytes - TRK_FORMAT_FRAME_PREFIX));
    for (uint32_t i = 0; i < count; i++) {
        at = trk_bytes_put64(at, hash_of(pages, i));
    }
    (void)trk_bytes_put32(at, trk_crc32c_update(0, to, size_bytes - 4));
}

bool trk_blob_chunk_sealed(const uint8_t *frame, size_t size_bytes, uint32_t count)
{
    return size_bytes == TRK_BLOB_FRAME_BYTES(count) && trk_summary_sealed(frame, size_bytes);
}

uint64_t trk_blob_chunk_hash(const uint8_t *frame, uint32_t number)
{
    return trk_bytes_get64(frame + TRK_FORMAT_FRAME_PREFIX + 8 * (size_t)number);
}

bool trk_blob_chunk_match(const uint8_t *frame, const uint8_t *pages, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (trk_blob_chunk_hash(frame, i) != hash_of(pages, i)) {
            return false;
        }
    }
    return true;
}
