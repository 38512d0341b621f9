/*
 * Is B slower than A, by how much, and how sure is that?
 *
 * The samples are times of rounds: in a round each policy was run equally often, in an order that
 * is the same forwards and backwards (replayer/bench.h). All here goes by the paired differences,
 * one a round, and by their order, not their size: a round that something else disturbed counts as
 * one round, however long it took.
 *
 * What is said holds for correlated noise too. Which of the two orders a round has is drawn, so
 * without a difference each round's sign is the toss of a coin, whatever the noise does.
 */
#ifndef REPLAYER_STATISTICS_H
#define REPLAYER_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

TRK_EXTERN_C_BEGIN

/* With fewer rounds not even all signs alike prove a difference: 2 / 2^5 is more than 5 %. */
#define TRK_STATISTICS_ROUNDS_LEAST 6u
#define TRK_STATISTICS_ROUNDS_MOST  10000u

/* Fractions of A's time: 0.05 is five per cent slower than A, -0.05 five per cent faster. */
struct trk_comparison {
    uint32_t rounds;
    double difference; /* median of the rounds' differences */
    double low, high;  /* 95 % interval of it */
    double difference_ns;
    bool shown; /* the interval does not span 0 */
    /*
     * The smallest true difference that a run like this one, with as many rounds and as much
     * noise, shows 95 times in 100: half the interval's width (its longer side), and the 95 %
     * quantile of what the median misses by. Infinite where the rounds differ so much that none is
     * known to.
     */
    double detectable;
    uint32_t slower, faster, equal; /* rounds in which B was so */
    double sign_p;                  /* two-sided sign test over slower and faster */
};

/**
 * Compare two policies by their times in the same rounds.
 *
 * @param a_ns, b_ns  Times, above 0; a_ns[i] and b_ns[i] are of the same round.
 * @param rounds      TRK_STATISTICS_ROUNDS_LEAST to TRK_STATISTICS_ROUNDS_MOST.
 * @param seed        Of the resampling; the same samples and seed give the same answer.
 * @return TRK_OK; TRK_E_ARGUMENT: too few or many rounds, a time that is not above 0;
 *         TRK_E_MEMORY.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_comparison_make(struct trk_comparison *out, const double *a_ns,
                                                 const double *b_ns, size_t rounds, uint64_t seed,
                                                 struct trk_error *error);

/* Sort, ascending; and the value that the given share of sorted values lies below, 0 to 1. */
void trk_statistics_sort(double *values, size_t count);
double trk_statistics_quantile(const double *sorted, size_t count, double share);

TRK_EXTERN_C_END

#endif
