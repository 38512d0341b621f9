/*
 * Goal: a log of generations and of checked writes is done again exactly, whatever threads raced in
 * it, and a log that says otherwise is found.
 *
 * Method: the real core runs live onto a tape, then some tapes are changed by hand.
 */
#include <criterion/criterion.h>

#include "track/generations.h"
#include "track/hle.h"
#include "verdict_case.h"

#define G TRK_GUEST_PAGE_BYTES

static void track(struct tape *tape, uint64_t guest_addr, uint64_t size_bytes)
{
    uint64_t sum;
    ignore(trk_generations_track(tape->tracker, guest_addr, size_bytes, &sum));
}

static void query(struct tape *tape, uint64_t guest_addr, uint64_t size_bytes)
{
    uint64_t sum;
    ignore(trk_generations_query(tape->tracker, guest_addr, size_bytes, &sum));
}

static bool map(struct tape *tape, uint64_t physical_offset)
{
    struct trk_generations_view view = {TAPE_A, 2 * G, physical_offset, TRK_RIGHTS_RW};
    bool kept = false;
    ignore(trk_generations_map(tape->tracker, &view, &kept));
    return kept;
}

/* The emulator's own store, which faults when a thread took the page meanwhile. */
static void write_bytes(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct tape *tape = context;
    track(tape, guest_addr, size_bytes);
    tape_store_faulting(tape, guest_addr, 7);
}

static void hle_write(struct tape *tape, uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_hle_write write = {.size = sizeof write,
                                  .guest_addr = guest_addr,
                                  .size_bytes = size_bytes,
                                  .write = write_bytes,
                                  .context = tape};
    bool written;
    ignore(trk_tracker_hle_write(tape->tracker, &write, &written));
}

static void tracked(struct tape *tape)
{
    track(tape, TAPE_A, 2 * G);
    tape_as(tape, 1);
    tape_store_faulting(tape, TAPE_A + G, 1);
    tape_store_faulting(tape, TAPE_A + G + TAPE_P, 2);
    tape_as(tape, 0);
    query(tape, TAPE_A, 2 * G);
    track(tape, TAPE_A, 3 * G);
    ignore(trk_generations_notify(tape->tracker, TAPE_A + G, 1));
    query(tape, TAPE_A, 3 * G);
    query(tape, TAPE_A, 4 * G);
}

/* The flush of faults and checked writes. */
static void on_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    tape_drain(context, guest_addr, size_bytes);
}

static void set_layer(struct tape *tape)
{
    struct trk_resource_layer layer = {.flush = on_flush, .context = tape};
    ignore(trk_tracker_set_resource_layer(tape->tracker, &layer));
}

static void both_trackers(struct tape *tape)
{
    set_layer(tape);
    track(tape, TAPE_A, G);
    tape_upload(tape, TAPE_A, 2 * TAPE_P, true);
    tape_as(tape, 1);
    tape_store_faulting(tape, TAPE_A + TAPE_P, 1);
    tape_as(tape, 0);
    query(tape, TAPE_A, G);
    tape_upload(tape, TAPE_A, TAPE_P, false);
    tape_drain(tape, TAPE_A, G);
    ignore(trk_tracker_untrack(tape->tracker, TAPE_A, G));
}

static void mapped(struct tape *tape)
{
    map(tape, 0x5000000000);
    track(tape, TAPE_A, G);
    cr_assert(map(tape, 0x5000000000));
    query(tape, TAPE_A, G);
    map(tape, 0);
    query(tape, TAPE_A, G);
    track(tape, TAPE_A, G);
    ignore(trk_tracker_set_guest_protection(tape->tracker, TAPE_A, TAPE_P, TRK_RIGHTS_NONE));
    track(tape, TAPE_A, G); /* refused */
    ignore(trk_tracker_set_guest_protection(tape->tracker, TAPE_A, TAPE_P, TRK_RIGHTS_RW));
}

static void written(struct tape *tape)
{
    set_layer(tape);
    track(tape, TAPE_A, G);
    tape_upload(tape, TAPE_A, TAPE_P, true);
    hle_write(tape, TAPE_A + 8, TAPE_P);
    query(tape, TAPE_A, G);
    ignore(trk_tracker_set_guest_protection(tape->tracker, TAPE_A, TAPE_P, TRK_RIGHT_READ));
    hle_write(tape, TAPE_A + 8, TAPE_P); /* denied */
}

static void views(struct tape *tape)
{
    uint64_t other = TAPE_A + TAPE_R;
    ignore(trk_tracker_join_views(tape->tracker, TAPE_A, other, G));
    track(tape, other, G);
    tape_as(tape, 1);
    tape_store_faulting(tape, TAPE_A, 1);
    tape_as(tape, 0);
    query(tape, other, G);
    track(tape, other, G);
    hle_write(tape, TAPE_A, TAPE_P);
    query(tape, other, G);
}

/* Another thread's store is served between the look of a fault and its service. */
static void late_store(struct tape *tape)
{
    ignore(trk_tracker_unregister(tape->tracker, TAPE_A, G));
    track(tape, TAPE_A, G);
    tape->after_look = TAPE_A + TAPE_P;
    tape_as(tape, 1);
    cr_assert_eq(trk_tracker_fault(tape->tracker, TAPE_A, TRK_ACCESS_WRITE), TRK_FAULT_RETRY);
    tape_as(tape, 0);
    query(tape, TAPE_A, G);
}

/* ---- logs that are not so -------------------------------------------------------------------- */

static struct trk_event *end_of(struct tape *tape, enum trk_op op, unsigned nth)
{
    for (unsigned i = 0;; i++) {
        struct trk_event *event = tape_find(tape, TRK_EVENT_OP_END, i);
        if (event->context == op && nth-- == 0)
            return event;
    }
}

static void another_sum(struct tape *tape)
{
    tracked(tape);
    end_of(tape, TRK_OP_GEN_QUERY, 1)->argument ^= 1;
}

static void another_count(struct tape *tape)
{
    tracked(tape);
    for (unsigned i = 0;; i++) {
        struct trk_event *event = tape_find(tape, TRK_EVENT_UNLOCK, i);
        if (trk_domain_class(event->domain) == TRK_DOMAIN_GENERATIONS) {
            event->pages++;
            return;
        }
    }
}

static void another_mapping(struct tape *tape)
{
    mapped(tape);
    tape_find(tape, TRK_EVENT_OPERAND, 1)->argument++;
}

static void denied_and_written(struct tape *tape)
{
    written(tape);
    end_of(tape, TRK_OP_HLE_WRITE, 1)->argument = 1;
}

static const struct verdict_case cases[] = {
    {"tracked, stored to, notified", tracked, "ok", 0, ""},
    {"both trackers on one page", both_trackers, "ok", 0, ""},
    {"mapped again", mapped, "ok", 0, ""},
    {"checked writes", written, "ok", 0, ""},
    {"views", views, "ok", 0, ""},
    {"a late second fault", late_store, "ok", 0, ""},
    {"another sum", another_sum, "divergence", TRK_EVENT_OP_END, ""},
    {"another count", another_count, "divergence", TRK_EVENT_UNLOCK, ""},
    {"another mapping", another_mapping, "divergence", 0, ""},
    {"denied and written", denied_and_written, "divergence", TRK_EVENT_OP_END, ""},
};

Test(generations, table)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        verdict_case_judge_with("generations", &cases[i]);
}

/* A log of a tracker without them, in the same words. */
static const struct verdict_case off_cases[] = {
    {"switched off", tracked, "ok", 0, ""},
    {"checked writes", written, "ok", 0, ""},
};

Test(generations, off)
{
    for (size_t i = 0; i < sizeof off_cases / sizeof *off_cases; i++)
        verdict_case_judge_with("default", &off_cases[i]);
}
