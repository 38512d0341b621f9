/*
 * What a bench of policies found: for people, as JSON, as CSV.
 */
#ifndef CLI_BENCH_PRINT_H
#define CLI_BENCH_PRINT_H

#include <cjson/cJSON.h>

#include "policy_runs.h"

/* How a policy compares with the first one. */
struct trk_bench_verdict {
    uint32_t policy;
    enum trk_bench_clock clock; /* that they are compared by */
    struct trk_comparison comparison;
};

struct trk_bench_result {
    const struct trk_policy_runs *runs;
    struct trk_bench bench;
    uint64_t seed;
    uint32_t device_number;
    uint32_t rounds_wanted;
    struct trk_bench_verdict verdicts[TRK_BENCH_POLICIES_MOST];
    uint32_t verdict_count;
    bool interrupted;
    bool detected; /* all verdicts' detectable is as small as runs->detect asks for */
};

void trk_bench_print_text(const struct trk_bench_result *result);
void trk_bench_print_json(const struct trk_bench_result *result);
void trk_bench_print_csv(const struct trk_bench_result *result);

/* Median, 5 % and 95 % of a policy's passes, in ns. */
struct trk_bench_spread {
    double median, low, high;
};
struct trk_bench_spread trk_bench_spread_of(const struct trk_bench *bench, uint32_t policy,
                                            enum trk_bench_clock clock);

/* The trace and the device, as both commands that run policies print them. */
void trk_bench_print_head(const struct trk_policy_runs *runs, uint32_t device_number);
void trk_bench_json_head(cJSON *object, const struct trk_policy_runs *runs, uint32_t device_number);
/* The policies that the device cannot run, and why; in JSON a list "left_out". */
void trk_bench_print_left_out(const struct trk_policy_runs *runs);
void trk_bench_json_left_out(cJSON *object, const struct trk_policy_runs *runs);

/* "4.97 % slower", "1.20 times as fast" ..., and the interval; into out. */
void trk_bench_say_difference(const struct trk_comparison *comparison, char *out, size_t size);
/* "3.21 %", or that it is not known. */
void trk_bench_say_detectable(const struct trk_comparison *comparison, char *out, size_t size);
void trk_bench_json_detectable(cJSON *object, const struct trk_comparison *comparison);

#endif
