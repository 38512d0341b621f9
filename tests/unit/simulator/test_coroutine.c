/*
 * Goal: coroutines keep their stacks and registers apart, and may be destroyed where they stand.
 *
 * Method: bodies with large frames and live values, resumed in turn; a thousand abandoned ones.
 */
#include <criterion/criterion.h>

#include "coroutine.h"

struct counter {
    struct coroutine *coroutine;
    double half; /* lives in a register across yields, in the body's copy */
    unsigned steps, limit;
};

static void count(void *context)
{
    struct counter *self = context;
    volatile unsigned char frame[20000];
    double value = self->half;
    frame[0] = (unsigned char)self->limit;
    frame[sizeof frame - 1] = 1;
    while (self->steps < self->limit) {
        value = value * 2 + 1;
        self->half = value;
        self->steps += frame[sizeof frame - 1];
        coroutine_yield(self->coroutine);
    }
    self->limit = frame[0];
}

Test(coroutine, two_in_turn)
{
    struct counter left = {.half = 0.5, .limit = 10}, right = {.half = 8, .limit = 4};
    cr_assert_eq(coroutine_create(&left.coroutine, count, &left), TRK_OK);
    cr_assert_eq(coroutine_create(&right.coroutine, count, &right), TRK_OK);
    double expected_left = 0.5, expected_right = 8;
    for (unsigned i = 0; i < 10; i++) {
        coroutine_resume(left.coroutine);
        expected_left = expected_left * 2 + 1;
        cr_assert_eq(left.half, expected_left);
        cr_assert_eq(left.steps, i + 1);
        if (coroutine_done(right.coroutine))
            continue;
        coroutine_resume(right.coroutine);
        if (i < 4)
            expected_right = expected_right * 2 + 1;
        cr_assert_eq(right.half, expected_right);
    }
    cr_expect(coroutine_done(right.coroutine));
    cr_expect_not(coroutine_done(left.coroutine), "it stands in its last yield");
    coroutine_resume(left.coroutine);
    cr_expect(coroutine_done(left.coroutine));
    cr_expect_eq(left.limit, 10);
    coroutine_destroy(left.coroutine);
    coroutine_destroy(right.coroutine);
    coroutine_destroy(NULL);
}

/* More values live across a yield than there are kept registers. */
static void many_values(void *context)
{
    struct counter *self = context;
    unsigned long a = self->limit, b = a * 3, c = a * 5, d = a * 7, e = a * 11, f = a * 13;
    for (unsigned i = 0; i < 20; i++) {
        a += b;
        b ^= c;
        c += d;
        d ^= e;
        e += f;
        f ^= a;
        coroutine_yield(self->coroutine);
    }
    self->steps = (unsigned)(a + b + c + d + e + f);
}

Test(coroutine, registers)
{
    struct counter alone = {.limit = 5}, left = {.limit = 5}, right = {.limit = 9};
    cr_assert_eq(coroutine_create(&alone.coroutine, many_values, &alone), TRK_OK);
    cr_assert_eq(coroutine_create(&left.coroutine, many_values, &left), TRK_OK);
    cr_assert_eq(coroutine_create(&right.coroutine, many_values, &right), TRK_OK);
    while (!coroutine_done(alone.coroutine))
        coroutine_resume(alone.coroutine);
    while (!coroutine_done(left.coroutine)) {
        coroutine_resume(left.coroutine);
        coroutine_resume(right.coroutine);
    }
    cr_expect_eq(left.steps, alone.steps);
    cr_expect_neq(right.steps, alone.steps);
    coroutine_destroy(alone.coroutine);
    coroutine_destroy(left.coroutine);
    coroutine_destroy(right.coroutine);
}

Test(coroutine, abandoned)
{
    for (unsigned i = 0; i < 1000; i++) {
        struct counter counter = {.limit = 100};
        cr_assert_eq(coroutine_create(&counter.coroutine, count, &counter), TRK_OK);
        for (unsigned steps = 0; steps < i % 5; steps++)
            coroutine_resume(counter.coroutine);
        cr_assert_eq(counter.steps, i % 5);
        coroutine_destroy(counter.coroutine);
    }
}
