/* Where the order of a trace's events is not the order of their times. */
#include "disorder.h"

#include <stdlib.h>

/*
 * Whether the oracle concludes anything from where such an event stands. What only takes and gives
 * back locks is often a little out of order: the end of a hold is noted behind its release.
 */
static bool matters(unsigned type)
{
    switch (type) {
    case TRK_EVENT_OP_BEGIN:
    case TRK_EVENT_RANGE:
    case TRK_EVENT_FAULT:
    case TRK_EVENT_OP_END:
    case TRK_EVENT_TRACKER:
    case TRK_EVENT_FOREIGN:
    case TRK_EVENT_HANDED:
    case TRK_EVENT_COPY_BEGIN:
    case TRK_EVENT_COPY_END:
    case TRK_EVENT_GPU_WRITE:
    case TRK_EVENT_GPU_READ:
    case TRK_EVENT_GPU_COMPLETE:
    case TRK_EVENT_MAP:
    case TRK_EVENT_UNMAP:
    case TRK_EVENT_WITNESS_STORE:
    case TRK_EVENT_WITNESS_CHECK:
    case TRK_EVENT_ACCESS:
        return true;
    default:
        return false;
    }
}

/* `next` stands behind `block`, and is taken into it. */
static void join(struct disorder_block *block, const struct disorder_block *next, bool mixed)
{
    block->last = next->last;
    if (next->latest_tsc > block->latest_tsc)
        block->latest_tsc = next->latest_tsc;
    block->views |= next->views;
    block->mixed = mixed;
}

/*
 * Join the older half of the blocks two by two: what is in order stays so, and is only told less
 * finely if something late turns up. Where that does not help, all of that half is one block.
 */
static void coarsen(struct disorder *disorder)
{
    const size_t half = disorder->count / 2;
    size_t kept = 0;
    for (size_t i = 0; i < half; i++) {
        const struct disorder_block *next = &disorder->blocks[i];
        bool pair = i + 1 < half && next->mixed == disorder->blocks[i + 1].mixed;
        disorder->blocks[kept++] = *next;
        if (pair)
            join(&disorder->blocks[kept - 1], &disorder->blocks[++i], next->mixed);
    }
    if (kept > half - half / 4) {
        for (size_t i = 1; i < kept; i++)
            join(&disorder->blocks[0], &disorder->blocks[i], true);
        kept = 1;
    }
    for (size_t i = half; i < disorder->count; i++)
        disorder->blocks[kept++] = disorder->blocks[i];
    disorder->count = kept;
}

static enum trk_status make_room(struct disorder *disorder)
{
    if (disorder->count < disorder->room)
        return TRK_OK;
    if (disorder->count == DISORDER_BLOCKS_MAX) {
        coarsen(disorder);
        return TRK_OK;
    }
    size_t room = disorder->room == 0 ? 256 : 2 * disorder->room;
    struct disorder_block *blocks = realloc(disorder->blocks, room * sizeof *blocks);
    if (blocks == NULL)
        return TRK_E_MEMORY;
    disorder->blocks = blocks;
    disorder->room = room;
    return TRK_OK;
}

enum trk_status disorder_add(struct disorder *disorder, const struct trk_trace_event *event)
{
    if (!matters(event->event.type))
        return TRK_OK;
    struct disorder_block own = {
        .first = event->number,
        .last = event->number,
        .latest_tsc = event->tsc,
        .views = event->event.type == TRK_EVENT_MAP || event->event.type == TRK_EVENT_UNMAP,
    };
    while (disorder->count > 0 && disorder->blocks[disorder->count - 1].latest_tsc > event->tsc) {
        struct disorder_block before = disorder->blocks[--disorder->count];
        join(&before, &own, true);
        own = before;
    }
    enum trk_status status = make_room(disorder);
    if (status == TRK_OK)
        disorder->blocks[disorder->count++] = own;
    return status;
}

void disorder_finish(struct disorder *disorder)
{
    size_t kept = 0;
    uint64_t views = 0;
    for (size_t i = 0; i < disorder->count; i++) {
        struct disorder_block block = disorder->blocks[i];
        if (!block.mixed)
            continue;
        views += block.views;
        block.views = views;
        disorder->blocks[kept++] = block;
    }
    disorder->count = kept;
}

void disorder_deinit(struct disorder *disorder)
{
    free(disorder->blocks);
    *disorder = (struct disorder){.blocks = NULL};
}

/* How many blocks begin at or before an event, or end before it. */
static size_t blocks_to(const struct disorder *disorder, uint64_t event, bool ended)
{
    size_t low = 0, high = disorder->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct disorder_block *block = &disorder->blocks[middle];
        if (ended ? block->last < event : block->first <= event)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool disorder_between(const struct disorder *disorder, uint64_t first, uint64_t last)
{
    return disorder != NULL && blocks_to(disorder, first, true) < blocks_to(disorder, last, false);
}

bool disorder_of_views(const struct disorder *disorder, uint64_t first, uint64_t last)
{
    if (!disorder_between(disorder, first, last))
        return false;
    size_t before = blocks_to(disorder, first, true), to = blocks_to(disorder, last, false);
    return disorder->blocks[to - 1].views > (before > 0 ? disorder->blocks[before - 1].views : 0);
}
