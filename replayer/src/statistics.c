#include "replayer/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"

/* Resampled medians. Their 2.5 % quantile then moves by a hundredth of its distance with the seed.
 */
#define RESAMPLES 10000u

static int compare_values(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void trk_statistics_sort(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_values);
}

double trk_statistics_quantile(const double *sorted, size_t count, double share)
{
    const double place = share * (double)(count - 1);
    const size_t below = (size_t)place;
    if (below + 1 >= count) {
        return sorted[count - 1];
    }
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

static double median(const double *sorted, size_t count)
{
    return trk_statistics_quantile(sorted, count, 0.5);
}

/*
 * The chance that of `tosses` fair coins at most `heads` show heads. Terms are taken relative to
 * the middle one, so that nothing underflows.
 */
static double coin_at_most(uint32_t tosses, uint32_t heads)
{
    const uint32_t middle = tosses / 2;
    double below = 0.0, total = 0.0, term = 1.0;
    for (uint32_t k = middle;; k--) {
        total += term;
        below += k <= heads ? term : 0.0;
        if (k == 0) {
            break;
        }
        term *= (double)k / (double)(tosses - k + 1);
    }
    term = 1.0;
    for (uint32_t k = middle + 1; k <= tosses; k++) {
        term *= (double)(tosses - k + 1) / (double)k;
        total += term;
        below += k <= heads ? term : 0.0;
    }
    return below / total;
}

static double sign_test(uint32_t slower, uint32_t faster)
{
    const uint32_t fewer = slower < faster ? slower : faster;
    const double p = 2.0 * coin_at_most(slower + faster, fewer);
    return p < 1.0 ? p : 1.0;
}

/* The greatest k for which the k-th smallest and k-th greatest of `count` values enclose the true
 * median 95 times in 100, counted from 0. At least TRK_STATISTICS_ROUNDS_LEAST values. */
static size_t order_rank(size_t count)
{
    size_t rank = 0;
    while (rank + 1 < count / 2 &&
           2.0 * coin_at_most((uint32_t)count, (uint32_t)rank + 1) <= 0.05) {
        rank++;
    }
    return rank;
}

/* The median of as many values as there are, drawn with putting back; counts is room for them. */
static double resampled_median(const double *sorted, uint32_t *counts, size_t count,
                               uint64_t *chance)
{
    memset(counts, 0, count * sizeof *counts);
    for (size_t i = 0; i < count; i++) {
        counts[trk_chance_below(chance, (uint32_t)count)]++;
    }
    const size_t lower = (count - 1) / 2, upper = count / 2;
    size_t seen = 0, at = 0;
    while (seen + counts[at] <= lower) {
        seen += counts[at++];
    }
    const double low = sorted[at];
    while (seen + counts[at] <= upper) {
        seen += counts[at++];
    }
    return (low + sorted[at]) / 2.0;
}

/*
 * Differences are kept as (b - a) / ((a + b) / 2), which changes its sign alone when a and b change
 * places; as a share of a it is this. The function grows, so medians and intervals go with it. A
 * difference is within 2 and -2; a sum of two can be outside of that, where no b is so much slower.
 */
static double share_of_a(double symmetric)
{
    return symmetric >= 2.0 ? (double)INFINITY : 2.0 * symmetric / (2.0 - symmetric);
}

static double greater(double a, double b)
{
    return a > b ? a : b;
}

/* From sorted symmetric differences and the resampled medians of these, sorted. */
static void interval_take(struct trk_comparison *out, const double *sorted, const double *medians)
{
    const size_t rank = order_rank(out->rounds);
    const double middle = median(sorted, out->rounds);
    double low = trk_statistics_quantile(medians, RESAMPLES, 0.025);
    double high = trk_statistics_quantile(medians, RESAMPLES, 0.975);
    /* Resampling few values makes the interval too narrow; the order of the values never does. */
    low = low < sorted[rank] ? low : sorted[rank];
    high = greater(high, sorted[out->rounds - 1 - rank]);
    const double missed = greater(middle - trk_statistics_quantile(medians, RESAMPLES, 0.05),
                                  trk_statistics_quantile(medians, RESAMPLES, 0.95) - middle);
    out->difference = share_of_a(middle);
    out->low = share_of_a(low);
    out->high = share_of_a(high);
    out->shown = low > 0.0 || high < 0.0;
    out->detectable = share_of_a(greater(middle - low, high - middle) + missed);
}

static void signs_take(struct trk_comparison *out, const double *differences)
{
    for (uint32_t i = 0; i < out->rounds; i++) {
        out->slower += differences[i] > 0.0;
        out->faster += differences[i] < 0.0;
    }
    out->equal = out->rounds - out->slower - out->faster;
    out->sign_p = sign_test(out->slower, out->faster);
}

struct room {
    double *differences;
    double *medians;
    uint32_t *counts;
};

static void comparison_take(struct trk_comparison *out, const struct room *room, const double *a_ns,
                            const double *b_ns, uint64_t seed)
{
    for (uint32_t i = 0; i < out->rounds; i++) {
        room->differences[i] = b_ns[i] - a_ns[i];
    }
    trk_statistics_sort(room->differences, out->rounds);
    out->difference_ns = median(room->differences, out->rounds);
    for (uint32_t i = 0; i < out->rounds; i++) {
        room->differences[i] = 2.0 * (b_ns[i] - a_ns[i]) / (b_ns[i] + a_ns[i]);
    }
    trk_statistics_sort(room->differences, out->rounds);
    signs_take(out, room->differences);
    for (uint32_t i = 0; i < RESAMPLES; i++) {
        room->medians[i] = resampled_median(room->differences, room->counts, out->rounds, &seed);
    }
    trk_statistics_sort(room->medians, RESAMPLES);
    interval_take(out, room->differences, room->medians);
}

enum trk_status trk_comparison_make(struct trk_comparison *out, const double *a_ns,
                                    const double *b_ns, size_t rounds, uint64_t seed,
                                    struct trk_error *error)
{
    if (rounds < TRK_STATISTICS_ROUNDS_LEAST || rounds > TRK_STATISTICS_ROUNDS_MOST) {
        return trk_error_set(error, TRK_E_ARGUMENT, "%zu rounds: not within %u to %u", rounds,
                             TRK_STATISTICS_ROUNDS_LEAST, TRK_STATISTICS_ROUNDS_MOST);
    }
    for (size_t i = 0; i < rounds; i++) {
        if (!(a_ns[i] > 0.0) || !(b_ns[i] > 0.0)) {
            return trk_error_set(error, TRK_E_ARGUMENT, "round %zu has a time that is not above 0",
                                 i);
        }
    }
    const struct room room = {
        .differences = calloc(rounds, sizeof(double)),
        .medians = calloc(RESAMPLES, sizeof(double)),
        .counts = calloc(rounds, sizeof(uint32_t)),
    };
    enum trk_status status = TRK_OK;
    if (room.differences == NULL || room.medians == NULL || room.counts == NULL) {
        status = trk_error_set(error, TRK_E_MEMORY, "no memory to compare %zu rounds", rounds);
    } else {
        *out = (struct trk_comparison){.rounds = (uint32_t)rounds};
        comparison_take(out, &room, a_ns, b_ns, seed);
    }
    free(room.differences);
    free(room.medians);
    free(room.counts);
    return status;
}
