/*
 * Goal: what the oracle says of traces beyond stale reads: bytes that are lost, or known to nobody;
 * refusals that did not come; and that it says nothing where it cannot know.
 *
 * Method: tapes of the real core and tapes of annotations alone, as of another tracker, judged by
 * the oracle alone. One table of cases, and some that look closer.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "latent.h"
#include "tape_programs.h"
#include "verdict_case.h"

#define ALIAS UINT64_C(0x300000000)

/* ---- annotations alone, as another tracker's ------------------------------------------------- */

static void foreign_download_over_cpu(struct tape *tape)
{
    tape_foreign_good(tape);
    tape_store(tape, TAPE_CPU, TAPE_A, 3);
    tape_copy(tape, TRK_COPY_DOWN, TAPE_A, TAPE_P);
}

/* Another thread's store is not ordered before the download: either may come first. */
static void download_races_store(struct tape *tape)
{
    tape_foreign_good(tape);
    tape_signal(tape, 5, 1);
    tape_as(tape, 1);
    tape_await(tape, 5, 1);
    tape_store(tape, TAPE_CPU, TAPE_A, 3);
    tape_as(tape, 0);
    tape_copy(tape, TRK_COPY_DOWN, TAPE_A, TAPE_P);
}

/* The copy waits in its middle for the thread that stores. */
static void download_waits_for_store(struct tape *tape)
{
    tape_foreign_good(tape);
    struct trk_event event = {
        .type = TRK_EVENT_COPY_BEGIN, .argument = TAPE_A, .context = TRK_COPY_DOWN};
    trk_event_set_size(&event, TAPE_P);
    tape_signal(tape, 5, 1);
    tape_as(tape, 1);
    tape_await(tape, 5, 1);
    tape_store(tape, TAPE_CPU, TAPE_A, 3);
    tape_signal(tape, 1, 1);
    tape_as(tape, 0);
    tape_put(tape, &event);
    tape_await(tape, 1, 1);
    event.type = TRK_EVENT_COPY_END;
    tape_put(tape, &event);
}

static void nothing_checked(struct tape *tape)
{
    tape_store(tape, TAPE_CPU, TAPE_A, 1);
    tape_copy(tape, TRK_COPY_UP, TAPE_A, TAPE_P);
}

static void nothing_known_of_checked(struct tape *tape)
{
    nothing_checked(tape);
    tape_check(tape, TAPE_GPU, TAPE_A + TAPE_P, 1);
}

/* ---- nobody is told -------------------------------------------------------------------------- */

static void latent_silent_store(struct tape *tape)
{
    tape_taken(tape);
    tape_store(tape, TAPE_CPU, TAPE_A, 2);
}

static void latent_kernel_store(struct tape *tape)
{
    tape_taken(tape);
    tape_store(tape, TRK_AGENT_KERNEL, TAPE_A, 2);
}

static void latent_alias_store(struct tape *tape)
{
    tape_map(tape, TAPE_A, TAPE_P, 0, 0);
    tape_map(tape, ALIAS, TAPE_P, 0, TRK_MAP_ALIAS | TRK_MAP_UNTRACKED);
    tape_taken(tape);
    tape_store(tape, TAPE_CPU, ALIAS, 2);
}

/* The store comes before what tells of it. */
static void told_afterwards(struct tape *tape)
{
    tape_taken(tape);
    tape_store(tape, TRK_AGENT_KERNEL, TAPE_A, 2);
    ignore(trk_tracker_invalidate(tape->tracker, TAPE_A, 64, NULL, NULL));
}

/* Nothing orders the upload before the store: its page may have been open. */
static void silent_store_races_upload(struct tape *tape)
{
    tape_taken(tape);
    tape_as(tape, 1);
    tape_store(tape, TAPE_CPU, TAPE_A, 2);
}

static void kernel_store_races_upload(struct tape *tape)
{
    tape_taken(tape);
    tape_as(tape, 1);
    tape_store(tape, TRK_AGENT_KERNEL, TAPE_A, 2);
}

/* Another thread's fault opened the page; its events stand behind the store that it let through. */
static void opened_by_another(struct tape *tape)
{
    tape_taken(tape);
    tape_signal(tape, 1, 1);
    tape_as(tape, 1);
    tape_await(tape, 1, 1);
    tape_store(tape, TAPE_CPU, TAPE_A, 2);
    tape_as(tape, 2);
    trk_tracker_fault(tape->tracker, TAPE_A + 64, TRK_ACCESS_WRITE);
}

/* ---- the only copy --------------------------------------------------------------------------- */

static void gpu_has_it(struct tape *tape)
{
    tape_upload(tape, TAPE_A, TAPE_P, true);
    tape_store(tape, TAPE_GPU, TAPE_A, 1);
}

/* The flush gives the page up instead of bringing it home: that is a way to discard. */
static void discard(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    ignore(trk_tracker_unmark_gpu(((struct tape *)context)->tracker, guest_addr, size_bytes));
}

static void discarded(struct tape *tape)
{
    tape_foreign_good(tape);
    gpu_has_it(tape);
    ignore(trk_tracker_invalidate(tape->tracker, TAPE_A, 64, discard, tape));
}

/* An untrack that should have been refused. */
static void untracked_with_the_only_copy(struct tape *tape)
{
    gpu_has_it(tape);
    ignore(trk_tracker_untrack(tape->tracker, TAPE_A, TAPE_P));
    tape_remove(tape, TRK_EVENT_FAIL, 0);
    tape->streams[0].records[tape->streams[0].count - 1].event.flags = TRK_OK; /* OP_END */
}

static void ask(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    bool answer;
    ignore(trk_tracker_is_gpu(((struct tape *)context)->tracker, guest_addr, size_bytes, &answer));
}

/* The tracker does not notice that it was called from its own callback. */
static void reentry_let_pass(struct tape *tape)
{
    struct trk_transfer upload = {.size = sizeof upload,
                                  .guest_addr = TAPE_A,
                                  .size_bytes = TAPE_P,
                                  .range = ask,
                                  .context = tape};
    ignore(trk_tracker_upload(tape->tracker, &upload));
    tape_remove(tape, TRK_EVENT_FAIL, 0);
}

static const struct verdict_case cases[] = {
    {"another tracker's, good", tape_foreign_good, "ok", 0, ""},
    {"another's upload over the GPU's bytes", tape_foreign_upload_over_gpu, "lost-gpu-write",
     TRK_EVENT_COPY_END, "uploaded over newer bytes"},
    {"another's download over the CPU's bytes", foreign_download_over_cpu, "lost-cpu-write",
     TRK_EVENT_COPY_END, "downloaded over newer bytes"},
    {"download races store", download_races_store, "ok", 0, ""},
    {"download waits for store", download_waits_for_store, "ok", 0, ""},
    {"nothing checked", nothing_checked, "unknown", 0, ""},
    {"nothing known of what was checked", nothing_known_of_checked, "unknown", 0, ""},
    {"silent store", latent_silent_store, "lost-cpu-write", TRK_EVENT_WITNESS_STORE,
     "missed re-arm"},
    {"kernel's store", latent_kernel_store, "lost-cpu-write", TRK_EVENT_WITNESS_STORE,
     "stored without invalidate"},
    {"store through an alias", latent_alias_store, "lost-cpu-write", TRK_EVENT_WITNESS_STORE,
     "stored through an untracked view"},
    {"told afterwards", told_afterwards, "ok", 0, ""},
    {"silent store races upload", silent_store_races_upload, "ok", 0, ""},
    {"kernel's store races upload", kernel_store_races_upload, "ok", 0, ""},
    {"opened by another", opened_by_another, "ok", 0, ""},
    {"discarded", discarded, "ok", 0, ""},
    {"untracked with the only copy", untracked_with_the_only_copy, "lost-gpu-write",
     TRK_EVENT_OP_END, "given up with the only copy"},
    {"re-entry let pass", reentry_let_pass, "fatal:reentry", TRK_EVENT_OP_BEGIN,
     "called from an upload's callback"},
    {"early read-back", tape_early_read_back, "stale-cpu-read", TRK_EVENT_COPY_END,
     "read back before the GPU was done"},
};

Test(oracle, table)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tape *tape = tape_create("default");
        cases[i].record(tape);
        struct trk_sim_report report = tape_judge_alone(tape, 1);
        cr_expect_str_eq(trk_verdict_name(&report), cases[i].verdict, "%s: %s (%s)", cases[i].name,
                         trk_verdict_name(&report), report.text);
        cr_expect_str_eq(report.detail, cases[i].detail, "%s: %s", cases[i].name, report.detail);
        if (cases[i].type_at != 0) {
            cr_expect_eq(tape_type_at(tape, report.event_at), cases[i].type_at, "%s",
                         cases[i].name);
            cr_expect_str_neq(report.missing, "", "%s", cases[i].name);
            cr_expect_geq(report.story_count, 1, "%s", cases[i].name);
        }
        tape_destroy(tape);
    }
}

/* Of many pages stored to by the kernel all are told of but one; or of a page, before the last
 * store. */
Test(oracle, remembers_every_store_that_nobody_told_of)
{
    static const struct {
        uint32_t pages, untold; /* which one is not told of; pages: none */
        bool again;             /* and another store to the first one then */
        const char *verdict;
        uint64_t at; /* of the bytes */
    } many[] = {
        {1, 1, false, "ok", 0},
        {200, 200, false, "ok", 0},
        {200, 199, false, "lost-cpu-write", 199},
        {200, 0, false, "lost-cpu-write", 0},
        {200, 77, false, "lost-cpu-write", 77},
        {3, 3, true, "lost-cpu-write", 0},
    };
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
        const uint32_t pages = many[i].pages;
        struct tape *tape = tape_create("default");
        tape_store(tape, TAPE_CPU, TAPE_A - TAPE_P, 1); /* so that something is judged */
        tape_check(tape, TAPE_CPU, TAPE_A - TAPE_P, 1);
        tape_upload(tape, TAPE_A, pages * TAPE_P, false);
        for (uint32_t page = 0; page < pages; page++)
            tape_store(tape, TRK_AGENT_KERNEL, TAPE_A + page * TAPE_P, page + 2);
        for (uint32_t page = 0; page < pages; page++) {
            if (page != many[i].untold)
                ignore(
                    trk_tracker_invalidate(tape->tracker, TAPE_A + page * TAPE_P, 64, NULL, NULL));
        }
        if (many[i].again) {
            tape_upload(tape, TAPE_A, TAPE_P, false);
            tape_store(tape, TRK_AGENT_KERNEL, TAPE_A, 900);
        }
        struct trk_sim_report report = tape_judge_alone(tape, 1);
        cr_expect_str_eq(trk_verdict_name(&report), many[i].verdict, "%zu: %s", i, report.text);
        if (report.verdict == TRK_VERDICT_LOST_CPU_WRITE)
            cr_expect_eq(report.guest_addr, TAPE_A + many[i].at * TAPE_P, "%zu: %s", i,
                         report.text);
        tape_destroy(tape);
    }
}

/* One store over three pages, of which some are told of. */
Test(oracle, finds_the_part_of_a_store_that_nobody_told_of)
{
    static const struct {
        uint64_t told_at, told_bytes, at, bytes;
        const char *verdict;
    } parts[] = {
        {0, 3 * TAPE_P, 0, 0, "ok"},
        {0, TAPE_P, TAPE_P, 2 * TAPE_P, "lost-cpu-write"},
        {TAPE_P, TAPE_P, 0, TAPE_P, "lost-cpu-write"},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct tape *tape = tape_create("default");
        tape_store(tape, TAPE_CPU, TAPE_A - TAPE_P, 1);
        tape_check(tape, TAPE_CPU, TAPE_A - TAPE_P, 1);
        tape_upload(tape, TAPE_A, 3 * TAPE_P, false);
        tape_put(tape, &(struct trk_event){.type = TRK_EVENT_WITNESS_STORE,
                                           .argument = TAPE_A,
                                           .seq = 3 * TAPE_P,
                                           .domain = 9,
                                           .flags = TRK_AGENT_KERNEL});
        const uint64_t told_addr = TAPE_A + parts[i].told_at;
        ignore(trk_tracker_invalidate(tape->tracker, told_addr, parts[i].told_bytes, NULL, NULL));
        struct trk_sim_report report = tape_judge_alone(tape, 1);
        cr_expect_str_eq(trk_verdict_name(&report), parts[i].verdict, "%zu: %s", i, report.text);
        bool right =
            report.guest_addr == TAPE_A + parts[i].at && report.size_bytes == parts[i].bytes;
        cr_expect(i == 0 || right, "%zu: %s", i, report.text);
        tape_destroy(tape);
    }
}

/* More of them than there is room for: that all were told of is not known. */
Test(oracle, says_where_stores_that_nobody_told_of_had_no_room)
{
    for (uint32_t beyond = 0; beyond < 2; beyond++) {
        const uint32_t pages = LATENT_PAGES_MAX + beyond;
        struct tape *tape = tape_create("default");
        tape_store(tape, TAPE_CPU, TAPE_A - TAPE_P, 1);
        tape_check(tape, TAPE_CPU, TAPE_A - TAPE_P, 1);
        tape_upload(tape, TAPE_A, pages * TAPE_P, false);
        tape_signal(tape, 5, 1);
        tape_as(tape, 1);
        tape_await(tape, 5, 1);
        for (uint32_t page = 0; page < pages; page++) {
            tape_as(tape, page % 2);
            tape_store(tape, TRK_AGENT_KERNEL, TAPE_A + page * TAPE_P, page + 2);
        }
        ignore(trk_tracker_invalidate(tape->tracker, TAPE_A, pages * TAPE_P, NULL, NULL));
        struct trk_sim_report report = tape_judge_alone(tape, 1);
        cr_expect_eq(report.verdict, beyond > 0 ? TRK_VERDICT_UNKNOWN : TRK_VERDICT_OK, "%s",
                     report.text);
        tape_destroy(tape);
    }
}

/* Bytes that are none of those stored: a store may have been half-way. */
static void odd_bytes(struct tape *tape)
{
    tape_store_faulting(tape, TAPE_A, 1);
    tape_check(tape, TAPE_CPU, TAPE_A, 0);
}

static void fault_of_nobody(struct tape *tape)
{
    tape_add_tracker(tape);
    trk_tracker_fault(tape->second, TAPE_A - TAPE_R, TRK_ACCESS_WRITE);
}

/* What only shows when nothing follows is not said where the program went on: a part of a trace,
 * or a dump, ends where it ends. And who was killed had no time to tell of a store, or to note it.
 */
Test(oracle, judges_an_end_that_is_the_programs)
{
    static const struct {
        const char *name;
        void (*record)(struct tape *tape);
        enum trk_verdict_kind verdict;
        bool killed, core; /* killed: said of a program that was killed, too */
    } ends[] = {
        {"kernel's store", latent_kernel_store, TRK_VERDICT_LOST_CPU_WRITE, false, false},
        {"kernel's, with a core", latent_kernel_store, TRK_VERDICT_LOST_CPU_WRITE, false, true},
        {"odd bytes", odd_bytes, TRK_VERDICT_STALE_CPU_READ, false, false},
        {"odd bytes, with a core", odd_bytes, TRK_VERDICT_STALE_CPU_READ, false, true},
        {"fault of nobody", fault_of_nobody, TRK_VERDICT_UNHANDLED_FAULT, true, true},
    };
    static const int32_t statuses[] = {0, 256, 9, -1}; /* by exit, by a signal, not known */
    for (size_t i = 0; i < 4 * sizeof ends / sizeof *ends; i++) {
        const int32_t status = statuses[i % 4];
        const bool told = status == 0 || status == 256 || (status == 9 && ends[i / 4].killed);
        struct tape *tape = tape_create("default");
        ends[i / 4].record(tape);
        tape->child_status = status;
        struct trk_sim_report report =
            ends[i / 4].core ? tape_judge(tape) : tape_judge_alone(tape, 1);
        cr_expect_eq(report.verdict == ends[i / 4].verdict, told, "%s, status %d: %s",
                     ends[i / 4].name, status, report.text);
        cr_expect(told || report.verdict == TRK_VERDICT_OK || report.verdict == TRK_VERDICT_UNKNOWN,
                  "%s, status %d: %s", ends[i / 4].name, status, report.text);
        tape_destroy(tape);
    }
}

/* Lines of 64 bytes: what fills a line is told apart, what fills a part of one is not judged. */
Test(oracle, granules)
{
    struct tape *tape = tape_create("default");
    tape_store(tape, TAPE_CPU, TAPE_A, 2);
    tape_check(tape, TAPE_CPU, TAPE_A, 1);
    struct trk_sim_report report = tape_judge_alone(tape, 64);
    cr_expect_str_eq(trk_verdict_name(&report), "stale-cpu-read");
    tape_destroy(tape);

    tape = tape_create("default");
    tape_store(tape, TAPE_CPU, TAPE_A, 2);
    struct trk_event event = {
        .type = TRK_EVENT_WITNESS_STORE, .argument = TAPE_A + 40, .seq = 8, .domain = 7};
    tape_put(tape, &event);
    tape_check(tape, TAPE_CPU, TAPE_A, 2);
    report = tape_judge_alone(tape, 64);
    cr_expect_str_eq(trk_verdict_name(&report), "unknown", "%s", report.text);
    cr_expect_eq(report.unknown, 1);
    report = tape_judge_alone(tape, 1);
    cr_expect_str_eq(trk_verdict_name(&report), "stale-cpu-read");
    tape_destroy(tape);
}

/* A store to a part of a granule is none to the rest of it, whatever reads or copies that. */
Test(oracle, granules_in_part)
{
    struct tape *tape = tape_create("default");
    tape_store_faulting(tape, TAPE_A, 1);
    tape_upload_copying(tape, TAPE_A, TAPE_P);
    tape_store_faulting(tape, TAPE_A + 64, 2);
    tape_gpu_read(tape, TAPE_A, 64);
    tape_copy(tape, TRK_COPY_DOWN, TAPE_A, 64);
    tape_store(tape, TAPE_GPU, TAPE_A + 128, 3);
    tape_copy(tape, TRK_COPY_UP, TAPE_A, 64);
    struct trk_sim_report report = tape_judge_alone(tape, 4096);
    cr_expect_str_neq(trk_verdict_name(&report), "stale-gpu-read", "%s", report.text);
    cr_expect_str_neq(trk_verdict_name(&report), "lost-cpu-write", "%s", report.text);
    cr_expect_str_neq(trk_verdict_name(&report), "lost-gpu-write", "%s", report.text);
    tape_destroy(tape);
}

/* A thread says only with its last event that it has lost some, maybe the copy that is missed here.
 */
Test(oracle, losses_told_late)
{
    struct tape *tape = tape_create("default");
    tape_foreign_upload_over_gpu(tape);
    tape_check(tape, TAPE_GPU, TAPE_A + 64, 1);
    tape->dropped = 2;
    struct trk_sim_report report = tape_judge_alone(tape, 1);
    cr_expect_str_eq(trk_verdict_name(&report), "trace-incomplete", "%s", report.text);
    tape_destroy(tape);
}

/* Events are missing: what needs none of them is still said, the rest is unknown. */
Test(oracle, goes_on_after_a_loss)
{
    struct tape *tape = tape_create("default");
    tape_store_faulting(tape, TAPE_A, 1);
    tape_upload_copying(tape, TAPE_A, TAPE_P);
    tape_lost_operation(tape);
    tape_upload(tape, TAPE_A + TAPE_P, TAPE_P, false);
    tape_gpu_read(tape, TAPE_A, 64);
    tape_store(tape, TAPE_CPU, TAPE_A + 4 * TAPE_P, 9);
    tape_check(tape, TAPE_CPU, TAPE_A + 4 * TAPE_P, 9);
    struct trk_sim_report report = tape_judge(tape);
    cr_expect_str_eq(trk_verdict_name(&report), "trace-incomplete", "%s", report.text);
    cr_expect_eq(report.checks, 2);
    cr_expect_eq(report.unknown, 1);
    cr_expect_not(report.complete);
    tape_destroy(tape);

    tape = tape_create("default");
    tape_lost_operation(tape);
    tape_upload(tape, TAPE_A + TAPE_P, TAPE_P, false);
    tape_store(tape, TAPE_CPU, TAPE_A + 4 * TAPE_P, 9);
    tape_check(tape, TAPE_CPU, TAPE_A + 4 * TAPE_P, 8);
    report = tape_judge(tape);
    cr_expect_str_eq(trk_verdict_name(&report), "stale-cpu-read", "%s", report.text);
    cr_expect_not(report.complete);
    tape_destroy(tape);
}
