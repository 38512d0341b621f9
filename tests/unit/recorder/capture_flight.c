/*
 * Goal: however much a flight ring forgets, its dump begins with what was last declared of each
 * tracker before, once, and counts what is missing to the last event, of threads that it has
 * forgotten altogether as well; and the newest events of all threads are in it.
 *
 * Method: two streams, of which one declares trackers again and again between many marks, and the
 * other one begins a chunk that is closed late, or ends early; the view is written to a file and
 * read back.
 */
#define _GNU_SOURCE /* memfd_create */
#include "flight.h"
#include "flight_ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "recorder/trace.h"

#define BUDGET_BYTES 65536u
#define ONCE         7u /* declared at the start, and never again */
#define AGAIN        3u

static struct trk_flight *flight;
static struct trk_error error;
static uint64_t tsc, appended, said; /* said: the sum of all arguments */

static void append(uint32_t stream_id, uint8_t type, uint16_t page, uint64_t argument)
{
    struct trk_record record = {++tsc * 977, {.argument = argument, .type = type, .page = page}};
    appended++;
    said += argument;
    cr_assert_eq(trk_flight_append(flight, stream_id, &record, 1, &error), TRK_OK);
}

/* Marks that nothing makes small. */
static void mark(uint32_t stream_id, unsigned count)
{
    static uint64_t state = 1;
    for (unsigned i = 0; i < count; ++i) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        append(stream_id, TRK_EVENT_MARK, 0, state);
    }
}

static void begin(void)
{
    struct trk_trace_stream streams[] = {{.stream_id = 0, .name = "a"},
                                         {.stream_id = 1, .name = "b"}};
    cr_assert_eq(trk_flight_create(&flight, BUDGET_BYTES, &error), TRK_OK);
    for (size_t i = 0; i < 2; ++i)
        cr_assert_eq(trk_flight_stream(flight, &streams[i], &error), TRK_OK);
}

static struct trk_trace *read_view(struct trk_flight_view *view)
{
    struct trk_writer_options options = trk_writer_options_default();
    struct trk_writer *writer = NULL;
    struct trk_trace *trace = NULL;
    char path[40];
    int fd = memfd_create("dump", MFD_CLOEXEC);
    cr_assert_geq(fd, 0);
    cr_assert_not_null(view);
    cr_assert_eq(trk_writer_create(&writer, fd, &options, "{}", &error), TRK_OK);
    cr_assert_eq(trk_flight_view_write(view, writer, &error), TRK_OK, "%s", error.text);
    cr_assert_eq(trk_writer_end(writer, 0, &error), TRK_OK);
    trk_flight_view_destroy(view);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    cr_assert_eq(trk_trace_open(&trace, path, &error), TRK_OK, "%s", error.text);
    close(fd);
    return trace;
}

static struct trk_trace *dump(uint64_t since_ticks)
{
    cr_assert_eq(trk_flight_flush(flight, &error), TRK_OK);
    return read_view(trk_flight_view(flight, since_ticks));
}

struct seen {
    uint64_t first_again;         /* what the first declaration says */
    unsigned again, once, before; /* before: of both, before anything else of their stream */
    uint64_t events, dropped, said;
    uint64_t missing[2]; /* told in the stream */
    uint64_t newest[2];  /* what the stream's last event says */
    uint64_t lost_at;    /* when the last loss was told */
};

static struct seen read_dump(struct trk_trace *trace)
{
    struct seen seen = {0};
    struct trk_trace_event event;
    bool began = false;
    while (trk_trace_next(trace, &event, &error) == TRK_OK) {
        seen.events += event.event.type != TRK_EVENT_DROP;
        seen.said += event.event.argument;
        if (event.event.type == TRK_EVENT_DROP) {
            seen.missing[event.stream] += event.event.argument;
            seen.lost_at = event.tsc;
        } else {
            seen.newest[event.stream] = event.event.argument;
        }
        began = began || event.event.type != TRK_EVENT_TRACKER;
        seen.before += !began;
        if (event.event.type != TRK_EVENT_TRACKER)
            continue;
        seen.once += event.event.page == ONCE;
        if (event.event.page == AGAIN && seen.again++ == 0)
            seen.first_again = event.event.argument;
    }
    seen.dropped = trk_trace_state(trace).dropped;
    trk_trace_close(trace);
    return seen;
}

Test(capture_flight, a_dump_begins_with_the_newest_declarations)
{
    begin();
    append(0, TRK_EVENT_TRACKER, ONCE, 1);
    for (uint64_t n = 0; n < 300; ++n) {
        append(0, TRK_EVENT_TRACKER, AGAIN, n);
        mark(0, 1000);
    }
    struct seen seen = read_dump(dump(0));
    cr_assert_eq(seen.once, 1u);
    cr_assert_eq(seen.before, 2u, "%d declarations before the dump", (int)seen.before);
    cr_assert_gt(trk_flight_forgotten(flight), 200000u);
    /* One from before, and those that the ring still has: they are the last ones, without a hole.
     */
    cr_assert_eq(seen.first_again, 300u - seen.again, "begins with %d, has %d",
                 (int)seen.first_again, (int)seen.again);
    cr_assert_eq(seen.events + seen.dropped, appended);
    trk_flight_destroy(flight);
}

/* The chunk with the declaration is closed long after others that were begun later. */
Test(capture_flight, a_declaration_that_the_ring_has_is_not_said_twice)
{
    begin();
    append(1, TRK_EVENT_TRACKER, ONCE, 1);
    mark(0, 100000);
    struct seen seen = read_dump(dump(0));
    cr_assert_eq(seen.once, 1u);
    cr_assert_eq(seen.events + seen.dropped, appended);
    trk_flight_destroy(flight);
}

/* A thread of which nothing is left, or nothing but what is pinned. */
Test(capture_flight, a_thread_that_is_forgotten_altogether_is_counted)
{
    for (unsigned declared = 0; declared < 2; ++declared) {
        appended = 0;
        begin();
        if (declared)
            append(0, TRK_EVENT_TRACKER, ONCE, 1);
        mark(0, TRK_CHUNK_EVENTS - declared); /* its chunk is full: none stays open */
        mark(1, 200000);
        struct seen seen = read_dump(dump(0));
        cr_assert_eq(seen.once, declared);
        cr_assert_eq(seen.missing[0], TRK_CHUNK_EVENTS - declared);
        cr_assert_gt(seen.events, 0u);
        cr_assert_eq(seen.events + seen.dropped, appended);
        trk_flight_destroy(flight);
    }
}

Test(capture_flight, what_is_left_out_altogether_is_counted)
{
    begin();
    mark(0, 9000);
    mark(1, 10);
    struct seen seen = read_dump(dump(UINT64_MAX));
    cr_assert_eq(seen.events, 0u);
    cr_assert_eq(seen.missing[0], 9000u);
    cr_assert_eq(seen.missing[1], 10u);
    const unsigned shift = trk_writer_options_default().clock_shift;
    cr_assert_eq(seen.lost_at >> shift, (tsc * 977) >> shift,
                 "lost at %llu, the last event at %llu", (unsigned long long)seen.lost_at,
                 (unsigned long long)tsc * 977);
    trk_flight_destroy(flight);
}

/* What was lost before the ring got it, and is told in what the ring forgot. */
Test(capture_flight, losses_that_are_forgotten_are_counted)
{
    begin();
    append(0, TRK_EVENT_DROP, 0, 500);
    mark(0, 100000);
    append(0, TRK_EVENT_DROP, 0, 7);
    struct seen seen = read_dump(dump(0));
    cr_assert_gt(trk_flight_forgotten(flight), 0u);
    cr_assert_eq(seen.events + seen.dropped, 100000u + 507u);
    trk_flight_destroy(flight);
}

/* No domains, timelines and trackers; of each stream so many events are before. */
static struct trk_flight_state *state_at(uint64_t first, uint64_t second)
{
    struct trk_flight_state *state = calloc(1, sizeof *state);
    cr_assert_not_null(state);
    atomic_init(&state->users, 1);
    state->snapshot = calloc(3, 1);
    state->snapshot_bytes = 3;
    state->ordinals = calloc(2, sizeof *state->ordinals);
    state->prologue = calloc(1, sizeof *state->prologue);
    cr_assert(state->snapshot != NULL && state->ordinals != NULL && state->prologue != NULL);
    state->stream_count = 2;
    state->ordinals[0] = first;
    state->ordinals[1] = second;
    state->prologue[0].record =
        (struct trk_record){977, {.type = TRK_EVENT_TRACKER, .page = ONCE, .argument = 1}};
    state->prologue_count = 1;
    return state;
}

/* Wherever in a chunk the state is, all behind it is there, nothing before, and nothing missing. */
Test(capture_flight, a_dump_begins_behind_its_state)
{
    begin();
    append(0, TRK_EVENT_TRACKER, ONCE, 1);
    mark(0, 20000);
    mark(1, 3000);
    cr_assert_eq(trk_flight_flush(flight, &error), TRK_OK);
    struct trk_flight_state *state = state_at(19000, 100);
    cr_assert(trk_flight_has_behind(flight, state));
    struct trk_flight_view *view = trk_flight_view_behind(flight, state, TRK_FLIGHT_ALL);
    cr_assert_eq(trk_flight_view_before(view, 0), 18999u, "the kept one is there");
    cr_assert_eq(trk_flight_view_before(view, 1), 100u);
    struct trk_trace *trace = read_view(view);
    cr_assert_eq(trk_trace_scan(trace, &error), TRK_OK);
    const uint8_t *end;
    const uint8_t *snapshot = trk_trace_snapshot(trace, &end);
    cr_assert_not_null(snapshot);
    cr_assert_eq(end - snapshot, 3);
    struct seen seen = read_dump(trace);
    cr_assert_eq(seen.before, 1u);
    cr_assert_eq(seen.events, 1u + 1001u + 2900u);
    cr_assert_eq(seen.dropped, 0u);
    mark(1, 200000);
    cr_assert_not(trk_flight_has_behind(flight, state));
    trk_flight_state_release(state);
    trk_flight_destroy(flight);
}

/* What is still wanted stays, up to twice the budget. */
Test(capture_flight, what_is_wanted_stays_for_a_while)
{
    begin();
    trk_flight_keep_behind(flight, NULL);
    while (trk_flight_bytes_ever(flight) <= BUDGET_BYTES * 3 / 2) {
        mark(0, 1000);
        cr_assert_eq(trk_flight_flush(flight, &error), TRK_OK);
    }
    cr_assert(trk_flight_has_behind(flight, NULL));
    cr_assert_eq(trk_flight_forgotten(flight), 0u);
    while (trk_flight_bytes_ever(flight) <= BUDGET_BYTES * 5 / 2) {
        mark(0, 1000);
        cr_assert_eq(trk_flight_flush(flight, &error), TRK_OK);
    }
    cr_assert_not(trk_flight_has_behind(flight, NULL));
    struct trk_flight_state *state = state_at(appended, 0);
    trk_flight_keep_behind(flight, state); /* nothing that is there */
    mark(0, 1000);
    cr_assert_eq(trk_flight_flush(flight, &error), TRK_OK);
    struct seen seen = read_dump(dump(0));
    cr_assert_lt(seen.events, appended / 2, "back to the budget");
    trk_flight_state_release(state);
    trk_flight_destroy(flight);
}

/* Fill the ring until so many budgets have come since it began. */
static void fill(unsigned budgets)
{
    while (trk_flight_bytes_ever(flight) <= budgets * BUDGET_BYTES) {
        mark(0, 4000);
        mark(1, 4000);
        cr_assert_eq(trk_flight_flush(flight, &error), TRK_OK);
        cr_assert_leq(flight->bytes, 2 * BUDGET_BYTES + BUDGET_BYTES);
    }
}

/* Then it goes to the file, is in views as before, and is given back when nobody wants it. */
Test(capture_flight, what_is_wanted_outlives_the_memory)
{
    begin();
    cr_assert_eq(trk_flight_spill(flight, "/tmp/d.trk", UINT64_C(8) * BUDGET_BYTES, 0, &error),
                 TRK_OK);
    trk_flight_keep_behind(flight, NULL);
    fill(1);
    struct trk_flight_view *early = trk_flight_view(flight, 0);
    uint64_t then = appended;
    for (unsigned round = 0; round < 2; ++round) {
        fill(6 + 10 * round);
        cr_assert_gt(flight->spilled, 0u);
        cr_assert(trk_flight_has_behind(flight, NULL) || round > 0);
        struct trk_flight_view *view = trk_flight_view(flight, 0);
        trk_flight_keep_nothing(flight);
        fill(9 + 10 * round);
        cr_assert_eq(flight->spilled, 0u);
        cr_assert_leq(flight->bytes, 2 * BUDGET_BYTES);
        struct seen seen = read_dump(read_view(view)); /* it has it still */
        cr_assert_gt(seen.events, round == 0 ? 40000u : 20000u);
        cr_assert(round > 0 || seen.dropped == 0);
        struct trk_flight_state *state = state_at(appended / 2, appended / 2);
        trk_flight_keep_behind(flight, state); /* nothing that is there */
        cr_assert(trk_flight_has_behind(flight, state));
        trk_flight_state_release(state);
    }
    cr_assert_eq(read_dump(read_view(early)).events, then);
    fill(40); /* more than memory and file have */
    struct seen seen = read_dump(dump(0));
    cr_assert_gt(seen.dropped, 0u);
    cr_assert_eq(seen.events + seen.dropped, appended);
    trk_flight_destroy(flight);
}

/* What was put there is what comes back; without a place for it, the oldest is forgotten. */
Test(capture_flight, the_file_has_what_was_put_there)
{
    static const char *const paths[] = {"d.trk", "/d.trk", "/no/such/folder/d.trk"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; ++i) {
        appended = said = 0;
        begin();
        cr_assert_eq(trk_flight_spill(flight, paths[i], UINT64_C(8) * BUDGET_BYTES, 0, &error),
                     TRK_OK);
        trk_flight_keep_behind(flight, NULL);
        fill(6);
        cr_assert_eq(trk_flight_has_behind(flight, NULL), i < 2);
        struct seen seen = read_dump(dump(0));
        cr_assert_eq(seen.events + seen.dropped, appended);
        cr_assert(i == 2 || (seen.dropped == 0 && seen.said == said), "%s", paths[i]);
        trk_flight_destroy(flight);
    }
}

/* What it must leave free for dumps is more than any file system has: nothing goes there. */
Test(capture_flight, the_file_leaves_room_for_dumps)
{
    begin();
    cr_assert_eq(trk_flight_spill(flight, "d.trk", UINT64_C(8) * BUDGET_BYTES, INT64_MAX, &error),
                 TRK_OK);
    trk_flight_keep_behind(flight, NULL);
    fill(6);
    cr_assert_eq(flight->spilled, 0u);
    cr_assert(!trk_flight_has_behind(flight, NULL));
    struct seen seen = read_dump(dump(0));
    cr_assert_eq(seen.events + seen.dropped, appended);
    trk_flight_destroy(flight);
}

/* Chunks of many threads are closed for one dump: together they are more than the budget. */
Test(capture_flight, a_dump_has_the_newest_events_of_every_thread)
{
    begin();
    mark(0, 8000);
    mark(1, 8000);
    append(0, TRK_EVENT_FRAME, 0, 11);
    append(1, TRK_EVENT_FRAME, 0, 12);
    struct seen seen = read_dump(dump(0));
    cr_assert_eq(seen.newest[0], 11u);
    cr_assert_eq(seen.newest[1], 12u);
    cr_assert_eq(seen.events, appended);
    mark(1, 100000); /* the budget counts again */
    seen = read_dump(dump(0));
    cr_assert_gt(seen.missing[0], 8000u);
    cr_assert_eq(seen.events + seen.dropped, appended);
    trk_flight_destroy(flight);
}
