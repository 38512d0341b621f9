/*
 * Goal: work that can wait is done by a thread that comes last, work that cannot by the caller;
 * either is done when the call comes back, so that what it wrote needs no lock.
 * Method: work that notes who did it, how nice that was and how long its slices are, and counts;
 * both kinds in turn. Linux before 6.12 tells of no slices.
 */
#define _GNU_SOURCE /* SCHED_BATCH, gettid */
#include <criterion/criterion.h>
#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record_ease.h"
#include "record_internal.h"

#define TURNS         1000u
#define LONG_SLICE_NS UINT64_C(100000000)
#define ATTR_WORDS    6 /* of sched_getattr(2) */
#define ATTR_SLICE    3

struct noted {
    unsigned count;
    pid_t thread;
    int nice, policy;
    uint64_t slice_ns;
};

static uint64_t slice_ns(void)
{
    uint64_t attr[ATTR_WORDS] = {0};
    cr_assert_eq(syscall(SYS_sched_getattr, 0, attr, sizeof attr, 0), 0);
    return attr[ATTR_SLICE];
}

static void note(void *context)
{
    struct noted *noted = context;
    noted->count++;
    noted->thread = gettid();
    noted->nice = getpriority(PRIO_PROCESS, 0);
    noted->policy = sched_getscheduler(0);
    noted->slice_ns = slice_ns();
}

Test(ease, who_works)
{
    struct trk_record_ease ease;
    struct noted noted = {.count = 0};
    const int nice = getpriority(PRIO_PROCESS, 0);
    const int nicer = nice + 10 < 19 ? nice + 10 : 19;
    const uint64_t slice = slice_ns();
    trk_record_ease_init(&ease);
    for (unsigned i = 0; i < TURNS; i++) {
        const bool hurry = i % 3 == 0;
        trk_record_ease_do(&ease, hurry, note, &noted);
        cr_assert_eq(noted.count, i + 1);
        cr_assert_eq(noted.thread == gettid(), hurry, "turn %u", i);
        cr_assert_eq(noted.nice, hurry ? nice : nicer, "turn %u: nice %d", i, noted.nice);
        cr_assert_eq(noted.policy == SCHED_BATCH, !hurry, "turn %u", i);
        cr_assert_eq(noted.slice_ns, slice == 0 || hurry ? slice : LONG_SLICE_NS, "turn %u", i);
    }
    trk_record_ease_deinit(&ease);
}

/* No thread: everything is the caller's. */
Test(ease, alone)
{
    struct trk_record_ease ease = {.started = false};
    struct noted noted = {.count = 0};
    trk_record_ease_do(&ease, false, note, &noted);
    cr_expect_eq(noted.count, 1);
    cr_expect_eq(noted.thread, gettid());
}

/* Who gives way and gets no processor for long is relieved, for a second and not once. */
Test(ease, late)
{
    const uint64_t now = trk_record_now_ns();
    struct trk_record_turns turns = {.ended_ns = now, .next_ms = 1000};
    cr_expect_not(trk_record_turns_late(&turns), "in time");
    cr_expect_not(turns.hurry);
    turns = (struct trk_record_turns){.next_ms = 1};
    cr_expect_not(trk_record_turns_late(&turns), "none has been");
    turns = (struct trk_record_turns){.ended_ns = now - UINT64_C(500000000), .next_ms = 1};
    cr_expect(trk_record_turns_late(&turns));
    cr_expect(turns.hurry);
    cr_expect_eq(turns.next_ms, 0);
    cr_expect_geq(turns.hurried_to_ns, now + UINT64_C(1000000000));
    cr_expect_not(trk_record_turns_late(&turns), "in a hurry already");
}
