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

/* ---- going back to a former state ------------------------------------------------------------ */

/* Forget all that was taken, if it is little. */
void scenario_pool_reset(struct scenario_pool *pool);

typedef void scenario_piece_fn(void *context, void *memory, size_t size_bytes);

/* Visit all that was taken. */
void scenario_pool_blocks(const struct scenario_pool *pool, scenario_piece_fn *piece,
                          void *context);
/* Visit all that was taken, and how much that is; the pool itself is a piece of its owner's. */
void scenario_pool_pieces(struct scenario_pool *pool, scenario_piece_fn *piece, void *context);
/* Around putting former pieces back, that of the pool too. begin gives what end wants. */
struct scenario_pool_block *scenario_pool_restore_begin(struct scenario_pool *pool);
void scenario_pool_restore_end(struct scenario_pool *pool, struct scenario_pool_block *begun);

#endif
