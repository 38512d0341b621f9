/*
 * Goal: what recovery makes of any damaged file is whole, holds only events of the original in
 * their order, counts what is missing, and says when it was as far as that is known.
 * Method: bits and lengths of a small trace, all with TRK_EVERY=1; each result is verified as `trk
 * recover` does it. Where the file header and END are good, events kept and lost add up.
 */
#define _GNU_SOURCE /* memfd_create */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "crc32c.h"
#include "format.h"
#include "recorder/recover.h"
#include "recorder/text.h"
#include "small_trace.h"

#define SMALL_EVENTS (18u + SMALL_TRACE_DETAILS)

/* Every event that is no mark of a loss is one of the original's, in its stream's order. */
static bool are_real(const struct trace_events *given, const struct trace_events *original)
{
    for (uint32_t stream = 0; stream < 2; stream++) {
        size_t next = 0;
        for (size_t i = 0; i < given->count; i++) {
            const struct trk_trace_event *event = &given->events[i];
            if (event->stream != stream || event->event.type == TRK_EVENT_DROP) {
                continue;
            }
            while (next < original->count &&
                   (original->events[next].stream != stream ||
                    !trace_event_equal(&original->events[next].event, &event->event))) {
                next++;
            }
            if (next++ == original->count) {
                return false;
            }
        }
    }
    return true;
}

/* Gives what is wrong with the result for these bytes, or NULL. */
static const char *judge(const uint8_t *bytes, size_t size_bytes,
                         const struct trace_events *original)
{
    int fd = memfd_create("recovered", MFD_CLOEXEC);
    struct trk_recover_result result;
    struct trk_error error;
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    enum trk_status status = trk_recover_bytes(bytes, size_bytes, fd, &result, &error);
    const char *wrong = NULL;
    off_t written = lseek(fd, 0, SEEK_END);
    if (status == TRK_E_DAMAGED) {
        wrong = written == 0 ? NULL : "refused, but something was written";
    } else if (status != TRK_OK) {
        wrong = "unexpected status";
    } else if (trk_trace_verify(path, &result.digest, &error) != TRK_OK) {
        wrong = "the result is not good";
    } else if (!result.cut && result.events + result.dropped != SMALL_EVENTS) {
        wrong = "what is kept and what is lost is not all";
    } else {
        uint8_t *copy = malloc((size_t)written);
        cr_assert_eq(pread(fd, copy, (size_t)written, 0), written);
        struct trace_events given = trace_read_bytes(copy, (size_t)written);
        wrong = are_real(&given, original) ? NULL : "an event that is none of the stream's";
        if (wrong == NULL && (given.state.dropped != result.dropped || !given.state.ended)) {
            wrong = "the file says something else than the result";
        }
        trace_events_free(&given);
        free(copy);
    }
    close(fd);
    return wrong;
}

Test(recover, every_single_bit)
{
    struct trace_file file;
    small_trace_make(&file);
    struct trace_events original = trace_read_bytes(file.bytes, file.size_bytes);
    /* Without TRK_EVERY some of them: reading finds each bit in the damage test. */
    size_t step = getenv("TRK_EVERY") != NULL ? 1 : 11;
    for (size_t bit = 0; bit < 8 * file.size_bytes; bit += step) {
        file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        const char *wrong = judge(file.bytes, file.size_bytes, &original);
        file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_assert_null(wrong, "bit %zu of byte %zu flipped: %s", bit % 8, bit / 8, wrong);
    }
    trace_events_free(&original);
    trace_file_free(&file);
}

Test(recover, every_length)
{
    struct trace_file file;
    small_trace_make(&file);
    struct trace_events original = trace_read_bytes(file.bytes, file.size_bytes);
    size_t step = getenv("TRK_EVERY") != NULL ? 1 : 3;
    for (size_t length = 0; length < file.size_bytes; length += step) {
        uint8_t *cut = malloc(length + (length == 0));
        memcpy(cut, file.bytes, length);
        const char *wrong = judge(cut, length, &original);
        cr_assert_null(wrong, "cut to %zu bytes: %s", length, wrong);
        free(cut);
    }
    trace_events_free(&original);
    trace_file_free(&file);
}

/* Nothing is lost of a file that lacks nothing, and its payloads are the same bytes. */
Test(recover, whole_trace_stays)
{
    struct trace_file file;
    small_trace_make(&file);
    int fd = memfd_create("recovered", MFD_CLOEXEC);
    struct trk_recover_result result;
    cr_assert_eq(trk_recover_bytes(file.bytes, file.size_bytes, fd, &result, NULL), TRK_OK);
    uint8_t *copy = malloc(file.size_bytes);
    cr_assert_eq(pread(fd, copy, file.size_bytes, 0), (ssize_t)file.size_bytes);
    cr_expect_eq(memcmp(copy, file.bytes, file.size_bytes), 0);
    cr_expect_eq(result.bytes, file.size_bytes);
    cr_expect_eq(result.events, SMALL_EVENTS);
    cr_expect_eq(result.dropped, 0u);
    cr_expect_not(result.cut);
    free(copy);
    close(fd);
    trace_file_free(&file);
}

/* The offset of the last chunk of a kind. */
static size_t find_last(const struct trace_file *file, uint8_t kind, struct trk_format_chunk *chunk)
{
    size_t at = TRK_FORMAT_FILE_BYTES, found = 0;
    struct trk_format_chunk next;
    while (trk_format_get_chunk(file->bytes + at, file->bytes + 40, &next)) {
        if (next.kind == kind) {
            found = at;
            *chunk = next;
        }
        at += (size_t)trk_format_chunk_span(&next);
    }
    cr_assert_gt(found, 0);
    return found;
}

/* [F-15] Whom a stream is of when one of its notes is damaged, nobody knows. */
Test(recover, a_lost_note_names_nobody)
{
    struct trace_file file;
    struct trk_format_chunk chunk;
    small_trace_make(&file);
    size_t at = find_last(&file, TRK_FORMAT_NOTE, &chunk);
    file.bytes[at + TRK_FORMAT_CHUNK_BYTES + chunk.packed_bytes - 1] ^= 1;
    int fd = memfd_create("recovered", MFD_CLOEXEC);
    struct trk_recover_result result;
    cr_assert_eq(trk_recover_bytes(file.bytes, file.size_bytes, fd, &result, NULL), TRK_OK);
    cr_expect_eq(result.chunks_lost, 1);
    cr_expect_eq(result.dropped, 0);
    cr_expect(result.more_lost);
    uint8_t *copy = malloc(result.bytes);
    cr_assert_eq(pread(fd, copy, result.bytes, 0), (ssize_t)result.bytes);
    for (int recovered = 0; recovered < 2; recovered++) {
        struct trk_trace *trace;
        cr_assert_eq(trk_trace_open_bytes(&trace, recovered ? copy : file.bytes,
                                          recovered ? result.bytes : file.size_bytes, NULL),
                     TRK_OK);
        cr_assert_eq(trk_trace_scan(trace, NULL), TRK_OK);
        for (size_t i = 0; i < trk_trace_stream_count(trace); i++) {
            const struct trk_trace_stream *stream = trk_trace_stream(trace, i);
            cr_expect_eq(stream->name[0] == '\0', stream->stream_id == chunk.stream, "%u: %s",
                         stream->stream_id, stream->name);
        }
        trk_trace_close(trace);
    }
    free(copy);
    close(fd);
    trace_file_free(&file);
}

/* [F-9] [F-10] A chunk of an unknown kind may have another codec, and a frame of its own: it stays
 * as it is, and a text, which cannot have it, says so. */
Test(recover, unknown_chunks_stay)
{
    for (int framed = 0; framed < 2; framed++) {
        struct trace_file file;
        struct trk_format_chunk chunk;
        small_trace_make(&file);
        size_t at = find_last(&file, TRK_FORMAT_INDEX, &chunk);
        size_t span = (size_t)trk_format_chunk_span(&chunk);
        chunk.kind = 77;
        chunk.codec = framed ? TRK_FORMAT_CODEC_ZSTD : 9;
        if (framed) { /* the first half of what was its payload */
            chunk.summary_bytes = chunk.packed_bytes / 2;
            chunk.packed_bytes -= chunk.summary_bytes;
            chunk.payload_crc =
                trk_crc32c_update(0, file.bytes + at + TRK_FORMAT_CHUNK_BYTES + chunk.summary_bytes,
                                  chunk.packed_bytes);
        }
        trk_format_put_chunk(file.bytes + at, file.bytes + 40, &chunk);
        int fd = memfd_create("recovered", MFD_CLOEXEC);
        struct trk_recover_result result;
        cr_assert_eq(trk_recover_bytes(file.bytes, file.size_bytes, fd, &result, NULL), TRK_OK);
        cr_expect_eq(result.chunks_lost, 0);
        cr_expect_not(result.more_lost);
        uint8_t *copy = malloc(result.bytes);
        cr_assert_eq(pread(fd, copy, result.bytes, 0), (ssize_t)result.bytes);
        cr_assert_geq(result.bytes, at + span);
        cr_expect_eq(memcmp(copy + at, file.bytes + at, span), 0, "framed %d", framed);

        char path[40], *text = NULL;
        size_t size_bytes = 0;
        struct trk_text_result printed;
        FILE *out = open_memstream(&text, &size_bytes);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        cr_assert_eq(trk_text_print(path, out, &printed, NULL), TRK_OK);
        (void)fclose(out);
        cr_expect_eq(printed.left_out, 1);
        cr_expect_eq(printed.left_kind, 77);
        cr_expect_eq(printed.damaged_chunks, 0);
        cr_expect_not_null(strstr(text, " is of kind 77: left out\n"));
        free(text);
        free(copy);
        close(fd);
        trace_file_free(&file);
    }
}

/* [F-32] The time of a loss is that of the first event that is lost, as far as a header says it. */

#define PARTS       4u /* chunks of the only stream */
#define PART_EVENTS 3u

static uint64_t time_of(size_t event)
{
    return 3200 + 320 * (uint64_t)event;
}

/* A file of the parts, and where they are. */
static void make_parts(struct trace_file *file, size_t offsets[PARTS])
{
    trace_file_start(file, 5);
    trace_file_name(file, 0, "only");
    for (size_t i = 0; i < PARTS * PART_EVENTS; i++) {
        const struct trk_record record = {time_of(i), {.type = TRK_EVENT_MARK, .argument = i}};
        trace_file_add(file, 0, &record, 1, 0);
        if (i % PART_EVENTS == PART_EVENTS - 1) {
            trace_file_flush(file);
        }
    }
    trace_file_end(file, 0);
    struct trace_events all = trace_read_bytes(file->bytes, file->size_bytes);
    cr_assert_eq(all.count, PARTS * PART_EVENTS);
    for (size_t i = 0; i < PARTS; i++) {
        offsets[i] = (size_t)all.events[i * PART_EVENTS].file_offset;
    }
    trace_events_free(&all);
}

/* Of each part: '.' whole, 'p' its payload is damaged, 'h' its header. */
static const struct {
    const char *parts;
    size_t drop; /* place of the loss in the result */
    uint64_t tsc, ticks;
} losses[] = {
    {".p..", 3, 3200 + 3 * 320, 2 * 320}, {".pp.", 3, 3200 + 3 * 320, 5 * 320},
    {"p...", 0, 3200, 2 * 320},           {"...p", 9, 3200 + 9 * 320, 2 * 320},
    {"..pp", 6, 3200 + 6 * 320, 5 * 320}, {".h..", 3, 3200 + 6 * 320, 0},
    {".hp.", 3, 3200 + 9 * 320, 0},       {".ph.", 3, 3200 + 9 * 320, 0},
    {"...h", 9, 3200 + 8 * 320, 0},       {"h...", 0, 3200 + 3 * 320, 0},
};

Test(recover, time_of_a_loss)
{
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
        struct trace_file file;
        size_t offsets[PARTS], lost = 0;
        make_parts(&file, offsets);
        for (size_t part = 0; part < PARTS; part++) {
            char what = losses[i].parts[part];
            if (what != '.') {
                file.bytes[offsets[part] + (what == 'h' ? 48 : 104)] ^= 16;
                lost += PART_EVENTS;
            }
        }
        int fd = memfd_create("recovered", MFD_CLOEXEC);
        struct trk_recover_result result;
        cr_assert_eq(trk_recover_bytes(file.bytes, file.size_bytes, fd, &result, NULL), TRK_OK);
        uint8_t *copy = malloc(result.bytes);
        cr_assert_eq(pread(fd, copy, result.bytes, 0), (ssize_t)result.bytes);
        struct trace_events given = trace_read_bytes(copy, result.bytes);
        const struct trk_trace_event *drop = &given.events[losses[i].drop];
        cr_assert_eq(given.count, PARTS * PART_EVENTS - lost + 1, "%s", losses[i].parts);
        cr_expect_eq(drop->event.type, TRK_EVENT_DROP, "%s", losses[i].parts);
        cr_expect_eq(drop->event.argument, lost, "%s", losses[i].parts);
        cr_expect_eq(drop->tsc, losses[i].tsc, "%s: %llu", losses[i].parts,
                     (unsigned long long)drop->tsc);
        cr_expect_eq(trk_event_size(&drop->event), losses[i].ticks, "%s", losses[i].parts);
        trace_events_free(&given);
        free(copy);
        close(fd);
        trace_file_free(&file);
    }
}
