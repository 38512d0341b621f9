/*
 * Goal: each failure of the core, each broken lock, fault, watch or log gets its verdict, with the
 * event at fault.
 *
 * Method: as in test_stale.c: the real core runs live onto a tape, some tapes are then changed by
 * hand. One table of cases.
 */
#include <criterion/criterion.h>

#include "tape_programs.h"
#include "verdict_case.h"

/* ---- broken operations ----------------------------------------------------------------------- */

static void drain_all_but_last(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    tape_drain(context, guest_addr, size_bytes - TAPE_P);
}

static void retained(struct tape *tape)
{
    tape_upload(tape, TAPE_A, 3 * TAPE_P, true);
    ignore(trk_tracker_invalidate(tape->tracker, TAPE_A, 3 * TAPE_P, drain_all_but_last, tape));
}

static void query_in_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct tape *tape = context;
    bool answer;
    ignore(trk_tracker_is_gpu(tape->tracker, guest_addr, size_bytes, &answer));
}

static void reentry(struct tape *tape)
{
    struct trk_transfer upload = {.size = sizeof upload,
                                  .guest_addr = TAPE_A,
                                  .size_bytes = TAPE_P,
                                  .range = query_in_range,
                                  .context = tape};
    ignore(trk_tracker_upload(tape->tracker, &upload));
}

static void fatal_range(struct tape *tape)
{
    bool answer;
    ignore(trk_tracker_is_cpu(tape->tracker, 0, 1, &answer));
}

static void fatal_conflict(struct tape *tape)
{
    ignore(trk_tracker_mark_gpu(tape->tracker, TAPE_A, TAPE_P));
}

static void fatal_untrack(struct tape *tape)
{
    tape_upload(tape, TAPE_A, TAPE_P, true);
    ignore(trk_tracker_untrack(tape->tracker, TAPE_A, TAPE_P));
}

static void fatal_lock(struct tape *tape)
{
    ignore(trk_tracker_unlock(tape->tracker, TAPE_A));
}

static void fatal_watch(struct tape *tape)
{
    ignore(trk_pages_unwatch(tape->tracker, TAPE_A, TAPE_P));
}

static void livelock(struct tape *tape)
{
    /* Nobody opens the page: the layer has no read-back. */
    tape_upload(tape, TAPE_A, TAPE_P, true);
    for (int i = 0; i < 8; i++)
        trk_tracker_fault(tape->tracker, TAPE_A, TRK_ACCESS_READ);
}

static void unhandled_fault(struct tape *tape)
{
    ignore(trk_tracker_set_guest_protection(tape->tracker, TAPE_A, TAPE_P, TRK_RIGHT_READ));
    trk_tracker_fault(tape->tracker, TAPE_A, TRK_ACCESS_WRITE);
}

static void watch_leak(struct tape *tape)
{
    tape_upload(tape, TAPE_A, TAPE_P, true);
    ignore(trk_pages_watch(tape->tracker, TAPE_A + TAPE_P, TAPE_P));
}

/* Two threads take two locks crosswise; the log ends where each would have to wait. */
static void deadlock(struct tape *tape)
{
    uint64_t a = TAPE_A, b = TAPE_A + TAPE_R;
    tape_as(tape, 1);
    ignore(trk_tracker_lock(tape->tracker, a));
    tape_as(tape, 2);
    ignore(trk_tracker_lock(tape->tracker, b));
    struct trk_event begin = {
        .type = TRK_EVENT_OP_BEGIN, .context = TRK_OP_LOCK, .argument = a, .seq = 1};
    tape_put(tape, &begin);
    tape_as(tape, 1);
    begin.argument = b;
    tape_put(tape, &begin);
    ignore(trk_tracker_unlock(tape->tracker, a));
    tape_as(tape, 2);
    ignore(trk_tracker_unlock(tape->tracker, b));
    /* What follows the begins did not happen. */
    for (int i = 0; i < 2; i++) {
        tape->streams[1 + i].count -= 3;
    }
}

/* One waits, but its holder could go on: the program was ended from outside. */
static void killed_while_waiting(struct tape *tape)
{
    deadlock(tape);
    tape->streams[1].count--;
}

/* The thread released the lock and was killed before it wrote that down; others went on. */
static void killed_before_unlock_was_written(struct tape *tape)
{
    bool answer;
    tape_as(tape, 1);
    ignore(trk_tracker_is_cpu(tape->tracker, TAPE_A, TAPE_P, &answer));
    tape->streams[1].count -= 2;
    tape_as(tape, 2);
    ignore(trk_tracker_is_cpu(tape->tracker, TAPE_A, TAPE_P, &answer));
    tape->child_status = 9;
}

/* Likewise with a whole hold of the page manager. */
static void killed_before_hold_was_written(struct tape *tape)
{
    tape_as(tape, 1);
    ignore(trk_pages_watch(tape->tracker, TAPE_A, TAPE_P));
    tape->streams[1].count -= 2;
    tape_as(tape, 2);
    ignore(trk_pages_watch(tape->tracker, TAPE_A + TAPE_P, TAPE_P));
    tape->child_status = 9;
}

/* Likewise with the look of a fault, which is an operation's first step. */
static void killed_before_look_was_written(struct tape *tape)
{
    tape_upload(tape, TAPE_A, 4 * TAPE_P, false);
    tape_as(tape, 1);
    tape_store(tape, TAPE_CPU, TAPE_A + 8 * TAPE_P, 1);
    size_t kept = tape->streams[1].count;
    tape->after_look = TAPE_A;
    trk_tracker_fault(tape->tracker, TAPE_A + TAPE_P, TRK_ACCESS_WRITE);
    tape->streams[1].count = kept;
    tape->child_status = 9;
}

/* Likewise where the regions with shared pages have one domain. */
static void killed_before_look_at_view_was_written(struct tape *tape)
{
    ignore(trk_tracker_join_views(tape->tracker, TAPE_A, TAPE_A + 2 * TAPE_R, 16 * TAPE_P));
    killed_before_look_was_written(tape);
}

/* ---- broken logs ----------------------------------------------------------------------------- */

static void other_result(struct tape *tape)
{
    tape_plain_frame(tape);
    tape_find(tape, TRK_EVENT_OP_END, 1)->argument ^= 1;
}

static void other_rights(struct tape *tape)
{
    tape_plain_frame(tape);
    tape_find(tape, TRK_EVENT_PROTECT, 0)->flags ^= TRK_RIGHT_WRITE;
}

static void other_range(struct tape *tape)
{
    tape_plain_frame(tape);
    tape_find(tape, TRK_EVENT_RANGE, 0)->pages--;
}

static void outcome_of_nothing(struct tape *tape)
{
    tape_put(tape, &(struct trk_event){.type = TRK_EVENT_OP_END, .context = TRK_OP_IS_CPU});
}

/* The core has nothing to say about it: the log must not. */
static void fault_nowhere(struct tape *tape)
{
    tape_put(tape, &(struct trk_event){.type = TRK_EVENT_FAULT,
                                       .argument = UINT64_C(1) << 60,
                                       .context = TRK_LOOK_UNKNOWN});
}

static void events_lost(struct tape *tape)
{
    tape_plain_frame(tape);
    ignore(trk_tracker_mark_cpu(tape->tracker, TAPE_A, TAPE_P));
    tape->dropped = 3;
}

static void hold_lost(struct tape *tape)
{
    tape_store_faulting(tape, TAPE_A, 1);
    tape_upload(tape, TAPE_A, TAPE_P, false);
    tape_as(tape, 1);
    trk_tracker_fault(tape->tracker, TAPE_A, TRK_ACCESS_WRITE);
    tape_as(tape, 2);
    tape_upload(tape, TAPE_A, TAPE_P, false);
    tape->streams[1].count = 0;
}

static void no_end(struct tape *tape)
{
    tape_plain_frame(tape);
    tape->end = false;
}

/* The file just stops: a stream's last chunk is missing, and others needed the lock it has. */
static void tail_missing(struct tape *tape)
{
    bool answer;
    tape_as(tape, 1);
    ignore(trk_tracker_lock(tape->tracker, TAPE_A));
    size_t kept = tape->streams[1].count;
    ignore(trk_tracker_is_cpu(tape->tracker, TAPE_A + TAPE_R, TAPE_P, &answer));
    ignore(trk_tracker_unlock(tape->tracker, TAPE_A));
    tape->streams[1].count = kept;
    tape_as(tape, 2);
    ignore(trk_tracker_is_cpu(tape->tracker, TAPE_A, TAPE_P, &answer));
    tape->end = false;
}

/* The same file, whole: nobody released that lock. */
static void lock_never_released(struct tape *tape)
{
    tail_missing(tape);
    tape->end = true;
}

static void undeclared(struct tape *tape)
{
    tape_plain_frame(tape);
    tape_find(tape, TRK_EVENT_TRACKER, 0)->page = 3;
}

static void no_tracker(struct tape *tape)
{
    tape->streams[0].count = 0;
    tape_store(tape, TAPE_CPU, TAPE_A, 1);
}

static const struct verdict_case cases[] = {
    {"flush leaves a page", retained, "fatal:retained", TRK_EVENT_FAIL,
     "a flush left a page to the GPU"},
    {"call in a callback", reentry, "fatal:reentry", TRK_EVENT_FAIL,
     "called from an upload's callback"},
    {"range", fatal_range, "fatal:range", TRK_EVENT_FAIL, ""},
    {"conflict", fatal_conflict, "fatal:conflict", TRK_EVENT_FAIL, ""},
    {"untrack", fatal_untrack, "fatal:untrack", TRK_EVENT_FAIL, ""},
    {"lock", fatal_lock, "fatal:lock", TRK_EVENT_FAIL, ""},
    {"watch", fatal_watch, "fatal:watch", TRK_EVENT_FAIL, ""},
    {"livelock", livelock, "livelock", TRK_EVENT_FAIL, ""},
    {"unhandled fault", unhandled_fault, "unhandled-fault", TRK_EVENT_FAULT, ""},
    {"watch leak", watch_leak, "watch-leak", TRK_EVENT_OP_BEGIN, ""},
    {"deadlock", deadlock, "deadlock", TRK_EVENT_OP_BEGIN, ""},
    {"killed while waiting", killed_while_waiting, "ok", 0, ""},
    {"killed before the unlock was written", killed_before_unlock_was_written, "ok", 0, ""},
    {"killed before a hold was written", killed_before_hold_was_written, "ok", 0, ""},
    {"killed before a look was written", killed_before_look_was_written, "ok", 0, ""},
    {"killed before a look at a view was written", killed_before_look_at_view_was_written, "ok", 0,
     ""},
    {"another result", other_result, "divergence", TRK_EVENT_OP_END, ""},
    {"other rights", other_rights, "divergence", TRK_EVENT_PROTECT, ""},
    {"another range", other_range, "divergence", TRK_EVENT_RANGE, ""},
    {"outcome of nothing", outcome_of_nothing, "divergence", TRK_EVENT_OP_END, ""},
    {"fault nowhere", fault_nowhere, "divergence", TRK_EVENT_FAULT, ""},
    {"events lost", events_lost, "trace-incomplete", 0, ""},
    {"a hold lost", hold_lost, "trace-incomplete", TRK_EVENT_LOCK, ""},
    {"no end", no_end, "trace-incomplete", 0, ""},
    {"tail missing", tail_missing, "trace-incomplete", TRK_EVENT_LOCK, ""},
    {"lock never released", lock_never_released, "divergence", TRK_EVENT_LOCK, ""},
    {"tracker not declared", undeclared, "unknown", TRK_EVENT_OP_BEGIN, ""},
    {"no tracker", no_tracker, "unknown", 0, ""},
};

Test(verdicts, table)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        verdict_case_judge(&cases[i]);
}

/* The thread that took the watch is named, with the core and without. */
Test(verdicts, watch_leak_names_its_thread)
{
    struct tape *tape = tape_create("default");
    tape_as(tape, 1);
    watch_leak(tape);
    const struct trk_sim_report reports[] = {tape_judge(tape), tape_judge_alone(tape, 1)};
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        cr_expect_str_eq(trk_verdict_name(&reports[i]), "watch-leak", "%s", reports[i].text);
        cr_expect_eq(reports[i].stream_at, 1);
        cr_assert_eq(reports[i].story_count, 1);
        cr_expect_str_eq(reports[i].story[0].thread, "guest-1");
    }
    tape_destroy(tape);
}
