/*
 * Goal: what a file has beside its events is right, is held against them, and can be damaged or
 * lead astray without harm: SCHEMA [F-36], summaries [F-34], INDEX [F-35].
 * Method: files made chunk by chunk through the output, with one thing wrong in each.
 */
#define _GNU_SOURCE /* memfd_create */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "output.h"
#include "places.h"
#include "recorder/event_text.h"
#include "summary.h"
#include "trace_pieces.h"

#define REGION ((uint32_t)TRK_DOMAIN_REGION << 28 | 0x900)

static const uint8_t sync_marker[TRK_FORMAT_SYNC_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

struct made {
    int fd;
    struct trk_output *output;
    struct trk_columns *columns;
    uint8_t *bytes;
    size_t size_bytes;
};

static struct made begin(void)
{
    struct made made = {.fd = memfd_create("parts", MFD_CLOEXEC)};
    struct trk_output_options options = {.zstd_level = 3, .sync = sync_marker};
    cr_assert_eq(trk_output_create(&made.output, made.fd, &options, NULL), TRK_OK);
    cr_assert_eq(trk_columns_create_encoder(&made.columns, TRK_CHUNK_EVENTS), TRK_OK);
    struct trk_format_chunk chunk = {.kind = TRK_FORMAT_HEADER, .stream = TRK_FORMAT_NO_STREAM};
    cr_assert_eq(trk_output_chunk(made.output, &chunk, "{}", 2, NULL), TRK_OK);
    return made;
}

static void schema(struct made *made, const char *json)
{
    struct trk_format_chunk chunk = {.kind = TRK_FORMAT_SCHEMA, .stream = TRK_FORMAT_NO_STREAM};
    cr_assert_eq(trk_output_chunk(made->output, &chunk, json, strlen(json), NULL), TRK_OK);
}

/* An EVENTS chunk with this payload, of so many events at times 10, 11 ... */
static void payload(struct made *made, uint32_t stream, const void *bytes, size_t size_bytes,
                    uint32_t events)
{
    struct trk_format_chunk chunk = {
        .kind = TRK_FORMAT_EVENTS,
        .stream = stream,
        .events = events,
        .first_tsc = 10,
        .last_tsc = 9 + events,
    };
    cr_assert_eq(trk_output_chunk(made->output, &chunk, bytes, size_bytes, NULL), TRK_OK);
}

/* Holds [first, first + count) of the region, whole: LOCK and UNLOCK each. */
static void holds(struct made *made, uint32_t stream, uint32_t first, uint32_t count)
{
    struct trk_record records[64];
    for (uint32_t i = 0; i < 2 * count; i++) {
        records[i] = (struct trk_record){10 + i,
                                         {.type = i % 2 == 0 ? TRK_EVENT_LOCK : TRK_EVENT_UNLOCK,
                                          .domain = REGION,
                                          .seq = first + i / 2}};
    }
    const uint8_t *bytes, *frame;
    size_t frame_bytes;
    size_t size_bytes = trk_columns_encode(made->columns, records, (size_t)2 * count, 0, &bytes);
    cr_assert_eq(trk_summary_make(made->columns, &frame, &frame_bytes), TRK_OK);
    cr_assert_gt(frame_bytes, 0);
    trk_output_summary(made->output, frame, frame_bytes);
    payload(made, stream, bytes, size_bytes, 2 * count);
}

static void finish(struct made *made)
{
    struct trk_format_end end = {.child_status = 0};
    cr_assert_eq(trk_output_end(made->output, &end, NULL), TRK_OK);
    made->size_bytes = (size_t)lseek(made->fd, 0, SEEK_END);
    made->bytes = malloc(made->size_bytes);
    cr_assert_eq(pread(made->fd, made->bytes, made->size_bytes, 0), (ssize_t)made->size_bytes);
    trk_output_destroy(made->output);
    trk_columns_destroy(made->columns);
    close(made->fd);
}

/* ---- SCHEMA ---------------------------------------------------------------------------------- */

#define TYPES(text) "{\"schema\":\"trk.types\",\"types\":[" text "]}"

/* Columns of two events of type 200: type, time, domain, seq, number. */
static const uint8_t two_events[] = {1, 1, 2, 200, 200, 2, 3, 2, 0, 2, 3, 3, 6,
                                     /* zigzag of 0x10000005, then 0 */
                                     0x8a, 0x80, 0x80, 0x80, 0x02, 0, 4, 3, 2, 8, 2, 12, 3, 2, 14,
                                     2};

static const struct schema_case {
    const char *name, *json;
    enum trk_status scan;
    size_t events; /* read */
    bool damaged, required;
} schema_cases[] = {
    {"described", TYPES("{\"id\":200,\"name\":\"new\",\"pair\":\"hold\",\"argument\":\"number\"}"),
     TRK_OK, 2, false, false},
    {"described and required",
     TYPES("{\"id\":200,\"name\":\"new\",\"pair\":\"hold\",\"argument\":\"number\","
           "\"required\":true}"),
     TRK_OK, 2, false, true},
    {"not described", TYPES(""), TRK_OK, 0, true, false},
    {"of another shape", TYPES("{\"id\":200,\"name\":\"new\",\"pair\":\"hold\"}"), TRK_OK, 0, true,
     false},
    {"no JSON", "{\"types\":", TRK_OK, 0, true, false},
    {"no list", "{\"types\":7}", TRK_OK, 0, true, false},
    {"a number that is none", TYPES("{\"id\":256,\"name\":\"new\"}"), TRK_OK, 0, true, false},
    {"a word of the future", TYPES("{\"id\":200,\"name\":\"new\",\"pair\":\"triple\"}"),
     TRK_E_VERSION, 0, false, false},
    {"a line too many", TYPES("{\"id\":200,\"name\":\"new\",\"argument\":\"address\",\"line\":8}"),
     TRK_E_VERSION, 0, false, false},
    {"a known type of another shape", TYPES("{\"id\":80,\"name\":\"mark\",\"pair\":\"hold\"}"),
     TRK_E_VERSION, 0, false, false},
};

Test(parts, schema)
{
    for (size_t i = 0; i < sizeof schema_cases / sizeof schema_cases[0]; i++) {
        const struct schema_case *c = &schema_cases[i];
        struct made made = begin();
        schema(&made, c->json);
        payload(&made, 3, two_events, sizeof two_events, 2);
        finish(&made);
        struct trk_trace *trace;
        struct trk_trace_event event = {0};
        size_t events = 0;
        cr_assert_eq(trk_trace_open_bytes(&trace, made.bytes, made.size_bytes, NULL), TRK_OK);
        cr_expect_eq(trk_trace_scan(trace, NULL), c->scan, "%s", c->name);
        while (c->scan == TRK_OK && trk_trace_next(trace, &event, NULL) == TRK_OK) {
            events++;
        }
        cr_expect_eq(events, c->events, "%s: %zu events", c->name, events);
        cr_expect_eq(trk_trace_state(trace).damaged_chunks > 0, c->damaged, "%s", c->name);
        struct trk_trace_type type;
        bool known = trk_trace_type(trace, 200, &type);
        if (c->events > 0) {
            cr_expect(known && !type.known && strcmp(type.name, "new") == 0, "%s", c->name);
            cr_expect_eq(type.required, c->required, "%s", c->name);
            cr_expect_eq(event.event.domain, 0x10000005u, "%s", c->name);
            cr_expect_eq(event.event.seq, 6, "%s", c->name);
            cr_expect_eq(event.event.argument, 8, "%s", c->name);
        }
        trk_trace_close(trace);
        free(made.bytes);
    }
}

/* ---- summaries ------------------------------------------------------------------------------- */

static const struct gap_case {
    const char *name;
    struct {
        uint32_t first, count;
    } chunks[4];
    uint64_t missing;
} gap_cases[] = {
    {"nothing", {{1, 3}, {4, 2}}, 0},
    {"begun in the middle", {{100, 3}, {103, 2}}, 0},
    {"in another order", {{4, 2}, {1, 3}}, 0},
    {"one chunk", {{1, 3}, {8, 2}}, 4},
    {"two", {{1, 1}, {3, 1}, {5, 1}, {6, 1}}, 2},
    {"over the wrap", {{0xfffffffe, 2}, {0, 4}}, 0},
    {"at the wrap", {{0xfffffffe, 1}, {0, 4}}, 1},
};

Test(parts, missing_holds)
{
    for (size_t i = 0; i < sizeof gap_cases / sizeof gap_cases[0]; i++) {
        const struct gap_case *c = &gap_cases[i];
        struct made made = begin();
        for (uint32_t at = 0; at < 4 && c->chunks[at].count > 0; at++) {
            holds(&made, at, c->chunks[at].first, c->chunks[at].count);
        }
        finish(&made);
        struct trk_trace *trace;
        struct trk_trace_gap *gaps;
        size_t count;
        cr_assert_eq(trk_trace_open_bytes(&trace, made.bytes, made.size_bytes, NULL), TRK_OK);
        cr_assert_eq(trk_trace_scan(trace, NULL), TRK_OK);
        cr_assert_eq(trk_trace_gaps(trace, &gaps, &count), TRK_OK);
        cr_expect_eq(count, c->missing > 0 ? 1 : 0, "%s", c->name);
        if (count == 1) {
            cr_expect_eq(gaps[0].domain, REGION, "%s", c->name);
            cr_expect_eq(gaps[0].holds, c->missing, "%s: %llu", c->name,
                         (unsigned long long)gaps[0].holds);
        }
        free(gaps);
        trk_trace_close(trace);
        free(made.bytes);
    }
}

static bool each_domain(const struct trk_summary_domain *domain, unsigned at)
{
    return domain->domain == (at == 0 ? REGION : 0x30000900u) && domain->first == 7 &&
           domain->ended == (at == 0 ? 8 : 7) && domain->ends == (at == 0 ? 2 : 1);
}

Test(parts, summary_says_what_the_chunk_has)
{
    static const struct trk_record records[] = {
        {1, {.type = TRK_EVENT_FAULT, .domain = 0x30000900u, .seq = 7}},
        {2, {.type = TRK_EVENT_LOCK, .domain = REGION, .seq = 7}},
        {3, {.type = TRK_EVENT_UNLOCK, .domain = REGION, .seq = 7}},
        {4, {.type = TRK_EVENT_LOCK, .domain = REGION, .seq = 8}},
        {5, {.type = TRK_EVENT_UNLOCK, .domain = REGION, .seq = 8}},
        {6, {.type = TRK_EVENT_LOCK, .domain = REGION, .seq = 9}},
        {7, {.type = TRK_EVENT_MARK, .argument = 4}},
    };
    struct trk_columns *columns;
    const uint8_t *bytes, *frame;
    size_t frame_bytes;
    cr_assert_eq(trk_columns_create_encoder(&columns, TRK_CHUNK_EVENTS), TRK_OK);
    (void)trk_columns_encode(columns, records, 7, 0, &bytes);
    cr_assert_eq(trk_summary_make(columns, &frame, &frame_bytes), TRK_OK);
    cr_assert(trk_summary_sealed(frame, frame_bytes));
    struct trk_summary_cursor cursor;
    struct trk_summary_domain domain;
    unsigned at = 0;
    cr_assert(trk_summary_begin(&cursor, frame, frame_bytes));
    while (trk_summary_next(&cursor, &domain)) {
        cr_expect(each_domain(&domain, at), "domain %u", at);
        at++;
    }
    cr_expect_eq(at, 2);
    cr_expect(trk_summary_done(&cursor));
    (void)trk_columns_encode(columns, records + 6, 1, 0, &bytes);
    cr_assert_eq(trk_summary_make(columns, &frame, &frame_bytes), TRK_OK);
    cr_expect_eq(frame_bytes, 0, "a chunk that touches no domain has none");
    trk_columns_destroy(columns);
}

/* A summary that is undamaged but of other events makes its chunk not believed. */
Test(parts, foreign_summary)
{
    struct made made = begin();
    holds(&made, 0, 1, 2);
    struct trk_record record = {10, {.type = TRK_EVENT_LOCK, .domain = REGION, .seq = 3}};
    const uint8_t *bytes, *frame;
    size_t frame_bytes, size_bytes;
    struct trk_columns *other;
    cr_assert_eq(trk_columns_create_encoder(&other, TRK_CHUNK_EVENTS), TRK_OK);
    size_bytes = trk_columns_encode(made.columns, &record, 1, 0, &bytes);
    record.event.seq = 4;
    const uint8_t *unused;
    (void)trk_columns_encode(other, &record, 1, 0, &unused);
    cr_assert_eq(trk_summary_make(other, &frame, &frame_bytes), TRK_OK);
    trk_output_summary(made.output, frame, frame_bytes);
    payload(&made, 0, bytes, size_bytes, 1);
    finish(&made);
    struct trace_events read = trace_read_bytes(made.bytes, made.size_bytes);
    cr_expect_eq(read.count, 4);
    cr_expect_eq(read.state.damaged_chunks, 1);
    trace_events_free(&read);
    trk_columns_destroy(other);
    free(made.bytes);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Where an event's text says that it is; false: nowhere. */
static bool place_in_text(const struct trk_event *event, uint64_t *guest_addr)
{
    struct trk_event_field fields[TRK_EVENT_FIELDS_MOST];
    size_t count = trk_event_text_fields(event, fields);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(fields[i].key, "guest_addr") == 0) {
            *guest_addr = fields[i].number;
            return true;
        }
    }
    return false;
}

/* Each type that has a place outside of holds is in the set by it, and nothing else is. */
Test(parts, places_of_every_type)
{
    const uint64_t step = UINT64_C(1) << 22;
    unsigned placed = 0;
    for (unsigned type = 1; type < 256; type++) {
        struct trk_record record = {1, trk_event_of((enum trk_event_type)type, 5 * step + 77)};
        record.event.seq = 100;
        uint64_t guest_addr = 0;
        uint32_t places = trk_places_of(&record, 1);
        bool known = strcmp(trk_event_type_name((uint8_t)type), "?") != 0;
        bool place =
            known && place_in_text(&record.event, &guest_addr) && !trk_event_in_hold(&record.event);
        placed += place;
        cr_expect_eq(trk_places_may_have(places, 5 * step), place || !known, "type %u", type);
        cr_expect_eq(trk_places_may_have(places, 6 * step), !known, "type %u", type);
    }
    cr_expect_geq(placed, 15, "%u", placed);
}

Test(parts, places_of_ranges)
{
    const uint64_t step = UINT64_C(1) << 22;
    static const struct {
        uint64_t first, size; /* in steps, and bytes more */
        uint64_t more;
        unsigned places;
    } cases[] = {
        {3, 0, 0, 1},    {3, 0, 1, 1},   {3, 1, 0, 1},     {3, 1, 1, 2},           {3, 5, 0, 5},
        {40, 22, 0, 22}, {7, 23, 0, 23}, {7, 1000, 0, 23}, {7, 0, UINT64_MAX, 23},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trk_record record = {1, trk_event_of(TRK_EVENT_OP_BEGIN, cases[i].first * step)};
        trk_event_set_size(&record.event, cases[i].size * step + cases[i].more);
        uint32_t places = trk_places_of(&record, 1);
        unsigned count = 0;
        for (uint64_t at = 0; at < 23; at++) {
            bool there = trk_places_may_have(places, (cases[i].first + at) * step);
            cr_expect_eq(there, at < cases[i].places, "case %zu, region %u", i, (unsigned)at);
            count += there;
        }
        cr_expect_eq(count, cases[i].places, "case %zu", i);
    }
    cr_expect(trk_places_may_have(0, step), "what is not said may be anything");
    cr_expect_not(trk_places_may_have(trk_places_of(NULL, 0), step));
}

/* ---- INDEX ----------------------------------------------------------------------------------- */

/* As many events by the index as by reading all; fewer when the index is not usable is wrong. */
Test(parts, index_leads_to_all)
{
    static const uint32_t counts[] = {1, 3, 63, 64, 65, 200};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct made made = begin();
        for (uint32_t at = 0; at < counts[i]; at++) {
            holds(&made, at % 5, 1 + 2 * at, 2);
        }
        finish(&made);
        for (int cut = 0; cut < 2; cut++) { /* without its end mark it is searched for */
            struct trk_trace *trace;
            struct trk_trace_event event;
            uint64_t events = 0;
            cr_assert_eq(
                trk_trace_open_bytes(&trace, made.bytes, made.size_bytes - (cut ? 1 : 0), NULL),
                TRK_OK);
            cr_assert_eq(trk_trace_scan_quick(trace, NULL), TRK_OK);
            struct trk_trace_state state = trk_trace_state(trace);
            cr_expect(state.quick, "%u chunks", counts[i]);
            cr_expect_eq(state.ended, cut == 0, "%u chunks", counts[i]);
            cr_expect_eq(state.complete, cut == 0, "%u chunks", counts[i]);
            while (trk_trace_next(trace, &event, NULL) == TRK_OK) {
                events++;
            }
            cr_expect_eq(events, 4 * counts[i], "%u chunks", counts[i]);
            cr_expect_eq(trk_trace_state(trace).order_gaps, 0, "%u chunks", counts[i]);
            trk_trace_close(trace);
        }
        free(made.bytes);
    }
}
