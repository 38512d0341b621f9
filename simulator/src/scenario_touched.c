/* What differs from the beginning, in chunks. */
#include "scenario_touched.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES 256u

/* A block of the pool. */
struct span {
    unsigned char *first;
    unsigned char *before; /* as it was in the beginning: chunks whose bit is set */
    uint64_t *bits;
    size_t size;
};

struct touched {
    struct span *spans; /* ascending */
    size_t count;
    bool no_memory;
};

static void span_deinit(struct span *span)
{
    free(span->before);
    free(span->bits);
}

static void span_add(void *context, void *memory, size_t size_bytes)
{
    struct touched *touched = context;
    struct span span = {.first = memory, .size = size_bytes};
    struct span *spans = realloc(touched->spans, (touched->count + 1) * sizeof *spans);
    if (spans != NULL)
        touched->spans = spans;
    /* Large ones are mapped by the allocator, and take memory only where they are written. */
    span.before = calloc(1, size_bytes);
    span.bits = calloc(size_bytes / CHUNK_BYTES / 64 + 1, sizeof *span.bits);
    if (spans == NULL || span.before == NULL || span.bits == NULL) {
        span_deinit(&span);
        touched->no_memory = true;
        return;
    }
    size_t place = touched->count++;
    for (; place > 0 && (uintptr_t)spans[place - 1].first > (uintptr_t)span.first; place--)
        spans[place] = spans[place - 1];
    spans[place] = span;
}

struct touched *touched_create(const struct scenario_pool *pool)
{
    struct touched *touched = calloc(1, sizeof *touched);
    if (touched == NULL)
        return NULL;
    scenario_pool_blocks(pool, span_add, touched);
    if (touched->no_memory) {
        touched_destroy(touched);
        return NULL;
    }
    return touched;
}

void touched_destroy(struct touched *touched)
{
    if (touched == NULL)
        return;
    for (size_t i = 0; i < touched->count; i++)
        span_deinit(&touched->spans[i]);
    free(touched->spans);
    free(touched);
}

static struct span *span_of(const struct touched *touched, uintptr_t memory)
{
    size_t first = 0, end = touched->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        struct span *span = &touched->spans[middle];
        if (memory < (uintptr_t)span->first)
            end = middle;
        else if (memory - (uintptr_t)span->first >= span->size)
            first = middle + 1;
        else
            return span;
    }
    return NULL;
}

static size_t chunk_bytes(const struct span *span, size_t at)
{
    return span->size - at < CHUNK_BYTES ? span->size - at : CHUNK_BYTES;
}

void touched_note(struct touched *touched, const void *memory, size_t size_bytes)
{
    struct span *span = touched != NULL ? span_of(touched, (uintptr_t)memory) : NULL;
    if (span == NULL || size_bytes == 0)
        return;
    size_t first = (size_t)((const unsigned char *)memory - span->first);
    for (size_t i = first / CHUNK_BYTES; i <= (first + size_bytes - 1) / CHUNK_BYTES; i++) {
        uint64_t bit = UINT64_C(1) << (i % 64);
        if (span->bits[i / 64] & bit)
            continue;
        span->bits[i / 64] |= bit;
        size_t at = i * CHUNK_BYTES;
        memcpy(span->before + at, span->first + at, chunk_bytes(span, at));
    }
}

/* Of each chunk that was touched: whether it is visited, or put back. */
static void span_walk(const struct span *span, scenario_piece_fn *piece, void *context)
{
    for (size_t word = 0; word <= span->size / CHUNK_BYTES / 64; word++) {
        for (uint64_t bits = span->bits[word]; bits != 0; bits &= bits - 1) {
            size_t at = (word * 64 + (size_t)__builtin_ctzll(bits)) * CHUNK_BYTES;
            size_t size_bytes = chunk_bytes(span, at);
            if (piece == NULL)
                memcpy(span->first + at, span->before + at, size_bytes);
            else if (memcmp(span->first + at, span->before + at, size_bytes) != 0)
                piece(context, span->first + at, size_bytes);
        }
    }
}

void touched_pieces(const struct touched *touched, scenario_piece_fn *piece, void *context)
{
    for (size_t i = 0; i < touched->count; i++)
        span_walk(&touched->spans[i], piece, context);
}

void touched_reset(const struct touched *touched)
{
    for (size_t i = 0; i < touched->count; i++)
        span_walk(&touched->spans[i], NULL, NULL);
}
