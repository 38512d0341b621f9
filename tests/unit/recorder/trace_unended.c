/*
 * Goal: of a file that just stops, the index gives what reading all of it gives: the same streams,
 * events and losses, and that it has no end [F-35]; where no INDEX leads to all that is before it,
 * the file is read as a whole. Method: a file of some hundred chunks with pages and losses, cut at
 * many lengths, also inside an INDEX; one whose last INDEX is damaged, and one that lost a chunk in
 * front.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "recorder/blobs.h"
#include "trace_support.h"

#define CHUNKS 300u

static void make_file(struct trace_file *file)
{
    trace_file_start(file, 0);
    trace_file_name(file, 3, "three");
    trace_file_name(file, 8, "eight");
    for (uint64_t i = 0; i < CHUNKS; i++) {
        uint8_t page[TRK_BLOB_BYTES];
        struct trk_record record = {100 + i, {.type = TRK_EVENT_MARK, .argument = i}};
        memset(page, (int)i, sizeof page);
        if (i % 50 == 0) {
            cr_assert_eq(trk_writer_blob(file->writer, page, NULL), TRK_OK);
        }
        trace_file_add(file, i % 3 ? 3 : 8, &record, 1, i % 40 == 0 ? 7 : 0);
        trace_file_flush(file);
    }
    trace_file_end(file, 0);
}

static struct trk_trace *open_bytes(const uint8_t *bytes, size_t size_bytes, bool quick)
{
    struct trk_trace *trace;
    cr_assert_eq(trk_trace_open_bytes(&trace, bytes, size_bytes, NULL), TRK_OK);
    cr_assert_eq(quick ? trk_trace_scan_quick(trace, NULL) : trk_trace_scan(trace, NULL), TRK_OK);
    return trace;
}

/* Both ways say the same of the file; whether the index did. */
static bool expect_same(const uint8_t *bytes, size_t size_bytes, const char *what)
{
    struct trk_trace *all = open_bytes(bytes, size_bytes, false);
    struct trk_trace *fast = open_bytes(bytes, size_bytes, true);
    struct trk_trace_state a = trk_trace_state(all);
    struct trk_trace_state b = trk_trace_state(fast);
    cr_assert_eq(a.ended, b.ended, "%s", what);
    cr_assert_eq(a.complete, b.complete, "%s", what);
    cr_assert_eq(a.dropped, b.dropped, "%s", what);
    cr_assert_eq(a.chunks, b.chunks, "%s: %d and %d chunks", what, (int)a.chunks, (int)b.chunks);
    cr_assert_eq(a.first_damage_offset, b.first_damage_offset, "%s", what);
    cr_assert_str_eq(a.damage, b.damage, "%s", what);
    cr_assert_eq(trk_trace_stream_count(all), trk_trace_stream_count(fast), "%s", what);
    uint64_t pages[2];
    cr_assert_eq(trk_trace_blob_count(all, &pages[0], NULL), TRK_OK);
    cr_assert_eq(trk_trace_blob_count(fast, &pages[1], NULL), TRK_OK);
    cr_assert_eq(pages[0], pages[1], "%s", what);
    for (;;) {
        struct trk_trace_event first, second;
        enum trk_status status = trk_trace_next(all, &first, NULL);
        cr_assert_eq(trk_trace_next(fast, &second, NULL), status, "%s", what);
        if (status != TRK_OK) {
            break;
        }
        cr_assert(first.tsc == second.tsc && first.stream == second.stream &&
                      trace_event_equal(&first.event, &second.event),
                  "%s: event %d", what, (int)first.number);
    }
    trk_trace_close(all);
    trk_trace_close(fast);
    return b.quick;
}

/* The offset of the nth INDEX; the size of the file where there are not so many. */
static size_t find_index(const struct trace_file *file, unsigned nth)
{
    struct trk_format_chunk chunk;
    size_t at = TRK_FORMAT_FILE_BYTES;
    while (trk_format_get_chunk(file->bytes + at, file->bytes + 40, &chunk)) {
        if (chunk.kind == TRK_FORMAT_INDEX && nth-- == 0) {
            return at;
        }
        at += (size_t)trk_format_chunk_span(&chunk);
    }
    return file->size_bytes;
}

Test(unended, at_many_lengths)
{
    struct trace_file file;
    make_file(&file);
    struct trk_format_chunk chunk;
    size_t first = find_index(&file, 0);
    cr_assert(trk_format_get_chunk(file.bytes + first, file.bytes + 40, &chunk));
    size_t indexed = first + (size_t)trk_format_chunk_span(&chunk);
    cr_assert_lt(find_index(&file, 3), file.size_bytes, "four at least");
    for (size_t length = file.size_bytes / 8; length < file.size_bytes; length += 61) {
        char what[32];
        uint8_t *cut = malloc(length);
        memcpy(cut, file.bytes, length);
        snprintf(what, sizeof what, "cut to %zu", length);
        cr_expect_eq(expect_same(cut, length, what), length >= indexed, "%s", what);
        free(cut);
    }
    cr_expect(expect_same(file.bytes, file.size_bytes, "whole"));
    trace_file_free(&file);
}

Test(unended, a_damaged_index_is_passed_over)
{
    struct trace_file file;
    make_file(&file);
    size_t length = file.size_bytes - 40; /* inside END */
    size_t third = find_index(&file, 2);
    size_t last = find_index(&file, 4);
    cr_assert_lt(third, last);
    cr_assert_lt(last, length);
    file.bytes[last + TRK_FORMAT_CHUNK_BYTES + 20] ^= 1;
    struct trk_trace *trace = open_bytes(file.bytes, length, true);
    cr_expect(trk_trace_state(trace).quick);
    cr_expect_eq(trk_trace_state(trace).first_damage_offset, last);
    trk_trace_close(trace);
    trace_file_free(&file);
}

/* The indexes do not have all chunks that were numbered: only reading finds what is missing. */
Test(unended, missing_chunks_are_not_covered_up)
{
    struct trace_file file;
    struct trk_format_chunk chunk;
    make_file(&file);
    size_t length = file.size_bytes - 40;
    size_t first = find_index(&file, 0);
    cr_assert(trk_format_get_chunk(file.bytes + first, file.bytes + 40, &chunk));
    size_t span = (size_t)trk_format_chunk_span(&chunk);
    memmove(file.bytes + first, file.bytes + first + span, length - first - span);
    cr_expect_not(expect_same(file.bytes, length - span, "without its first index"));
    trace_file_free(&file);
}

/* Nor are bytes that are gone from the last chunks that an index names: they are not where it says.
 */
Test(unended, missing_bytes_are_not_covered_up)
{
    struct trace_file file;
    struct trk_format_chunk chunk;
    make_file(&file);
    size_t length = file.size_bytes - 40;
    size_t before = find_index(&file, 3);
    size_t last = find_index(&file, 4);
    cr_assert(trk_format_get_chunk(file.bytes + before, file.bytes + 40, &chunk));
    size_t chunks = before + (size_t)trk_format_chunk_span(&chunk);
    cr_assert(trk_format_get_chunk(file.bytes + chunks, file.bytes + 40, &chunk));
    cr_assert_lt(chunks + trk_format_chunk_span(&chunk), last);
    for (unsigned way = 0; way < 2;
         way++) { /* of the first chunk that the last one names, and of all */
        size_t at = chunks + TRK_FORMAT_CHUNK_BYTES + 2;
        size_t gone = way == 0 ? 7 : last - at - 7;
        uint8_t *bytes = malloc(length - gone);
        memcpy(bytes, file.bytes, at);
        memcpy(bytes + at, file.bytes + at + gone, length - at - gone);
        cr_expect_not(expect_same(bytes, length - gone, "with bytes gone"));
        free(bytes);
    }
    trace_file_free(&file);
}
