/*
 * The tracker's state as pieces of memory, for a simulator that goes back to former states.
 *
 * In the simulated build only. What lies in a few known regions is all there is, since a program's
 * operations name all that they touch; the rest of the large tables is zeros and stays so.
 */
#include <string.h>
#include <sys/mman.h>

#include "generations.h"
#include "views.h"

enum trk_sim_lock trk_sim_lock_kind(const struct trk_tracker *tracker, const uint32_t *word,
                                    uint32_t *region)
{
    *region = 0;
    if (word == &tracker->arena.lock.word)
        return TRK_SIM_LOCK_MEMORY;
    if (word == &tracker->views.lock.word)
        return TRK_SIM_LOCK_SHARED;
    if (tracker->generations != NULL && word == &tracker->generations->lock.word)
        return TRK_SIM_LOCK_GENERATIONS;
    uint64_t offset = (uint64_t)((const char *)word - (const char *)tracker->regions);
    *region = (uint32_t)(offset / sizeof(struct region));
    return word == &tracker->regions[*region].lock.word ? TRK_SIM_LOCK_REGION : TRK_SIM_LOCK_PAGES;
}

bool trk_sim_ready(struct trk_tracker *tracker)
{
    return trk_arena_take(tracker, 1) != NULL;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

struct hole {
    char *first, *end;
};

/* Large tables of which little is in use; ascending. */
struct holes {
    struct hole holes[2];
    uint32_t count;
};

static void hole_add(struct holes *holes, void *first, uint64_t size_bytes)
{
    struct hole hole = {first, (char *)first + size_bytes};
    if (holes->count == 1 && hole.first < holes->holes[0].first) {
        holes->holes[1] = holes->holes[0];
        holes->holes[0] = hole;
    } else {
        holes->holes[holes->count] = hole;
    }
    holes->count++;
}

static struct holes holes_of(struct trk_tracker *tracker)
{
    struct holes holes = {0};
    struct generations *generations = tracker->generations;
    struct view_scratch *scratch = tracker->views.scratch;
    if (generations != NULL)
        hole_add(&holes, generations->tables, TRK_REGION_COUNT * sizeof *generations->tables);
    if (scratch != NULL)
        hole_add(&holes, &scratch->page_addr[scratch->count],
                 sizeof scratch->page_addr - scratch->count * sizeof scratch->page_addr[0]);
    return holes;
}

static void block_pieces(struct arena_block *block, const struct holes *holes,
                         trk_sim_piece_fn *piece, void *context)
{
    char *at = (char *)(block + 1), *end = (char *)block + block->used_bytes;
    piece(context, &block->used_bytes, sizeof block->used_bytes);
    for (uint32_t i = 0; i < holes->count; i++) {
        const struct hole *hole = &holes->holes[i];
        if (hole->first < at || hole->end > end)
            continue;
        if (hole->first > at)
            piece(context, at, (size_t)(hole->first - at));
        at = hole->end;
    }
    if (at < end)
        piece(context, at, (size_t)(end - at));
}

void trk_sim_pieces(struct trk_tracker *tracker, const uint32_t *regions, size_t count,
                    trk_sim_piece_fn *piece, void *context)
{
    piece(context, tracker, sizeof *tracker);
    for (size_t i = 0; i < count; i++) {
        piece(context, &tracker->regions[regions[i]], sizeof(struct region));
        if (i == 0 || regions[i] / 64 != regions[i - 1] / 64)
            piece(context, &tracker->live[regions[i] / 64], sizeof tracker->live[0]);
        if (tracker->generations != NULL)
            piece(context, &tracker->generations->tables[regions[i]],
                  sizeof tracker->generations->tables[0]);
    }
    struct holes holes = holes_of(tracker);
    for (struct arena_block *block = tracker->arena.blocks; block != NULL; block = block->next)
        block_pieces(block, &holes, piece, context);
}

void trk_sim_forget(struct trk_tracker *tracker, const uint32_t *regions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct region *region = &tracker->regions[regions[i]];
        region->seq = 0;
        region->pages_seq = 0;
        region->pages_changes = 0;
        if (region->lock.word == 0)
            region->hold_changed = 0;
    }
    tracker->views.seq = 0;
    if (tracker->generations != NULL)
        tracker->generations->seq = 0;
    for (struct flight *flight = tracker->free_flights; flight != NULL; flight = flight->next) {
        flight->owner = NULL;
        memset(flight->taken, 0, sizeof flight->taken);
    }
}

void *trk_sim_restore_begin(struct trk_tracker *tracker)
{
    for (struct arena_block *block = tracker->arena.blocks; block != NULL; block = block->next)
        block->former_bytes = block->used_bytes;
    return tracker->arena.blocks;
}

void trk_sim_restore_end(struct trk_tracker *tracker, void *begun)
{
    struct arena_block *block = begun;
    while (block != tracker->arena.blocks) {
        struct arena_block *next = block->next;
        munmap(block, block->size_bytes);
        block = next;
    }
    if (block != NULL && block->former_bytes > block->used_bytes)
        memset((char *)block + block->used_bytes, 0, block->former_bytes - block->used_bytes);
}
