/*
 * Watch counts of a region's pages, and the host calls that follow from them.
 *
 * Every change is a hold of the page manager's lock of that region: check all pages, change all
 * counts, then make the host calls, ascending and joined. When the host refuses one, the calls
 * made so far are taken back and the counts with them.
 *
 * Rules: [M-37] [M-43] to [M-45].
 */
#include <stddef.h>
#include <string.h>

#include "mutation.h"
#include "pages_hold.h"
#include "views.h"

/* One change of watches, and what it takes to undo it. */
struct change {
    const struct window *window;
    const uint64_t *mask;
    enum watch_change kind;
    uint64_t counted[TRK_REGION_WORDS]; /* pages of which counts[] moved, not the sets alone */
};

#ifdef TRK_MUTATION
/* The change's mask without some pages. */
static const uint64_t *mutant_mask(const struct change *change, uint64_t *less)
{
    uint32_t first = change->window->first / 64;
    memcpy(less, change->mask, TRK_REGION_WORDS * sizeof *less);
    if (MUTANT(20))
        less[first] &= less[first] - 1;
    if (MUTANT(23) && change->kind == WATCH_WRITE_ADD)
        less[TRK_REGION_WORDS - 1] &= ~UINT64_C(0) >> 1;
    for (uint32_t word = 0; MUTANT(40) && word < TRK_REGION_WORDS; word++)
        less[word] &= ~UINT64_C(0) >> 1;
    return less;
}
#endif

static bool drops_writes(enum watch_change kind)
{
    return kind == WATCH_WRITE_DROP || kind == WATCH_DIRTY || kind == WATCH_BOTH_DROP;
}

/* Bounds of counts, looked at before any changes. [M-43] */
static bool change_allowed(const struct region *region, const struct change *change)
{
    FOR_WINDOW_WORDS(word, change->window)
    {
        uint64_t mask = change->mask[word] & window_mask(change->window, word);
        uint64_t bad = 0;
        if (drops_writes(change->kind))
            bad |= mask & ~region->watched[word];
        if (change->kind == WATCH_READ_DROP || change->kind == WATCH_BOTH_DROP)
            bad |= mask & ~region->read[word];
        if (change->kind == WATCH_READ_ADD)
            bad |= mask & region->read[word];
        if (change->kind == WATCH_ARM)
            bad |= mask & region->extra->armed[word];
        if (change->kind == WATCH_DISARM)
            bad |= mask & ~region->extra->armed[word];
        if (TRK_UNLIKELY(bad != 0))
            return false;
        if (change->kind != WATCH_WRITE_ADD)
            continue;
        for (uint64_t full = mask & region->many[word]; full != 0; full &= full - 1) {
            uint32_t page = word * 64 + (uint32_t)__builtin_ctzll(full);
            if (region->counts[page] + 1u >= TRK_WRITE_WATCHES_MAX + MUTANT(52))
                return false;
        }
    }
    return true;
}

/* Move the counts of pages that have, or get, more than one write watch. */
static void move_counts(struct region *region, uint32_t word, uint64_t pages, int step)
{
    for (; pages != 0; pages &= pages - 1) {
        uint32_t page = word * 64 + (uint32_t)__builtin_ctzll(pages);
        region->counts[page] = (uint8_t)(region->counts[page] + step);
        uint64_t bit = UINT64_C(1) << (page % 64);
        if (region->counts[page] != 0)
            region->many[word] |= bit;
        else
            region->many[word] &= ~bit;
    }
}

/* The sets that a change moves whole: read watches and armed pages; forward or back. */
static void move_sets(struct region *region, uint32_t word, uint64_t mask, enum watch_change kind,
                      bool forward)
{
    uint64_t *set = NULL;
    if (kind == WATCH_READ_ADD || kind == WATCH_READ_DROP || kind == WATCH_BOTH_DROP)
        set = &region->read[word];
    else if (kind == WATCH_ARM || kind == WATCH_DISARM)
        set = &region->extra->armed[word];
    if (set == NULL)
        return;
    bool add = (kind == WATCH_READ_ADD || kind == WATCH_ARM) == forward;
    *set = add ? *set | mask : *set & ~mask;
}

/* Make the change on the sets; gives how many pages it touched. */
static uint32_t change_apply(struct region *region, struct change *change)
{
    uint32_t count = 0;
    FOR_WINDOW_WORDS(word, change->window)
    {
        uint64_t mask = change->mask[word] & window_mask(change->window, word);
        count += (uint32_t)__builtin_popcountll(mask);
        change->counted[word] = 0;
        if (change->kind == WATCH_WRITE_ADD) {
            change->counted[word] = MUTANT(38) ? 0 : mask & region->watched[word];
            region->watched[word] |= mask;
            move_counts(region, word, change->counted[word], 1);
        } else if (drops_writes(change->kind)) {
            change->counted[word] = mask & region->many[word];
            region->watched[word] &= ~(mask & ~(MUTANT(22) ? 0 : change->counted[word]));
            move_counts(region, word, change->counted[word], -1);
        }
        move_sets(region, word, mask, change->kind, true);
    }
    return count;
}

static void change_undo(struct region *region, const struct change *change)
{
    FOR_WINDOW_WORDS(word, change->window)
    {
        uint64_t mask = change->mask[word] & window_mask(change->window, word);
        uint64_t first = mask & ~change->counted[word];
        if (change->kind == WATCH_WRITE_ADD) {
            region->watched[word] &= ~first;
            move_counts(region, word, change->counted[word], -1);
        } else if (drops_writes(change->kind)) {
            region->watched[word] |= first;
            move_counts(region, word, change->counted[word], 1);
        }
        move_sets(region, word, mask, change->kind, false);
    }
}

/* Pages that are watched already get a second watch: they need a count. */
static bool needs_counts(const struct region *region, const struct change *change)
{
    if (change->kind != WATCH_WRITE_ADD || region->counts != NULL)
        return false;
    FOR_WINDOW_WORDS(word, change->window)
    if (change->mask[word] & region->watched[word] & window_mask(change->window, word))
        return true;
    return false;
}

/* The host calls of a change; when one is refused the change is taken back. */
static bool change_settle(struct hold *hold, const struct change *change,
                          const struct rights_before *before)
{
    const struct window *window = change->window;
    struct rights_before made;
    if (TRK_UNLIKELY(hold->number == TRK_DOMAIN_SHARED)) {
        struct settled settled;
        trk_views_collect(hold, window, change->mask);
        if (trk_views_settle(hold, window, change->mask, before, &settled))
            return true;
        remember(&made, hold->region, window);
        change_undo(hold->region, change);
        trk_views_unsettle(hold, window, &made, &settled);
        return false;
    }
    uint32_t refused = trk_pages_protect_moved(hold, window, before);
    if (TRK_LIKELY(refused == window->end))
        return true;
    remember(&made, hold->region, window);
    change_undo(hold->region, change);
    trk_pages_protect_back(hold, window, &made, refused);
    return false;
}

enum trk_status trk_pages_change(const struct operation *operation, const struct window *window,
                                 const uint64_t *mask, enum watch_change kind)
{
    struct hold hold;
    struct change change = {.window = window, .mask = mask, .kind = kind};
    struct rights_before before;
#ifdef TRK_MUTATION
    uint64_t less[TRK_REGION_WORDS];
    change.mask = mutant_mask(&change, less);
#endif
    hold_begin(&hold, operation, window->index);
    hold_state(&hold);
    hold.thrifty = kind == WATCH_DIRTY;
    struct region *region = hold.region;
    if (TRK_UNLIKELY(needs_counts(region, &change)))
        region->counts = trk_arena_take(operation->tracker, TRK_REGION_PAGES);
    bool arms = kind == WATCH_ARM || kind == WATCH_DISARM;
    bool armless = arms && pages_extra(operation->tracker, region) == NULL;
    if (TRK_UNLIKELY(armless || needs_counts(region, &change))) {
        hold_end(&hold, 0);
        return TRK_E_MEMORY;
    }
    if (TRK_UNLIKELY(!change_allowed(region, &change))) {
        hold_end(&hold, 0);
        return TRK_E_WATCH;
    }
    remember(&before, region, window);
    uint32_t count = change_apply(region, &change);
    region->pages_changes++;
    if (MUTANT(39))
        env_unlock(hold.lock);
    bool done = change_settle(&hold, &change, &before);
    if (MUTANT(39))
        hold_take(operation, hold.lock, hold.number);
    hold_end(&hold, done ? count : 0);
    return done ? TRK_OK : TRK_E_PROTECT;
}

bool trk_pages_may_change(const struct operation *operation, const struct window *window, bool add)
{
    const struct region *region = region_slot(operation->tracker, window->index);
    struct env_lock *lock = &operation->tracker->regions[window->index].pages_lock;
    hold_take(operation, lock, window->index);
    if (region_shared(region)) {
        env_unlock(lock);
        lock = &operation->tracker->views.lock;
        hold_take(operation, lock, TRK_DOMAIN_SHARED);
    }
    bool may = true;
    for (uint32_t page = window->first; may && page < window->end; page++) {
        unsigned count = page_write_watches(region, page);
        may = add ? count < TRK_WRITE_WATCHES_MAX : count > 0;
    }
    env_unlock(lock);
    return may;
}

static void set_window(uint64_t *set, const struct window *window, bool value)
{
    FOR_WINDOW_WORDS(word, window)
    {
        uint64_t mask = window_mask(window, word);
        set[word] = value ? set[word] | mask : set[word] & ~mask;
    }
}

static uint32_t count_moved(const struct window *window, const struct page_extra *former,
                            const struct page_extra *now)
{
    uint32_t count = 0;
    FOR_WINDOW_WORDS(word, window)
    count += (uint32_t)__builtin_popcountll((former->no_read[word] ^ now->no_read[word]) |
                                            (former->no_write[word] ^ now->no_write[word]) |
                                            (former->exec[word] ^ now->exec[word]));
    return count;
}

enum trk_status trk_pages_set_rights(const struct operation *operation, const struct window *window,
                                     unsigned rights)
{
    struct hold hold;
    hold_begin(&hold, operation, window->index);
    hold_state(&hold);
    struct region *region = hold.region;
    struct page_extra *extra = pages_extra(operation->tracker, region);
    if (extra == NULL) {
        hold_end(&hold, 0);
        return TRK_E_MEMORY;
    }
    struct page_extra former = *extra;
    struct rights_before before;
    remember(&before, region, window);
    set_window(extra->no_read, window, !(rights & TRK_RIGHT_READ));
    set_window(extra->no_write, window, !(rights & TRK_RIGHT_WRITE));
    set_window(extra->exec, window, (rights & TRK_RIGHT_EXEC) != 0 && !MUTANT(113));
    uint32_t count = count_moved(window, &former, extra);
    region->pages_changes += count != 0;
    uint32_t refused = trk_pages_protect_moved(&hold, window, &before);
    if (refused != window->end) {
        remember(&before, region, window);
        *extra = former;
        trk_pages_protect_back(&hold, window, &before, refused);
        count = 0;
    }
    hold_end(&hold, count);
    return refused == window->end ? TRK_OK : TRK_E_PROTECT;
}
