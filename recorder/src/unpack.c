#define _GNU_SOURCE /* memmem */
#include "unpack.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "crc32c.h"
#include "summary.h"

/* The search for a sync marker reads this much at a time. */
#define WINDOW_BYTES 65536u
/* Of the sync marker, as much as the end mark holds too. */
#define SYNC_PREFIX 8u

enum trk_status trk_unpack_file(const struct trk_source *source, struct trk_format_file *file,
                                struct trk_error *error)
{
    uint8_t bytes[TRK_FORMAT_FILE_BYTES] = {0};
    struct trk_source_part part = {.to = bytes, .size_bytes = sizeof bytes};
    enum trk_status status = trk_source_read(source, &part, error);
    return status == TRK_OK ? trk_format_get_file(bytes, file, error) : status;
}

enum trk_status trk_unpack_init(struct trk_unpack *unpack, const struct trk_source *source,
                                const uint8_t *sync)
{
    *unpack = (struct trk_unpack){.source = source};
    memcpy(unpack->sync, sync, TRK_FORMAT_SYNC_BYTES);
    unpack->zstd = ZSTD_createDCtx();
    return unpack->zstd != NULL ? TRK_OK : TRK_E_MEMORY;
}

void trk_unpack_deinit(struct trk_unpack *unpack)
{
    ZSTD_freeDCtx(unpack->zstd);
    free(unpack->body);
    free(unpack->raw);
    *unpack = (struct trk_unpack){.source = NULL};
}

static enum trk_status make_room(uint8_t **buffer, size_t *room, size_t size_bytes,
                                 struct trk_error *error)
{
    if (size_bytes <= *room) {
        return TRK_OK;
    }
    uint8_t *larger = realloc(*buffer, size_bytes);
    if (larger == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for a chunk of %zu bytes", size_bytes);
    }
    *buffer = larger;
    *room = size_bytes;
    return TRK_OK;
}

static enum trk_status read_exactly(struct trk_unpack *unpack, uint64_t offset, uint8_t *to,
                                    size_t size_bytes, struct trk_error *error)
{
    struct trk_source_part part = {.offset = offset, .to = to, .size_bytes = size_bytes};
    enum trk_status status = trk_source_read(unpack->source, &part, error);
    if (status == TRK_OK && part.got < size_bytes) {
        status = TRK_E_INCOMPLETE;
    }
    return status;
}

enum trk_status trk_unpack_header(struct trk_unpack *unpack, uint64_t offset,
                                  struct trk_format_chunk *chunk, struct trk_error *error)
{
    uint8_t bytes[TRK_FORMAT_CHUNK_BYTES];
    enum trk_status status = read_exactly(unpack, offset, bytes, sizeof bytes, error);
    if (status == TRK_OK && !trk_format_get_chunk(bytes, unpack->sync, chunk)) {
        status = TRK_E_DAMAGED;
    }
    return status;
}

enum trk_status trk_unpack_refuse(uint64_t offset, const struct trk_format_chunk *chunk,
                                  struct trk_error *error)
{
    bool known = trk_format_kind_known(chunk->kind);
    enum trk_status status = TRK_OK;
    if (!known && (chunk->flags & TRK_FORMAT_FLAG_REQUIRED)) {
        status =
            trk_error_set(error, TRK_E_VERSION, "chunk kind %u needs a newer reader", chunk->kind);
    } else if (known && chunk->codec != TRK_FORMAT_CODEC_ZSTD) {
        status = trk_error_set(error, TRK_E_VERSION, "chunk codec %u needs a newer reader",
                               chunk->codec);
    }
    if (status != TRK_OK && error != NULL) {
        error->file_offset = offset;
    }
    return status;
}

enum trk_status trk_unpack_check(struct trk_unpack *unpack, uint64_t offset,
                                 const struct trk_format_chunk *chunk, struct trk_error *error)
{
    uint64_t body_at = offset + TRK_FORMAT_CHUNK_BYTES;
    size_t body_bytes = (size_t)chunk->summary_bytes + chunk->packed_bytes;
    uint64_t size_bytes = unpack->source->size_bytes;
    if (body_at > size_bytes || body_bytes > size_bytes - body_at) {
        return TRK_E_INCOMPLETE;
    }
    enum trk_status status = make_room(&unpack->body, &unpack->body_room, body_bytes + 1, error);
    if (status != TRK_OK) {
        return status;
    }
    status = read_exactly(unpack, body_at, unpack->body, body_bytes, error);
    unpack->packed = unpack->body + chunk->summary_bytes;
    unpack->summary_good =
        status == TRK_OK &&
        (chunk->summary_bytes == 0 || trk_summary_sealed(unpack->body, chunk->summary_bytes));
    if (status == TRK_OK &&
        trk_crc32c_update(0, unpack->packed, chunk->packed_bytes) != chunk->payload_crc) {
        status = TRK_E_DAMAGED;
    }
    return status;
}

enum trk_status trk_unpack_summary(struct trk_unpack *unpack, uint64_t offset,
                                   const struct trk_format_chunk *chunk, struct trk_error *error)
{
    enum trk_status status =
        make_room(&unpack->body, &unpack->body_room, (size_t)chunk->summary_bytes + 1, error);
    return status == TRK_OK ? read_exactly(unpack, offset + TRK_FORMAT_CHUNK_BYTES, unpack->body,
                                           chunk->summary_bytes, error)
                            : status;
}

enum trk_status trk_unpack_payload(struct trk_unpack *unpack, uint64_t offset,
                                   const struct trk_format_chunk *chunk, struct trk_error *error)
{
    enum trk_status status = trk_unpack_check(unpack, offset, chunk, error);
    if (status != TRK_OK) {
        return status;
    }
    /* [F-11] One frame, all of the payload, of the size that both headers say. */
    if (ZSTD_findFrameCompressedSize(unpack->packed, chunk->packed_bytes) != chunk->packed_bytes ||
        ZSTD_getFrameContentSize(unpack->packed, chunk->packed_bytes) != chunk->raw_bytes) {
        return TRK_E_DAMAGED;
    }
    status = make_room(&unpack->raw, &unpack->raw_room, (size_t)chunk->raw_bytes + 1, error);
    if (status != TRK_OK) {
        return status;
    }
    size_t raw = ZSTD_decompressDCtx(unpack->zstd, unpack->raw, chunk->raw_bytes, unpack->packed,
                                     chunk->packed_bytes);
    return ZSTD_isError(raw) || raw != chunk->raw_bytes ? TRK_E_DAMAGED : TRK_OK;
}

enum trk_status trk_unpack_end(struct trk_unpack *unpack, uint64_t offset,
                               struct trk_format_end *end, struct trk_error *error)
{
    uint8_t bytes[TRK_FORMAT_END_BYTES];
    enum trk_status status = read_exactly(unpack, offset, bytes, sizeof bytes, error);
    if (status == TRK_E_INCOMPLETE ||
        (status == TRK_OK && !trk_format_get_end(bytes, unpack->sync, end))) {
        status = TRK_E_END;
    }
    return status;
}

/* Whether an undamaged chunk header or end mark stands at an offset. */
static enum trk_status try_frame(struct trk_unpack *unpack, uint64_t offset,
                                 struct trk_error *error)
{
    struct trk_format_chunk chunk;
    struct trk_format_end end;
    enum trk_status status = trk_unpack_header(unpack, offset, &chunk, error);
    if (trk_unpack_is_damage(status)) {
        status = trk_unpack_end(unpack, offset, &end, error);
    }
    return status;
}

enum trk_status trk_unpack_find(struct trk_unpack *unpack, uint64_t offset, uint64_t *found,
                                struct trk_error *error)
{
    static const size_t overlap = SYNC_PREFIX - 1;
    uint8_t *window = malloc(WINDOW_BYTES);
    if (window == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory to look for a chunk");
    }
    enum trk_status status = TRK_E_END;
    for (uint64_t at = offset + TRK_FORMAT_CHUNK_SYNC_AT;;) {
        struct trk_source_part part = {.offset = at, .to = window, .size_bytes = WINDOW_BYTES};
        enum trk_status read = trk_source_read(unpack->source, &part, error);
        if (read != TRK_OK || part.got < SYNC_PREFIX) {
            status = read != TRK_OK ? read : TRK_E_END;
            break;
        }
        const uint8_t *from = window;
        const uint8_t *hit;
        while ((hit = memmem(from, (size_t)(window + part.got - from), unpack->sync,
                             SYNC_PREFIX)) != NULL) {
            *found = at + (uint64_t)(hit - window) - TRK_FORMAT_CHUNK_SYNC_AT;
            status = try_frame(unpack, *found, error);
            if (status != TRK_E_END) {
                free(window);
                return status;
            }
            from = hit + 1;
        }
        at += part.got - overlap;
    }
    free(window);
    return status;
}

/* The chunk at an offset, if it is a whole one of the kind. */
static enum trk_status try_chunk(struct trk_unpack *unpack, uint8_t kind, uint64_t offset,
                                 struct trk_format_chunk *chunk, struct trk_error *error)
{
    enum trk_status status = trk_unpack_header(unpack, offset, chunk, error);
    if (status == TRK_OK && (chunk->kind != kind || chunk->codec != TRK_FORMAT_CODEC_ZSTD)) {
        status = TRK_E_DAMAGED;
    }
    return status == TRK_OK ? trk_unpack_payload(unpack, offset, chunk, error) : status;
}

enum trk_status trk_unpack_find_last(struct trk_unpack *unpack, uint8_t kind, uint64_t most_bytes,
                                     uint64_t *found, struct trk_format_chunk *chunk,
                                     struct trk_error *error)
{
    uint8_t *window = malloc(WINDOW_BYTES);
    uint64_t end = unpack->source->size_bytes;
    uint64_t least = most_bytes < end ? end - most_bytes : 0;
    if (window == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory to look for a chunk");
    }
    enum trk_status status = TRK_E_END;
    while (status == TRK_E_END && end > least + SYNC_PREFIX) {
        uint64_t at = end > WINDOW_BYTES ? end - WINDOW_BYTES : 0;
        struct trk_source_part part = {
            .offset = at, .to = window, .size_bytes = (size_t)(end - at)};
        enum trk_status read = trk_source_read(unpack->source, &part, error);
        if (read != TRK_OK) {
            status = read;
            break;
        }
        for (size_t i = part.got; i >= SYNC_PREFIX && status == TRK_E_END; i--) {
            const uint8_t *hit = window + i - SYNC_PREFIX;
            uint64_t place = at + (uint64_t)(hit - window);
            if (*hit != unpack->sync[0] || memcmp(hit, unpack->sync, SYNC_PREFIX) != 0 ||
                place < TRK_FORMAT_CHUNK_SYNC_AT) {
                continue;
            }
            *found = place - TRK_FORMAT_CHUNK_SYNC_AT;
            enum trk_status tried = try_chunk(unpack, kind, *found, chunk, error);
            status = trk_unpack_is_damage(tried) ? TRK_E_END : tried;
        }
        end = at > 0 ? at + SYNC_PREFIX - 1 : 0;
    }
    free(window);
    return status;
}
