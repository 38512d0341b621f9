/*
 * Goal: intervals, signs and the smallest detectable difference are what docs/performance.md says.
 * Method: samples whose answer can be counted by hand; samples of known distributions are in
 * test_bench.c.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "replayer/statistics.h"

#define ROUNDS 20

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

Test(statistics, quantiles)
{
    double values[] = {5, 1, 4, 2, 3};
    trk_statistics_sort(values, 5);
    cr_expect_eq(values[0], 1);
    cr_expect_eq(values[4], 5);
    cr_expect(near(trk_statistics_quantile(values, 5, 0.5), 3));
    cr_expect(near(trk_statistics_quantile(values, 5, 0.0), 1));
    cr_expect(near(trk_statistics_quantile(values, 5, 1.0), 5));
    cr_expect(near(trk_statistics_quantile(values, 5, 0.125), 1.5));
    cr_expect(near(trk_statistics_quantile(values, 1, 0.5), 1));
}

/* Without noise the difference is exact and the interval a point. */
Test(statistics, exact)
{
    double a[ROUNDS], b[ROUNDS];
    struct trk_comparison out;
    for (unsigned i = 0; i < ROUNDS; i++) {
        a[i] = 1000.0 * (i + 1); /* the machine gets slower and slower: the pairs do not care */
        b[i] = a[i] * 1.05;
    }
    cr_assert_eq(trk_comparison_make(&out, a, b, ROUNDS, 1, NULL), TRK_OK);
    cr_expect(near(out.difference, 0.05));
    cr_expect(near(out.low, 0.05));
    cr_expect(near(out.high, 0.05));
    cr_expect(near(out.detectable, 0.0));
    cr_expect(out.shown);
    cr_expect_eq(out.slower, ROUNDS);
    cr_expect_eq(out.faster, 0);
    cr_expect(near(out.sign_p, 2.0 / (1u << 20)));
    cr_expect(near(out.difference_ns, 525.0));
    cr_assert_eq(trk_comparison_make(&out, b, a, ROUNDS, 1, NULL), TRK_OK);
    cr_expect(near(out.difference, 1 / 1.05 - 1));
    cr_expect(out.shown);
    cr_expect_eq(out.faster, ROUNDS);
    cr_assert_eq(trk_comparison_make(&out, a, a, ROUNDS, 1, NULL), TRK_OK);
    cr_expect_not(out.shown);
    cr_expect_eq(out.equal, ROUNDS);
    cr_expect(near(out.sign_p, 1.0));
}

/* Of ten coins, two or fewer heads or tails: 2 * (1 + 10 + 45) / 1024. */
Test(statistics, signs)
{
    double a[10], b[10];
    struct trk_comparison out;
    for (unsigned i = 0; i < 10; i++) {
        a[i] = 100;
        b[i] = i < 2 ? 90 : 110;
    }
    cr_assert_eq(trk_comparison_make(&out, a, b, 10, 1, NULL), TRK_OK);
    cr_expect_eq(out.faster, 2);
    cr_expect_eq(out.slower, 8);
    cr_expect(near(out.sign_p, 112.0 / 1024));
    cr_expect_not(out.shown, "the order's interval is from the second to the ninth");
}

/* Rounds that something disturbed do not move the middle, however long they took. */
Test(statistics, outliers)
{
    double a[ROUNDS], b[ROUNDS];
    struct trk_comparison out;
    for (unsigned i = 0; i < ROUNDS; i++) {
        a[i] = 1000 + (double)(i * 7 % 5);
        b[i] = 1.02 * (1000 + (double)(i * 3 % 5));
    }
    b[3] = 1e6;
    a[8] = 1e9;
    b[14] = 1e12;
    cr_assert_eq(trk_comparison_make(&out, a, b, ROUNDS, 1, NULL), TRK_OK);
    cr_expect(out.shown);
    cr_expect(fabs(out.difference - 0.02) < 0.002, "%f", out.difference);
    cr_expect_lt(out.detectable, 0.01);
}

/* Rounds that differ so much that no size of a difference would be sure to show. */
Test(statistics, nothing_detectable)
{
    const double a[6] = {1, 1, 1, 1, 1, 6}, b[6] = {1, 1, 8, 1, 6, 1};
    struct trk_comparison out;
    cr_assert_eq(trk_comparison_make(&out, a, b, 6, 1, NULL), TRK_OK);
    cr_expect(isinf(out.detectable) && out.detectable > 0, "%f", out.detectable);
    cr_expect_not(out.shown);
    for (unsigned i = 0; i < 900; i++) { /* and never below 0, however many rounds are disturbed */
        double one[18], two[18];
        uint64_t chance = i;
        for (unsigned k = 0; k < 18; k++) {
            chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            one[k] = 100.0 * (chance >> 61 == 0 ? 9.0 : 1.0);
            two[k] = 101.0 * ((chance >> 58) % 8 == 0 ? 9.0 : 1.0) + (double)k;
        }
        cr_assert_eq(trk_comparison_make(&out, one, two, i % 2 == 0 ? 6 : 18, i, NULL), TRK_OK);
        cr_expect_geq(out.detectable, 0.0, "%u: %f", i, out.detectable);
    }
}

/* The same samples and seed give the same bytes; another seed moves an end by a little at most. */
Test(statistics, deterministic)
{
    double a[ROUNDS], b[ROUNDS];
    struct trk_comparison one, two;
    for (unsigned i = 0; i < ROUNDS; i++) {
        a[i] = 1000 + (double)(i * 13 % 20);
        b[i] = 1000 + (double)(i * 11 % 20);
    }
    cr_assert_eq(trk_comparison_make(&one, a, b, ROUNDS, 7, NULL), TRK_OK);
    cr_assert_eq(trk_comparison_make(&two, a, b, ROUNDS, 7, NULL), TRK_OK);
    cr_expect_eq(one.low, two.low);
    cr_expect_eq(one.high, two.high);
    cr_expect_eq(one.detectable, two.detectable);
    cr_assert_eq(trk_comparison_make(&two, a, b, ROUNDS, 8, NULL), TRK_OK);
    cr_expect(fabs(one.low - two.low) < 0.002);
    cr_expect(fabs(one.high - two.high) < 0.002);
}

Test(statistics, refused)
{
    const double times[6] = {1, 1, 1, 1, 1, 1}, none[6] = {1, 1, 1, 0, 1, 1};
    struct trk_comparison out;
    struct trk_error error;
    cr_expect_eq(trk_comparison_make(&out, times, times, 5, 1, &error), TRK_E_ARGUMENT);
    cr_expect_str_eq(error.text, "5 rounds: not within 6 to 10000");
    cr_expect_eq(trk_comparison_make(&out, times, none, 6, 1, &error), TRK_E_ARGUMENT);
    cr_expect_str_eq(error.text, "round 3 has a time that is not above 0");
    cr_expect_eq(trk_comparison_make(&out, times, times, 10001, 1, NULL), TRK_E_ARGUMENT);
}
