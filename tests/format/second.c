/*
 * Goal: docs/format.md says all that is needed to read a trace.
 * Method: a second decoder, written from that text, reads the same files as the reader: the small
 * trace, random events of every type, and random events of few domains and timelines, whose order
 * is decided by waiting and by gaps. A failure prints the TRK_SEED that shows it again.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/packing.h"
#include "recorder/page_hash.h"
#include "second_decoder.h"
#include "second_pages.h"
#include "small_trace.h"

#define STREAMS 5
#define EVENTS  4000

static unsigned long long seed(void)
{
    const char *text = getenv("TRK_SEED");
    return text != NULL ? strtoull(text, NULL, 0) : 1;
}

static void compare(const struct trace_file *file, const char *what)
{
    struct trace_events first = trace_read_bytes(file->bytes, file->size_bytes);
    size_t count;
    struct second_event *second = second_decode(file->bytes, file->size_bytes, &count);
    cr_assert_eq(first.status, TRK_OK);
    cr_assert_eq(count, first.count, "%s: %zu and %zu events", what, first.count, count);
    for (size_t i = 0; i < count; i++) {
        const struct trk_trace_event *a = &first.events[i];
        const struct second_event *b = &second[i];
        struct trk_event event = {b->argument, b->seq,  b->domain, b->page,
                                  b->pages,    b->type, b->flags,  b->context};
        cr_assert_eq(a->stream, b->stream, "%s: stream of event %zu, TRK_SEED=%llu", what, i,
                     seed());
        cr_assert_eq(a->tsc, b->time_stamp, "%s: time of event %zu, TRK_SEED=%llu", what, i,
                     seed());
        cr_assert(trace_event_equal(&a->event, &event), "%s: event %zu, type %u, TRK_SEED=%llu",
                  what, i, a->event.type, seed());
    }
    free(second);
    trace_events_free(&first);
}

Test(second, small_trace)
{
    struct trace_file file;
    small_trace_make(&file);
    compare(&file, "small trace");
    for (unsigned i = 0; i < SMALL_TRACE_PAGES; i++) {
        uint8_t page[TRK_BLOB_BYTES];
        small_trace_page(i, page);
        const uint8_t *found = second_pages_find(trk_page_hash(page, sizeof page));
        cr_assert_not_null(found, "page %u", i);
        cr_expect_arr_eq(found, page, sizeof page);
    }
    trace_file_free(&file);
}

/* The stored files of versions that have what the second decoder looks for. */
Test(second, golden_files)
{
    static const char *const versions[] = {"0.2", "1.0", "1.1", "1.2"};
    for (size_t v = 0; v < sizeof versions / sizeof versions[0]; v++) {
        static uint8_t bytes[65536];
        char path[512];
        const char *folder = getenv("TRK_GOLDEN");
        snprintf(path, sizeof path, "%s/%s.trk", folder != NULL ? folder : ".", versions[v]);
        FILE *stored = fopen(path, "rb");
        cr_assert_not_null(stored, "%s", path);
        struct trace_file file = {.bytes = bytes};
        file.size_bytes = fread(bytes, 1, sizeof bytes, stored);
        fclose(stored);
        compare(&file, versions[v]);
    }
}

/* A trace that begins in hold 4 of a domain and at 7 of a timeline: time stamps say otherwise. */
Test(second, snapshot)
{
    static const struct trk_record first[] = {
        {900, {.type = TRK_EVENT_LOCK, .domain = 0x10000900, .seq = 5}},
        {910, {.type = TRK_EVENT_UNLOCK, .domain = 0x10000900, .seq = 5}},
    };
    static const struct trk_record second[] = {
        {100, {.type = TRK_EVENT_AWAIT, .domain = 3, .argument = 7}},
        {110, {.type = TRK_EVENT_LOCK, .domain = 0x10000900, .seq = 6}},
        {120, {.type = TRK_EVENT_UNLOCK, .domain = 0x10000900, .seq = 6}},
    };
    static const uint64_t numbers[] = {1, 0x10000900, 4, 1, 3, 7, 0};
    struct trk_packing packing = {0};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        trk_packing_number(&packing, numbers[i]);
    }
    struct trace_file file;
    trace_file_start(&file, 0);
    cr_assert_eq(trk_writer_snapshot(file.writer, packing.bytes, packing.size_bytes, NULL), TRK_OK);
    trace_file_name(&file, 0, "first");
    trace_file_name(&file, 7, "second");
    trace_file_add(&file, 7, second, 3, 0);
    trace_file_add(&file, 0, first, 2, 0);
    trace_file_end(&file, 0);
    compare(&file, "snapshot");
    struct trace_events read = trace_read_bytes(file.bytes, file.size_bytes);
    cr_expect_eq(read.state.order_gaps, 0);
    cr_expect(read.state.complete);
    cr_expect_eq(read.events[0].event.type, TRK_EVENT_AWAIT);
    cr_expect_eq(read.events[1].event.seq, 5);
    cr_expect_eq(read.events[4].event.seq, 6);
    trace_events_free(&read);
    trace_file_free(&file);
    free(packing.bytes);
}

typedef struct trk_event make_fn(struct trace_random *random);

static struct trk_event any_type(struct trace_random *random)
{
    if (trace_random_below(random, 50) == 0) {
        return trace_random_any_event(random);
    }
    return trace_random_event(
        random, trace_event_types[trace_random_below(random, trace_event_type_count)]);
}

/* Holds and awaits that often cannot be satisfied. */
static struct trk_event few_points(struct trace_random *random)
{
    static const uint8_t types[] = {TRK_EVENT_LOCK,    TRK_EVENT_UNLOCK, TRK_EVENT_WATCH,
                                    TRK_EVENT_PROTECT, TRK_EVENT_FAULT,  TRK_EVENT_SIGNAL,
                                    TRK_EVENT_AWAIT,   TRK_EVENT_MARK};
    struct trk_event event = {.type = types[trace_random_below(random, sizeof types)]};
    if (event.type != TRK_EVENT_MARK) {
        event.domain = (uint32_t)trace_random_below(random, 3) << 28 | 5;
    }
    if (event.type == TRK_EVENT_SIGNAL || event.type == TRK_EVENT_AWAIT) {
        event.argument = trace_random_below(random, 40);
    } else if (event.type != TRK_EVENT_MARK) {
        event.seq = (uint32_t)trace_random_below(random, 12);
    }
    if (event.type == TRK_EVENT_PROTECT) {
        event.flags = (uint8_t)(trace_random_below(random, 2) << 7);
    }
    return event;
}

static void random_file(struct trace_file *file, unsigned clock_shift, make_fn *make,
                        struct trace_random *random)
{
    trace_file_start(file, clock_shift);
    for (uint32_t i = 0; i < STREAMS; i++) {
        trace_file_name(file, 7 * i, "random");
    }
    for (uint64_t i = 0; i < EVENTS; i++) {
        uint32_t stream = 7 * (uint32_t)trace_random_below(random, STREAMS);
        struct trk_record record = {10 * i + trace_random_below(random, 3000), make(random)};
        uint64_t dropped = trace_random_below(random, 100) == 0 ? 1 + i : 0;
        trace_file_add(file, stream, &record, 1, dropped);
        if (trace_random_below(random, 500) == 0) {
            trace_file_flush(file);
        }
    }
    trace_file_end(file, 0);
}

Test(second, random_traces)
{
    struct trace_random random = {seed()};
    for (unsigned round = 0; round < 6; round++) {
        struct trace_file file;
        random_file(&file, round % 2 == 0 ? 0 : 5, round < 3 ? any_type : few_points, &random);
        compare(&file, round < 3 ? "any type" : "few domains and timelines");
        trace_file_free(&file);
    }
}
