#include "replayer/bench.h"

#include <assert.h>
#include <stdlib.h>

#include "draw.h"

void trk_bench_order(uint32_t *out, uint32_t policies, uint32_t round, uint64_t seed)
{
    uint64_t chance = seed + round / 2;
    chance = trk_chance_next(&chance); /* so that neighbouring seeds have nothing in common */
    uint32_t drawn[TRK_BENCH_POLICIES_MOST] = {0};
    for (uint32_t i = 0; i < policies; i++) { /* i takes the place of one before it, or its own */
        const uint32_t place = trk_chance_below(&chance, i + 1);
        drawn[i] = drawn[place];
        drawn[place] = i;
    }
    for (uint32_t i = 0; i < policies; i++) {
        out[i] = drawn[round % 2 == 0 ? i : policies - 1 - i];
    }
}

static enum trk_status round_run(struct trk_bench *bench, const struct trk_bench_options *options,
                                 uint32_t round, struct trk_error *error)
{
    uint32_t order[TRK_BENCH_POLICIES_MOST];
    trk_bench_order(order, options->policies, round, options->seed);
    const uint32_t turn = 2 * options->policies;
    for (uint32_t place = 0; place < turn * options->turns; place++) {
        const uint32_t step = place % turn;
        struct trk_bench_pass *pass = &bench->passes[bench->pass_count];
        *pass = (struct trk_bench_pass){
            .round = round,
            .place = place,
            .policy = order[step < options->policies ? step : turn - 1 - step]};
        enum trk_status status = options->pass(options->context, pass->policy, &pass->times, error);
        if (status != TRK_OK) {
            return status;
        }
        bench->pass_count++;
    }
    return TRK_OK;
}

static enum trk_status warm_up(const struct trk_bench_options *options, struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    for (uint32_t policy = 0; status == TRK_OK && policy < options->policies; policy++) {
        struct trk_bench_times times;
        status = options->pass(options->context, policy, &times, error);
    }
    return status;
}

enum trk_status trk_bench_run(struct trk_bench *out, const struct trk_bench_options *options,
                              struct trk_error *error)
{
    assert(options->size == sizeof *options);
    assert(options->policies > 0 && options->policies <= TRK_BENCH_POLICIES_MOST);
    assert(options->rounds > 0 && options->rounds <= TRK_STATISTICS_ROUNDS_MOST);
    assert(options->turns > 0 && options->turns <= TRK_BENCH_TURNS_MOST);
    *out = (struct trk_bench){
        .policies = options->policies, .rounds = options->rounds, .turns = options->turns};
    out->passes = calloc(trk_bench_passes_of(out) * options->policies, sizeof *out->passes);
    if (out->passes == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for %u rounds", options->rounds);
    }
    enum trk_status status = options->warm ? TRK_OK : warm_up(options, error);
    out->rounds = 0;
    while (status == TRK_OK && out->rounds < options->rounds &&
           (out->rounds == 0 || options->more == NULL || options->more(options->context, out))) {
        status = round_run(out, options, out->rounds, error);
        out->rounds++;
    }
    if (status != TRK_OK) {
        trk_bench_free(out);
    }
    return status;
}

void trk_bench_free(struct trk_bench *bench)
{
    free(bench->passes);
    *bench = (struct trk_bench){.passes = NULL};
}

static uint64_t time_by(const struct trk_bench_pass *pass, enum trk_bench_clock clock)
{
    return clock == TRK_BENCH_DEVICE ? pass->times.device_ns : pass->times.host_ns;
}

bool trk_bench_has(const struct trk_bench *bench, uint32_t policy, enum trk_bench_clock clock)
{
    for (size_t i = 0; i < bench->pass_count; i++) {
        const struct trk_bench_pass *pass = &bench->passes[i];
        const uint64_t time = time_by(pass, clock);
        if (pass->policy == policy && (time == TRK_NOT_KNOWN || time == 0)) {
            return false;
        }
    }
    return bench->pass_count > 0;
}

size_t trk_bench_passes_of(const struct trk_bench *bench)
{
    return (size_t)2 * bench->turns * bench->rounds;
}

void trk_bench_times_of(const struct trk_bench *bench, uint32_t policy, enum trk_bench_clock clock,
                        double *out)
{
    size_t count = 0;
    for (size_t i = 0; i < bench->pass_count; i++) {
        if (bench->passes[i].policy == policy) {
            out[count++] = (double)time_by(&bench->passes[i], clock);
        }
    }
    assert(count == trk_bench_passes_of(bench));
    trk_statistics_sort(out, count);
}

enum trk_status trk_bench_compare(struct trk_comparison *out, const struct trk_bench *bench,
                                  const uint32_t pair[2], enum trk_bench_clock clock, uint64_t seed,
                                  struct trk_error *error)
{
    if (!trk_bench_has(bench, pair[0], clock) || !trk_bench_has(bench, pair[1], clock)) {
        return trk_error_set(error, TRK_E_ARGUMENT, "not every pass has a time of the %s's",
                             clock == TRK_BENCH_DEVICE ? "device" : "host");
    }
    double *rounds = calloc((size_t)2 * bench->rounds, sizeof *rounds);
    if (rounds == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory to compare %u rounds", bench->rounds);
    }
    double *const of[2] = {rounds, rounds + bench->rounds};
    for (size_t i = 0; i < bench->pass_count; i++) {
        const struct trk_bench_pass *pass = &bench->passes[i];
        const double time = (double)time_by(pass, clock);
        for (unsigned side = 0; side < 2; side++) {
            double *best = &of[side][pass->round];
            if (pass->policy == pair[side] && (*best == 0.0 || time < *best)) {
                *best = time;
            }
        }
    }
    enum trk_status status = trk_comparison_make(out, of[0], of[1], bench->rounds, seed, error);
    free(rounds);
    return status;
}

enum trk_bench_clock trk_bench_clock_of(const struct trk_bench *bench, const uint32_t pair[2])
{
    return trk_bench_has(bench, pair[0], TRK_BENCH_DEVICE) &&
                   trk_bench_has(bench, pair[1], TRK_BENCH_DEVICE)
               ? TRK_BENCH_DEVICE
               : TRK_BENCH_HOST;
}

/*
 * The number of rounds of the look before one with so many; 0: this is the first look, or none.
 * Numbers are even: behind each round there is the one that has its order reversed.
 */
static uint32_t look_before(uint32_t rounds)
{
    uint32_t look = TRK_BENCH_LOOK_FIRST, before = 0;
    while (look < rounds) {
        before = look;
        look += (look / 4 + 1) / 2 * 2;
    }
    return look == rounds ? before : 0;
}

static bool detects(const struct trk_bench *bench, const struct trk_bench_detect *detect,
                    uint64_t seed)
{
    for (uint32_t i = 1; i < detect->policies; i++) {
        struct trk_comparison comparison = {.rounds = 0};
        const uint32_t pair[2] = {0, i};
        const enum trk_bench_clock clock =
            detect->by_host ? TRK_BENCH_HOST : trk_bench_clock_of(bench, pair);
        if (trk_bench_compare(&comparison, bench, pair, clock, seed, NULL) != TRK_OK ||
            !(comparison.detectable <= detect->share)) {
            return false;
        }
    }
    return true;
}

bool trk_bench_detects(const struct trk_bench *bench, const struct trk_bench_detect *detect,
                       uint64_t seed)
{
    struct trk_bench before = *bench;
    before.rounds = look_before(bench->rounds);
    before.pass_count = trk_bench_passes_of(&before) * bench->policies;
    return before.rounds > 0 && detects(bench, detect, seed) && detects(&before, detect, seed);
}
