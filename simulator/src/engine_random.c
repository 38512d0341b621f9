/* Random schedules of a program. */
#include <stdlib.h>

#include "engine.h"
#include "random.h"

static enum trk_status run_one(const struct engine_program *program, uint64_t *state,
                               struct engine_result *result)
{
    uint8_t threads[ENGINE_THREADS];
    while (program->phase(program->context) == ENGINE_GOING) {
        uint32_t count = program->enabled(program->context, threads);
        if (count == 0) {
            program->deadlock(program->context);
            break;
        }
        uint32_t chosen = count > 1 ? random_below(state, count) : 0;
        program->step(program->context, threads[chosen], chosen == 0, NULL);
        result->steps++;
    }
    result->schedules++;
    return program->end(program->context, NULL);
}

enum trk_status engine_random(const struct engine_program *program, uint64_t runs, uint64_t seed,
                              struct engine_result *result)
{
    void *start = calloc(1, program->state_bytes);
    uint64_t state = seed;
    enum trk_status status = TRK_OK;
    *result = (struct engine_result){0};
    if (start == NULL || !program->save(program->context, start) || !engine_keep(program, start))
        status = TRK_E_MEMORY;
    for (uint64_t i = 0; i < runs && status == TRK_OK; i++) {
        if (i > 0)
            program->restore(program->context, start);
        status = run_one(program, &state, result);
    }
    if (start != NULL)
        program->drop(program->context, start);
    free(start);
    return status;
}
