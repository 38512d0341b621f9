/*
 * Goal: whether a region has been met is looked at without a lock; re-execution takes either answer
 * where the log has no order, and only there.
 * Method: operations of two threads on a region that nobody has met, one after the other, and then
 * moved in time to where they overlap.
 */
#include <criterion/criterion.h>

#include "tape.h"

/* A region that tape_create leaves alone. */
#define NEW (TAPE_A + 4 * TAPE_R)

static void ask_gpu(struct tape *tape, uint32_t thread)
{
    bool answer;
    tape_as(tape, thread);
    ignore(trk_tracker_is_gpu(tape->tracker, NEW, TAPE_P, &answer));
}

static void ask_cpu(struct tape *tape, uint32_t thread)
{
    bool answer;
    tape_as(tape, thread);
    ignore(trk_tracker_is_cpu(tape->tracker, NEW, TAPE_P, &answer));
}

static void take(struct tape *tape, uint32_t thread)
{
    tape_as(tape, thread);
    tape_upload(tape, NEW, TAPE_P, true);
}

/* Let a thread's newest events be later than all others. */
static void delay(struct tape *tape, uint32_t thread, size_t count)
{
    struct tape_stream *stream = &tape->streams[thread];
    cr_assert_geq(stream->count, count);
    for (size_t i = stream->count - count; i < stream->count; i++)
        stream->records[i].tsc = tape->tsc += 100;
}

static void number_holds(struct tape *tape, uint32_t thread, uint32_t seq)
{
    struct tape_stream *stream = &tape->streams[thread];
    for (size_t i = 0; i < stream->count; i++) {
        struct trk_event *event = &stream->records[i].event;
        if (event->type == TRK_EVENT_LOCK || event->type == TRK_EVENT_UNLOCK)
            event->seq = seq;
    }
}

/* ---- either is right ------------------------------------------------------------------------- */

static void query_looked_before(struct tape *tape)
{
    ask_gpu(tape, 1);
    take(tape, 2);
    delay(tape, 1, 1);
}

static void query_looked_behind(struct tape *tape)
{
    ask_cpu(tape, 2);
    ask_gpu(tape, 1);
    number_holds(tape, 1, 1);
    number_holds(tape, 2, 2);
    delay(tape, 2, 3);
}

static void invalidate_looked_before(struct tape *tape)
{
    tape_as(tape, 1);
    ignore(trk_tracker_invalidate(tape->tracker, NEW, TAPE_P, NULL, NULL));
    take(tape, 2);
    delay(tape, 1, 1);
}

static void unregister_looked_before(struct tape *tape)
{
    tape_as(tape, 1);
    ignore(trk_tracker_unregister(tape->tracker, NEW - TAPE_R, 2 * TAPE_R));
    take(tape, 2);
    delay(tape, 1, 1);
}

static void fault_looked_before(struct tape *tape)
{
    tape_as(tape, 1);
    trk_tracker_fault(tape->tracker, NEW, TRK_ACCESS_WRITE);
    take(tape, 2);
    delay(tape, 1, 2);
}

/* ---- only one is right ----------------------------------------------------------------------- */

static void query_too_late(struct tape *tape)
{
    ask_gpu(tape, 1);
    take(tape, 2);
    delay(tape, 1, 2);
}

static void query_of_what_nobody_met(struct tape *tape)
{
    ask_cpu(tape, 2);
    ask_gpu(tape, 1);
    number_holds(tape, 1, 1);
    tape->streams[2].count = 0;
}

/* The operation beside it is elsewhere. */
static void query_beside_another_region(struct tape *tape)
{
    bool answer;
    ask_cpu(tape, 2);
    ask_gpu(tape, 1);
    number_holds(tape, 1, 1);
    tape->streams[2].count = 0;
    tape_as(tape, 2);
    ignore(trk_tracker_is_gpu(tape->tracker, NEW + 4 * TAPE_R, TAPE_P, &answer));
    tape->streams[2].records[0].tsc = tape->streams[1].records[0].tsc - 1;
}

struct touch_case {
    const char *name;
    void (*record)(struct tape *tape);
    const char *verdict;
};

static const struct touch_case cases[] = {
    {"a query that looked before", query_looked_before, "ok"},
    {"a query that looked behind, and locked first", query_looked_behind, "ok"},
    {"an invalidate that looked before", invalidate_looked_before, "ok"},
    {"an unregister that looked before", unregister_looked_before, "ok"},
    {"a fault that looked before", fault_looked_before, "unhandled-fault"},
    {"a query that began behind", query_too_late, "divergence"},
    {"a query of what nobody met", query_of_what_nobody_met, "divergence"},
    {"a query beside another region", query_beside_another_region, "divergence"},
};

Test(first_touch, either_answer_where_nothing_orders)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tape *tape = tape_create("default");
        cases[i].record(tape);
        struct trk_sim_report report = tape_judge(tape);
        cr_expect_str_eq(trk_verdict_name(&report), cases[i].verdict, "%s: %s: %s", cases[i].name,
                         trk_verdict_name(&report), report.text);
        tape_destroy(tape);
    }
}
