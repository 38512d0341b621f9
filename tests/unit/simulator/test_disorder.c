/*
 * Goal: it is known of every two events of a trace whether something that stands elsewhere may have
 * come between them, as far as is known without room for all of them.
 *
 * Method: orders by hand; then random ones against a slow twin that compares every two events, and
 * one of more blocks than are kept, where nothing that is out of order may be forgotten.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "disorder.h"

static void add(struct disorder *disorder, unsigned type, uint64_t number, uint64_t tsc)
{
    const struct trk_trace_event event = {
        .number = number, .tsc = tsc, .event = {.type = (uint8_t)type}};
    cr_assert_eq(disorder_add(disorder, &event), TRK_OK);
}

static struct disorder of_times(const uint64_t *times, size_t count, size_t view)
{
    struct disorder disorder = {.blocks = NULL};
    for (size_t i = 0; i < count; i++)
        add(&disorder, i == view ? TRK_EVENT_MAP : TRK_EVENT_COPY_END, i, times[i]);
    disorder_finish(&disorder);
    return disorder;
}

Test(disorder, in_order)
{
    static const uint64_t times[] = {1, 2, 2, 2, 3, 9};
    struct disorder disorder = of_times(times, 6, 3);
    cr_expect_not(disorder_between(&disorder, 0, 5));
    cr_expect_not(disorder_of_views(&disorder, 0, 5));
    disorder_deinit(&disorder);
    cr_expect_not(disorder_between(NULL, 0, 5));
}

Test(disorder, a_thread_that_waited)
{
    /* 1 and 2 went on while 3 and 4 waited. */
    static const uint64_t times[] = {1, 20, 30, 5, 25, 31, 32};
    struct disorder disorder = of_times(times, 7, 4);
    cr_expect_not(disorder_between(&disorder, 0, 0));
    cr_expect(disorder_between(&disorder, 0, 1));
    cr_expect(disorder_between(&disorder, 4, 6));
    cr_expect_not(disorder_between(&disorder, 5, 6));
    cr_expect(disorder_of_views(&disorder, 0, 1), "the change of views is one of these");
    cr_expect_not(disorder_of_views(&disorder, 5, 6));
    disorder_deinit(&disorder);
    disorder = of_times(times, 7, 6);
    cr_expect(disorder_between(&disorder, 0, 6));
    cr_expect_not(disorder_of_views(&disorder, 0, 6), "where that stands is no guess");
    disorder_deinit(&disorder);
}

Test(disorder, locks_alone_are_none)
{
    struct disorder disorder = {.blocks = NULL};
    add(&disorder, TRK_EVENT_COPY_END, 0, 10);
    add(&disorder, TRK_EVENT_UNLOCK, 1, 90);
    add(&disorder, TRK_EVENT_LOCK, 2, 20);
    add(&disorder, TRK_EVENT_COPY_END, 3, 30);
    disorder_finish(&disorder);
    cr_expect_not(disorder_between(&disorder, 0, 3));
    disorder_deinit(&disorder);
}

#define EVENTS 40u

/* Whether some event of those in the range and some event at all stand the wrong way round. */
static bool slow_between(const uint64_t *times, size_t first, size_t last)
{
    for (size_t i = first; i <= last; i++)
        for (size_t j = 0; j < EVENTS; j++)
            for (size_t k = j + 1; k < EVENTS; k++)
                if (j <= i && i <= k && times[j] > times[k])
                    return true;
    return false;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

Test(disorder, random_orders)
{
    uint64_t dice = 5;
    for (unsigned round = 0; round < 200; round++) {
        uint64_t times[EVENTS];
        for (size_t i = 0; i < EVENTS; i++)
            times[i] = i * 10 + (next_random(&dice) % 4 == 0 ? next_random(&dice) % 60 : 0);
        struct disorder disorder = of_times(times, EVENTS, EVENTS);
        for (size_t first = 0; first < EVENTS; first += 3)
            for (size_t last = first; last < EVENTS; last += 2)
                cr_assert_eq(disorder_between(&disorder, first, last),
                             slow_between(times, first, last), "round %u, %zu to %zu", round, first,
                             last);
        disorder_deinit(&disorder);
    }
}

/* One event in 16 stands a little late; an early one and a very late one are out of order by far.
 */
Test(disorder, more_than_are_kept)
{
    const uint64_t events = 4 * DISORDER_BLOCKS_MAX;
    struct disorder disorder = {.blocks = NULL};
    for (uint64_t i = 0; i < events; i++)
        add(&disorder, i == 777 ? TRK_EVENT_UNMAP : TRK_EVENT_COPY_END, i,
            10 * i - (i % 16 == 15 ? 15 : 0) + (i == 777 ? 1000 : 0));
    disorder_finish(&disorder);
    cr_assert_leq(disorder.count, DISORDER_BLOCKS_MAX);
    for (uint64_t i = 15; i < events; i += 16)
        cr_assert(disorder_between(&disorder, i - 1, i - 1) && disorder_between(&disorder, i, i));
    cr_expect(disorder_of_views(&disorder, 800, 800));
    cr_expect_not(disorder_between(&disorder, events - 16, events - 4), "the newest are fine");
    disorder_deinit(&disorder);
}
