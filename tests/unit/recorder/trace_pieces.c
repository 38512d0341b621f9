#include "trace_pieces.h"

#include <stdlib.h>
#include <string.h>

struct pieces pieces_of(const struct trace_file *file)
{
    struct pieces pieces = {.count = 0};
    struct trk_format_file header;
    if (trk_format_get_file(file->bytes, &header, NULL) != TRK_OK) {
        abort();
    }
    memcpy(pieces.sync, header.sync, sizeof pieces.sync);
    size_t size_bytes = TRK_FORMAT_FILE_BYTES;
    for (size_t at = 0; at < file->size_bytes; at += size_bytes) {
        struct trk_format_chunk chunk;
        if (at > 0) {
            size_bytes = TRK_FORMAT_END_BYTES;
            if (at + TRK_FORMAT_CHUNK_BYTES <= file->size_bytes &&
                trk_format_get_chunk(file->bytes + at, header.sync, &chunk)) {
                size_bytes = (size_t)trk_format_chunk_span(&chunk);
            }
        }
        if (pieces.count == PIECES_MAX) {
            abort();
        }
        pieces.bytes[pieces.count] = malloc(size_bytes);
        memcpy(pieces.bytes[pieces.count], file->bytes + at, size_bytes);
        pieces.size_bytes[pieces.count++] = size_bytes;
    }
    return pieces;
}

struct pieces pieces_model(void)
{
    struct trace_file file;
    trace_file_start_plain(&file, 0);
    trace_file_name(&file, 5, "five");
    trace_file_name(&file, 6, "six");
    for (uint64_t i = 0; i < 4; i++) {
        struct trk_record record = {100 + i, {.type = TRK_EVENT_MARK, .argument = 'a' + i}};
        trace_file_add(&file, 5 + i % 2, &record, 1, 0);
        trace_file_flush(&file);
    }
    trace_file_end(&file, 0);
    struct pieces pieces = pieces_of(&file);
    if (pieces.count != ALL_PIECES) {
        abort();
    }
    trace_file_free(&file);
    return pieces;
}

void pieces_free(struct pieces *pieces)
{
    for (size_t i = 0; i < pieces->count; i++) {
        free(pieces->bytes[i]);
    }
}

void pieces_drop(struct pieces *pieces, size_t at)
{
    free(pieces->bytes[at]);
    pieces->count--;
    memmove(&pieces->bytes[at], &pieces->bytes[at + 1],
            (pieces->count - at) * sizeof pieces->bytes[0]);
    memmove(&pieces->size_bytes[at], &pieces->size_bytes[at + 1],
            (pieces->count - at) * sizeof pieces->size_bytes[0]);
}

void pieces_insert(struct pieces *pieces, size_t at, const void *bytes, size_t size_bytes)
{
    uint8_t *copy = malloc(size_bytes);
    memcpy(copy, bytes, size_bytes);
    memmove(&pieces->bytes[at + 1], &pieces->bytes[at],
            (pieces->count - at) * sizeof pieces->bytes[0]);
    memmove(&pieces->size_bytes[at + 1], &pieces->size_bytes[at],
            (pieces->count - at) * sizeof pieces->size_bytes[0]);
    pieces->bytes[at] = copy;
    pieces->size_bytes[at] = size_bytes;
    pieces->count++;
}

void pieces_swap(struct pieces *pieces, size_t a, size_t b)
{
    uint8_t *bytes = pieces->bytes[a];
    size_t size_bytes = pieces->size_bytes[a];
    pieces->bytes[a] = pieces->bytes[b];
    pieces->size_bytes[a] = pieces->size_bytes[b];
    pieces->bytes[b] = bytes;
    pieces->size_bytes[b] = size_bytes;
}

struct trk_format_chunk pieces_chunk(const struct pieces *pieces, size_t at)
{
    struct trk_format_chunk chunk;
    if (!trk_format_get_chunk(pieces->bytes[at], pieces->sync, &chunk)) {
        abort();
    }
    return chunk;
}

void pieces_reseal(struct pieces *pieces, size_t at, const struct trk_format_chunk *chunk)
{
    trk_format_put_chunk(pieces->bytes[at], pieces->sync, chunk);
}

uint8_t *pieces_join(const struct pieces *pieces, size_t *size_bytes)
{
    *size_bytes = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        *size_bytes += pieces->size_bytes[i];
    }
    uint8_t *bytes = malloc(*size_bytes + 1);
    size_t at = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        memcpy(bytes + at, pieces->bytes[i], pieces->size_bytes[i]);
        at += pieces->size_bytes[i];
    }
    return bytes;
}
