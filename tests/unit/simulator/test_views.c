/*
 * Goal: a log of views - joined, faulted on, registered, left - is done again exactly, and a log
 * that says otherwise is found.
 *
 * Method: the real core runs live onto a tape, then some tapes are changed by hand. All of the
 * tape's two regions is registered.
 */
#include <criterion/criterion.h>

#include "verdict_case.h"

#define V       TAPE_A
#define W       (TAPE_A + TAPE_R)
#define X       (TAPE_A + 32 * TAPE_P) /* in V's region */
#define P       TAPE_P
#define A_WHILE 1500u /* steps: a thread's events fit one chunk */

static void on_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    tape_drain(context, guest_addr, size_bytes);
}

static void start(struct tape *tape)
{
    struct trk_resource_layer layer = {.flush = on_flush, .read_back = on_flush, .context = tape};
    ignore(trk_tracker_set_resource_layer(tape->tracker, &layer));
    cr_assert_eq(trk_tracker_join_views(tape->tracker, W, V, 4 * P), TRK_OK);
}

static void joined(struct tape *tape)
{
    start(tape);
    tape_upload(tape, V, 2 * P, false);
    tape_as(tape, 1);
    tape_store_faulting(tape, W + 8, 1);
    tape_as(tape, 0);
    tape_upload(tape, W + P, P, true);
    tape_as(tape, 2);
    tape_store_faulting(tape, V + P, 2);
    tape_as(tape, 0);
    ignore(trk_tracker_untrack(tape->tracker, V, 4 * P));
    ignore(trk_tracker_untrack(tape->tracker, W, 4 * P));
}

static void left(struct tape *tape)
{
    start(tape);
    tape_upload(tape, V, 4 * P, false);
    ignore(trk_tracker_join_views(tape->tracker, X, V, P));
    tape_as(tape, 1);
    ignore(trk_tracker_unregister(tape->tracker, W, P));
    ignore(trk_tracker_register(tape->tracker, W + 5, 1));
    ignore(trk_tracker_leave_view(tape->tracker, V + P, 2 * P));
    tape_as(tape, 0);
    ignore(trk_tracker_untrack(tape->tracker, V, 4 * P));
    ignore(trk_tracker_leave_view(tape->tracker, V, 40 * P));
}

static void refused(struct tape *tape)
{
    start(tape);
    ignore(trk_tracker_join_views(tape->tracker, V, 0, P)); /* range */
    ignore(trk_tracker_join_views(tape->tracker, V, V, P)); /* argument: no event at all */
    for (uint64_t i = 1; i < 10; i++)
        ignore(trk_tracker_join_views(tape->tracker, V + i * P, V, P)); /* too many */
}

static void host_refused(struct tape *tape)
{
    start(tape);
    trk_backend_simulated_fail(tape->backend, 2);
    tape_upload(tape, V, P, false);
}

/* Everything at random, by three threads in turn. */
static void walk(struct tape *tape)
{
    static const uint64_t places[] = {V, W, X};
    uint64_t random = 1;
    start(tape);
    for (unsigned i = 0; i < A_WHILE; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint64_t bits = random >> 20;
        uint64_t at = places[bits % 3] + (bits >> 2 & 3) * P, size = (1 + (bits >> 4 & 1)) * P;
        tape_as(tape, (uint32_t)(bits >> 5) % 3);
        switch (bits >> 8 & 15) {
        case 0:
            ignore(trk_tracker_join_views(tape->tracker, at, places[bits >> 13 & 1], size));
            break;
        case 1:
            ignore(trk_tracker_leave_view(tape->tracker, at, size));
            break;
        case 2:
            ignore(trk_tracker_unregister(tape->tracker, at + 100, size));
            break;
        case 3:
        case 4:
            ignore(trk_tracker_register(tape->tracker, at, size));
            break;
        case 5:
        case 6:
        case 7:
            tape_upload(tape, at, size, true);
            break;
        case 8:
        case 9:
            tape_drain(tape, at, size);
            break;
        case 10:
            ignore(trk_tracker_set_guest_protection(tape->tracker, at, size,
                                                    (unsigned)(bits >> 13 & 1) * 2 + 1));
            break;
        default:
            tape_upload(tape, at, size, false);
        }
    }
    for (unsigned i = 0; i < 3; i++) {
        tape_drain(tape, places[i], 8 * P);
        ignore(trk_tracker_untrack(tape->tracker, places[i], 8 * P));
    }
}

/* ---- logs that are not so -------------------------------------------------------------------- */

static void another_view(struct tape *tape)
{
    joined(tape);
    tape_find(tape, TRK_EVENT_OPERAND, 0)->argument += 4 * P;
}

static void another_region(struct tape *tape)
{
    joined(tape);
    for (unsigned i = 0;; i++) {
        struct trk_event *event = tape_find(tape, TRK_EVENT_PROTECT, i);
        if (event->argument == V / TAPE_R * TAPE_R) {
            event->argument += TAPE_R;
            return;
        }
    }
}

static void no_operand(struct tape *tape)
{
    joined(tape);
    tape_remove(tape, TRK_EVENT_OPERAND, 0);
}

static const struct verdict_case cases[] = {
    {"joined, stored to in both", joined, "ok", 0, ""},
    {"registered and left in between", left, "ok", 0, ""},
    {"a call is refused", host_refused, "fatal:protect", 0, ""},
    {"a walk at random", walk, "ok", 0, ""},
    {"another view", another_view, "divergence", 0, ""},
    {"another region's call", another_region, "divergence", TRK_EVENT_PROTECT, ""},
    {"an operand is lost", no_operand, "divergence", 0, ""},
    {"a join is refused", refused, "fatal:range", 0, ""},
};

Test(views, table)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        verdict_case_judge_with("default", &cases[i]);
}
