#include "index_chunk.h"

#include "bytes.h"

void trk_index_chunk_put(uint8_t *to, const struct trk_index_chunk_head *head,
                         const struct trk_index_entry *entries)
{
    uint8_t *at = trk_bytes_put64(to, head->previous);
    at = trk_bytes_put32(at, head->count);
    at = trk_bytes_put32(at, 0); /* reserved */
    for (uint32_t i = 0; i < head->count; i++) {
        const struct trk_format_chunk *chunk = &entries[i].chunk;
        at = trk_bytes_put64(at, entries[i].offset);
        at = trk_bytes_put32(at, chunk->stream);
        at = trk_bytes_put32(at, chunk->file_chunk);
        at = trk_bytes_put32(at, chunk->events);
        at = trk_bytes_put32(at, chunk->places << 8 | chunk->kind);
        at = trk_bytes_put64(at, chunk->first_ordinal);
        at = trk_bytes_put64(at, chunk->first_tsc);
        at = trk_bytes_put64(at, chunk->last_tsc);
        at = trk_bytes_put64(at, chunk->dropped);
    }
}

bool trk_index_chunk_head(const uint8_t *from, size_t size_bytes, struct trk_index_chunk_head *head)
{
    if (size_bytes < TRK_FORMAT_INDEX_BYTES) {
        return false;
    }
    head->previous = trk_bytes_get64(from);
    head->count = trk_bytes_get32(from + 8);
    return size_bytes == TRK_INDEX_CHUNK_BYTES(head->count);
}

struct trk_index_entry trk_index_chunk_entry(const uint8_t *from, uint32_t number)
{
    const uint8_t *at = from + TRK_INDEX_CHUNK_BYTES(number);
    return (struct trk_index_entry){
        .offset = trk_bytes_get64(at),
        .chunk =
            {
                .stream = trk_bytes_get32(at + 8),
                .file_chunk = trk_bytes_get32(at + 12),
                .events = trk_bytes_get32(at + 16),
                .kind = at[20],
                .first_ordinal = trk_bytes_get64(at + 24),
                .first_tsc = trk_bytes_get64(at + 32),
                .last_tsc = trk_bytes_get64(at + 40),
                .dropped = trk_bytes_get64(at + 48),
                .places = trk_bytes_get32(at + 20) >> 8,
            },
    };
}
