/*
 * Regions: one reservation for all of them, touched where memory is tracked; ranges cut into
 * windows; the tracker's own memory.
 *
 * Rules: [M-6] [M-7] [M-26] [M-27].
 */
#include <stddef.h>
#include <sys/mman.h>

#include "internal.h"

#define REGIONS_BYTES     ((uint64_t)TRK_REGION_COUNT * sizeof(struct region))
#define LIVE_WORDS        ((TRK_REGION_COUNT + 63) / 64)
#define ARENA_BLOCK_BYTES UINT64_C(65536)

static void *reserve(uint64_t size_bytes)
{
    void *memory = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

enum trk_status trk_region_table_create(struct trk_tracker *tracker)
{
    tracker->regions = reserve(REGIONS_BYTES);
    tracker->live = reserve(LIVE_WORDS * 8);
    if (tracker->regions != NULL && tracker->live != NULL)
        return TRK_OK;
    trk_region_table_destroy(tracker);
    return TRK_E_MEMORY;
}

void trk_region_table_destroy(struct trk_tracker *tracker)
{
    struct arena_block *block = tracker->arena.blocks;
    while (block != NULL) {
        struct arena_block *next = block->next;
        munmap(block, block->size_bytes);
        block = next;
    }
    if (tracker->regions != NULL)
        munmap(tracker->regions, REGIONS_BYTES);
    if (tracker->live != NULL)
        munmap(tracker->live, LIVE_WORDS * 8);
}

static void arena_lock(struct trk_tracker *tracker)
{
    uint32_t id = env_self()->id;
    if (!env_lock_try(&tracker->arena.lock, id))
        env_lock_slow(&tracker->arena.lock, id);
}

static void *take_locked(struct arena *arena, uint64_t size_bytes)
{
    struct arena_block *block = arena->blocks;
    if (block == NULL || block->size_bytes - block->used_bytes < size_bytes) {
        uint64_t needed = sizeof(struct arena_block) + size_bytes;
        uint64_t block_bytes = needed > ARENA_BLOCK_BYTES
                                   ? (needed + TRK_HOST_PAGE_BYTES - 1) & ~(TRK_HOST_PAGE_BYTES - 1)
                                   : ARENA_BLOCK_BYTES;
        block = reserve(block_bytes);
        if (block == NULL)
            return NULL;
        block->size_bytes = block_bytes;
        block->used_bytes = sizeof(struct arena_block);
        block->next = arena->blocks;
        arena->blocks = block;
        if (block->size_bytes - block->used_bytes < size_bytes)
            return NULL;
    }
    void *memory = (char *)block + block->used_bytes;
    block->used_bytes += (size_bytes + 15) & ~UINT64_C(15);
    if (block->used_bytes > block->size_bytes)
        block->used_bytes = block->size_bytes;
    return memory;
}

void *trk_arena_take(struct trk_tracker *tracker, uint64_t size_bytes)
{
    arena_lock(tracker);
    void *memory = take_locked(&tracker->arena, (size_bytes + 15) & ~UINT64_C(15));
    env_unlock(&tracker->arena.lock);
    return memory;
}

struct flight *trk_flight_take(struct trk_tracker *tracker)
{
    arena_lock(tracker);
    struct flight *flight = tracker->free_flights;
    if (flight != NULL)
        tracker->free_flights = flight->next;
    else
        flight = take_locked(&tracker->arena, sizeof(struct flight));
    env_unlock(&tracker->arena.lock);
    if (flight != NULL)
        *flight = (struct flight){0};
    return flight;
}

void trk_flight_give(struct trk_tracker *tracker, struct flight *flight)
{
    arena_lock(tracker);
    flight->next = tracker->free_flights;
    tracker->free_flights = flight;
    env_unlock(&tracker->arena.lock);
}

uint32_t trk_region_next_live(const struct trk_tracker *tracker, uint32_t index, uint32_t end)
{
    while (index < end) {
        uint64_t bits = env_peek(&tracker->live[index / 64]) & ~UINT64_C(0) << (index % 64);
        if (bits != 0) {
            uint32_t found = index / 64 * 64 + (uint32_t)__builtin_ctzll(bits);
            return found < end ? found : end;
        }
        index = (index / 64 + 1) * 64;
    }
    return end;
}

/* All words of a region: four at a time, since each waits for the one before it otherwise. */
static uint64_t any_of_all(const uint64_t *set, uint64_t inverted)
{
    uint64_t any[4] = {0};
    for (uint32_t word = 0; word < TRK_REGION_WORDS; word += 4) {
        any[0] |= env_load(&set[word]) ^ inverted;
        any[1] |= env_load(&set[word + 1]) ^ inverted;
        any[2] |= env_load(&set[word + 2]) ^ inverted;
        any[3] |= env_load(&set[word + 3]) ^ inverted;
    }
    return any[0] | any[1] | any[2] | any[3];
}

bool trk_window_any_long(const uint64_t *set, uint32_t first, uint32_t end, uint64_t inverted)
{
    if (TRK_REGION_WORDS % 4 == 0 && end - first == TRK_REGION_PAGES)
        return any_of_all(set, inverted) != 0;
    struct window window = {.first = first, .end = end};
    uint64_t any = 0;
    FOR_WINDOW_WORDS(word, &window)
    any |= (env_load(&set[word]) ^ inverted) & window_mask(&window, word);
    return any != 0;
}
