/*
 * The tracker's state as pieces of memory, for a simulator that goes back to former states.
 *
 * In the simulated build only. What lies in a few known regions is all there is, since a program's
 * operations name all that they touch; the rest of the large tables is zeros and stays so.
 */
#include <string.h>
#include <sys/mman.h>

#include "generations.h"
#include "state_hash.h"
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

/* Where a word lies among the regions; UINT64_MAX: elsewhere. */
static uint64_t regions_offset(const struct trk_tracker *tracker, const void *word)
{
    uint64_t offset = (uint64_t)((const char *)word - (const char *)tracker->regions);
    return offset < (uint64_t)TRK_REGION_COUNT * sizeof(struct region) ? offset : UINT64_MAX;
}

uint64_t trk_sim_word_name(const struct trk_tracker *tracker, const void *word)
{
    uint64_t offset = regions_offset(tracker, word);
    if (offset != UINT64_MAX)
        return offset;
    uint64_t live = (uint64_t)((const char *)word - (const char *)tracker->live);
    return (UINT64_C(1) << 50) + (live < TRK_REGION_COUNT ? live : TRK_REGION_COUNT);
}

bool trk_sim_word_held(const struct trk_tracker *tracker, const void *word, uint32_t thread_id)
{
    uint64_t offset = regions_offset(tracker, word);
    return offset == UINT64_MAX ||
           tracker->regions[offset / sizeof(struct region)].lock.word == thread_id;
}

bool trk_sim_pages_owned(const struct trk_tracker *tracker, const struct region *region,
                         uint32_t thread_id)
{
    return region->pages_lock.word == thread_id ||
           (region->shared && tracker->views.lock.word == thread_id);
}

bool trk_sim_pages_held(const struct trk_tracker *tracker, uint32_t region)
{
    const struct region *slot = &tracker->regions[region];
    return slot->pages_lock.word != 0 || (slot->shared && tracker->views.lock.word != 0);
}

bool trk_sim_watches_over(const struct trk_tracker *tracker, uint32_t region, uint32_t word)
{
    const struct region *slot = &tracker->regions[region];
    return ((slot->watched[word] & ~slot->not_cpu[word]) | slot->many[word] |
            (slot->read[word] & ~slot->gpu[word])) != 0;
}

bool trk_sim_ready(struct trk_tracker *tracker)
{
    return trk_arena_take(tracker, 1) != NULL;
}

/* ---- digests --------------------------------------------------------------------------------- */

/* The groups of shared pages. */
static uint64_t views_digest(const struct region *region)
{
    uint64_t digest = 5;
    for (uint32_t page = 0; region->views != NULL && page < TRK_REGION_PAGES; page++) {
        const struct view_group *group = region->views->group[page];
        if (group != NULL)
            digest =
                trk_state_mix_words(trk_state_mix(digest, page), group->page_addr, group->count);
    }
    return region->views != NULL
               ? trk_state_mix_words(digest, region->views->seen, TRK_REGION_WORDS)
               : digest;
}

static uint64_t generations_digest(const struct generations *generations, uint32_t region)
{
    const struct generation_table *table = generations->tables[region];
    return table == NULL ? 6 : trk_state_mix_words(7, table->of_page, REGION_GUEST_PAGES);
}

static uint64_t mapped_digest(const struct generations *generations)
{
    uint64_t digest = trk_state_mix(8, generations->newest);
    for (uint32_t i = 0; i < generations->view_count; i++) {
        const struct trk_generations_view *view = &generations->views[i];
        digest = trk_state_mix(trk_state_mix(digest, view->guest_addr), view->size_bytes);
        digest = trk_state_mix(trk_state_mix(digest, view->physical_offset), view->rights);
    }
    return digest;
}

uint64_t trk_sim_lock_digest(const struct trk_tracker *tracker, const uint32_t *word,
                             const uint32_t *regions, size_t count)
{
    uint32_t number;
    enum trk_sim_lock kind = trk_sim_lock_kind(tracker, word, &number);
    uint64_t digest = trk_state_mix(kind, number);
    if (kind == TRK_SIM_LOCK_REGION)
        return trk_state_mix(digest, trk_state_region(&tracker->regions[number]));
    if (kind == TRK_SIM_LOCK_PAGES)
        return trk_state_mix(digest, trk_state_pages(&tracker->regions[number]));
    if (kind == TRK_SIM_LOCK_MEMORY)
        return digest;
    for (size_t i = 0; i < count; i++) {
        const struct region *region = &tracker->regions[regions[i]];
        digest = trk_state_mix(digest, trk_state_pages(region));
        digest = trk_state_mix(digest, kind == TRK_SIM_LOCK_SHARED
                                           ? views_digest(region)
                                           : generations_digest(tracker->generations, regions[i]));
    }
    return kind == TRK_SIM_LOCK_GENERATIONS
               ? trk_state_mix(digest, mapped_digest(tracker->generations))
               : digest;
}

uint64_t trk_sim_live_digest(const struct trk_tracker *tracker, const uint32_t *regions,
                             size_t count)
{
    uint64_t digest = 9;
    for (size_t i = 0; i < count; i++)
        if (tracker->live[regions[i] / 64] >> (regions[i] % 64) & 1)
            digest = trk_state_mix(digest, regions[i]);
    return digest;
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
        hole_add(&holes, generations->tables, TRK_REGION_COUNT * sizeof(void *));
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
            piece(context, &tracker->generations->tables[regions[i]], sizeof(void *));
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
