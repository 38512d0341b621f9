/*
 * Which policy suits a trace: for people, as JSON.
 */
#ifndef CLI_ADVICE_PRINT_H
#define CLI_ADVICE_PRINT_H

#include "bench_print.h"
#include "page_hashes.h"
#include "policy_runs.h"
#include "replayer/advice.h"

struct trk_advise_result {
    struct trk_policy_runs *runs; /* gpu NULL: there is no device, and nothing was measured */
    struct trk_page_hashes pages;
    struct trk_advice advice;
    uint64_t seed;
    uint32_t device_number;
    uint32_t rounds_wanted;
    struct trk_error no_device; /* why there is none */
    struct trk_bench bench;
    bool compared; /* there were enough rounds for it */
    uint32_t best;
    /* By the policies' numbers. */
    struct trk_gpu_cost costs[TRK_BENCH_POLICIES_MOST];
    double predicted_ns[TRK_BENCH_POLICIES_MOST];
    struct trk_bench_spread device[TRK_BENCH_POLICIES_MOST]; /* median below 0: not known */
    struct trk_bench_spread host[TRK_BENCH_POLICIES_MOST];
    struct trk_comparison against[TRK_BENCH_POLICIES_MOST]; /* the best, as b, with this one */
};

void trk_advise_print_text(const struct trk_advise_result *result);
void trk_advise_print_json(const struct trk_advise_result *result);

#endif
