/*
 * What a change of one view's pages means for the other views, and for the host.
 *
 * Rules: [M-38] [M-73] [M-75].
 */
#include <string.h>

#include "mutation.h"
#include "views.h"

/* Work out anew what the other registered views of a page's frame ask for. */
static void view_update(const struct trk_tracker *tracker, uint64_t page_addr)
{
    struct region *region = region_slot(tracker, trk_region_index(page_addr));
    uint32_t page = page_number(page_addr);
    const struct view_group *group = region->views->group[page];
    bool watch = false, read = false;
    if (group != NULL && page_bit(region->views->seen, page)) {
        for (uint32_t i = 0; i < group->count; i++) {
            uint64_t other_addr = group->page_addr[i];
            if (other_addr == page_addr || !view_seen(tracker, other_addr))
                continue;
            const struct region *other = region_slot(tracker, trk_region_index(other_addr));
            uint32_t at = page_number(other_addr);
            watch |= page_bit(other->watched, at) || page_bit(other->extra->armed, at);
            read |= page_bit(other->read, at) && !MUTANT(101);
        }
    }
    uint64_t bit = UINT64_C(1) << (page % 64);
    uint64_t *watches = &region->extra->others_watch[page / 64];
    uint64_t *reads = &region->extra->others_read[page / 64];
    *watches = watch ? *watches | bit : *watches & ~bit;
    *reads = read ? *reads | bit : *reads & ~bit;
}

static bool in_own(const struct hold *hold, const struct window *window, const uint64_t *mask,
                   uint64_t page_addr)
{
    uint32_t page = page_number(page_addr);
    return trk_region_index(page_addr) == hold->index && page >= window->first &&
           page < window->end && page_bit(mask, page);
}

/* Each page of the window in the mask that has other views. */
#define FOR_SHARED_PAGES(page, hold, window, mask)                                                 \
    for (uint32_t page = next_shared(hold, window, mask, (window)->first); page < (window)->end;   \
         page = next_shared(hold, window, mask, page + 1))

static uint32_t next_shared(const struct hold *hold, const struct window *window,
                            const uint64_t *mask, uint32_t page)
{
    const struct region_views *views = hold->region->views;
    while (page < window->end && (!page_bit(mask, page) || views->group[page] == NULL))
        page++;
    return page;
}

/* Shell sort: no memory, no recursion, and one pass where the pages came ascending. */
static void sort_pages(uint64_t *page_addr, uint32_t count)
{
    static const uint32_t gaps[] = {3280, 1093, 364, 121, 40, 13, 4, 1};
    bool ascending = true;
    for (uint32_t i = 1; ascending && i < count; i++)
        ascending = page_addr[i - 1] <= page_addr[i];
    for (uint32_t g = 0; !ascending && g < sizeof gaps / sizeof gaps[0]; g++) {
        for (uint32_t i = gaps[g]; i < count; i++) {
            uint64_t moved = page_addr[i];
            uint32_t to = i;
            for (; to >= gaps[g] && page_addr[to - gaps[g]] > moved; to -= gaps[g])
                page_addr[to] = page_addr[to - gaps[g]];
            page_addr[to] = moved;
        }
    }
}

void trk_views_collect(const struct hold *hold, const struct window *window, const uint64_t *mask)
{
    struct view_scratch *scratch = hold->operation->tracker->views.scratch;
    uint32_t count = 0;
    FOR_SHARED_PAGES(page, hold, window, mask)
    {
        const struct view_group *group = hold->region->views->group[page];
        for (uint32_t i = 0; i < group->count; i++) {
            if (!in_own(hold, window, mask, group->page_addr[i]))
                scratch->page_addr[count++] = group->page_addr[i];
        }
    }
    sort_pages(scratch->page_addr, count);
    scratch->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || scratch->page_addr[i] != scratch->page_addr[i - 1])
            scratch->page_addr[scratch->count++] = scratch->page_addr[i];
    }
}

/* All pages of the mask, also such as have no other views any more. */
static void update_own(const struct hold *hold, const struct window *window, const uint64_t *mask)
{
    uint64_t base = trk_region_address(hold->index);
    for (uint32_t page = window->first; page < window->end; page++) {
        if (page_bit(mask, page))
            view_update(hold->operation->tracker, base + page * TRK_HOST_PAGE_BYTES);
    }
}

/* Entries [first, end) of the scratch lie in one region; the window spans them. */
struct part {
    uint32_t first, end;
    struct window window;
};

static bool next_part(const struct view_scratch *scratch, struct part *part)
{
    part->first = part->end;
    if (part->first == scratch->count)
        return false;
    uint32_t index = trk_region_index(scratch->page_addr[part->first]);
    while (part->end < scratch->count && trk_region_index(scratch->page_addr[part->end]) == index)
        part->end++;
    part->window = (struct window){
        .index = index,
        .first = page_number(scratch->page_addr[part->first]),
        .end = page_number(scratch->page_addr[part->end - 1]) + 1,
    };
    return true;
}

/*
 * Update a part's pages and tell the host, in the same hold. Gives the page of the refused call, or
 * the end of `told`, which is as far as the host has to be told.
 */
static uint32_t part_settle(struct hold *hold, const struct part *part, const struct window *told)
{
    const struct trk_tracker *tracker = hold->operation->tracker;
    struct rights_before before;
    struct region *region = hold->region;
    uint32_t index = hold->index;
    hold->region = region_slot(tracker, part->window.index);
    hold->index = part->window.index;
    remember(&before, hold->region, &part->window);
    for (uint32_t i = part->first; i < part->end; i++)
        view_update(tracker, tracker->views.scratch->page_addr[i]);
    hold->region->pages_changes++;
    uint32_t refused = told->end;
    if (told->first < told->end)
        refused = trk_pages_protect_moved(hold, told, &before);
    hold->region = region;
    hold->index = index;
    return refused;
}

bool trk_views_settle(struct hold *hold, const struct window *window, const uint64_t *mask,
                      const struct rights_before *before, struct settled *settled)
{
    const struct view_scratch *scratch = hold->operation->tracker->views.scratch;
    *settled = (struct settled){.mask = mask};
    update_own(hold, window, mask);
    settled->refused = trk_pages_protect_moved(hold, window, before);
    if (settled->refused != window->end)
        return false;
    struct part part = {0};
    while (next_part(scratch, &part)) {
        settled->other_refused = part_settle(hold, &part, &part.window);
        if (settled->other_refused != part.window.end) {
            settled->other_failed = true;
            return false;
        }
        settled->done = part.end;
    }
    return true;
}

void trk_views_unsettle(struct hold *hold, const struct window *window,
                        const struct rights_before *made, const struct settled *settled)
{
    const struct view_scratch *scratch = hold->operation->tracker->views.scratch;
    update_own(hold, window, settled->mask);
    trk_pages_protect_back(hold, window, made, settled->refused);
    struct part part = {0};
    while (next_part(scratch, &part)) {
        struct window told = part.window;
        if (part.first >= settled->done) {
            if (!settled->other_failed)
                return;
            told.end = settled->other_refused;
        }
        /* If the host refuses the way back as well there is nothing more to be done. */
        hold->uncounted = part.first >= settled->done;
        part_settle(hold, &part, &told);
        hold->uncounted = false;
        if (part.first >= settled->done)
            return;
    }
}

enum trk_status trk_views_see(const struct operation *operation, const struct window *window,
                              const uint64_t *mask, bool seen)
{
    struct hold hold;
    struct rights_before before;
    struct settled settled;
    hold_begin(&hold, operation, window->index);
    uint64_t *set = hold.region->views->seen;
    uint32_t count = 0;
    remember(&before, hold.region, window);
    trk_views_collect(&hold, window, mask);
    FOR_WINDOW_WORDS(word, window)
    {
        count += (uint32_t)__builtin_popcountll(mask[word]);
        set[word] = seen ? set[word] | mask[word] : set[word] & ~mask[word];
    }
    bool done = trk_views_settle(&hold, window, mask, &before, &settled);
    if (!done) {
        remember(&before, hold.region, window);
        FOR_WINDOW_WORDS(word, window)
        set[word] = seen ? set[word] & ~mask[word] : set[word] | mask[word];
        trk_views_unsettle(&hold, window, &before, &settled);
        count = 0;
    }
    hold_end(&hold, count);
    return done ? TRK_OK : TRK_E_PROTECT;
}
