/* Which part of all schedules breaks, by some of them. */
#include <stdlib.h>

#include "engine.h"
#include "random.h"

#define RUNS_MOST 1024u

/* A number that may be far larger than words: value * 2^shift, value below 2^56. */
struct weight {
    uint64_t value;
    uint32_t shift;
};

static struct weight times(struct weight weight, uint32_t by)
{
    weight.value *= by; /* by is at most ENGINE_THREADS */
    for (; weight.value >> 56 != 0; weight.value >>= 1)
        weight.shift++;
    return weight;
}

/* One schedule to its end. */
static struct weight run_one(const struct engine_program *program, uint64_t *random)
{
    struct weight weight = {.value = 1};
    uint8_t threads[ENGINE_THREADS];
    while (program->phase(program->context) == ENGINE_GOING) {
        uint32_t count = program->enabled(program->context, threads);
        if (count == 0) {
            program->deadlock(program->context);
            break;
        }
        uint32_t chosen = count > 1 ? random_below(random, count) : 0;
        program->step(program->context, threads[chosen], chosen == 0, NULL);
        weight = times(weight, count);
    }
    return weight;
}

static uint32_t percent_of(const struct weight *weights, const bool *fails, uint64_t runs)
{
    uint32_t largest = 0;
    schedule_count all = 0, failing = 0;
    for (uint64_t i = 0; i < runs; i++)
        largest = weights[i].shift > largest ? weights[i].shift : largest;
    for (uint64_t i = 0; i < runs; i++) {
        uint32_t below = largest - weights[i].shift;
        uint64_t part = below < 64 ? weights[i].value >> below : 0;
        all += part;
        failing += fails[i] ? part : 0;
    }
    return all == 0 ? 0 : (uint32_t)(failing * 100 / all);
}

enum trk_status engine_share(const struct engine_program *program, uint64_t runs, uint64_t fine,
                             uint32_t *percent)
{
    void *start = calloc(1, program->state_bytes);
    struct weight *weights = calloc(RUNS_MOST, sizeof *weights);
    bool *fails = calloc(RUNS_MOST, sizeof *fails);
    uint64_t random = 1;
    enum trk_status status = TRK_OK;
    runs = runs > RUNS_MOST ? RUNS_MOST : runs;
    if (weights == NULL || fails == NULL || start == NULL ||
        !program->save(program->context, start) || !engine_keep(program, start))
        status = TRK_E_MEMORY;
    for (uint64_t i = 0; i < runs && status == TRK_OK; i++) {
        uint32_t came = 0;
        if (i > 0)
            program->restore(program->context, start);
        weights[i] = run_one(program, &random);
        status = program->end(program->context, &came);
        fails[i] = !(fine >> came & 1);
    }
    if (status == TRK_OK)
        *percent = percent_of(weights, fails, runs);
    if (start != NULL)
        program->drop(program->context, start);
    free(start);
    free(weights);
    free(fails);
    return status;
}
