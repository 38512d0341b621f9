/*
 * The table of generations: its lock, and what happens to the guest pages of a window in a hold.
 *
 * Rules: [M-64] to [M-69].
 */
#include <stddef.h>

#include "generations.h"
#include "mutation.h"

#define HOLD_CHANGED_MAX 2048u /* what UNLOCK counts at most */

enum trk_status trk_generations_create(struct trk_tracker *tracker)
{
    if (!tracker->policy.generations)
        return TRK_OK;
    struct generations *generations = trk_arena_take(tracker, sizeof *generations);
    /* A reservation of its own: pages of it are backed where something is tracked. */
    struct generation_table **tables =
        trk_arena_take(tracker, (uint64_t)TRK_REGION_COUNT * sizeof(void *));
    if (generations == NULL || tables == NULL)
        return TRK_E_MEMORY;
    generations->tables = tables;
    tracker->generations = generations;
    return TRK_OK;
}

static uint32_t domain(const struct trk_tracker *tracker)
{
    return trk_domain(TRK_DOMAIN_GENERATIONS, tracker->id, 0);
}

void trk_generations_lock(const struct operation *operation)
{
    struct trk_tracker *tracker = operation->tracker;
    struct generations *generations = tracker->generations;
    if (TRK_UNLIKELY(!env_lock_try(&generations->lock, operation->self->id))) {
        if (tracker->observer.wait != NULL)
            tracker->observer.wait(tracker->observer.context, domain(tracker));
        env_lock_slow(&generations->lock, operation->self->id);
    }
    generations->seq++;
    generations->hold_changed = 0;
    if (observed(tracker))
        emit(tracker, &(struct trk_event){
                          .type = TRK_EVENT_LOCK,
                          .domain = domain(tracker),
                          .seq = generations->seq,
                      });
}

void trk_generations_unlock(const struct operation *operation)
{
    const struct trk_tracker *tracker = operation->tracker;
    struct generations *generations = tracker->generations;
    uint32_t seq = generations->seq;
    uint32_t changed = generations->hold_changed;
    env_unlock(&generations->lock);
    if (observed(tracker))
        emit(tracker,
             &(struct trk_event){
                 .type = TRK_EVENT_UNLOCK,
                 .domain = domain(tracker),
                 .seq = seq,
                 .pages = (uint16_t)(changed < HOLD_CHANGED_MAX ? changed : HOLD_CHANGED_MAX),
             });
}

static const struct page_extra *extra_of(const struct trk_tracker *tracker, uint32_t index)
{
    const struct region *region = region_slot(tracker, index);
    env_pages_peek(region);
    return __atomic_load_n(&region->extra, __ATOMIC_ACQUIRE);
}

/* A generation that no page has had; 0 means none. */
static uint64_t next_generation(struct generations *generations)
{
    if (++generations->newest == 0)
        generations->newest = 1;
    return generations->newest;
}

bool trk_generations_make_tables(const struct operation *operation)
{
    struct generations *generations = operation->tracker->generations;
    const struct range *range = &operation->range;
    for (uint32_t index = range->first_region; index < range->end_region; index++) {
        if (generations->tables[index] == NULL)
            generations->tables[index] =
                trk_arena_take(operation->tracker, sizeof(struct generation_table));
        if (generations->tables[index] == NULL)
            return false;
    }
    return true;
}

bool trk_generations_readable(const struct trk_tracker *tracker, const struct window *window)
{
    const struct page_extra *extra = extra_of(tracker, window->index);
    if (extra == NULL)
        return true;
    FOR_WINDOW_WORDS(word, window)
    if (extra->no_read[word] & window_mask(window, word))
        return false;
    return true;
}

bool trk_generations_armed(const struct trk_tracker *tracker, const struct window *window)
{
    const struct window whole = guest_window(window);
    const struct page_extra *extra = extra_of(tracker, window->index);
    if (extra == NULL)
        return false;
    FOR_WINDOW_WORDS(word, &whole)
    if (extra->armed[word] & window_mask(&whole, word))
        return true;
    return false;
}

/* No page is armed afterwards. Host calls join over the whole window. */
static enum trk_status let_go(const struct operation *operation, const struct window *window)
{
    if (!trk_generations_armed(operation->tracker, window))
        return TRK_OK;
    const struct page_extra *extra = extra_of(operation->tracker, window->index);
    uint64_t mask[TRK_REGION_WORDS] = {0};
    FOR_WINDOW_WORDS(word, window)
    mask[word] = extra->armed[word] & window_mask(window, word);
    return trk_pages_change(operation, window, mask, WATCH_DISARM);
}

static bool guest_page_armed(const struct trk_tracker *tracker, uint32_t index, uint32_t first)
{
    struct window page = {.index = index, .first = first, .end = first + GUEST_PAGE_PAGES};
    return trk_generations_armed(tracker, &page);
}

/* The run of armed guest pages around a window of them, in its region. */
static void widen(const struct trk_tracker *tracker, struct window *window)
{
    while (window->first > 0 &&
           guest_page_armed(tracker, window->index, window->first - GUEST_PAGE_PAGES))
        window->first -= GUEST_PAGE_PAGES;
    while (window->end < TRK_REGION_PAGES && guest_page_armed(tracker, window->index, window->end))
        window->end += GUEST_PAGE_PAGES;
}

/*
 * The same; but a host out of mappings opens no page inside a larger closed run. It opens the whole
 * run: the window grows to what has been let go.
 */
static enum trk_status let_go_at_least(const struct operation *operation, struct window *window)
{
    enum trk_status status = let_go(operation, window);
    if (TRK_LIKELY(status != TRK_E_PROTECT) || operation->tracker->backend->mappings == NULL)
        return status;
    widen(operation->tracker, window);
    return let_go(operation, window);
}

enum trk_status trk_generations_advance(const struct operation *operation,
                                        const struct window *window)
{
    struct generations *generations = operation->tracker->generations;
    struct generation_table *table = generations->tables[window->index];
    struct window whole = guest_window(window);
    if (MUTANT(102) && !trk_generations_armed(operation->tracker, &whole))
        return TRK_OK;
    enum trk_status status = MUTANT(19) ? TRK_OK : let_go_at_least(operation, &whole);
    if (status != TRK_OK || table == NULL)
        return status;
    for (uint32_t page = whole.first / GUEST_PAGE_PAGES; page < whole.end / GUEST_PAGE_PAGES;
         page++) {
        if (table->of_page[page] == 0)
            continue;
        table->of_page[page] = next_generation(generations);
        generations->hold_changed++;
    }
    return TRK_OK;
}

enum trk_status trk_generations_drop(const struct operation *operation, const struct window *window)
{
    struct generations *generations = operation->tracker->generations;
    struct generation_table *table = generations->tables[window->index];
    if (table == NULL)
        return TRK_OK; /* nothing was ever armed here */
    struct window whole = guest_window(window);
    for (uint32_t page = whole.first / GUEST_PAGE_PAGES; page < whole.end / GUEST_PAGE_PAGES;
         page++) {
        generations->hold_changed += table->of_page[page] != 0;
        table->of_page[page] = MUTANT(103) ? table->of_page[page] : 0;
    }
    if (MUTANT(29))
        return TRK_OK;
    /* Nothing is registered here any more: what moves on is what had to be let go beside it. */
    return trk_generations_advance(operation, &whole);
}

/* Pages of a word that the guest may write and that are not armed. Page 0 is nobody's. */
static uint64_t unarmed(const struct page_extra *extra, const struct window *window, uint32_t word)
{
    uint64_t pages = window_mask(window, word);
    if (window->index == 0 && word == 0)
        pages &= ~UINT64_C(1);
    return extra == NULL ? pages : pages & ~extra->no_write[word] & ~extra->armed[word];
}

enum trk_status trk_generations_arm(const struct operation *operation, const struct window *window)
{
    struct generations *generations = operation->tracker->generations;
    struct generation_table *table = generations->tables[window->index];
    const struct page_extra *extra = extra_of(operation->tracker, window->index);
    uint64_t mask[TRK_REGION_WORDS] = {0}, any = 0;
    FOR_WINDOW_WORDS(word, window)
    {
        mask[word] = unarmed(extra, window, word);
        any |= mask[word];
    }
    if (any != 0) {
        enum trk_status status = trk_pages_change(operation, window, mask, WATCH_ARM);
        if (status != TRK_OK)
            return status;
    }
    for (uint32_t page = window->first / GUEST_PAGE_PAGES; page < window->end / GUEST_PAGE_PAGES;
         page++) {
        if (table->of_page[page] != 0)
            continue;
        table->of_page[page] = next_generation(generations);
        generations->hold_changed++;
    }
    return TRK_OK;
}

/* ---- the sum --------------------------------------------------------------------------------- */

/* Odd constants without structure, as multiplying hashes want them (xxHash's primes). */
#define MIX_1 UINT64_C(0x9e3779b185ebca87)
#define MIX_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define MIX_3 UINT64_C(0x165667b19e3779f9)

static uint64_t rotate(uint64_t value, unsigned bits)
{
    return value << bits | value >> (64 - bits);
}

/* Take one word in: both steps can be undone, so that no two words give the same. */
static uint64_t mix(uint64_t sum, uint64_t word)
{
    sum ^= rotate(word * MIX_2, 31) * MIX_1;
    return rotate(sum, 27) * MIX_1 + MIX_3;
}

static uint64_t finish(uint64_t sum)
{
    sum = (sum ^ sum >> 33) * MIX_2;
    sum = (sum ^ sum >> 29) * MIX_3;
    sum ^= sum >> 32;
    return sum != 0 ? sum : 1;
}

uint64_t trk_generations_sum(const struct operation *operation)
{
    const struct generations *generations = operation->tracker->generations;
    const struct range *range = &operation->range;
    uint64_t sum = MIX_3;
    for (uint32_t index = range->first_region; index < range->end_region; index++) {
        const struct generation_table *table = generations->tables[index];
        if (table == NULL)
            return 0;
        struct window window = range_window(range, index);
        uint64_t first_page = trk_region_address(index) / TRK_GUEST_PAGE_BYTES;
        for (uint32_t page = window.first / GUEST_PAGE_PAGES; page < window.end / GUEST_PAGE_PAGES;
             page++) {
            if (table->of_page[page] == 0)
                return 0;
            sum = mix(mix(sum, first_page + page), table->of_page[page]);
        }
    }
    return finish(sum);
}
