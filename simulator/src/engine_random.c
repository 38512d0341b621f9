/* Random schedules of a program, and which part of all schedules breaks, by some of them. */
#include <stdlib.h>

#include "chance.h"
#include "engine.h"

#define RUNS_MOST 1024u /* that are weighed */

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

/* Schedules from one state on. */
struct drawing {
    const struct engine_program *program;
    void *start;
    uint64_t random, steps;
    struct weight weight; /* of the last one: how many choices it had where it chose */
};

/* false: no memory. Deinit it either way. */
static bool drawing_init(struct drawing *drawing, const struct engine_program *program,
                         uint64_t seed)
{
    *drawing = (struct drawing){.program = program, .random = seed};
    drawing->start = calloc(1, program->state_bytes);
    return drawing->start != NULL && program->save(program->context, drawing->start) &&
           engine_keep(program, drawing->start);
}

static void drawing_deinit(struct drawing *drawing)
{
    if (drawing->start != NULL)
        drawing->program->drop(drawing->program->context, drawing->start);
    free(drawing->start);
}

/* One schedule to its end; all but the first begin by going back. */
static enum trk_status draw(struct drawing *drawing, bool first, uint32_t *came)
{
    const struct engine_program *program = drawing->program;
    uint8_t threads[ENGINE_THREADS];
    drawing->weight = (struct weight){.value = 1};
    if (!first)
        program->restore(program->context, drawing->start);
    while (program->phase(program->context) == ENGINE_GOING) {
        uint32_t count = program->enabled(program->context, threads);
        if (count == 0) {
            program->deadlock(program->context);
            break;
        }
        uint32_t chosen = count > 1 ? random_below(&drawing->random, count) : 0;
        program->step(program->context, threads[chosen], chosen == 0, NULL);
        drawing->steps++;
        drawing->weight = times(drawing->weight, count);
    }
    return program->end(program->context, came);
}

enum trk_status engine_random(const struct engine_program *program, uint64_t runs, uint64_t seed,
                              struct engine_result *result)
{
    struct drawing drawing;
    enum trk_status status = drawing_init(&drawing, program, seed) ? TRK_OK : TRK_E_MEMORY;
    *result = (struct engine_result){0};
    for (; result->schedules < runs && status == TRK_OK; result->schedules++)
        status = draw(&drawing, result->schedules == 0, NULL);
    result->steps = drawing.steps;
    drawing_deinit(&drawing);
    return status;
}

/* ---- a part of all --------------------------------------------------------------------------- */

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
    struct weight weights[RUNS_MOST];
    bool fails[RUNS_MOST];
    struct drawing drawing;
    enum trk_status status = drawing_init(&drawing, program, 1) ? TRK_OK : TRK_E_MEMORY;
    runs = runs > RUNS_MOST ? RUNS_MOST : runs;
    for (uint64_t i = 0; i < runs && status == TRK_OK; i++) {
        uint32_t came = 0;
        status = draw(&drawing, i == 0, &came);
        weights[i] = drawing.weight;
        fails[i] = !(fine >> came & 1);
    }
    if (status == TRK_OK)
        *percent = percent_of(weights, fails, runs);
    drawing_deinit(&drawing);
    return status;
}
