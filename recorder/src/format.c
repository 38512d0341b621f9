#include "format.h"

#include <assert.h>
#include <string.h>

#include "bytes.h"
#include "crc32c.h"

/*
 * The high bit finds transfers that strip it, CR LF and LF those that convert line ends, and 0x1a
 * stops a listing on old terminals [F-4].
 */
static const uint8_t file_magic[8] = {0x89, 'T', 'R', 'K', '\r', '\n', 0x1a, '\n'};

/* Widths of the fields between frame prefix and CRC, in the order of the put functions. */
_Static_assert(TRK_FORMAT_FILE_BYTES ==
                   TRK_FORMAT_FRAME_PREFIX + 8 + 4 * 2 + 2 * 8 + TRK_FORMAT_SYNC_BYTES + 4 + 4,
               "file header");
_Static_assert(TRK_FORMAT_CHUNK_BYTES == TRK_FORMAT_FRAME_PREFIX + TRK_FORMAT_SYNC_BYTES + 4 * 1 +
                                             3 * 4 + 4 * 8 + 4 * 4 + 4 + 4,
               "chunk header");
_Static_assert(TRK_FORMAT_END_BYTES == TRK_FORMAT_FRAME_PREFIX + 8 + 8 + 4 + 4, "end mark");
_Static_assert(TRK_FORMAT_CHUNK_SYNC_AT == TRK_FORMAT_FRAME_PREFIX, "sync marker");

/* A frame ends with the CRC of all that stands before it, its prefix included. */
static void seal(uint8_t *start, uint8_t *at, uint32_t size_bytes)
{
    assert(at + 4 == start + size_bytes);
    (void)trk_bytes_put32(at, trk_crc32c_update(0, start, size_bytes - 4));
}

static bool sealed(const uint8_t *start, uint32_t frame_magic, uint32_t size_bytes)
{
    return trk_bytes_get32(start) == frame_magic &&
           trk_bytes_get32(start + 4) == size_bytes - TRK_FORMAT_FRAME_PREFIX &&
           trk_bytes_get32(start + size_bytes - 4) == trk_crc32c_update(0, start, size_bytes - 4);
}

void trk_format_put_file(uint8_t *to, const struct trk_format_file *file)
{
    uint8_t *at = trk_bytes_put32(to, TRK_FORMAT_FRAME_FILE);
    at = trk_bytes_put32(at, TRK_FORMAT_FILE_BYTES - TRK_FORMAT_FRAME_PREFIX);
    memcpy(at, file_magic, sizeof file_magic);
    at += sizeof file_magic;
    at = trk_bytes_put16(at, file->major);
    at = trk_bytes_put16(at, file->minor);
    at = trk_bytes_put16(at, file->min_reader_major);
    at = trk_bytes_put16(at, file->min_reader_minor);
    at = trk_bytes_put64(at, file->required_features);
    at = trk_bytes_put64(at, file->optional_features);
    memcpy(at, file->sync, TRK_FORMAT_SYNC_BYTES);
    at += TRK_FORMAT_SYNC_BYTES;
    at = trk_bytes_put8(at, (uint8_t)file->zstd_level);
    at = trk_bytes_put8(at, 0); /* reserved */
    at = trk_bytes_put16(at, 0);
    seal(to, at, TRK_FORMAT_FILE_BYTES);
}

void trk_format_put_chunk(uint8_t *to, const uint8_t *sync, const struct trk_format_chunk *chunk)
{
    uint8_t *at = trk_bytes_put32(to, TRK_FORMAT_FRAME_CHUNK);
    at = trk_bytes_put32(at, TRK_FORMAT_CHUNK_BYTES - TRK_FORMAT_FRAME_PREFIX);
    memcpy(at, sync, TRK_FORMAT_SYNC_BYTES);
    at += TRK_FORMAT_SYNC_BYTES;
    at = trk_bytes_put8(at, chunk->kind);
    at = trk_bytes_put8(at, chunk->codec);
    at = trk_bytes_put8(at, chunk->flags);
    at = trk_bytes_put8(at, chunk->clock_shift);
    at = trk_bytes_put32(at, chunk->stream);
    at = trk_bytes_put32(at, chunk->stream_chunk);
    at = trk_bytes_put32(at, chunk->events);
    at = trk_bytes_put64(at, chunk->first_ordinal);
    at = trk_bytes_put64(at, chunk->first_tsc);
    at = trk_bytes_put64(at, chunk->last_tsc);
    at = trk_bytes_put64(at, chunk->dropped);
    at = trk_bytes_put32(at, chunk->raw_bytes);
    at = trk_bytes_put32(at, chunk->packed_bytes);
    at = trk_bytes_put32(at, chunk->file_chunk);
    at = trk_bytes_put32(at, chunk->summary_bytes);
    at = trk_bytes_put32(at, chunk->payload_crc);
    seal(to, at, TRK_FORMAT_CHUNK_BYTES);
}

void trk_format_put_end(uint8_t *to, const uint8_t *sync, const struct trk_format_end *end)
{
    uint8_t *at = trk_bytes_put32(to, TRK_FORMAT_FRAME_END);
    at = trk_bytes_put32(at, TRK_FORMAT_END_BYTES - TRK_FORMAT_FRAME_PREFIX);
    memcpy(at, sync, 8);
    at += 8;
    at = trk_bytes_put64(at, end->chunk_offset);
    at = trk_bytes_put32(at, (uint32_t)end->child_status);
    seal(to, at, TRK_FORMAT_END_BYTES);
}

/* Whether a version is above the one this reader implements. */
static bool is_newer(uint16_t major, uint16_t minor)
{
    return major > TRK_FORMAT_MAJOR || (major == TRK_FORMAT_MAJOR && minor > TRK_FORMAT_MINOR);
}

enum trk_status trk_format_get_file(const uint8_t *from, struct trk_format_file *file,
                                    struct trk_error *error)
{
    const uint8_t *at = from + TRK_FORMAT_FRAME_PREFIX;
    if (memcmp(at, file_magic, sizeof file_magic) != 0) {
        return trk_error_set(error, TRK_E_DAMAGED, "this is no .trk file");
    }
    if (!sealed(from, TRK_FORMAT_FRAME_FILE, TRK_FORMAT_FILE_BYTES)) {
        return trk_error_set(error, TRK_E_DAMAGED, "the file header is damaged");
    }
    at += sizeof file_magic;
    file->major = trk_bytes_get16(at);
    file->minor = trk_bytes_get16(at + 2);
    file->min_reader_major = trk_bytes_get16(at + 4);
    file->min_reader_minor = trk_bytes_get16(at + 6);
    file->required_features = trk_bytes_get64(at + 8);
    file->optional_features = trk_bytes_get64(at + 16);
    memcpy(file->sync, at + 24, TRK_FORMAT_SYNC_BYTES);
    file->zstd_level = (int8_t)at[24 + TRK_FORMAT_SYNC_BYTES];
    if (is_newer(file->min_reader_major, file->min_reader_minor)) {
        return trk_error_set(error, TRK_E_VERSION,
                             "format %u.%u needs a reader of %u.%u; this one knows %u.%u",
                             file->major, file->minor, file->min_reader_major,
                             file->min_reader_minor, TRK_FORMAT_MAJOR, TRK_FORMAT_MINOR);
    }
    uint64_t unknown = file->required_features & ~(uint64_t)TRK_FORMAT_KNOWN_FEATURES;
    if (unknown != 0) {
        return trk_error_set(error, TRK_E_VERSION, "the file requires unknown features 0x%llx",
                             (unsigned long long)unknown);
    }
    return TRK_OK;
}

bool trk_format_kind_known(uint8_t kind)
{
    return kind >= TRK_FORMAT_HEADER && kind <= TRK_FORMAT_CHECKPOINT;
}

bool trk_format_kind_indexed(uint8_t kind)
{
    return kind == TRK_FORMAT_EVENTS || kind == TRK_FORMAT_NOTE || kind == TRK_FORMAT_SNAPSHOT ||
           kind == TRK_FORMAT_BLOB || kind == TRK_FORMAT_CHECKPOINT;
}

static bool within_limits(const struct trk_format_chunk *chunk)
{
    /* Of the kinds that have a limit of their own. */
    static const uint32_t raw_of[] = {
        [TRK_FORMAT_HEADER] = TRK_FORMAT_JSON_MAX,
        [TRK_FORMAT_SCHEMA] = TRK_FORMAT_JSON_MAX,
        [TRK_FORMAT_NOTE] = TRK_FORMAT_JSON_MAX,
        [TRK_FORMAT_BLOB] = TRK_FORMAT_BLOB_MAX,
    };
    uint32_t raw_max = chunk->kind < sizeof raw_of / sizeof raw_of[0] ? raw_of[chunk->kind] : 0;
    if (raw_max == 0)
        raw_max = TRK_FORMAT_RAW_MAX;
    return chunk->events <= TRK_FORMAT_EVENTS_MAX && chunk->raw_bytes <= raw_max &&
           chunk->packed_bytes <= TRK_FORMAT_PACKED_MAX &&
           chunk->summary_bytes <= TRK_FORMAT_SUMMARY_MAX &&
           chunk->clock_shift <= TRK_FORMAT_SHIFT_MAX &&
           chunk->first_ordinal <= UINT64_MAX - chunk->events &&
           (chunk->kind == TRK_FORMAT_EVENTS || chunk->events == 0);
}

bool trk_format_get_chunk(const uint8_t *from, const uint8_t *sync, struct trk_format_chunk *chunk)
{
    if (memcmp(from + TRK_FORMAT_CHUNK_SYNC_AT, sync, TRK_FORMAT_SYNC_BYTES) != 0 ||
        !sealed(from, TRK_FORMAT_FRAME_CHUNK, TRK_FORMAT_CHUNK_BYTES)) {
        return false;
    }
    const uint8_t *at = from + TRK_FORMAT_CHUNK_SYNC_AT + TRK_FORMAT_SYNC_BYTES;
    chunk->kind = at[0];
    chunk->codec = at[1];
    chunk->flags = at[2];
    chunk->clock_shift = at[3];
    chunk->stream = trk_bytes_get32(at + 4);
    chunk->stream_chunk = trk_bytes_get32(at + 8);
    chunk->events = trk_bytes_get32(at + 12);
    chunk->first_ordinal = trk_bytes_get64(at + 16);
    chunk->first_tsc = trk_bytes_get64(at + 24);
    chunk->last_tsc = trk_bytes_get64(at + 32);
    chunk->dropped = trk_bytes_get64(at + 40);
    chunk->raw_bytes = trk_bytes_get32(at + 48);
    chunk->packed_bytes = trk_bytes_get32(at + 52);
    chunk->file_chunk = trk_bytes_get32(at + 56);
    chunk->summary_bytes = trk_bytes_get32(at + 60);
    chunk->payload_crc = trk_bytes_get32(at + 64);
    chunk->places = 0;
    return within_limits(chunk);
}

bool trk_format_get_end(const uint8_t *from, const uint8_t *sync, struct trk_format_end *end)
{
    if (!sealed(from, TRK_FORMAT_FRAME_END, TRK_FORMAT_END_BYTES) ||
        memcmp(from + TRK_FORMAT_FRAME_PREFIX, sync, 8) != 0) {
        return false;
    }
    end->chunk_offset = trk_bytes_get64(from + TRK_FORMAT_FRAME_PREFIX + 8);
    end->child_status = (int32_t)trk_bytes_get32(from + TRK_FORMAT_FRAME_PREFIX + 16);
    return true;
}
