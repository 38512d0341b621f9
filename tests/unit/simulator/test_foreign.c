/*
 * Goal: of a tracker that is not the core's, what the log proves is judged, what it does not prove
 * is unknown, and the core beside it is followed as ever.
 *
 * Method: tapes on which tracker 2 is foreign and notes what the case says, beside the core's
 * tracker 0 or without it. A case that must pass and one that breaks each rule.
 */
#include <criterion/criterion.h>

#include "foreign_tape.h"

/* Without the core's tracker. */
static void declare_only(struct tape *tape, unsigned notes)
{
    tape->streams[0].count = 0;
    declare(tape, notes);
}

static void protect(struct tape *tape, unsigned rights)
{
    put(tape, TRK_EVENT_HOST_PROTECT, TAPE_A, PAGE_BYTES,
        (struct trk_event){.page = FOREIGN, .flags = (uint8_t)rights});
}

static void hold(struct tape *tape, uint8_t type, uint32_t number)
{
    tape_put(tape, &(struct trk_event){.type = type,
                                       .domain = trk_domain(TRK_DOMAIN_OWNER, FOREIGN, 7),
                                       .seq = number});
}

/* ---- what holds ------------------------------------------------------------------------------ */

static void good(struct tape *tape)
{
    whole(tape, TRK_OP_MARK_CPU, PAGE_BYTES);
    hold(tape, TRK_EVENT_LOCK, 1);
    protect(tape, TRK_RIGHT_READ);
    hold(tape, TRK_EVENT_UNLOCK, 1);
    handing(tape, TRK_OP_UPLOAD, PAGE_BYTES);
    whole(tape, TRK_OP_UPLOAD, PAGE_BYTES);
    whole(tape, TRK_OP_MARK_GPU, PAGE_BYTES);
    handing(tape, TRK_OP_DOWNLOAD, PAGE_BYTES);
}

static void good_alone(struct tape *tape)
{
    declare_only(tape, NOTES_ALL);
    good(tape);
}

static void good_beside_the_core(struct tape *tape)
{
    declare(tape, NOTES_ALL);
    tape_upload(tape, TAPE_A + TAPE_R, TAPE_P, false);
    good(tape);
    tape_upload(tape, TAPE_A + TAPE_R, TAPE_P, true);
}

/* A question in an upload's callback: its tracker may allow that. */
static void asks_in_a_callback(struct tape *tape)
{
    declare_only(tape, NOTES_ALL);
    whole(tape, TRK_OP_MARK_CPU, PAGE_BYTES);
    begin(tape, TRK_OP_UPLOAD, TAPE_A, PAGE_BYTES);
    hand(tape, TAPE_A, PAGE_BYTES);
    begin(tape, TRK_OP_IS_GPU, TAPE_A, PAGE_BYTES);
    end_with(tape, TRK_OP_IS_GPU, TRK_OK, 0);
    end_with(tape, TRK_OP_UPLOAD, TRK_OK, 1);
}

/* What was refused has changed nothing. */
static void refused_mark(struct tape *tape)
{
    declare_only(tape, NOTES_ALL);
    whole(tape, TRK_OP_MARK_CPU, PAGE_BYTES);
    begin(tape, TRK_OP_MARK_GPU, TAPE_A, PAGE_BYTES);
    end_with(tape, TRK_OP_MARK_GPU, TRK_E_CONFLICT, 0);
    handing(tape, TRK_OP_UPLOAD, PAGE_BYTES);
}

/* ---- what breaks a rule ---------------------------------------------------------------------- */

static void left_dirty(struct tape *tape)
{
    declare_only(tape, NOTES_ALL);
    whole(tape, TRK_OP_INVALIDATE, 2 * PAGE_BYTES);
    begin(tape, TRK_OP_UPLOAD, TAPE_A, 2 * PAGE_BYTES);
    hand(tape, TAPE_A, PAGE_BYTES);
    end_with(tape, TRK_OP_UPLOAD, TRK_OK, 1);
}

static void left_dirty_beside_the_core(struct tape *tape)
{
    declare(tape, NOTES_ALL);
    tape_upload(tape, TAPE_A + TAPE_R, TAPE_P, false);
    whole(tape, TRK_OP_MARK_CPU, PAGE_BYTES);
    whole(tape, TRK_OP_UPLOAD, PAGE_BYTES);
}

static void left_to_the_gpu(struct tape *tape)
{
    declare_only(tape, NOTES_ALL);
    whole(tape, TRK_OP_MARK_GPU, PAGE_BYTES);
    whole(tape, TRK_OP_DOWNLOAD, PAGE_BYTES);
}

static void wrong_no(struct tape *tape)
{
    declare_only(tape, NOTES_ALL);
    whole(tape, TRK_OP_MARK_GPU, PAGE_BYTES);
    whole(tape, TRK_OP_IS_GPU, PAGE_BYTES);
}

static void left_open(struct tape *tape)
{
    declare_only(tape, NOTES_ALL);
    protect(tape, TRK_RIGHTS_RW);
    whole(tape, TRK_OP_MARK_GPU, PAGE_BYTES);
}

static void left_open_to_loads(struct tape *tape)
{
    declare_only(tape, NOTES_ALL | TRK_NOTES_LOADS);
    protect(tape, TRK_RIGHT_READ);
    whole(tape, TRK_OP_MARK_GPU, PAGE_BYTES);
}

static void lock_taken_twice(struct tape *tape)
{
    declare_only(tape, NOTES_ALL);
    hold(tape, TRK_EVENT_LOCK, 1);
    hold(tape, TRK_EVENT_LOCK, 1);
}

static void own_check_fails(struct tape *tape)
{
    declare_only(tape, NOTES_ALL);
    begin(tape, TRK_OP_MARK_GPU, TAPE_A, PAGE_BYTES);
    put(tape, TRK_EVENT_FAIL, TAPE_A, PAGE_BYTES,
        (struct trk_event){.context = TRK_E_CONFLICT, .flags = TRK_OP_MARK_GPU});
}

/* The kernel reads what only the GPU has. */
static void kernel_reads_old(struct tape *tape)
{
    declare_only(tape, NOTES_ALL);
    tape_store(tape, TAPE_GPU, TAPE_A, 1);
    put(tape, TRK_EVENT_ACCESS, TAPE_A, 4,
        (struct trk_event){.flags = TRK_AGENT_KERNEL, .context = TRK_ACCESS_READ});
}

static void kernel_reads_new(struct tape *tape)
{
    declare_only(tape, NOTES_ALL);
    tape_store(tape, TAPE_GPU, TAPE_A, 1);
    tape_copy(tape, TRK_COPY_DOWN, TAPE_A, TAPE_P);
    put(tape, TRK_EVENT_ACCESS, TAPE_A, 4,
        (struct trk_event){.flags = TRK_AGENT_KERNEL, .context = TRK_ACCESS_READ});
}

/* ---- what is not known ----------------------------------------------------------------------- */

static void notes_nothing(struct tape *tape)
{
    declare_only(tape, 0);
    whole(tape, TRK_OP_MARK_CPU, PAGE_BYTES);
    whole(tape, TRK_OP_UPLOAD, PAGE_BYTES);
    whole(tape, TRK_OP_DOWNLOAD, PAGE_BYTES);
}

static void nothing_certain_before(struct tape *tape)
{
    declare_only(tape, NOTES_ALL);
    whole(tape, TRK_OP_UPLOAD, PAGE_BYTES);
}

/* Another operation on the page is under way: which came first nobody knows. */
static void overlapping(struct tape *tape)
{
    declare_only(tape, NOTES_ALL);
    whole(tape, TRK_OP_MARK_CPU, PAGE_BYTES);
    tape_as(tape, 1);
    begin(tape, TRK_OP_INVALIDATE, TAPE_A + 5, 1);
    tape_as(tape, 0);
    whole(tape, TRK_OP_UPLOAD, PAGE_BYTES);
    tape_as(tape, 1);
    end_with(tape, TRK_OP_INVALIDATE, TRK_OK, 0);
    whole(tape, TRK_OP_UPLOAD, PAGE_BYTES);
}

static void ended_within(struct tape *tape)
{
    declare_only(tape, NOTES_ALL);
    tape_as(tape, 1);
    begin(tape, TRK_OP_UPLOAD, TAPE_A, PAGE_BYTES);
    tape_as(tape, 0);
    whole(tape, TRK_OP_MARK_CPU, PAGE_BYTES);
    tape_as(tape, 1);
    end_with(tape, TRK_OP_UPLOAD, TRK_OK, 0);
}

static void declared_again(struct tape *tape)
{
    declare_only(tape, NOTES_ALL);
    whole(tape, TRK_OP_MARK_CPU, PAGE_BYTES);
    declare(tape, NOTES_ALL);
    whole(tape, TRK_OP_UPLOAD, PAGE_BYTES);
}

static void half_protected(struct tape *tape)
{
    declare_only(tape, NOTES_ALL);
    put(tape, TRK_EVENT_HOST_PROTECT, TAPE_A, TAPE_P,
        (struct trk_event){.page = FOREIGN, .flags = TRK_RIGHTS_RW});
    whole(tape, TRK_OP_MARK_GPU, PAGE_BYTES);
}

static const struct verdict_case cases[] = {
    {"good", good_alone, "ok", 0, ""},
    {"good, beside the core", good_beside_the_core, "ok", 0, ""},
    {"asks in a callback", asks_in_a_callback, "ok", 0, ""},
    {"refused", refused_mark, "ok", 0, ""},
    {"left dirty", left_dirty, "illegal-state", TRK_EVENT_OP_BEGIN, "left dirty by an upload"},
    {"left dirty, beside the core", left_dirty_beside_the_core, "illegal-state", TRK_EVENT_OP_BEGIN,
     "left dirty by an upload"},
    {"left to the GPU", left_to_the_gpu, "illegal-state", TRK_EVENT_OP_BEGIN,
     "left to the GPU by a download"},
    {"wrong answer", wrong_no, "illegal-state", TRK_EVENT_OP_BEGIN, "a question answered with no"},
    {"left open", left_open, "protection-loose", TRK_EVENT_OP_BEGIN,
     "host allows more than the state"},
    {"left open to loads", left_open_to_loads, "protection-loose", TRK_EVENT_OP_BEGIN,
     "host allows more than the state"},
    {"lock taken twice", lock_taken_twice, "illegal-state", TRK_EVENT_LOCK,
     "lock taken while held"},
    {"its own check", own_check_fails, "fatal:conflict", 0, ""},
    {"the kernel reads old bytes", kernel_reads_old, "stale-cpu-read", 0, "never downloaded"},
    {"the kernel reads new bytes", kernel_reads_new, "ok", 0, ""},
    {"notes nothing", notes_nothing, "unknown", 0, ""},
    {"nothing certain before", nothing_certain_before, "unknown", 0, ""},
    {"another under way", overlapping, "unknown", 0, ""},
    {"another ended within", ended_within, "unknown", 0, ""},
    {"declared again", declared_again, "unknown", 0, ""},
    {"half a page protected", half_protected, "unknown", 0, ""},
};

Test(foreign, verdicts)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        verdict_case_judge(&cases[i]);
}

/* What is judged of each kind, and what is not. */
Test(foreign, says_what_could_be_judged)
{
    struct tape *tape = tape_create("default");
    good_alone(tape);
    struct trk_sim_report report = tape_judge(tape);
    const struct trk_sim_judged *judged = report.judged;
    cr_expect_eq(report.foreign_trackers, 1u << FOREIGN);
    cr_expect_eq(judged[TRK_SIM_JUDGED_BYTES].judged, 0);
    cr_expect_neq(judged[TRK_SIM_JUDGED_BYTES].why[0], '\0');
    cr_expect_eq(judged[TRK_SIM_JUDGED_STATES].judged, 3);
    cr_expect_gt(judged[TRK_SIM_JUDGED_PROTECTION].judged, 0);
    cr_expect_eq(judged[TRK_SIM_JUDGED_LOCKS].judged, 1);
    cr_expect_eq(judged[TRK_SIM_JUDGED_CORE].judged, 0);
    cr_expect_eq(judged[TRK_SIM_JUDGED_CORE].unknown, 5);
    tape_destroy(tape);
}

/* Where events are missing nothing of it proves anything. */
Test(foreign, doubts_what_was_lost)
{
    struct tape *tape = tape_create("default");
    declare_only(tape, NOTES_ALL);
    whole(tape, TRK_OP_MARK_CPU, PAGE_BYTES);
    tape_put(tape, &(struct trk_event){
                       .type = TRK_EVENT_DROP, .argument = 1, .context = TRK_EVENT_HANDED});
    whole(tape, TRK_OP_UPLOAD, PAGE_BYTES);
    struct trk_sim_report report = tape_judge(tape);
    cr_expect_str_eq(trk_verdict_name(&report), "trace-incomplete", "%s", report.text);
    tape_destroy(tape);
    tape = tape_create("default"); /* a hold without a word */
    declare_only(tape, NOTES_ALL);
    hold(tape, TRK_EVENT_LOCK, 1);
    hold(tape, TRK_EVENT_UNLOCK, 1);
    hold(tape, TRK_EVENT_LOCK, 3);
    hold(tape, TRK_EVENT_UNLOCK, 3);
    whole(tape, TRK_OP_MARK_CPU, PAGE_BYTES);
    whole(tape, TRK_OP_UPLOAD, PAGE_BYTES);
    report = tape_judge(tape);
    cr_expect_str_eq(trk_verdict_name(&report), "trace-incomplete", "%s", report.text);
    cr_expect_not(report.complete);
    tape_destroy(tape);
}

/* Nor where a thread that is not in the file at all has signalled, and may have called between. */
Test(foreign, doubts_what_was_before_an_await_of_nobody)
{
    for (unsigned way = 0; way < 4; way++) {
        struct tape *tape = tape_create("default");
        tape->end = way / 2 > 0;
        declare_only(tape, NOTES_ALL);
        whole(tape, TRK_OP_MARK_CPU, PAGE_BYTES);
        if (way % 2 > 0)
            tape_await(tape, 9, 1);
        whole(tape, TRK_OP_UPLOAD, PAGE_BYTES);
        whole(tape, TRK_OP_MARK_CPU, PAGE_BYTES);
        struct trk_sim_report report = tape_judge(tape);
        cr_expect_str_eq(trk_verdict_name(&report),
                         way % 2 > 0 ? "trace-incomplete" : "illegal-state", "%u: %s", way,
                         report.text);
        tape_destroy(tape);
    }
}

/* Of a page that is handed over in part nobody knows what became of the rest; parts that make a
 * page together are a whole one. */
Test(foreign, knows_nothing_of_parts)
{
    static const struct {
        uint64_t first_bytes, rest_bytes; /* of the page */
        uint64_t judged, unknown;
    } parts[] = {{PAGE_BYTES, 0, 2, 0},
                 {PAGE_BYTES / 2, PAGE_BYTES / 2, 2, 0},
                 {PAGE_BYTES - 1, 0, 1, 1},
                 {1, 0, 1, 1},
                 {PAGE_BYTES / 2, PAGE_BYTES / 4, 1, 1}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct tape *tape = tape_create("default");
        declare_only(tape, TRK_NOTES_HANDED);
        whole(tape, TRK_OP_MARK_CPU, 2 * PAGE_BYTES);
        begin(tape, TRK_OP_UPLOAD, TAPE_A, 2 * PAGE_BYTES);
        if (parts[i].rest_bytes > 0)
            hand(tape, TAPE_A + parts[i].first_bytes, parts[i].rest_bytes);
        hand(tape, TAPE_A, parts[i].first_bytes);
        hand(tape, TAPE_A + PAGE_BYTES, PAGE_BYTES);
        end_with(tape, TRK_OP_UPLOAD, TRK_OK, 1);
        struct trk_sim_report report = tape_judge(tape);
        const struct trk_sim_judged *states = &report.judged[TRK_SIM_JUDGED_STATES];
        cr_expect_eq(states->judged, parts[i].judged, "%zu", i);
        cr_expect_eq(states->unknown, parts[i].unknown, "%zu", i);
        tape_destroy(tape);
    }
}
