/*
 * Goal: stock zstd accepts a finished trace, and of a flipped bit in it says no, or gives the same
 * contents all the same; the rest is the reader's, which says no to every one [F-2] [F-7].
 * Method: zstd's own streaming decoder, as `zstd -t` uses it, over the small trace with each bit
 * flipped. What it lets through must be found with an offset by a read of the file.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "format.h"
#include "small_trace.h"

#define CONTENTS_MAX 65536u

/* Whether zstd takes the bytes as a whole stream; its contents go to `to`. */
static bool zstd_takes(const uint8_t *bytes, size_t size_bytes, uint8_t *to, size_t *contents)
{
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    ZSTD_inBuffer in = {bytes, size_bytes, 0};
    ZSTD_outBuffer out = {to, CONTENTS_MAX, 0};
    size_t left = 0;
    while (in.pos < in.size && out.pos < out.size) {
        left = ZSTD_decompressStream(zstd, &out, &in);
        if (ZSTD_isError(left)) {
            break;
        }
    }
    *contents = out.pos;
    ZSTD_freeDCtx(zstd);
    return left == 0;
}

/* Whether a byte stands in a payload; what is before it is as it was written. */
static bool in_payload(const struct trace_file *file, size_t byte)
{
    uint64_t at = TRK_FORMAT_FILE_BYTES;
    struct trk_format_chunk chunk;
    while (at + TRK_FORMAT_CHUNK_BYTES <= byte &&
           trk_format_get_chunk(file->bytes + at, file->bytes + 40, &chunk)) {
        uint64_t payload = at + trk_format_payload_at(&chunk);
        at += trk_format_chunk_span(&chunk);
        if (byte >= payload && byte < at) {
            return true;
        }
    }
    return false;
}

Test(zstd, every_bit)
{
    static uint8_t whole[CONTENTS_MAX], now[CONTENTS_MAX];
    struct trace_file file;
    size_t whole_bytes, now_bytes;
    small_trace_make(&file);
    cr_assert(zstd_takes(file.bytes, file.size_bytes, whole, &whole_bytes));
    for (size_t bit = 0; bit < 8 * file.size_bytes; bit++) {
        file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (zstd_takes(file.bytes, file.size_bytes, now, &now_bytes)) {
            bool same = now_bytes == whole_bytes && memcmp(now, whole, now_bytes) == 0;
            cr_assert(same || !in_payload(&file, bit / 8),
                      "bit %zu of byte %zu: zstd takes other contents", bit % 8, bit / 8);
            struct trace_events read = trace_read_bytes(file.bytes, file.size_bytes);
            bool found =
                read.status != TRK_OK
                    ? read.error.file_offset <= file.size_bytes
                    : !read.state.complete && read.state.first_damage_offset <= file.size_bytes;
            cr_assert(found, "bit %zu of byte %zu is not found", bit % 8, bit / 8);
            trace_events_free(&read);
        }
        file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    trace_file_free(&file);
}
