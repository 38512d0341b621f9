/*
 * Goal: no file makes the reader crash, hang, or call a damaged trace complete.
 * Method: each input is read as it is, and once more with all checksums made right, so that the
 * code behind them is reached too. (zstd's own frame checksum stays: the corpus has frames
 * without.) What is read is read twice and must be the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "crc32c.h"
#include "format.h"
#include "fuzz.h"
#include "recorder/blobs.h"
#include "recorder/checkpoint.h"
#include "recorder/page_hash.h"

/* A few hundred bytes can stand for 131072 events; more than this shows nothing new. */
#define EVENTS_MAX 300000u

static void check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "fuzz_reader: %s\n", what);
        abort();
    }
}

/* Read to the end or to EVENTS_MAX; gives a sum over what was read. */
static uint64_t read_events(struct trk_trace *trace, uint64_t *count)
{
    struct trk_trace_event event;
    uint64_t sum = 0;
    *count = 0;
    enum trk_status status = TRK_OK;
    while (*count < EVENTS_MAX && (status = trk_trace_next(trace, &event, NULL)) == TRK_OK) {
        check(event.number == *count, "event numbers are not consecutive");
        check(event.stream < trk_trace_stream_count(trace), "no such stream");
        (*count)++;
        sum = sum * 31 + event.tsc + event.event.argument + event.event.type + event.stream;
    }
    check(status == TRK_OK || status == TRK_E_END || status == TRK_E_VERSION ||
              status == TRK_E_MEMORY,
          "unexpected status");
    return sum;
}

static void look_for_page(struct trk_trace *trace, uint64_t hash)
{
    const void *bytes;
    enum trk_status status = trk_trace_blob(trace, hash, &bytes, NULL);
    check(status != TRK_OK || trk_page_hash(bytes, TRK_BLOB_BYTES) == hash, "another page");
}

/* Contents of pages, and reading from the middle: whatever comes, and the same bytes for a hash. */
static void read_parts(struct trk_trace *trace)
{
    uint64_t pages, count;
    check(trk_trace_blob_count(trace, &pages, NULL) != TRK_E_END, "unexpected status");
    for (uint64_t i = 0; i < 4; i++) {
        look_for_page(trace, i);
    }
    size_t checkpoints = trk_trace_checkpoint_count(trace);
    for (size_t i = 0; i < checkpoints && i < 8; i++) {
        struct trk_trace_event event;
        struct trk_trace_checkpoint place;
        if (trk_trace_go_to(trace, i, &place, NULL) == TRK_OK &&
            trk_trace_next(trace, &event, NULL) == TRK_OK) {
            check(event.number == place.event_number, "another event behind a checkpoint");
        }
    }
    if (trk_trace_seek(trace, 3, NULL) == TRK_OK) {
        struct trk_trace_event event;
        count = trk_trace_next(trace, &event, NULL) == TRK_OK ? event.number : 3;
        check(count == 3, "another event than was sought");
    }
}

static void read_twice(const uint8_t *bytes, size_t size_bytes)
{
    struct trk_trace *trace;
    struct trk_error error;
    if (trk_trace_open_bytes(&trace, bytes, size_bytes, &error) != TRK_OK) {
        check(error.file_offset != TRK_NOT_KNOWN || error.status == TRK_E_MEMORY,
              "refused without an offset");
        return;
    }
    uint64_t count, again;
    uint64_t sum = read_events(trace, &count);
    struct trk_trace_state state = trk_trace_state(trace);
    check(!state.complete || (state.first_damage_offset == TRK_NOT_KNOWN && state.ended),
          "complete although damaged");
    check((state.first_damage_offset == TRK_NOT_KNOWN) == (state.damage[0] == '\0'),
          "offset and text of the damage disagree");
    check(trk_trace_rewind(trace, NULL) == TRK_OK, "rewind");
    check(read_events(trace, &again) == sum && again == count, "the second time is different");
    if (count < EVENTS_MAX) {
        read_parts(trace);
    }
    trk_trace_close(trace);
}

static void seal(uint8_t *frame, size_t size_bytes)
{
    trk_bytes_put32(frame + size_bytes - 4, trk_crc32c_update(0, frame, size_bytes - 4));
}

/* Make the checksums right along the chain of frames, as far as it goes. */
static void make_right(uint8_t *bytes, size_t size_bytes)
{
    if (size_bytes < TRK_FORMAT_FILE_BYTES) {
        return;
    }
    seal(bytes, TRK_FORMAT_FILE_BYTES);
    size_t at = TRK_FORMAT_FILE_BYTES;
    while (size_bytes - at >= TRK_FORMAT_CHUNK_BYTES &&
           trk_bytes_get32(bytes + at) == TRK_FORMAT_FRAME_CHUNK) {
        uint8_t *frame = bytes + at;
        size_t left = size_bytes - at - TRK_FORMAT_CHUNK_BYTES;
        size_t summary = trk_bytes_get32(frame + 84);
        summary = summary < left ? summary : left;
        if (summary > TRK_FORMAT_FRAME_PREFIX + 4) {
            seal(frame + TRK_FORMAT_CHUNK_BYTES, summary);
        }
        size_t packed = trk_bytes_get32(frame + 76);
        packed = packed < left - summary ? packed : left - summary;
        trk_bytes_put32(frame + 88,
                        trk_crc32c_update(0, frame + TRK_FORMAT_CHUNK_BYTES + summary, packed));
        seal(frame, TRK_FORMAT_CHUNK_BYTES);
        at += TRK_FORMAT_CHUNK_BYTES + summary + packed;
    }
    if (size_bytes - at >= TRK_FORMAT_END_BYTES &&
        trk_bytes_get32(bytes + at) == TRK_FORMAT_FRAME_END) {
        seal(bytes + at, TRK_FORMAT_END_BYTES);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    read_twice(bytes, size_bytes);
    uint8_t *right = malloc(size_bytes + 1);
    if (right == NULL) {
        return 0;
    }
    memcpy(right, bytes, size_bytes);
    make_right(right, size_bytes);
    read_twice(right, size_bytes);
    free(right);
    return 0;
}
