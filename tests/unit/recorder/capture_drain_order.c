/*
 * Goal: whoever reads a file that was cut off somewhere knows of each thread that did something
 * before what he has of others: its NOTE stands in front of that [F-15], also when the drain meets
 * it in the pass in which it takes that.
 *
 * Method: the test writes the session's rings itself, in an order that puts the newcomer behind who
 * has waited for it, lets one pass write chunks of few events, and looks at the order of the file's
 * chunks. What comes during a pass is written by a trigger that fires in it.
 */
#define _GNU_SOURCE /* memfd_create */
#include "record_drain.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "format.h"
#include "ring.h"

#define RING_RECORDS 128u
#define FIRES        7u /* the mark */

static struct trk_record_session session;
static struct trk_record_drain drain;
static struct trk_ring rings[TRK_SESSION_RINGS];
static struct trk_error error;

static void begin(void)
{
    cr_assert_eq(trk_record_session_init(&session, RING_RECORDS, TRK_PAYLOAD_NONE, &error), TRK_OK);
    cr_assert_eq(trk_record_drain_init(&drain, &session, NULL, &error), TRK_OK);
}

static void end(void)
{
    trk_record_drain_deinit(&drain);
    trk_record_session_deinit(&session);
}

TestSuite(capture_drain_order, .init = begin, .fini = end);

static void claim(uint32_t index)
{
    struct trk_session_ring *shared = &session.rings[index];
    shared->thread_id = 100 + index;
    struct trk_ring_place place = {shared, &session.losses[index],
                                   session.records + (size_t)index * RING_RECORDS, RING_RECORDS};
    trk_ring_init(&rings[index], &place);
    atomic_store(&shared->state, TRK_RING_LIVE);
}

static void mark(uint32_t index, uint64_t first, uint64_t count)
{
    for (uint64_t n = first; n < first + count; ++n) {
        struct trk_event event = {.argument = n, .type = TRK_EVENT_MARK};
        trk_ring_append(&rings[index], &event);
    }
}

static void pass(void)
{
    uint64_t fullest = 0;
    cr_assert_eq(trk_record_drain_pass(&drain, &fullest, &error), TRK_OK, "%s", error.text);
}

/* ---- the order of chunks --------------------------------------------------------------------- */

enum newcomer { UNNAMED, NAMED, ENDED, SECOND_USE, WITHOUT_RING };

static const struct {
    const char *name;
    enum newcomer newcomer;
    uint32_t index;
} cases[] = {
    {"a thread without a name", UNNAMED, 5},
    {"in a ring before the other's", UNNAMED, 0},
    {"a thread with a name", NAMED, 5},
    {"a thread that has ended by then", ENDED, 5},
    {"the next thread of a ring", SECOND_USE, 5},
    {"a thread that found no ring", WITHOUT_RING, TRK_SESSION_RINGS},
};

#define OTHER 2u /* who has seen what the newcomer did */

static void come(enum newcomer newcomer, uint32_t index)
{
    if (newcomer == WITHOUT_RING) {
        atomic_store(&session.losses[session.ring_count].kinds[TRK_EVENT_FAULT].count, 1);
        return;
    }
    claim(index);
    if (newcomer == NAMED) {
        atomic_store(&session.rings[index].name[0], 'n');
        atomic_store(&session.rings[index].name_version, 2);
    }
    mark(index, 1000, 1);
    if (newcomer == ENDED)
        atomic_store(&session.rings[index].state, TRK_RING_ENDED);
}

/* The next chunk of a file, from offset 0 on. False: there is none. */
static bool next_chunk(int file, off_t *at, struct trk_format_chunk *chunk)
{
    struct trk_format_file header;
    uint8_t bytes[TRK_FORMAT_CHUNK_BYTES];
    cr_assert_eq(pread(file, bytes, sizeof bytes, 0), (ssize_t)sizeof bytes);
    cr_assert_eq(trk_format_get_file(bytes, &header, &error), TRK_OK);
    *at += *at == 0 ? TRK_FORMAT_FILE_BYTES : (off_t)trk_format_chunk_span(chunk);
    if (pread(file, bytes, sizeof bytes, *at) != (ssize_t)sizeof bytes)
        return false;
    cr_assert(trk_format_get_chunk(bytes, header.sync, chunk));
    return true;
}

/* How many streams have a NOTE before the second chunk of events of the first stream. */
static uint32_t notes_before_the_second_chunk(int file)
{
    struct trk_format_chunk chunk;
    uint32_t notes = 0;
    for (off_t at = 0; next_chunk(file, &at, &chunk);) {
        if (chunk.kind == TRK_FORMAT_EVENTS && chunk.stream == 0 && chunk.first_ordinal > 0)
            return notes;
        notes += chunk.kind == TRK_FORMAT_NOTE;
    }
    cr_assert_fail("no second chunk of events");
    return 0;
}

static uint32_t notes_of(enum newcomer newcomer, uint32_t index)
{
    int file = memfd_create("trace", 0);
    struct trk_writer_options options = trk_writer_options_default();
    options.chunk_events = 4;
    cr_assert_eq(trk_writer_create(&drain.writer, file, &options, "{}", &error), TRK_OK);
    claim(OTHER);
    mark(OTHER, 0, 5); /* a chunk, and one event of the next one */
    pass();
    if (newcomer == SECOND_USE) {
        claim(index);
        mark(index, 2000, 1);
        atomic_store(&session.rings[index].state, TRK_RING_ENDED);
        pass();
    }
    come(newcomer, index);
    mark(OTHER, 5, 3); /* which is full now */
    pass();
    uint32_t notes = notes_before_the_second_chunk(file);
    trk_writer_destroy(drain.writer);
    close(file);
    return notes;
}

Test(capture_drain_order, a_thread_is_known_before_what_others_do_later)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const uint32_t streams = cases[i].newcomer == SECOND_USE ? 3 : 2;
        cr_expect_eq(notes_of(cases[i].newcomer, cases[i].index), streams, "%s", cases[i].name);
        end();
        begin();
    }
}

/* ---- losses of a file that is cut off ---------------------------------------------------------
 */

/* Events lost by the chunks that the file has. */
static uint64_t lost_in(int file)
{
    struct trk_format_chunk chunk;
    uint64_t lost = 0;
    for (off_t at = 0; next_chunk(file, &at, &chunk);)
        lost += chunk.dropped;
    return lost;
}

Test(capture_drain_order, what_found_no_ring_is_counted_with_each_flush)
{
    int file = memfd_create("trace", 0);
    struct trk_writer_options options = trk_writer_options_default();
    cr_assert_eq(trk_writer_create(&drain.writer, file, &options, "{}", &error), TRK_OK);
    for (uint64_t lost = 3; lost <= 6; lost += 3) {
        atomic_store(&session.losses[session.ring_count].kinds[TRK_EVENT_FAULT].count, lost);
        pass();
        cr_assert_eq(trk_record_drain_flush(&drain, &error), TRK_OK);
        cr_expect_eq(lost_in(file), lost);
    }
    trk_writer_destroy(drain.writer);
    close(file);
}

/* ---- what comes during a pass ---------------------------------------------------------------- */

#define LATER 9u /* drained behind who fires */
#define LATE  3u /* claimed while the pass is under way */

static void on_fired(void *context)
{
    (void)context;
    claim(LATE);
    mark(LATE, 0, 1);
    mark(LATER, 1, 1); /* has seen it */
}

Test(capture_drain_order, a_pass_takes_what_was_there_when_it_began)
{
    struct trk_record_trigger trigger;
    uint64_t fullest = 0;
    cr_assert_eq(trk_flight_create(&drain.flight, 1u << 20, &error), TRK_OK);
    cr_assert_eq(trk_record_trigger_parse(&trigger, "mark:7", &error), TRK_OK);
    drain.trigger = &trigger;
    drain.fired = on_fired;
    claim(OTHER);
    claim(LATER);
    mark(LATER, 0, 1);
    mark(OTHER, FIRES, 1);
    pass();
    cr_expect_eq(drain.rings[LATER].tail, 1, "a thread that nobody knows came before the rest");
    cr_expect_not(drain.rings[LATE].in_use);
    cr_assert_eq(trk_record_drain_pass(&drain, &fullest, &error), TRK_OK);
    cr_expect_eq(fullest, 1);
    cr_expect_eq(drain.rings[LATER].tail, 2);
    cr_expect_eq(drain.rings[LATE].tail, 1);
    trk_flight_destroy(drain.flight);
}
