/*
 * Goal: a trace is run again as its backend was: calls joined or apart, and a host that was out of
 * mappings is seen refusing where it did.
 * Method: the same steps on a simulated host that behaves as the named backend does; then the trace
 * is said to be another backend's.
 */
#include <criterion/criterion.h>

#include "tape.h"

static void declare(struct tape *tape, enum trk_backend_kind kind)
{
    tape_find(tape, TRK_EVENT_TRACKER, 0)->context = (uint16_t)kind;
}

/* Two dirty pages with a clean one between: one call where calls are joined, else two. */
static void upload_around_a_clean_page(struct tape *tape)
{
    tape_as(tape, 0);
    tape_upload(tape, TAPE_A + TAPE_P, TAPE_P, false);
    tape_upload(tape, TAPE_A, 3 * TAPE_P, false);
}

struct kind_case {
    const char *name;
    bool separate_runs;
    enum trk_backend_kind declared;
    enum trk_verdict_kind verdict;
};

static const struct kind_case kind_cases[] = {
    {"mprotect", false, TRK_BACKEND_MPROTECT, TRK_VERDICT_OK},
    {"simulated", false, TRK_BACKEND_SIMULATED, TRK_VERDICT_OK},
    {"userfaultfd", true, TRK_BACKEND_USERFAULTFD, TRK_VERDICT_OK},
    {"mprotect with calls apart", true, TRK_BACKEND_MPROTECT, TRK_VERDICT_DIVERGENCE},
};

Test(backends, calls_joined_or_apart)
{
    for (size_t i = 0; i < sizeof kind_cases / sizeof kind_cases[0]; i++) {
        const struct kind_case *c = &kind_cases[i];
        struct tape *tape = tape_create("default");
        tape->backend->separate_runs = c->separate_runs;
        declare(tape, c->declared);
        upload_around_a_clean_page(tape);
        struct trk_sim_report report = tape_judge(tape);
        cr_expect_eq(report.verdict, c->verdict, "%s: %d", c->name, report.verdict);
        tape_destroy(tape);
    }
}

/* A store inside a run at the limit: its own page is refused, the run is opened. */
static struct tape *run_out_of_mappings(struct trk_mappings *mappings)
{
    struct tape *tape = tape_create("default");
    tape->backend->mappings = mappings;
    tape_as(tape, 0);
    tape_upload_copying(tape, TAPE_A, 20 * TAPE_P);
    tape_store_faulting(tape, TAPE_A + 10 * TAPE_P, 1);
    tape_upload_copying(tape, TAPE_A, 20 * TAPE_P);
    return tape;
}

Test(backends, opening_out_of_mappings)
{
    static const struct {
        enum trk_backend_kind declared;
        enum trk_verdict_kind verdict;
    } cases[] = {
        {TRK_BACKEND_MPROTECT, TRK_VERDICT_OK},
        {TRK_BACKEND_SIMULATED, TRK_VERDICT_DIVERGENCE}, /* that host knows no other way */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trk_mappings mappings = {.budget = 2, .warned = true};
        struct tape *tape = run_out_of_mappings(&mappings);
        struct trk_event *refused = tape_find(tape, TRK_EVENT_PROTECT, 1);
        cr_expect(refused->flags & TRK_EVENT_FAILED, "the single page is refused");
        cr_expect_eq(refused->pages, 1);
        struct trk_event *run = tape_find(tape, TRK_EVENT_PROTECT, 2);
        cr_expect_not(run->flags & TRK_EVENT_FAILED);
        cr_expect_eq(run->pages, 20, "and the run is opened: %u pages", run->pages);
        declare(tape, cases[i].declared);
        struct trk_sim_report report = tape_judge(tape);
        cr_expect_eq(report.verdict, cases[i].verdict, "%zu: %d: %s", i, report.verdict,
                     report.text);
        tape_destroy(tape);
    }
}

Test(backends, closing_out_of_mappings)
{
    struct trk_mappings mappings = {.budget = 2, .warned = true};
    struct tape *tape = run_out_of_mappings(&mappings);
    tape_upload(tape, TAPE_A + 40 * TAPE_P, TAPE_P, false);
    declare(tape, TRK_BACKEND_MPROTECT);
    struct trk_sim_report report = tape_judge(tape);
    cr_expect_eq(report.verdict, TRK_VERDICT_FATAL);
    cr_expect_eq(report.failure_class, TRK_E_PROTECT);
    tape_destroy(tape);
}

static void flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    tape_drain(context, guest_addr, size_bytes);
}

/* A store in the midst of what only the GPU has. */
static void fault_on_a_run(struct tape *tape)
{
    struct trk_resource_layer layer = {.flush = flush, .context = tape};
    tape_as(tape, 0);
    cr_assert_eq(trk_tracker_set_resource_layer(tape->tracker, &layer), TRK_OK);
    tape_upload(tape, TAPE_A, 20 * TAPE_P, true);
    tape_store_faulting(tape, TAPE_A + 10 * TAPE_P, 1);
    tape_upload_copying(tape, TAPE_A, 20 * TAPE_P);
    cr_assert_eq(trk_tracker_set_resource_layer(tape->tracker, NULL), TRK_OK);
}

static struct tape *bring_a_run_home(struct trk_mappings *mappings)
{
    struct tape *tape = tape_create("default");
    tape->backend->mappings = mappings;
    fault_on_a_run(tape);
    declare(tape, TRK_BACKEND_MPROTECT);
    return tape;
}

/* What the log shows of a host that is short of mappings is how many pages the fault brought home.
 */
Test(backends, gpu_pages_come_home_together)
{
    for (uint16_t pages = 19; pages <= 20; pages++) {
        struct trk_mappings mappings = {.budget = 2, .warned = true};
        struct tape *tape = bring_a_run_home(&mappings);
        struct trk_event *fault = tape_find(tape, TRK_EVENT_FAULT, 0);
        cr_expect_eq(fault->pages, 20);
        fault->pages = pages;
        struct trk_sim_report report = tape_judge(tape);
        cr_expect_eq(report.verdict, pages == 20 ? TRK_VERDICT_OK : TRK_VERDICT_DIVERGENCE,
                     "%u: %d: %s", pages, report.verdict, report.text);
        tape_destroy(tape);
    }
}

static unsigned openings_refused;

/* A host that others have used up for a while. */
static int refuse_openings(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes,
                           unsigned rights)
{
    (void)backend;
    (void)guest_addr;
    (void)size_bytes;
    if (rights != TRK_RIGHTS_RW || openings_refused == 0)
        return 0;
    openings_refused--;
    return 12;
}

/* An opening that is refused is tried again, as often whether the host had a reserve or not. */
Test(backends, openings_tried_again)
{
    static const enum trk_backend_kind kinds[] = {TRK_BACKEND_MPROTECT, TRK_BACKEND_USERFAULTFD};
    for (size_t i = 0; i < 4; i++) {
        struct trk_mappings mappings = {.budget = 1000, .warned = true};
        enum trk_backend_kind kind = kinds[i % 2];
        struct tape *tape = tape_create("default");
        tape->backend->kind = kind;
        tape->backend->separate_runs = kind == TRK_BACKEND_USERFAULTFD;
        /* Guard pages take no mappings. */
        tape->backend->mappings = kind == TRK_BACKEND_MPROTECT ? &mappings : NULL;
        tape->backend->protect = refuse_openings;
        openings_refused = i < 2 ? 2 : 3;
        declare(tape, kind);
        fault_on_a_run(tape);
        cr_expect_eq(openings_refused, 0);
        struct trk_sim_report report = tape_judge(tape);
        cr_expect_eq(report.verdict, TRK_VERDICT_OK, "%zu: %d: %s", i, report.verdict, report.text);
        tape_destroy(tape);
    }
}
