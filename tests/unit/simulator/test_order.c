/*
 * Goal: order follows from signals and from nothing else, and never more than was signalled.
 *
 * Method: short histories of three streams, each with what must and must not be ordered.
 */
#include <criterion/criterion.h>

#include "order.h"

static struct order *order;

static void setup(void)
{
    cr_assert_eq(order_create(&order, 3), TRK_OK);
}

static void teardown(void)
{
    order_destroy(order);
}

static void release(uint32_t stream, uint64_t number, uint32_t timeline, uint64_t value)
{
    cr_assert_eq(order_signal(order, stream, number, timeline, value), TRK_OK);
}

Test(order, own_events, .init = setup, .fini = teardown)
{
    cr_expect(order_before(order, 1, 5, 1));
    cr_expect_not(order_before(order, 0, 0, 1));
}

Test(order, signal_before_await, .init = setup, .fini = teardown)
{
    release(0, 10, 7, 1);
    cr_expect_not(order_before(order, 0, 9, 1), "not awaited yet");
    order_await(order, 1, 7, 1);
    cr_expect(order_before(order, 0, 9, 1));
    cr_expect(order_before(order, 0, 10, 1));
    cr_expect_not(order_before(order, 0, 11, 1), "after the signal");
    cr_expect_not(order_before(order, 0, 9, 2));
}

Test(order, transitive, .init = setup, .fini = teardown)
{
    release(0, 10, 1, 1);
    order_await(order, 1, 1, 1);
    release(1, 20, 2, 1);
    order_await(order, 2, 2, 1);
    cr_expect(order_before(order, 0, 10, 2));
    cr_expect(order_before(order, 1, 20, 2));
}

Test(order, another_timeline, .init = setup, .fini = teardown)
{
    release(0, 10, 1, 1);
    order_await(order, 1, 2, 1);
    cr_expect_not(order_before(order, 0, 10, 1));
}

Test(order, a_smaller_value_joins_less, .init = setup, .fini = teardown)
{
    release(0, 10, 1, 5);
    release(0, 20, 1, 6);
    order_await(order, 1, 1, 5);
    cr_expect(order_before(order, 0, 10, 1));
    cr_expect_not(order_before(order, 0, 20, 1));
    order_await(order, 1, 1, 9);
    cr_expect(order_before(order, 0, 20, 1), "covers all that was signalled");
}

Test(order, value_accumulates_over_signallers, .init = setup, .fini = teardown)
{
    release(0, 10, 1, 1);
    release(1, 20, 1, 2);
    order_await(order, 2, 1, 2);
    cr_expect(order_before(order, 0, 10, 2));
    cr_expect(order_before(order, 1, 20, 2));
}

static void release_many(uint64_t count)
{
    for (uint64_t i = 1; i <= count; i++)
        release(0, 10 * i, 1, i);
}

Test(order, an_old_signal_is_still_known, .init = setup, .fini = teardown)
{
    static const uint64_t values[] = {1, 2, 17, 500, 999, 1000};
    release_many(1000);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        order_await(order, 1, 1, values[i]);
        cr_expect(order_before(order, 0, 10 * values[i], 1), "value %d", (int)values[i]);
        cr_expect_not(order_before(order, 0, 10 * values[i] + 1, 1), "value %d", (int)values[i]);
    }
    cr_expect_eq(order_forgot(order), 0);
}

Test(order, a_forgotten_signal_joins_nothing_and_is_missed, .init = setup, .fini = teardown)
{
    release_many(ORDER_SIGNALS_KEPT + 2);
    order_await(order, 1, 1, 3);
    cr_expect(order_before(order, 0, 30, 1));
    cr_expect_not(order_before(order, 0, 31, 1));
    order_await(order, 1, 1, 1);
    cr_expect_eq(order_forgot(order), 0, "known already, by a later one");
    order_await(order, 2, 1, 0);
    cr_expect_eq(order_forgot(order), 0, "nothing has so small a value");
    order_await(order, 2, 1, 2);
    cr_expect_not(order_before(order, 0, 10, 2));
    cr_expect_eq(order_forgot(order), 30, "from the oldest known signal on all order is known");
}

/* What all know is let go, and nobody misses it; nor what was forgotten before it. */
Test(order, a_signal_that_all_know_is_not_missed, .init = setup, .fini = teardown)
{
    for (uint64_t i = 1; i <= 4 * (uint64_t)ORDER_SIGNALS_KEPT; i++) {
        release(0, 10 * i, 1, i);
        if (i % 1000 == 0) {
            order_await(order, 1, 1, i);
            order_await(order, 2, 1, i);
        }
    }
    order_await(order, 1, 1, 1);
    order_await(order, 2, 1, 3 * (uint64_t)ORDER_SIGNALS_KEPT);
    cr_expect_eq(order_forgot(order), 0);
    order_await(order, 1, 1, 4 * (uint64_t)ORDER_SIGNALS_KEPT - 1);
    cr_expect(order_before(order, 0, 40 * (uint64_t)ORDER_SIGNALS_KEPT - 10, 1));
    cr_expect_not(order_before(order, 0, 40 * (uint64_t)ORDER_SIGNALS_KEPT - 9, 1));
}

Test(order, signals_with_one_value_are_one, .init = setup, .fini = teardown)
{
    for (uint64_t i = 1; i <= 3 * (uint64_t)ORDER_SIGNALS_KEPT; i++)
        release((uint32_t)(i % 2), i, 1, 7);
    order_await(order, 2, 1, 6);
    cr_expect_not(order_before(order, 0, 1, 2));
    cr_expect_eq(order_forgot(order), 0);
    order_await(order, 2, 1, 7);
    cr_expect(order_before(order, 0, 3 * (uint64_t)ORDER_SIGNALS_KEPT, 2));
    cr_expect(order_before(order, 1, 3 * (uint64_t)ORDER_SIGNALS_KEPT - 1, 2));
}

Test(order, a_falling_value_gives_no_edge, .init = setup, .fini = teardown)
{
    release(0, 10, 1, 5);
    release(0, 20, 1, 4);
    order_await(order, 1, 1, 9);
    cr_expect(order_before(order, 0, 10, 1));
    cr_expect_not(order_before(order, 0, 20, 1));
}

Test(order, more_timelines_than_fit, .init = setup, .fini = teardown)
{
    for (uint32_t t = 0; t < ORDER_TIMELINES_MAX + 10; t++)
        release(0, t, t * 64, 1);
    order_await(order, 1, (ORDER_TIMELINES_MAX + 5) * 64, 1);
    cr_expect_not(order_before(order, 0, 0, 1), "left out");
    cr_expect_eq(order_forgot(order), ORDER_TIMELINES_MAX + 10, "and missed");
    order_await(order, 1, 64 * 100, 1);
    cr_expect(order_before(order, 0, 100, 1));
    cr_expect_not(order_before(order, 0, 101, 1));
}
