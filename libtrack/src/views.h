/*
 * Views: pages at different guest addresses that show the same bytes.
 *
 * The pages of a frame form a group. Between those of them of which a byte is registered, each
 * one's watches take rights from all: a page's others_watch and others_read say what the others
 * ask for, and are worked out anew whenever a watch, an arming, a registration or the group itself
 * changes. All regions that have, or once had, a page in a group share one page-manager lock and
 * one count of holds, so that a change reaches every view in the hold that makes it.
 *
 * Rules: [M-73] [M-75].
 */
#ifndef TRACK_VIEWS_H
#define TRACK_VIEWS_H

#include "pages_hold.h"
#include "track/pages.h"

/* Never changed while pages point to it: another takes its place. */
struct view_group {
    struct view_group *next_free;
    uint32_t count;                    /* at least 2 */
    uint64_t page_addr[TRK_VIEWS_MAX]; /* ascending */
};

/* A region with shared pages. */
struct region_views {
    uint64_t seen[TRK_REGION_WORDS]; /* a byte of the page is registered */
    struct view_group *group[TRK_REGION_PAGES];
};

/* Pages in other views than the one that an operation is about; ascending, each once. */
struct view_scratch {
    uint32_t count;
    uint64_t page_addr[TRK_REGION_PAGES * TRK_VIEWS_MAX];
    /* Groups before a join or a leave, by page of the window; for a join the other's as well. */
    struct view_group *former[TRK_REGION_PAGES], *other_former[TRK_REGION_PAGES];
};

/* ---- views_settle.c -------------------------------------------------------------------------- */

/* How far a settling came, for taking it back. */
struct settled {
    const uint64_t *mask;
    uint32_t refused;       /* own view: first page of the refused call, or the window's end */
    uint32_t done;          /* other views: entries of the scratch that are through */
    uint32_t other_refused; /* page of the refused call in the region of entry `done` */
    bool other_failed;
};

/*
 * Tell the host what follows from a change of the window's pages in the mask: the view of the
 * operation first, then the others, ascending, each joined by itself. False: a call was refused;
 * take the change back, then call trk_views_unsettle. `before`: from before the change.
 */
bool trk_views_settle(struct hold *hold, const struct window *window, const uint64_t *mask,
                      const struct rights_before *before, struct settled *settled);
/* `made`: the window's rights between the change and its undoing. */
void trk_views_unsettle(struct hold *hold, const struct window *window,
                        const struct rights_before *made, const struct settled *settled);

/* Fill the scratch with the other views of the window's pages in the mask, as they are now. */
void trk_views_collect(const struct hold *hold, const struct window *window, const uint64_t *mask);

/*
 * Where registration is about to change which pages have a registered byte: make the change and
 * the host calls, in the hold of the region. TRK_E_PROTECT leaves all as it was.
 */
enum trk_status trk_views_see(const struct operation *operation, const struct window *window,
                              const uint64_t *mask, bool seen);

/* ---- pages_look.c ---------------------------------------------------------------------------- */

/* What the look of the fault handler finds. */
struct page_look {
    enum trk_fault_look look;
    uint32_t changes;                  /* the region's counter of changes */
    uint32_t view_count;               /* registered views of the page; else the page alone: 1 */
    uint64_t page_addr[TRK_VIEWS_MAX]; /* of these, ascending */
    uint32_t armed;                    /* bit i: view i is armed for generations */
    /* Not empty: the host is short of mappings, and these pages of view i are opened together. */
    struct window runs[TRK_VIEWS_MAX];
};

/* Look at a page, in a hold; emits the FAULT event. No view where no region is live. */
void trk_pages_look_views(const struct operation *operation, enum trk_access access,
                          struct page_look *out);

/* ---- a page's place -------------------------------------------------------------------------- */

static inline uint32_t page_number(uint64_t page_addr)
{
    return (uint32_t)(page_addr % TRK_REGION_BYTES / TRK_HOST_PAGE_BYTES);
}

static inline struct view_group **view_slot(const struct trk_tracker *tracker, uint64_t page_addr)
{
    struct region *region = region_slot(tracker, trk_region_index(page_addr));
    return &region->views->group[page_number(page_addr)];
}

static inline bool page_bit(const uint64_t *set, uint32_t page)
{
    return set[page / 64] >> (page % 64) & 1;
}

static inline bool view_seen(const struct trk_tracker *tracker, uint64_t page_addr)
{
    const struct region *region = region_slot(tracker, trk_region_index(page_addr));
    return page_bit(region->views->seen, page_number(page_addr));
}

#endif
