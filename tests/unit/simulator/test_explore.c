/*
 * Goal: a trace's windows say what its threads did: each kind of step becomes the operation of a
 * scenario that does the same, the program's own order stays, and what no scenario can say is left
 * out by number; the recorded order ends as the trace did.
 * Method: small programs on tapes, explored whole; the script of the only window is looked at.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/explore.h"
#include "simulator/scenario.h"
#include "tape.h"

struct explore_case {
    const char *name;
    void (*record)(struct tape *tape);
    const char *verdict; /* of the first finding; NULL: none, and complete */
    const char *with[3]; /* parts of the script */
    const char *without;
    uint64_t windows, left_out;
    const char *orders; /* NULL: of no interest */
};

static void must(enum trk_status status)
{
    cr_assert_eq(status, TRK_OK, "%s", trk_status_name(status));
}

/* ---- programs -------------------------------------------------------------------------------- */

static struct trk_transfer transfer_of(struct tape *tape)
{
    return (struct trk_transfer){.size = sizeof(struct trk_transfer),
                                 .guest_addr = TAPE_A,
                                 .size_bytes = TAPE_P,
                                 .clear = true,
                                 .context = tape};
}

static void copy_down(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    tape_copy(context, TRK_COPY_DOWN, guest_addr, size_bytes);
}

static void home(struct tape *tape)
{
    struct trk_transfer transfer = transfer_of(tape);
    transfer.range = copy_down;
    must(trk_tracker_drain(tape->tracker, &transfer));
}

static void upload_and_store(struct tape *tape)
{
    tape_store_faulting(tape, TAPE_A, 1);
    tape_upload_copying(tape, TAPE_A, TAPE_P);
    tape_as(tape, 1);
    tape_store_faulting(tape, TAPE_A + 256, 2);
}

static void copy_first(struct tape *tape)
{
    tape_store_faulting(tape, TAPE_A, 1);
    tape_copy(tape, TRK_COPY_UP, TAPE_A, TAPE_P);
    tape_upload(tape, TAPE_A, TAPE_P, false);
    tape_as(tape, 1);
    tape_store_faulting(tape, TAPE_A + 256, 2);
}

/* The same, where the store is the last to come by the program's own order. */
static void copy_first_ordered(struct tape *tape)
{
    tape_store_faulting(tape, TAPE_A, 1);
    tape_copy(tape, TRK_COPY_UP, TAPE_A, TAPE_P);
    tape_upload(tape, TAPE_A, TAPE_P, false);
    tape_signal(tape, 3, 1);
    tape_as(tape, 2); /* has nothing to do with the page, and hands the order on */
    tape_await(tape, 3, 1);
    tape_signal(tape, 4, 1);
    tape_as(tape, 1);
    tape_await(tape, 4, 1);
    tape_store_faulting(tape, TAPE_A + 256, 2);
}

/* The same, by a signal that many others came behind. */
static void ordered_long_ago(struct tape *tape, uint32_t signals)
{
    tape_store_faulting(tape, TAPE_A, 1);
    tape_copy(tape, TRK_COPY_UP, TAPE_A, TAPE_P);
    tape_upload(tape, TAPE_A, TAPE_P, false);
    for (uint32_t i = 1; i <= signals; i++)
        tape_signal(tape, 3, i);
    tape_as(tape, 1);
    tape_await(tape, 3, 1);
    tape_store_faulting(tape, TAPE_A + 256, 2);
}

static void ordered_by_an_old_signal(struct tape *tape)
{
    ordered_long_ago(tape, 100);
}

static void ordered_by_a_forgotten_signal(struct tape *tape)
{
    ordered_long_ago(tape, 5000);
}

static void copy_all(void *context)
{
    tape_copy(context, TRK_COPY_UP, TAPE_A, TAPE_P);
}

static void late_copies(struct tape *tape)
{
    struct trk_transfer transfer = transfer_of(tape);
    transfer.completion = copy_all;
    tape_store_faulting(tape, TAPE_A, 1);
    must(trk_tracker_upload(tape->tracker, &transfer));
    tape_as(tape, 1);
    tape_store_faulting(tape, TAPE_A + 256, 2);
}

static void copy_and_draw(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    tape_copy(context, TRK_COPY_UP, guest_addr, size_bytes);
    tape_gpu_read(context, TAPE_A, 64);
}

static void draw_in_range(struct tape *tape)
{
    struct trk_transfer transfer = transfer_of(tape);
    transfer.range = copy_and_draw;
    tape_store_faulting(tape, TAPE_A, 1);
    must(trk_tracker_upload(tape->tracker, &transfer));
    tape_as(tape, 1);
    tape_store_faulting(tape, TAPE_A + 256, 2);
}

static void draw_in_upload(void *context)
{
    struct tape *tape = context;
    tape_store(tape, TAPE_GPU, TAPE_A + 1024, 9);
}

static void written(struct tape *tape)
{
    struct trk_transfer transfer = transfer_of(tape);
    transfer.written = true;
    transfer.completion = draw_in_upload;
    tape_upload_copying(tape, TAPE_A, TAPE_P);
    must(trk_tracker_upload(tape->tracker, &transfer));
}

static void flush_asks(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct tape *tape = context;
    (void)guest_addr;
    (void)size_bytes;
    tape_signal(tape, 11, 1);
    tape_as(tape, 0);
    tape_await(tape, 11, 1);
    home(tape);
    tape_signal(tape, 12, 1);
    tape_as(tape, 1);
    tape_await(tape, 12, 1);
}

/* A guest's flush waits for the thread that has the GPU. */
static void flush_elsewhere(struct tape *tape)
{
    struct trk_resource_layer layer = {flush_asks, flush_asks, tape};
    must(trk_tracker_set_resource_layer(tape->tracker, &layer));
    written(tape);
    tape_as(tape, 1);
    tape_store_faulting(tape, TAPE_A + 256, 2);
}

static void flush_home(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)guest_addr;
    (void)size_bytes;
    home(context);
}

static void invalidate(struct tape *tape)
{
    written(tape);
    must(trk_tracker_invalidate(tape->tracker, TAPE_A, TAPE_P, flush_home, tape));
    tape_as(tape, 1);
    tape_store_faulting(tape, TAPE_A + 256, 2);
}

static void watches(struct tape *tape)
{
    uint64_t mask[TRK_REGION_WORDS] = {UINT64_C(1) << 16};
    must(trk_pages_watch(tape->tracker, TAPE_A, TAPE_P));
    tape_as(tape, 1);
    must(trk_pages_watch_mask(tape->tracker, TAPE_A & ~(TAPE_R - 1), mask, false));
    tape_signal(tape, 5, 1);
    tape_as(tape, 0);
    tape_await(tape, 5, 1);
    must(trk_pages_unwatch(tape->tracker, TAPE_A, TAPE_P));
    must(trk_pages_unwatch_mask(tape->tracker, TAPE_A & ~(TAPE_R - 1), mask, false));
}

static void rights(struct tape *tape)
{
    tape_upload_copying(tape, TAPE_A, TAPE_P);
    tape_as(tape, 1);
    must(trk_tracker_set_guest_protection(tape->tracker, TAPE_A, TAPE_P, TRK_RIGHT_READ));
}

static void by_hand(struct tape *tape)
{
    must(trk_tracker_lock(tape->tracker, TAPE_A));
    must(trk_tracker_unlock(tape->tracker, TAPE_A));
    tape_as(tape, 1);
    tape_store_faulting(tape, TAPE_A, 2);
}

/* A store past the tracker, through a view of the frames that nobody registered. */
static void side_view(struct tape *tape)
{
    tape_map(tape, TAPE_A, TAPE_P, 5, 0);
    tape_map(tape, UINT64_C(0x300000000), 4 * TAPE_P, 4, TRK_MAP_ALIAS | TRK_MAP_UNTRACKED);
    tape_upload_copying(tape, TAPE_A, TAPE_P);
    tape_as(tape, 1);
    tape_store(tape, TAPE_CPU, UINT64_C(0x300001100), 2);
    tape_as(tape, 0);
    tape_upload_copying(tape, TAPE_A, TAPE_P);
}

static void alone(struct tape *tape)
{
    tape_store_faulting(tape, TAPE_A, 1);
    tape_upload_copying(tape, TAPE_A, TAPE_P);
}

static void registered_between(struct tape *tape)
{
    upload_and_store(tape);
    must(trk_tracker_unregister(tape->tracker, TAPE_A, TAPE_P));
    must(trk_tracker_register(tape->tracker, TAPE_A, TAPE_P));
    upload_and_store(tape);
    tape_as(tape, 2);
    tape_store_faulting(tape, TAPE_A + 512, 3);
}

static void more_views(struct tape *tape)
{
    must(trk_tracker_join_views(tape->tracker, TAPE_A, TAPE_A + 8 * TAPE_P, TAPE_P));
    upload_and_store(tape);
}

static const struct explore_case cases[] = {
    {"upload beside a store", upload_and_store, NULL, {"upload A 1P"}, "copy_up", 1, 0, NULL},
    {"copies first",
     copy_first,
     "stale-gpu-read",
     {"copy_up A 1P", "inject drop-copy", "upload A 1P"},
     NULL,
     1,
     0,
     NULL},
    {"copies first, ordered", copy_first_ordered, NULL, {"signal ", "await "}, NULL, 1, 0, "1"},
    {"ordered by an old signal",
     ordered_by_an_old_signal,
     NULL,
     {"signal ", "await "},
     NULL,
     1,
     0,
     "1"},
    {"ordered by a forgotten signal",
     ordered_by_a_forgotten_signal,
     NULL,
     {NULL},
     NULL,
     1,
     1,
     NULL},
    {"late copies", late_copies, NULL, {"upload_at_end A 1P"}, "copy_up", 1, 0, NULL},
    {"in a range callback", draw_in_range, NULL, {"in_range { e"}, "copy_up", 1, 0, NULL},
    {"flush elsewhere",
     flush_elsewhere,
     NULL,
     {"upload A 1P written { e", "store A+256"},
     "drain",
     1,
     0,
     NULL},
    {"invalidate", invalidate, NULL, {"invalidate A 1P { e", "drain A 1P }"}, NULL, 1, 0, NULL},
    {"watches", watches, NULL, {"watch A 1P", "watch_mask 0x200000000 {16} w"}, NULL, 1, 0, NULL},
    {"rights", rights, NULL, {"guest_protect A 1P r"}, NULL, 1, 0, NULL},
    {"locks by hand", by_hand, NULL, {"lock A", "unlock A"}, NULL, 1, 0, NULL},
    {"side view", side_view, "stale-gpu-read", {"raw_write A+256"}, NULL, 1, 0, NULL},
    {"one thread", alone, NULL, {NULL}, NULL, 0, 0, "0"},
    {"registered between", registered_between, NULL, {"upload A 1P"}, NULL, 2, 0, NULL},
    {"more views", more_views, NULL, {NULL}, NULL, 1, 1, NULL},
};

/* ---- looking --------------------------------------------------------------------------------- */

static void explore(struct tape *tape, struct trk_explore_report *report)
{
    struct trk_explore_options options = trk_explore_options_default();
    struct trk_error error = {.status = TRK_OK};
    struct trk_sim_report recorded = tape_judge(tape);
    options.guest_addr = TAPE_A;
    options.pages = 1;
    options.want_script = true;
    cr_expect_eq(recorded.verdict, TRK_VERDICT_OK, "recorded: %s", recorded.text);
    cr_assert_eq(trk_explore_trace(tape->trace, &options, report, &error), TRK_OK, "%s",
                 error.text);
}

/* The script holds by itself. */
static void run_script(const struct explore_case *one, const char *script)
{
    static struct trk_scenario_report report;
    struct trk_scenario_fault fault = {.text = ""};
    struct trk_scenario *scenario;
    cr_assert_eq(trk_scenario_parse(&scenario, script, strlen(script), &fault), TRK_OK,
                 "%s: %s: %s", one->name, fault.where, fault.text);
    cr_expect_eq(trk_scenario_run(scenario, &report), TRK_OK);
    cr_expect(report.held, "%s: %s, expected %s", one->name, report.verdict, report.expected);
    trk_scenario_destroy(scenario);
}

static void judge(const struct explore_case *one, const struct trk_explore_report *report)
{
    const char *verdict = report->finding_count > 0 ? report->findings[0].verdict : "ok";
    const char *wanted = one->verdict != NULL ? one->verdict : "ok";
    cr_expect_str_eq(verdict, wanted, "%s: %s, expected %s: %s", one->name, verdict, wanted,
                     report->findings[0].text);
    cr_expect_eq(report->windows, one->windows, "%s: %llu windows", one->name,
                 (unsigned long long)report->windows);
    cr_expect_eq(report->left_out, one->left_out, "%s: left out", one->name);
    cr_expect_eq(report->unfaithful, 0, "%s: unfaithful", one->name);
    if (one->orders != NULL)
        cr_expect_str_eq(report->orders, one->orders, "%s: %s orders", one->name, report->orders);
    const char *script = report->script != NULL ? report->script : "";
    for (size_t i = 0; i < 3 && one->with[i] != NULL; i++)
        cr_expect_not_null(strstr(script, one->with[i]), "%s: no '%s' in\n%s", one->name,
                           one->with[i], script);
    if (one->without != NULL)
        cr_expect_null(strstr(script, one->without), "%s: '%s' in\n%s", one->name, one->without,
                       script);
    if (report->script != NULL)
        run_script(one, report->script);
}

Test(explore, windows_say_what_was_done)
{
    static struct trk_explore_report report;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tape *tape = tape_create("default");
        cases[i].record(tape);
        explore(tape, &report);
        judge(&cases[i], &report);
        free(report.script);
        tape_destroy(tape);
    }
}

/* What is read before it is written is not zero by chance. */
static void dirty_stack(void)
{
    volatile unsigned char bytes[1 << 16];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = 0x5a;
}

Test(explore, a_line_runs_its_order_again)
{
    static struct trk_explore_report report, again;
    struct trk_error error = {.status = TRK_OK};
    struct tape *tape = tape_create("default");
    copy_first(tape);
    explore(tape, &report);
    cr_assert_eq(report.finding_count, 1);
    const struct trk_explore_finding *found = &report.findings[0], *later = &again.findings[0];
    cr_assert_eq(trk_explore_replay(tape->trace, found->schedule, &again, &error), TRK_OK, "%s",
                 error.text);
    cr_assert_eq(again.finding_count, 1);
    cr_expect_str_eq(later->verdict, found->verdict);
    cr_expect_str_eq(later->text, found->text);
    cr_expect_str_eq(later->schedule, found->schedule);
    cr_expect_eq(later->event_at, found->event_at);
    char other[sizeof found->schedule];
    memcpy(other, found->schedule, sizeof other);
    *strstr(other, "+1:") = 'x';
    cr_expect_eq(trk_explore_replay(tape->trace, other, &again, &error), TRK_E_ARGUMENT);
    /* Events behind the trace's last: no window begins there. */
    const char *core = strrchr(found->schedule, '+');
    snprintf(other, sizeof other, "trkw1:%" PRIx64 "+1:999999%s", TAPE_A / TAPE_P, core);
    dirty_stack();
    cr_expect_eq(trk_explore_replay(tape->trace, other, &again, &error), TRK_E_ARGUMENT);
    cr_expect_str_eq(error.text, "the trace has no such window");
    free(report.script);
    tape_destroy(tape);
}

static bool stop_after_one(void *context, const struct trk_explore_report *so_far)
{
    (void)context;
    return so_far->windows < 1;
}

Test(explore, ends_when_told_and_refuses_what_cannot_be_meant)
{
    static struct trk_explore_report report;
    struct trk_error error = {.status = TRK_OK};
    struct tape *tape = tape_create("default");
    for (uint32_t i = 0; i < 100; i++) {
        tape_as(tape, i % 2);
        tape_store_faulting(tape, TAPE_A + 64 * (i % 16), i + 1);
        tape_upload_copying(tape, TAPE_A, TAPE_P);
    }
    (void)tape_judge(tape);
    struct trk_explore_options options = trk_explore_options_default();
    options.steps = 4;
    cr_assert_eq(trk_explore_trace(tape->trace, &options, &report, &error), TRK_OK);
    cr_expect_gt(report.windows, 20);
    cr_expect(report.complete);
    options.go_on = stop_after_one;
    cr_assert_eq(trk_explore_trace(tape->trace, &options, &report, &error), TRK_OK);
    cr_expect_eq(report.windows, 1);
    cr_expect_not(report.complete);
    options.go_on = NULL;
    options.schedules = 1;
    cr_assert_eq(trk_explore_trace(tape->trace, &options, &report, &error), TRK_OK);
    cr_expect_gt(report.stopped, 0);
    cr_expect_not(report.complete);
    options.pages = TRK_EXPLORE_PAGES_MOST + 1;
    cr_expect_eq(trk_explore_trace(tape->trace, &options, &report, &error), TRK_E_ARGUMENT);
    options.pages = 1;
    options.steps = 0;
    cr_expect_eq(trk_explore_trace(tape->trace, &options, &report, &error), TRK_E_ARGUMENT);
    tape_destroy(tape);
}
