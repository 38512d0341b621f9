/*
 * Goal: files of every version that was are read as they were meant, by both decoders [F-5].
 * Method: the small trace as each version's writer stored it; the events are those of today's.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/checkpoint.h"
#include "recorder/page_hash.h"
#include "small_trace.h"

#define FILE_MAX 65536u

static const struct {
    const char *version;
    size_t lacks; /* events at the end, of types that were not there */
} versions[] = {
    {"0.1", SMALL_TRACE_DETAILS},
    {"0.2", SMALL_TRACE_DETAILS},
    {"1.0", SMALL_TRACE_DETAILS},
    {"1.1", SMALL_TRACE_DETAILS},
    {"1.2", 0},
};

static size_t load(const char *version, uint8_t *to)
{
    char path[512];
    const char *folder = getenv("TRK_GOLDEN");
    snprintf(path, sizeof path, "%s/%s.trk", folder != NULL ? folder : ".", version);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    size_t size_bytes = fread(to, 1, FILE_MAX, file);
    fclose(file);
    return size_bytes;
}

/* What is new in 1.0 is there, too: contents of pages, and the way to the middle. */
static void expect_parts(const uint8_t *bytes, size_t size_bytes)
{
    struct trk_trace *trace;
    struct trk_trace_checkpoint place;
    cr_assert_eq(trk_trace_open_bytes(&trace, bytes, size_bytes, NULL), TRK_OK);
    for (unsigned i = 0; i < SMALL_TRACE_PAGES; i++) {
        uint8_t page[TRK_BLOB_BYTES];
        const void *given = NULL;
        small_trace_page(i, page);
        cr_expect_eq(trk_trace_blob(trace, trk_page_hash(page, sizeof page), &given, NULL), TRK_OK);
        cr_expect(given != NULL && memcmp(given, page, sizeof page) == 0, "page %u", i);
    }
    cr_assert_eq(trk_trace_checkpoint_count(trace), 1);
    cr_expect_eq(trk_trace_go_to(trace, 0, &place, NULL), TRK_OK);
    cr_expect_eq(place.event_number, 18);
    trk_trace_close(trace);
}

/* Since 1.2 the end of a recording says what the clocks show. */
static void expect_clocks(const uint8_t *bytes, size_t size_bytes, bool said)
{
    static const struct trk_trace_anchor none = {0};
    const struct trk_trace_anchor *expected = said ? &small_trace_clocks : &none;
    struct trk_trace *trace;
    cr_assert_eq(trk_trace_open_bytes(&trace, bytes, size_bytes, NULL), TRK_OK);
    cr_assert_eq(trk_trace_scan(trace, NULL), TRK_OK);
    const struct trk_trace_stream *stream = trk_trace_stream(trace, 0);
    cr_expect_eq(memcmp(&stream->clocks, expected, sizeof none), 0);
    cr_expect_eq(strcmp(stream->name, "guest"), 0);
    trk_trace_close(trace);
}

Test(golden, every_version)
{
    struct trace_file file;
    small_trace_make(&file);
    struct trace_events today = trace_read_bytes(file.bytes, file.size_bytes);
    for (size_t v = 0; v < sizeof versions / sizeof versions[0]; v++) {
        static uint8_t bytes[FILE_MAX];
        const char *name = versions[v].version;
        size_t size_bytes = load(name, bytes);
        struct trace_events then = trace_read_bytes(bytes, size_bytes);
        cr_expect_eq(then.status, TRK_OK, "%s: %s", name, then.error.text);
        cr_expect(then.state.complete, "%s: %s", name, then.state.damage);
        cr_assert_eq(then.count + versions[v].lacks, today.count, "%s", name);
        for (size_t i = 0; i < then.count; i++) {
            cr_expect(then.events[i].tsc == today.events[i].tsc &&
                          then.events[i].stream == today.events[i].stream &&
                          trace_event_equal(&then.events[i].event, &today.events[i].event),
                      "%s: event %zu", name, i);
        }
        if (name[0] == '1') {
            expect_parts(bytes, size_bytes);
            expect_clocks(bytes, size_bytes, versions[v].lacks == 0);
        }
        trace_events_free(&then);
    }
    trace_events_free(&today);
    trace_file_free(&file);
}
