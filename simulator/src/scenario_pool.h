/*
 * Memory that is given back as a whole.
 *
 * Coroutines are destroyed where they stand, so whatever a run takes must not hang on a stack.
 */
#ifndef SIMULATOR_SCENARIO_POOL_H
#define SIMULATOR_SCENARIO_POOL_H

#include <stddef.h>

struct scenario_pool {
    struct scenario_pool_block *newest;
};

/* Zeroed, aligned for anything; NULL when there is none. */
void *scenario_pool_take(struct scenario_pool *pool, size_t size_bytes);
/* A copy of the first length bytes of text, ended. */
char *scenario_pool_text(struct scenario_pool *pool, const char *text, size_t length);
void scenario_pool_deinit(struct scenario_pool *pool);

/*
 * Make room for one element more in an array of the pool; the old one stays behind. NULL when there
 * is no memory, otherwise the array.
 */
void *scenario_pool_grow(struct scenario_pool *pool, void *array, size_t count, size_t *capacity,
                         size_t element_bytes);

#endif
