/*
 * What the figures of a bench amount to: rates, against per-range and against the link's own.
 */
#ifndef CLI_BENCH_RATES_H
#define CLI_BENCH_RATES_H

#include "bench_print.h"

/* By a clock: 0 is the host's, 1 the device's, as in enum trk_bench_clock. A figure that is not
 * known is 0. */
struct trk_bench_rates {
    double gbs[2];   /* 10^9 bytes that were asked for a second; of one region: that were copied */
    double times[2]; /* how many times per-range's rate */
    double share[2]; /* of what the link gives in one region, by the device's clock if it has one */
};

/* The number of a policy, or the number behind the last: one region. */
struct trk_bench_rates trk_bench_rates_of(const struct trk_bench_result *result, uint32_t policy);

/* auto against the fastest gap that was chosen by hand. */
struct trk_bench_gap {
    uint32_t policy; /* the one with that gap */
    enum trk_bench_clock clock;
    double slower; /* auto's time is so much more, as a share: 0.05 */
};

/* False: there is no auto, or no gap beside it. */
bool trk_bench_gap_find(const struct trk_bench_result *result, struct trk_bench_gap *out);

#endif
