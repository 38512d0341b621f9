/* Memory that is given back as a whole: blocks of a fixed size, and large pieces of their own. */
#include "scenario_pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 65536u
#define ALIGN_BYTES 16u

struct scenario_pool_block {
    struct scenario_pool_block *older;
    size_t used, size;
    size_t former; /* used before a restore */
    _Alignas(ALIGN_BYTES) unsigned char bytes[];
};

/* Blocks of the usual size that nobody has, all zeros: a run wants a dozen, and runs are short. */
#define SPARE_MOST 64u
static struct scenario_pool_block *spare;
static unsigned spare_count;

static struct scenario_pool_block *spare_take(void)
{
    struct scenario_pool_block *block = spare;
    spare = block->older;
    spare_count--;
    return block;
}

static void block_free(struct scenario_pool_block *block)
{
    if (block->size != BLOCK_BYTES || spare_count == SPARE_MOST) {
        free(block);
        return;
    }
    memset(block->bytes, 0, block->used);
    block->used = block->former = 0;
    block->older = spare;
    spare = block;
    spare_count++;
}

static struct scenario_pool_block *block_add(struct scenario_pool *pool, size_t size_bytes)
{
    struct scenario_pool_block *block = size_bytes == BLOCK_BYTES && spare != NULL
                                            ? spare_take()
                                            : calloc(1, sizeof *block + size_bytes);
    if (block == NULL)
        return NULL;
    block->size = size_bytes;
    block->older = pool->newest;
    pool->newest = block;
    return block;
}

void *scenario_pool_take(struct scenario_pool *pool, size_t size_bytes)
{
    if (size_bytes > SIZE_MAX / 2)
        return NULL;
    size_bytes = (size_bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    struct scenario_pool_block *block = pool->newest;
    if (block == NULL || block->size - block->used < size_bytes)
        block = block_add(pool, size_bytes > BLOCK_BYTES ? size_bytes : BLOCK_BYTES);
    if (block == NULL)
        return NULL;
    void *taken = block->bytes + block->used;
    block->used += size_bytes;
    return taken;
}

char *scenario_pool_text(struct scenario_pool *pool, const char *text, size_t length)
{
    char *copy = scenario_pool_take(pool, length + 1);
    if (copy != NULL)
        memcpy(copy, text, length);
    return copy;
}

void *scenario_pool_grow(struct scenario_pool *pool, void *array, size_t count, size_t *capacity,
                         size_t element_bytes)
{
    if (count < *capacity)
        return array;
    size_t more = *capacity == 0 ? 8 : *capacity * 2;
    void *larger = scenario_pool_take(pool, more * element_bytes);
    if (larger == NULL)
        return NULL;
    if (count > 0)
        memcpy(larger, array, count * element_bytes);
    *capacity = more;
    return larger;
}

void scenario_pool_deinit(struct scenario_pool *pool)
{
    while (pool->newest != NULL) {
        struct scenario_pool_block *older = pool->newest->older;
        block_free(pool->newest);
        pool->newest = older;
    }
}

/* Give blocks back that are newer than one. */
static void free_newer(struct scenario_pool_block *block, const struct scenario_pool_block *kept)
{
    while (block != kept) {
        struct scenario_pool_block *older = block->older;
        block_free(block);
        block = older;
    }
}

void scenario_pool_reset(struct scenario_pool *pool)
{
    struct scenario_pool_block *block = pool->newest;
    /* More blocks than one stay as they are: a former state may want them back. */
    if (block == NULL || block->older != NULL)
        return;
    memset(block->bytes, 0, block->used);
    block->used = 0;
}

void scenario_pool_blocks(const struct scenario_pool *pool, scenario_piece_fn *piece, void *context)
{
    for (struct scenario_pool_block *block = pool->newest; block != NULL; block = block->older)
        if (block->used > 0)
            piece(context, block->bytes, block->used);
}

void scenario_pool_pieces(struct scenario_pool *pool, scenario_piece_fn *piece, void *context)
{
    for (struct scenario_pool_block *block = pool->newest; block != NULL; block = block->older) {
        piece(context, &block->used, sizeof block->used);
        if (block->used > 0)
            piece(context, block->bytes, block->used);
    }
}

struct scenario_pool_block *scenario_pool_restore_begin(struct scenario_pool *pool)
{
    for (struct scenario_pool_block *block = pool->newest; block != NULL; block = block->older)
        block->former = block->used;
    return pool->newest;
}

void scenario_pool_restore_end(struct scenario_pool *pool, struct scenario_pool_block *begun)
{
    struct scenario_pool_block *newest = pool->newest;
    free_newer(begun, newest);
    if (newest != NULL && newest->former > newest->used)
        memset(newest->bytes + newest->used, 0, newest->former - newest->used);
}
