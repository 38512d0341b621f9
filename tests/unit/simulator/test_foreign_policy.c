/*
 * Goal: a foreign tracker that follows a policy of the core's is run again where its pages are
 * certain, and each way to depart from the policy is found.
 *
 * Method: tapes of such a tracker, as it should be and with one departure.
 */
#include <criterion/criterion.h>

#include "foreign_tape.h"

/* Of a tracker that says that it does what the default policy does, 4 KiB pages. */
static void declare_following(struct tape *tape)
{
    struct trk_policy policy;
    cr_assert_eq(trk_policy_preset("default", &policy), TRK_OK);
    tape->streams[0].count = 0;
    put(tape, TRK_EVENT_FOREIGN, trk_policy_pack(&policy), TAPE_P,
        (struct trk_event){.page = FOREIGN, .flags = NOTES_ALL});
}

static void follows(struct tape *tape)
{
    declare_following(tape);
    handing(tape, TRK_OP_UPLOAD, 2 * TAPE_P); /* untouched: the CPU's */
    whole(tape, TRK_OP_UPLOAD, 2 * TAPE_P);
    whole(tape, TRK_OP_MARK_GPU, TAPE_P);
    begin(tape, TRK_OP_IS_GPU, TAPE_A, 2 * TAPE_P);
    end_with(tape, TRK_OP_IS_GPU, TRK_OK, 1);
    begin(tape, TRK_OP_INVALIDATE, TAPE_A, 2 * TAPE_P);
    handing(tape, TRK_OP_DOWNLOAD, TAPE_P); /* its flush */
    end_with(tape, TRK_OP_INVALIDATE, TRK_OK, 1);
    begin(tape, TRK_OP_MARK_GPU, TAPE_A, TAPE_P);
    end_with(tape, TRK_OP_MARK_GPU, TRK_E_CONFLICT, 0);
    handing(tape, TRK_OP_UPLOAD, 2 * TAPE_P);
}

/* Where others were under way it waits, and goes on where the states are certain again. */
static void follows_again(struct tape *tape)
{
    declare_following(tape);
    handing(tape, TRK_OP_UPLOAD, TAPE_P);
    tape_as(tape, 1);
    begin(tape, TRK_OP_INVALIDATE, TAPE_A, 1);
    tape_as(tape, 0);
    whole(tape, TRK_OP_UPLOAD, TAPE_P);
    tape_as(tape, 1);
    end_with(tape, TRK_OP_INVALIDATE, TRK_OK, 0);
    whole(tape, TRK_OP_INVALIDATE, TAPE_P);
    handing(tape, TRK_OP_UPLOAD, TAPE_P);
    whole(tape, TRK_OP_MARK_GPU, TAPE_P);
    handing(tape, TRK_OP_DOWNLOAD, TAPE_P);
}

static void hands_too_much(struct tape *tape)
{
    declare_following(tape);
    handing(tape, TRK_OP_UPLOAD, TAPE_P);
    handing(tape, TRK_OP_UPLOAD, TAPE_P);
}

static void wrong_yes(struct tape *tape)
{
    declare_following(tape);
    handing(tape, TRK_OP_UPLOAD, TAPE_P);
    begin(tape, TRK_OP_IS_CPU, TAPE_A, TAPE_P);
    end_with(tape, TRK_OP_IS_CPU, TRK_OK, 1);
}

static void refuses_too_much(struct tape *tape)
{
    declare_following(tape);
    handing(tape, TRK_OP_UPLOAD, TAPE_P);
    begin(tape, TRK_OP_MARK_GPU, TAPE_A, TAPE_P);
    end_with(tape, TRK_OP_MARK_GPU, TRK_E_CONFLICT, 0);
}

static void closes_too_much(struct tape *tape)
{
    declare_following(tape);
    put(tape, TRK_EVENT_HOST_PROTECT, TAPE_A, TAPE_P,
        (struct trk_event){.page = FOREIGN, .flags = TRK_RIGHTS_NONE});
    handing(tape, TRK_OP_UPLOAD, TAPE_P);
}

/* A flush that leaves the page where it was: the policy refuses then. */
static void retains(struct tape *tape)
{
    declare_following(tape);
    handing(tape, TRK_OP_UPLOAD, TAPE_P);
    whole(tape, TRK_OP_MARK_GPU, TAPE_P);
    whole(tape, TRK_OP_INVALIDATE, TAPE_P);
}

static void asks_in_its_callback(struct tape *tape)
{
    declare_following(tape);
    begin(tape, TRK_OP_UPLOAD, TAPE_A, TAPE_P);
    hand(tape, TAPE_A, TAPE_P);
    begin(tape, TRK_OP_IS_GPU, TAPE_A, TAPE_P);
    end_with(tape, TRK_OP_IS_GPU, TRK_OK, 0);
}

static const struct verdict_case following[] = {
    {"follows", follows, "ok", 0, ""},
    {"follows again", follows_again, "ok", 0, ""},
    {"hands too much over", hands_too_much, "divergence", TRK_EVENT_OP_BEGIN,
     "not what the policy does"},
    {"says yes", wrong_yes, "divergence", TRK_EVENT_OP_BEGIN, "not what the policy does"},
    {"refuses too much", refuses_too_much, "divergence", TRK_EVENT_OP_BEGIN,
     "not what the policy does"},
    {"closes too much", closes_too_much, "divergence", TRK_EVENT_OP_BEGIN,
     "not what the policy does"},
    {"retains", retains, "divergence", TRK_EVENT_OP_BEGIN, "not what the policy does"},
    {"asks in its callback", asks_in_its_callback, "fatal:reentry", 0,
     "called from an upload's callback"},
};

Test(foreign, follows_a_policy)
{
    for (size_t i = 0; i < sizeof following / sizeof following[0]; i++)
        verdict_case_judge(&following[i]);
}

/* How many operations were run again, and that unknown ones are counted. */
Test(foreign, counts_what_was_run_again)
{
    static const struct {
        void (*record)(struct tape *tape);
        uint64_t judged, unknown;
    } runs[] = {{follows, 8, 0}, {follows_again, 4, 3}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        struct tape *tape = tape_create("default");
        runs[i].record(tape);
        struct trk_sim_report report = tape_judge(tape);
        cr_expect_eq(report.judged[TRK_SIM_JUDGED_CORE].judged, runs[i].judged, "%zu: %llu", i,
                     (unsigned long long)report.judged[TRK_SIM_JUDGED_CORE].judged);
        cr_expect_eq(report.judged[TRK_SIM_JUDGED_CORE].unknown, runs[i].unknown);
        tape_destroy(tape);
    }
}
