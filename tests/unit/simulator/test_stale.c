/*
 * Goal: stale reads are found, with the event at fault, and correct programs and mere races are ok.
 *
 * Method: the real core runs live, as one or more threads in turn, onto a tape; some tapes are then
 * changed by hand. The tape is written as a trace, read back and simulated. One table of cases.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tape_programs.h"
#include "verdict_case.h"

/* ---- correct programs ------------------------------------------------------------------------ */

static void every_operation(struct tape *tape)
{
    struct trk_tracker *t = tape->tracker;
    uint64_t mask[TRK_REGION_WORDS] = {[0] = 0x700, [3] = 1};
    uint64_t base = TAPE_A & ~(TAPE_R - 1);
    bool answer;
    ignore(trk_tracker_is_cpu(t, TAPE_A, TAPE_P, &answer));
    ignore(trk_tracker_is_gpu(t, TAPE_A, TAPE_P, &answer));
    tape_upload(tape, TAPE_A, 2 * TAPE_R, false); /* three regions */
    ignore(trk_tracker_mark_gpu(t, TAPE_A, 3 * TAPE_P));
    ignore(trk_tracker_unmark_gpu(t, TAPE_A, TAPE_P));
    tape_drain(tape, TAPE_A, 2 * TAPE_P);
    ignore(trk_tracker_invalidate(t, TAPE_A, TAPE_P, NULL, NULL));
    ignore(trk_tracker_set_guest_protection(t, TAPE_A + 4 * TAPE_P, TAPE_P, TRK_RIGHT_READ));
    ignore(trk_tracker_unmark_gpu(t, TAPE_A, 4 * TAPE_P));
    ignore(trk_tracker_mark_cpu(t, TAPE_A, TAPE_R));
    tape_upload(tape, TAPE_A, 2 * TAPE_P, true);
    struct trk_transfer download = {
        .size = sizeof download, .guest_addr = TAPE_A, .size_bytes = 2 * TAPE_P, .clear = true};
    ignore(trk_tracker_download(t, &download));
    ignore(trk_pages_watch(t, TAPE_A, 5 * TAPE_P));
    ignore(trk_pages_unwatch(t, TAPE_A, 5 * TAPE_P));
    ignore(trk_pages_watch_mask(t, base, mask, true));
    ignore(trk_pages_unwatch_mask(t, base, mask, true));
    ignore(trk_tracker_lock(t, TAPE_A));
    ignore(trk_tracker_unlock(t, TAPE_A));
    ignore(trk_tracker_untrack(t, TAPE_A, 2 * TAPE_R));
    ignore(trk_tracker_unregister(t, TAPE_A, TAPE_P));
}

static void read_back(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct tape *tape = context;
    struct trk_transfer download = {
        .size = sizeof download, .guest_addr = guest_addr, .size_bytes = size_bytes, .clear = true};
    tape_copy(tape, TRK_COPY_DOWN, guest_addr, size_bytes);
    ignore(trk_tracker_download(tape->tracker, &download));
}

static void flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct tape *tape = context;
    tape_copy(tape, TRK_COPY_DOWN, guest_addr, size_bytes);
    tape_drain(tape, guest_addr, size_bytes);
}

static void set_layer(struct tape *tape)
{
    struct trk_resource_layer layer = {.flush = flush, .read_back = read_back, .context = tape};
    ignore(trk_tracker_set_resource_layer(tape->tracker, &layer));
}

/* The GPU's bytes come home through a fault: that alone orders its write before the load. */
static void fault_orders_gpu_write(struct tape *tape)
{
    set_layer(tape);
    tape_upload(tape, TAPE_A, 2 * TAPE_P, true);
    tape_store(tape, TAPE_GPU, TAPE_A, 5);
    tape_store(tape, TAPE_GPU, TAPE_A + TAPE_P, 5);
    tape_as(tape, 1);
    trk_tracker_fault(tape->tracker, TAPE_A, TRK_ACCESS_READ);
    tape_check(tape, TAPE_CPU, TAPE_A, 5);
    trk_tracker_fault(tape->tracker, TAPE_A + TAPE_P, TRK_ACCESS_WRITE);
    tape_store(tape, TAPE_CPU, TAPE_A + TAPE_P, 6);
    tape_check(tape, TAPE_CPU, TAPE_A + TAPE_P, 6);
}

/* The emulator's own view of the frame: the store is silent, the invalidate tells. */
static void alias_store(struct tape *tape)
{
    uint64_t alias = UINT64_C(0x300000000);
    tape_map(tape, TAPE_A, 4 * TAPE_P, 0, 0);
    tape_map(tape, alias, 4 * TAPE_P, 0, TRK_MAP_ALIAS | TRK_MAP_UNTRACKED);
    tape_store_faulting(tape, TAPE_A + TAPE_P, 1);
    tape_upload_copying(tape, TAPE_A, 4 * TAPE_P);
    tape_check(tape, TAPE_GPU, TAPE_A + TAPE_P, 1);
    ignore(trk_tracker_invalidate(tape->tracker, TAPE_A + TAPE_P, 64, NULL, NULL));
    tape_store(tape, TAPE_CPU, alias + TAPE_P, 2);
    tape_upload_copying(tape, TAPE_A, 4 * TAPE_P);
    tape_gpu_read(tape, TAPE_A + TAPE_P, 64);
    tape_check(tape, TAPE_GPU, TAPE_A + TAPE_P, 2);
}

static void query_second(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct tape *tape = context;
    bool answer;
    ignore(trk_tracker_is_gpu(tape->second, guest_addr, size_bytes, &answer));
}

static void two_trackers(struct tape *tape)
{
    tape_add_tracker(tape);
    struct trk_transfer upload = {.size = sizeof upload,
                                  .guest_addr = TAPE_A,
                                  .size_bytes = TAPE_P,
                                  .range = query_second,
                                  .context = tape};
    ignore(trk_tracker_upload(tape->tracker, &upload));
    /* The handler asks one tracker after the other. */
    trk_tracker_fault(tape->second, TAPE_A, TRK_ACCESS_WRITE);
    trk_tracker_fault(tape->tracker, TAPE_A, TRK_ACCESS_WRITE);
}

/* The host refuses the second of two calls; the program goes on after the failure. */
static void protect_refused(struct tape *tape)
{
    uint64_t mask[TRK_REGION_WORDS] = {0xa};
    trk_backend_simulated_fail(tape->backend, 2);
    ignore(trk_pages_watch_mask(tape->tracker, TAPE_A & ~(TAPE_R - 1), mask, false));
}

static void lock_unlocked_alternately(struct tape *tape)
{
    for (uint32_t i = 0; i < 20; i++) {
        tape_as(tape, i % 3);
        tape_store_faulting(tape, TAPE_A + i % 5 * TAPE_P, i + 1);
        if (i % 4 == 0)
            tape_upload_copying(tape, TAPE_A, 5 * TAPE_P);
    }
}

/* ---- broken versions ------------------------------------------------------------------------- */

static void copy_before_arm(struct tape *tape)
{
    tape_store(tape, TAPE_CPU, TAPE_A, 1);
    tape_copy(tape, TRK_COPY_UP, TAPE_A, TAPE_P);
    tape_signal(tape, 1, 1);
    tape_as(tape, 1);
    tape_await(tape, 1, 1);
    tape_store_faulting(tape, TAPE_A, 2);
    tape_signal(tape, 2, 1);
    tape_as(tape, 0);
    tape_await(tape, 2, 1);
    tape_upload(tape, TAPE_A, TAPE_P, false);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
}

static void copy_before_arm_unstamped(struct tape *tape)
{
    copy_before_arm(tape);
    tape_find(tape, TRK_EVENT_WITNESS_CHECK, 0)->type = TRK_EVENT_GPU_READ;
    tape_find(tape, TRK_EVENT_GPU_READ, 0)->domain = 0;
}

/* The same without the edge from the store: it may race, nothing is proven. */
static void copy_races_store(struct tape *tape)
{
    copy_before_arm(tape);
    tape_remove(tape, TRK_EVENT_AWAIT, 1);
}

/* Nor when the store may have come before the copy, whatever the log's order. */
static void store_races_copy(struct tape *tape)
{
    copy_before_arm_unstamped(tape);
    tape_remove(tape, TRK_EVENT_AWAIT, 0);
}

static void never_uploaded(struct tape *tape)
{
    tape_store(tape, TAPE_CPU, TAPE_A, 1);
    tape_upload_copying(tape, TAPE_A, TAPE_P);
    tape_store_faulting(tape, TAPE_A, 2);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
}

static void torn_bytes(struct tape *tape)
{
    never_uploaded(tape);
    tape_find(tape, TRK_EVENT_WITNESS_CHECK, 0)->domain = 0;
}

/* Bytes of no stamp, but a store whose event comes later in the log may have met the read. */
static void torn_by_race(struct tape *tape)
{
    torn_bytes(tape);
    tape_as(tape, 1);
    tape_store(tape, TAPE_CPU, TAPE_A, 3);
}

/* Likewise when the racing store's event comes first. */
static void torn_by_earlier_race(struct tape *tape)
{
    tape_store(tape, TAPE_CPU, TAPE_A, 1);
    tape_upload_copying(tape, TAPE_A, TAPE_P);
    tape_as(tape, 1);
    tape_store_faulting(tape, TAPE_A, 2);
    tape_as(tape, 0);
    tape_check(tape, TAPE_GPU, TAPE_A, 0);
}

static void alias_store_untold(struct tape *tape)
{
    uint64_t alias = UINT64_C(0x300000000);
    tape_map(tape, TAPE_A, 4 * TAPE_P, 0, 0);
    tape_map(tape, alias, 4 * TAPE_P, 0, TRK_MAP_ALIAS | TRK_MAP_UNTRACKED);
    tape_store(tape, TAPE_CPU, TAPE_A, 1);
    tape_upload_copying(tape, TAPE_A, 4 * TAPE_P);
    tape_store(tape, TAPE_CPU, alias, 2);
    tape_upload_copying(tape, TAPE_A, 4 * TAPE_P);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
}

static void download_missing(struct tape *tape)
{
    tape_upload(tape, TAPE_A, TAPE_P, true);
    tape_store(tape, TAPE_GPU, TAPE_A, 5);
    tape_drain(tape, TAPE_A, TAPE_P);
    tape_signal(tape, 1, 1);
    tape_as(tape, 1);
    tape_await(tape, 1, 1);
    tape_check(tape, TAPE_CPU, TAPE_A, 4);
}

/* Nothing but the reader's own download orders the GPU's write before its load. */
static void download_brought_older(struct tape *tape)
{
    tape_upload(tape, TAPE_A, TAPE_P, true);
    tape_store(tape, TAPE_GPU, TAPE_A, 5);
    tape_as(tape, 1);
    tape_copy(tape, TRK_COPY_DOWN, TAPE_A, TAPE_P);
    tape_check(tape, TAPE_CPU, TAPE_A, 4);
}

/* Nothing but the fault does, and its read-back copied nothing. */
static void read_back_without_copy(struct tape *tape)
{
    tape_upload(tape, TAPE_A, TAPE_P, true);
    tape_store(tape, TAPE_GPU, TAPE_A, 5);
    tape_as(tape, 1);
    trk_tracker_fault(tape->tracker, TAPE_A, TRK_ACCESS_READ);
    tape_check(tape, TAPE_CPU, TAPE_A, 4);
}

/* The copy that there is belongs to an upload that has ended. */
static void upload_without_copy(struct tape *tape)
{
    tape_store_faulting(tape, TAPE_A, 1);
    tape_upload_copying(tape, TAPE_A, TAPE_P);
    tape_store_faulting(tape, TAPE_A, 2);
    tape_upload(tape, TAPE_A, TAPE_P, false);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
}

/* The reader neither downloaded nor faulted: nothing orders the GPU's write. */
static void gpu_write_races_load(struct tape *tape)
{
    tape_upload(tape, TAPE_A, TAPE_P, true);
    tape_store(tape, TAPE_GPU, TAPE_A, 5);
    tape_copy(tape, TRK_COPY_DOWN, TAPE_A, TAPE_P);
    tape_as(tape, 1);
    tape_check(tape, TAPE_CPU, TAPE_A, 4);
}

/* More copies open at once than are kept: the forgotten ones count from their end. */
static void many_copies_open(struct tape *tape)
{
    struct trk_event event = {.type = TRK_EVENT_COPY_BEGIN};
    trk_event_set_size(&event, TAPE_P);
    for (uint64_t i = 0; i < 40; i++) {
        event.argument = TAPE_A + i * TAPE_P;
        tape_put(tape, &event);
    }
    event.type = TRK_EVENT_COPY_END;
    for (uint64_t i = 0; i < 40; i++) {
        event.argument = TAPE_A + i * TAPE_P;
        tape_put(tape, &event);
    }
}

static void download_over_store(struct tape *tape)
{
    tape_store(tape, TAPE_GPU, TAPE_A, 1);
    tape_store(tape, TAPE_CPU, TAPE_A, 2);
    tape_copy(tape, TRK_COPY_DOWN, TAPE_A, TAPE_P);
    tape_check(tape, TAPE_CPU, TAPE_A, 1);
}

static void upload_over_gpu_write(struct tape *tape)
{
    tape_store(tape, TAPE_CPU, TAPE_A, 1);
    tape_store(tape, TAPE_GPU, TAPE_A, 2);
    tape_copy(tape, TRK_COPY_UP, TAPE_A, TAPE_P);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
}

static const struct verdict_case cases[] = {
    {"plain frame", tape_plain_frame, "ok", 0, ""},
    {"every operation", every_operation, "ok", 0, ""},
    {"fault orders a gpu write", fault_orders_gpu_write, "ok", 0, ""},
    {"store through an alias, told", alias_store, "ok", 0, ""},
    {"two trackers", two_trackers, "ok", 0, ""},
    {"three threads in turn", lock_unlocked_alternately, "ok", 0, ""},
    {"copy races store", copy_races_store, "ok", 0, ""},
    {"store races copy, read without a stamp", store_races_copy, "ok", 0, ""},
    {"torn by an earlier race", torn_by_earlier_race, "ok", 0, ""},
    {"gpu write races load", gpu_write_races_load, "ok", 0, ""},
    {"many copies open", many_copies_open, "ok", 0, ""},
    {"own download brought older bytes", download_brought_older, "stale-cpu-read",
     TRK_EVENT_COPY_END, "downloaded older bytes"},
    {"read-back without a copy", read_back_without_copy, "stale-cpu-read", TRK_EVENT_OP_END,
     "given back, never copied home"},
    {"upload without a copy", upload_without_copy, "stale-gpu-read", TRK_EVENT_RANGE,
     "taken, never copied"},
    {"torn by a race", torn_by_race, "ok", 0, ""},
    {"copy before arm", copy_before_arm, "stale-gpu-read", TRK_EVENT_RANGE, "copied before re-arm"},
    {"copy before arm, read without a stamp", copy_before_arm_unstamped, "stale-gpu-read",
     TRK_EVENT_RANGE, "copied before re-arm"},
    {"never uploaded again", never_uploaded, "stale-gpu-read", TRK_EVENT_COPY_END,
     "copied, never re-read"},
    {"bytes of no stamp", torn_bytes, "stale-gpu-read", TRK_EVENT_COPY_END,
     "copied, never re-read"},
    {"store through an alias, untold", alias_store_untold, "stale-gpu-read",
     TRK_EVENT_WITNESS_STORE, "stored through an untracked view"},
    {"download missing", download_missing, "stale-cpu-read", TRK_EVENT_RANGE,
     "given back, never copied home"},
    {"download over a store", download_over_store, "lost-cpu-write", TRK_EVENT_COPY_END,
     "downloaded over newer bytes"},
    {"upload over a gpu write", upload_over_gpu_write, "lost-gpu-write", TRK_EVENT_COPY_END,
     "uploaded over newer bytes"},
    {"host refuses a call", protect_refused, "fatal:protect", TRK_EVENT_FAIL, ""},
};

Test(stale, table)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        verdict_case_judge(&cases[i]);
}

/* The oracle alone finds the same bytes, the same step and the same words; what it has no checks
 * for it does not call good. */
Test(stale, table_by_the_oracle_alone)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tape *tape = tape_create("default");
        cases[i].record(tape);
        struct trk_sim_report all = tape_judge(tape), alone = tape_judge_alone(tape, 1);
        bool unchecked = all.verdict == TRK_VERDICT_OK && alone.checks == alone.unknown;
        cr_expect_str_eq(trk_verdict_name(&alone), unchecked ? "unknown" : cases[i].verdict, "%s",
                         cases[i].name);
        cr_expect_str_eq(alone.detail, all.detail, "%s", cases[i].name);
        cr_expect_eq(alone.event_at, all.event_at, "%s", cases[i].name);
        cr_expect_str_eq(alone.missing, all.missing, "%s", cases[i].name);
        cr_expect_eq(alone.story_count, all.story_count, "%s", cases[i].name);
        tape_destroy(tape);
    }
}

Test(stale, other_policies)
{
    static const char *const policies[] = {"strict", "kyty-2026-08"};
    for (size_t i = 0; i < 2; i++) {
        struct tape *tape = tape_create(policies[i]);
        fault_orders_gpu_write(tape);
        tape_as(tape, 0);
        every_operation(tape);
        struct trk_sim_report report = tape_judge(tape);
        cr_expect_str_eq(trk_verdict_name(&report), "ok", "%s: %s", policies[i], report.text);
        tape_destroy(tape);
    }
}

Test(stale, story_names_threads_and_events)
{
    struct tape *tape = tape_create("default");
    copy_before_arm(tape);
    struct trk_sim_report report = tape_judge(tape);
    cr_assert_eq(report.story_count, 4);
    for (size_t i = 1; i < report.story_count; i++)
        cr_expect_lt(report.story[i - 1].event, report.story[i].event);
    cr_expect_str_eq(report.story[0].thread, "render");
    cr_expect_not_null(strstr(report.story[0].text, "to the GPU: guest memory's bytes are taken"));
    cr_expect_str_eq(report.story[1].thread, "guest-1");
    cr_expect_not_null(strstr(report.story[1].text, "stores stamp 2"));
    cr_expect_str_eq(report.story[1].role, "last writer");
    cr_expect_str_eq(report.story[2].role, "event at fault, point of no return");
    cr_expect_eq(strncmp(report.writer, "guest-1", 7), 0, "%s", report.writer);
    cr_expect_str_neq(report.holder, "");
    cr_expect_str_neq(report.teller, "");
    cr_expect_not_null(strstr(report.missing, "the copy (1) must come after"), "%s",
                       report.missing);
    cr_expect_not_null(strstr(report.passes, "(3) before (1)"), "%s", report.passes);
    cr_expect_not_null(strstr(report.story[1].text, "no fault"));
    cr_expect_eq(report.story[2].event, report.event_at);
    cr_expect_eq(report.story[3].event, report.event_visible);
    cr_expect_eq(report.guest_addr, TAPE_A);
    tape_destroy(tape);
}
