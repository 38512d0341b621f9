/*
 * The budget of host mappings: a host that splits mappings has a limit of them.
 *
 * Linux keeps a mapping for every stretch of equal protection, and refuses a call that needs one
 * more than vm.max_map_count, also the un-protecting of a single page in the fault handler. So the
 * page manager counts the places where neighbouring pages of a region differ, warns before they are
 * used up, refuses to close pages beyond the budget, and opens whole runs instead of single pages.
 * What lies between the budget and the host's limit is kept for openings that cannot be widened;
 * and a reserve of its own for the case that the rest of the process takes that too.
 *
 * Rules: [M-49], [M-50].
 */
#ifndef TRACK_MAPPINGS_H
#define TRACK_MAPPINGS_H

#include "pages_hold.h"

/* How many more places of difference a change makes; it has been made, `before` is what was. */
int64_t trk_mappings_change(const struct hold *hold, const struct window *window,
                            const struct rights_before *before);

/*
 * Whether there is room for `change` more. Opening is refused only where the hold can do without.
 */
bool trk_mappings_room(const struct hold *hold, const struct window *window,
                       const struct rights_before *before, int64_t change);

/*
 * Whether the budget is far enough for any change of a region: it is not refused, and not warned
 * of.
 */
static inline bool trk_mappings_roomy(const struct trk_mappings *mappings)
{
    int64_t budget = __atomic_load_n(&mappings->budget, __ATOMIC_RELAXED);
    return __atomic_load_n(&mappings->count, __ATOMIC_RELAXED) + (int64_t)TRK_REGION_PAGES <=
           budget / 4 * 3;
}

/*
 * Places of difference in the words of a window and right behind them, in a region whose rights
 * follow from the watches alone; in a hold of the page manager.
 */
static inline int64_t trk_mappings_places(const struct trk_mappings *mappings,
                                          const struct region *region, const struct window *window)
{
    uint32_t first = window->first / 64, behind = (window->end - 1) / 64 + 1;
    uint64_t no_store = mappings->loads_only ? 0 : ~UINT64_C(0);
    uint64_t read = region->read[first], store = (region->watched[first] | read) & no_store;
    /* Bit 63 of what is before: page 0 of a region has nothing before it. */
    uint64_t left_read = first == 0 ? read << 63 : region->read[first - 1];
    uint64_t left_store =
        first == 0 ? store << 63 : (region->watched[first - 1] | left_read) & no_store;
    int64_t places = 0;
    for (uint32_t word = first; word < behind; word++) {
        read = region->read[word];
        store = (region->watched[word] | read) & no_store;
        places += __builtin_popcountll((read ^ (read << 1 | left_read >> 63)) |
                                       (store ^ (store << 1 | left_store >> 63)));
        left_read = read;
        left_store = store;
    }
    if (behind < TRK_REGION_WORDS) {
        read = region->read[behind];
        store = (region->watched[behind] | read) & no_store;
        places += (int64_t)(((read ^ left_read >> 63) | (store ^ left_store >> 63)) & 1);
    }
    return places;
}

/* The change was told to the host. Warns once when the budget is nearly used up. */
void trk_mappings_count(struct trk_mappings *mappings, int64_t change);

/*
 * The run of a region's pages closed to loads around a page, in a hold, where opening that page
 * alone would pass the budget, or the host's limit as last met, and opening them all does not; else
 * an empty one.
 */
struct window trk_mappings_closed_run(const struct hold *hold, uint32_t region_index,
                                      uint32_t page);

/*
 * The host refuses an opening before the budget is used up when the rest of the process has taken
 * its mappings. Then pieces of the reserve are let go, more at each step, and the opening is tried
 * again: as often with a reserve as without, so that a log is re-executed alike. Pieces are taken
 * back after an opening that needed none, or when they were no help; not within a change, whose
 * next call may need what its first has freed.
 */
#define TRK_RELIEF_STEPS 3
void trk_mappings_relieve(struct trk_mappings *mappings, int step);
/* Only let pieces go: no limit is noted, nothing is said. */
void trk_mappings_let_go(struct trk_mappings *mappings, int step);
void trk_mappings_refill(struct trk_mappings *mappings);

/* Whether a store to a page inside a closed run may be refused for want of mappings. */
static inline bool trk_mappings_limit_stores(const struct trk_backend *backend)
{
    return backend->mappings != NULL && !backend->mappings->loads_only;
}

/* The run of CLEAN pages around a window; in a hold of its region. */
struct window trk_mappings_clean_run(const struct region *region, const struct window *window);

#endif
