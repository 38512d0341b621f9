/*
 * Goal: no payload makes the column decoder crash, and what it accepts it has understood.
 * Method: an input is the number of events less one (two bytes), the clock shift (one byte), and a
 * payload. What decodes is encoded and decoded again, and must be the same events.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "columns.h"
#include "format.h"
#include "fuzz.h"
#include "recorder/writer.h"

#define INPUT_HEAD 3u

static struct trk_record first[TRK_CHUNK_EVENTS];
static struct trk_record second[TRK_CHUNK_EVENTS];

static void check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "fuzz_columns: %s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    if (size_bytes < INPUT_HEAD) {
        return 0;
    }
    struct trk_columns *encoder, *decoder;
    check(trk_columns_create_encoder(&encoder, TRK_CHUNK_EVENTS) == TRK_OK, "no memory");
    check(trk_columns_create_decoder(&decoder) == TRK_OK, "no memory");
    struct trk_columns_input input = {
        .bytes = bytes + INPUT_HEAD,
        .size_bytes = size_bytes - INPUT_HEAD,
        .count = trk_bytes_get16(bytes) % TRK_CHUNK_EVENTS + 1u,
        .clock_shift = bytes[2] % (TRK_FORMAT_SHIFT_MAX + 1),
    };
    if (trk_columns_decode(decoder, &input, first) == TRK_OK) {
        const uint8_t *payload;
        size_t again = trk_columns_encode(encoder, first, input.count, input.clock_shift, &payload);
        input.bytes = payload;
        input.size_bytes = again;
        input.first_tsc = first[0].tsc;
        check(trk_columns_decode(decoder, &input, second) == TRK_OK, "own payload refused");
        check(memcmp(first, second, input.count * sizeof first[0]) == 0, "not the same events");
    }
    trk_columns_destroy(encoder);
    trk_columns_destroy(decoder);
    return 0;
}
