/*
 * Goal: the drain turns rings into streams one use after the other, puts losses where they
 * happened, learns late names, and survives any bytes in the shared object.
 *
 * Method: the test writes the session's rings itself, drains into a file without a name, and reads
 * that file back. A random test prints its seed.
 */
#define _GNU_SOURCE /* memfd_create */
#include "record_drain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "format.h"
#include "record_header.h"
#include "record_text.h"
#include "recorder/capture.h"
#include "ring.h"

#define RING_RECORDS 128u

static struct trk_record_session session;
static struct trk_record_drain drain;
static struct trk_writer *writer;
static struct trk_trace *trace;
static struct trk_error error;
static char file_path[32];
static int file;

static void begin(void)
{
    file = memfd_create("trace", 0);
    snprintf(file_path, sizeof(file_path), "/proc/self/fd/%d", file);
    cr_assert_eq(trk_record_session_init(&session, RING_RECORDS, TRK_PAYLOAD_NONE, &error), TRK_OK);
    struct trk_writer_options options = trk_writer_options_default();
    options.clock_shift = 0;
    cr_assert_eq(trk_writer_create(&writer, file, &options, "{}", &error), TRK_OK);
    cr_assert_eq(trk_record_drain_init(&drain, &session, writer, &error), TRK_OK);
}

static void end(void)
{
    trk_trace_close(trace);
    trk_record_drain_deinit(&drain);
    trk_record_session_deinit(&session);
    close(file);
}

TestSuite(capture_drain, .init = begin, .fini = end);

static void claim(uint32_t index, uint32_t thread_id, struct trk_ring *ring)
{
    struct trk_session_ring *shared = &session.rings[index];
    shared->thread_id = thread_id;
    struct trk_ring_place place = {shared, &session.losses[index],
                                   session.records + (size_t)index * RING_RECORDS, RING_RECORDS};
    trk_ring_init(ring, &place);
    atomic_store(&shared->state, TRK_RING_LIVE);
}

static void mark(struct trk_ring *ring, uint64_t first, uint64_t count)
{
    for (uint64_t n = first; n < first + count; ++n) {
        struct trk_event event = {.argument = n, .type = TRK_EVENT_MARK};
        trk_ring_append(ring, &event);
    }
}

static void name(uint32_t index, const char *text, uint32_t version)
{
    uint64_t words[TRK_SESSION_NAME_WORDS] = {0};
    memcpy(words, text, strlen(text));
    for (size_t i = 0; i < TRK_SESSION_NAME_WORDS; ++i)
        atomic_store(&session.rings[index].name[i], words[i]);
    atomic_store(&session.rings[index].name_version, version);
}

static uint64_t pass(void)
{
    uint64_t fullest = 0;
    cr_assert_eq(trk_record_drain_pass(&drain, &fullest, &error), TRK_OK, "%s", error.text);
    return fullest;
}

static void finish(void)
{
    cr_assert_eq(trk_record_drain_finish(&drain, &error), TRK_OK, "%s", error.text);
    cr_assert_eq(trk_writer_end(writer, 0, &error), TRK_OK, "%s", error.text);
    cr_assert_eq(trk_trace_open(&trace, file_path, &error), TRK_OK, "%s", error.text);
}

static struct trk_trace_event next(void)
{
    struct trk_trace_event event;
    cr_assert_eq(trk_trace_next(trace, &event, &error), TRK_OK, "%s", error.text);
    return event;
}

static void expect_end(void)
{
    struct trk_trace_event event;
    cr_assert_eq(trk_trace_next(trace, &event, &error), TRK_E_END);
}

Test(capture_drain, gives_each_use_a_stream_of_its_own)
{
    struct trk_ring ring;
    for (uint32_t use = 0; use < 5; ++use) {
        claim(7, 100 + use, &ring);
        mark(&ring, use * 10, 10);
        cr_assert_eq(pass(), 10);
        atomic_store(&session.rings[7].state, TRK_RING_ENDED);
        pass();
        cr_assert_eq(atomic_load(&session.rings[7].state), TRK_RING_FREE);
    }
    finish();
    for (uint64_t n = 0; n < 50; ++n) {
        struct trk_trace_event event = next();
        cr_assert_eq(event.event.argument, n);
        cr_assert_eq(trk_trace_stream(trace, event.stream)->thread_id, 100 + n / 10);
    }
    expect_end();
    cr_assert_eq(trk_trace_stream_count(trace), 5);
    cr_assert(trk_trace_state(trace).complete);
}

Test(capture_drain, frees_no_ring_before_it_is_empty)
{
    struct trk_ring ring;
    claim(0, 1, &ring);
    mark(&ring, 0, 100);
    atomic_store(&session.rings[0].state, TRK_RING_ENDED);
    pass();
    cr_assert_eq(atomic_load(&session.rings[0].state), TRK_RING_FREE);
    cr_assert_eq(atomic_load(&session.rings[0].tail), 100);
    finish();
    for (uint64_t n = 0; n < 100; ++n)
        cr_assert_eq(next().event.argument, n);
    expect_end();
}

Test(capture_drain, puts_a_loss_before_the_event_that_follows_it)
{
    struct trk_ring ring;
    const uint64_t room = RING_RECORDS - RING_RECORDS / 8;
    claim(0, 1, &ring);
    mark(&ring, 0, 200);
    pass();
    mark(&ring, 1000, 5);
    pass();
    mark(&ring, 2000, 200);
    atomic_store(&session.rings[0].state, TRK_RING_ENDED);
    pass();
    finish();
    for (uint64_t n = 0; n < room; ++n)
        cr_assert_eq(next().event.argument, n);
    struct trk_trace_event loss = next();
    cr_assert_eq(loss.event.type, TRK_EVENT_DROP);
    cr_assert_eq(loss.event.argument, 200 - room);
    cr_assert_eq(loss.event.context, TRK_EVENT_MARK);
    cr_assert_gt(trk_event_size(&loss.event), 0);
    for (uint64_t n = 0; n < 5; ++n)
        cr_assert_eq(next().event.argument, 1000 + n);
    for (uint64_t n = 0; n < room; ++n)
        cr_assert_eq(next().event.argument, 2000 + n);
    loss = next();
    cr_assert_eq(loss.event.type, TRK_EVENT_DROP, "a loss with nothing behind it is told, too");
    cr_assert_eq(loss.event.argument, 200 - room);
    expect_end();
    cr_assert_eq(drain.dropped, 2 * (200 - room));
    cr_assert_eq(trk_trace_state(trace).dropped, drain.dropped);
    cr_assert_not(trk_trace_state(trace).complete);
}

Test(capture_drain, learns_names_that_come_late_or_change)
{
    struct trk_ring ring;
    claim(0, 1, &ring);
    mark(&ring, 0, 1);
    pass();
    name(0, "half", 1); /* odd: being written */
    pass();
    name(0, "whole", 2);
    mark(&ring, 1, 1);
    pass();
    finish();
    (void)next();
    (void)next();
    expect_end();
    cr_assert_str_eq(trk_trace_stream(trace, 0)->name, "whole");
}

Test(capture_drain, tells_of_threads_without_a_ring)
{
    struct trk_session_loss *lost = &session.losses[session.ring_count].kinds[TRK_EVENT_FAULT];
    atomic_store(&lost->first, 1000);
    atomic_store(&lost->last, 1500);
    atomic_store(&lost->count, 12);
    finish();
    struct trk_trace_event event = next();
    cr_assert_eq(event.event.type, TRK_EVENT_DROP);
    cr_assert_eq(event.event.argument, 12);
    cr_assert_eq(event.event.context, TRK_EVENT_FAULT);
    cr_assert_eq(event.tsc, 1000);
    cr_assert_eq(trk_event_size(&event.event), 500);
    expect_end();
    cr_assert_not(trk_trace_state(trace).complete);
}

Test(capture_drain, gives_up_a_ring_whose_header_makes_no_sense)
{
    struct trk_ring good;
    struct trk_ring bad;
    claim(0, 1, &bad);
    claim(1, 2, &good);
    mark(&bad, 0, 3);
    mark(&good, 10, 3);
    pass();
    atomic_store(&session.rings[0].head, UINT64_MAX / 2);
    mark(&good, 13, 3);
    pass();
    pass();
    finish();
    uint64_t good_events = 0;
    struct trk_trace_event event;
    while (trk_trace_next(trace, &event, &error) == TRK_OK)
        good_events += event.event.type == TRK_EVENT_MARK && event.event.argument >= 10;
    cr_assert_eq(good_events, 6);
    cr_assert_not(trk_trace_state(trace).complete, "the loss does not show");
}

Test(capture_drain, survives_any_bytes)
{
    unsigned seed = getenv("TRK_SEED") ? (unsigned)atoi(getenv("TRK_SEED")) : 1;
    uint8_t *bytes = session.map;
    srandom(seed);
    for (int round = 0; round < 40; ++round) {
        for (int i = 0; i < 200; ++i)
            bytes[(uint64_t)random() % session.size_bytes] = (uint8_t)random();
        for (int i = 0; i < 100; ++i) /* most of them into the headers */
            bytes[(uint64_t)random() % trk_session_records_offset(TRK_SESSION_RINGS)] =
                (uint8_t)random();
        struct trk_session_ring *ring = &session.rings[random() % TRK_SESSION_RINGS];
        atomic_store(&ring->state, (uint32_t)random() % 5);
        atomic_store(&ring->head, atomic_load(&ring->tail) + (uint64_t)random() % 200);
        uint64_t fullest = 0;
        cr_assert_eq(trk_record_drain_pass(&drain, &fullest, &error), TRK_OK, "seed %u: %s", seed,
                     error.text);
    }
    finish();
    struct trk_trace_event event;
    enum trk_status status;
    while ((status = trk_trace_next(trace, &event, &error)) == TRK_OK) {
    }
    cr_assert_eq(status, TRK_E_END, "seed %u: %s", seed, error.text);
}

Test(capture_drain, cleans_text_that_is_no_utf_8)
{
    static const struct {
        const char *given;
        const char *clean;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x8e\xae", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x8e\xae"},
        {"\xff\xfe", "??"},
        {"\x80", "?"},
        {"cut \xe2\x82", "cut ??"},
        {"overlong \xc0\xaf", "overlong ??"},
        {"overlong \xe0\x80\xaf", "overlong ???"},
        {"surrogate \xed\xa0\x80", "surrogate ???"},
        {"beyond \xf4\x90\x80\x80", "beyond ????"},
        {"\xc3(", "?("},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        char text[32];
        snprintf(text, sizeof(text), "%s", cases[i].given);
        trk_record_text_clean(text);
        cr_assert_str_eq(text, cases[i].clean, "case %zu: %s", i, text);
    }
}

static void use_once(uint32_t index, uint32_t use, uint8_t last)
{
    struct trk_ring ring;
    struct trk_event event = {.argument = use, .type = last};
    claim(index, use + 1, &ring);
    mark(&ring, use, 1);
    if (last != TRK_EVENT_NONE)
        trk_ring_append(&ring, &event);
    pass();
    atomic_store(&session.rings[index].state, TRK_RING_ENDED);
    pass();
}

/* More threads than a file has streams: each event is there, in the order that it came in. */
Test(capture_drain, lets_a_thread_go_on_in_the_stream_of_the_one_before)
{
    const uint32_t uses = 5000;
    const uint32_t odd = 4500; /* this one ends in an operation: what is behind would be in it */
    for (uint32_t use = 0; use < uses; ++use)
        use_once(use % 2, use, use == odd ? TRK_EVENT_OP_BEGIN : TRK_EVENT_NONE);
    finish();
    cr_assert_eq(trk_trace_scan(trace, &error), TRK_OK, "%s", error.text);
    cr_assert_leq(trk_trace_stream_count(trace), 1024);
    uint32_t last = UINT32_MAX;
    uint32_t broken = UINT32_MAX;
    for (uint32_t use = 0; use < uses; ++use) {
        struct trk_trace_event event = next();
        const struct trk_trace_stream *stream = trk_trace_stream(trace, event.stream);
        cr_assert_eq(event.event.type, TRK_EVENT_MARK);
        cr_assert_eq(event.event.argument, use);
        cr_assert_neq(event.stream, last, "each ring has a stream of its own");
        cr_assert_neq(event.stream, broken, "nothing stands in the operation");
        char name[32] = "";
        if (use >= 766)
            snprintf(name, sizeof name, "(several threads %u)", stream->stream_id);
        cr_assert_str_eq(stream->name, name, "%u", use);
        cr_assert_eq(stream->thread_id, use < 766 ? use + 1 : 0);
        last = event.stream;
        if (use == odd) {
            broken = event.stream;
            cr_assert_eq(next().event.type, TRK_EVENT_OP_BEGIN);
        }
    }
    expect_end();
    cr_assert(trk_trace_state(trace).complete);
    cr_assert_eq(trk_trace_state(trace).order_gaps, 0);
}

static void emit(struct trk_ring *ring, uint8_t type)
{
    struct trk_event event = {.type = type};
    trk_ring_append(ring, &event);
}

/* What a stream is in the middle of, to whoever reads it. */
struct open {
    unsigned operations, holds;
};

/* How many uses' begins there are; each stands in nothing of the use before it. */
static uint32_t count_begins(uint32_t *drops)
{
    struct open *open = calloc(TRK_FORMAT_STREAMS_MAX, sizeof *open);
    struct trk_trace_event event;
    uint32_t begins = 0;
    *drops = 0;
    cr_assert_not_null(open);
    while (trk_trace_next(trace, &event, &error) == TRK_OK) {
        struct open *at = &open[event.stream];
        bool begins_use = event.event.type == TRK_EVENT_MARK;
        cr_assert(!begins_use || (at->operations == 0 && at->holds == 0), "use %u", begins);
        begins += begins_use;
        at->operations += event.event.type == TRK_EVENT_OP_BEGIN;
        at->holds += event.event.type == TRK_EVENT_LOCK;
        if (event.event.type != TRK_EVENT_DROP)
            continue;
        *drops += (uint32_t)event.event.argument;
        at->operations = event.event.context == TRK_EVENT_OP_END ? 0 : at->operations;
        at->holds = event.event.context == TRK_EVENT_UNLOCK ? 0 : at->holds;
    }
    free(open);
    return begins;
}

/* An end that is lost leaves nothing open behind the place where the loss is told. */
Test(capture_drain, lets_a_stream_go_on_behind_a_loss)
{
    const uint32_t uses = 1500;
    for (uint32_t use = 0; use < uses; ++use) {
        struct trk_ring ring;
        claim(use % 2, use + 1, &ring);
        mark(&ring, use, 1);
        emit(&ring, TRK_EVENT_OP_BEGIN);
        trk_ring_lose(&ring, TRK_EVENT_OP_END);
        if (use % 3 == 0)
            emit(&ring, TRK_EVENT_FRAME);
        pass();
        atomic_store(&session.rings[use % 2].state, TRK_RING_ENDED);
        pass();
    }
    finish();
    uint32_t drops;
    cr_assert_eq(trk_trace_scan(trace, &error), TRK_OK, "%s", error.text);
    cr_assert_leq(trk_trace_stream_count(trace), 1024);
    cr_assert_eq(count_begins(&drops), uses);
    cr_assert_eq(drops, uses);
    cr_assert_eq(trk_trace_state(trace).dropped, uses);
}

/* However many threads end in the middle of something, the file has room, and says so. */
Test(capture_drain, cuts_what_is_open_where_streams_are_few)
{
    const uint32_t uses = 5000;
    for (uint32_t use = 0; use < uses; ++use)
        use_once(use % 2, use, use % 2 == 0 ? TRK_EVENT_OP_BEGIN : TRK_EVENT_LOCK);
    finish();
    uint32_t drops;
    cr_assert_eq(trk_trace_scan(trace, &error), TRK_OK, "%s", error.text);
    cr_assert_leq(trk_trace_stream_count(trace), TRK_FORMAT_STREAMS_MAX - 2 * TRK_SESSION_RINGS);
    cr_assert_eq(count_begins(&drops), uses);
    cr_assert_gt(drops, 1000);
    cr_assert_eq(trk_trace_state(trace).dropped, drops);
    cr_assert_eq(drain.dropped, drops);
    cr_assert(trk_trace_state(trace).ended);
}

Test(capture_drain, writes_a_header_for_any_command_line)
{
    char long_word[5000];
    memset(long_word, 'a', sizeof(long_word) - 1);
    long_word[sizeof(long_word) - 1] = '\0';
    static char odd[] = "\xff\xfe quote\" back\\slash \x01";
    char *argv[2000] = {odd, long_word};
    for (int i = 2; i < 1999; ++i)
        argv[i] = long_word;
    setenv("TRK_SOMETHING", "value", 1);
    setenv("NOBODYS_BUSINESS", "secret", 1);
    struct trk_record_options options = {.size = sizeof(options), .argv = argv};
    struct trk_record_header header = {.session = &session, .options = &options, .child_pid = 42};
    header.anchors[0] = trk_record_header_anchor();
    header.anchors[1] = trk_record_header_anchor();
    char *json = trk_record_header_json(&header);
    cr_assert_not_null(json);
    cr_assert_lt(strlen(json), 1u << 20);
    cr_assert_not_null(strstr(json, "TRK_SOMETHING"));
    cr_assert_null(strstr(json, "NOBODYS_BUSINESS"));
    cr_assert_not_null(strstr(json, "\"tsc_hz\""));
    free(json);
    finish();
}
