/*
 * The budget of host mappings: a host that splits mappings has a limit of them.
 *
 * Linux keeps a mapping for every stretch of equal protection, and refuses a call that needs one
 * more than vm.max_map_count, also the un-protecting of a single page in the fault handler. So the
 * page manager counts the places where neighbouring pages of a region differ, warns before they are
 * used up, refuses to close pages beyond the budget, and opens whole runs instead of single pages.
 * What lies between the budget and the host's limit is kept for openings that cannot be widened.
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

/* The change was told to the host. Warns once when the budget is nearly used up. */
void trk_mappings_count(struct trk_mappings *mappings, int64_t change);

/*
 * The run of pages closed to loads around a page, in a hold, where opening that page alone would
 * pass the budget and opening them all does not; else an empty one.
 */
struct window trk_mappings_closed_run(const struct hold *hold, uint32_t page);

/* Whether a store to a page inside a closed run may be refused for want of mappings. */
static inline bool trk_mappings_limit_stores(const struct trk_backend *backend)
{
    return backend->mappings != NULL && !backend->mappings->loads_only;
}

/* The run of CLEAN pages around a window; in a hold of its region. */
struct window trk_mappings_clean_run(const struct region *region, const struct window *window);

#endif
