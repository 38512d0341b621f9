#include "bench_rates.h"

static double rate(const struct trk_bench_result *result, uint32_t policy,
                   enum trk_bench_clock clock)
{
    const struct trk_policy_runs *runs = result->runs;
    if (!trk_bench_has(&result->bench, policy, clock)) {
        return 0;
    }
    const double ns = trk_bench_spread_of(&result->bench, policy, clock).median;
    const uint64_t bytes = policy == runs->count
                               ? trk_one_region_bytes(runs->one)
                               : runs->plan->upload_bytes + runs->plan->download_bytes;
    return ns > 0 ? (double)bytes / ns : 0;
}

/* The policies that differ from the plainest one in their shape only. */
static bool plain(const struct trk_transfer_policy *policy, enum trk_policy_shape shape)
{
    struct trk_transfer_policy plainest;
    return trk_transfer_policy_parse(&plainest, "per-range", NULL) == TRK_OK &&
           policy->shape == shape && policy->path == plainest.path &&
           policy->queue == plainest.queue && policy->threads == plainest.threads &&
           policy->ring_bytes == plainest.ring_bytes &&
           policy->batch_bytes == plainest.batch_bytes && !(policy->slow > 0);
}

static bool find(const struct trk_policy_runs *runs, enum trk_policy_shape shape, uint32_t *out)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        if (plain(&runs->runs[i].policy, shape)) {
            *out = i;
            return true;
        }
    }
    return false;
}

struct trk_bench_rates trk_bench_rates_of(const struct trk_bench_result *result, uint32_t policy)
{
    struct trk_bench_rates rates = {.gbs = {0, 0}};
    const struct trk_policy_runs *runs = result->runs;
    uint32_t base = 0;
    const bool based = find(runs, TRK_SHAPE_PER_RANGE, &base);
    double link = 0;
    if (runs->one != NULL) {
        link = rate(result, runs->count, TRK_BENCH_DEVICE);
        link = link > 0 ? link : rate(result, runs->count, TRK_BENCH_HOST);
    }
    for (unsigned clock = 0; clock < 2; clock++) {
        const double base_rate = based ? rate(result, base, (enum trk_bench_clock)clock) : 0;
        rates.gbs[clock] = rate(result, policy, (enum trk_bench_clock)clock);
        rates.times[clock] = base_rate > 0 ? rates.gbs[clock] / base_rate : 0;
        rates.share[clock] = link > 0 ? rates.gbs[clock] / link : 0;
    }
    return rates;
}

bool trk_bench_gap_find(const struct trk_bench_result *result, struct trk_bench_gap *out)
{
    const struct trk_policy_runs *runs = result->runs;
    uint32_t own = 0;
    double most = 0;
    if (!find(runs, TRK_SHAPE_AUTO, &own)) {
        return false;
    }
    out->clock =
        trk_bench_has(&result->bench, own, TRK_BENCH_DEVICE) ? TRK_BENCH_DEVICE : TRK_BENCH_HOST;
    for (uint32_t i = 0; i < runs->count; i++) {
        if (!plain(&runs->runs[i].policy, TRK_SHAPE_COALESCE)) {
            continue;
        }
        const double at = rate(result, i, out->clock);
        if (at > most) {
            most = at;
            out->policy = i;
        }
    }
    const double own_rate = rate(result, own, out->clock);
    out->slower = most > 0 && own_rate > 0 ? most / own_rate - 1.0 : 0;
    return most > 0 && own_rate > 0;
}
