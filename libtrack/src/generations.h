/*
 * Inside the core: the table of generations.
 *
 * Glossary
 *   guest page  16 KiB, four pages
 *   generation  of a guest page: 0 is not registered, otherwise a number given once
 *   sum         what owners see: a hash over the guest pages of a range and their generations
 *   view        a mapping of the guest, as far as somebody told
 *
 * Whether a page is armed stands with the page manager (page_extra.armed), which derives protection
 * from it. Both that set and the guest's own rights change only under the generations' lock, and in
 * it a hold of the page manager; so whoever has the generations' lock may read them as they are.
 * A page is let go (no longer armed) in the hold that advances or drops its generation, never
 * otherwise: a sum taken while a page was armed cannot come back after a store.
 *
 * Lock order: regions, generations, page managers.
 */
#ifndef TRACK_SRC_GENERATIONS_H
#define TRACK_SRC_GENERATIONS_H

#include "internal.h"
#include "track/generations.h"

#define GUEST_PAGE_PAGES   ((uint32_t)(TRK_GUEST_PAGE_BYTES / TRK_HOST_PAGE_BYTES))
#define REGION_GUEST_PAGES (TRK_REGION_PAGES / GUEST_PAGE_PAGES)

/* The guest pages of a region. */
struct generation_table {
    uint64_t of_page[REGION_GUEST_PAGES];
};

struct generations {
    struct env_lock lock;
    /* All under lock. */
    uint32_t seq;
    uint32_t hold_changed;              /* guest pages registered, advanced or dropped */
    uint64_t newest;                    /* the last generation that was given */
    struct generation_table **tables;   /* by region; NULL: nothing registered yet */
    struct trk_generations_view *views; /* ascending, disjoint */
    uint32_t view_count, view_capacity;
};

/* When the policy wants them; TRK_OK or TRK_E_MEMORY. The memory goes with the tracker's. */
enum trk_status trk_generations_create(struct trk_tracker *tracker);

/* ---- under the generations' lock ------------------------------------------------------------- */

void trk_generations_lock(const struct operation *operation);
void trk_generations_unlock(const struct operation *operation);

/*
 * The guest pages that a window of pages touches. let_go takes the arming away; advance and drop do
 * that and move registered pages on, or make them unregistered. TRK_OK or TRK_E_PROTECT: then all
 * are as they were, but what was to be dropped is. At the host's limit of mappings the armed pages
 * around the window are let go with it, and move on.
 */
bool trk_generations_armed(const struct trk_tracker *tracker, const struct window *window);
enum trk_status trk_generations_advance(const struct operation *operation,
                                        const struct window *window);
enum trk_status trk_generations_drop(const struct operation *operation,
                                     const struct window *window);
/* Arm what the guest may write, then register what is not; there is a table. */
enum trk_status trk_generations_arm(const struct operation *operation, const struct window *window);
/* Make room for the range's tables. */
bool trk_generations_make_tables(const struct operation *operation);
/* Whether the guest may read all pages of the window. */
bool trk_generations_readable(const struct trk_tracker *tracker, const struct window *window);
/* The sum of the operation's range; 0 when a page is not registered. */
uint64_t trk_generations_sum(const struct operation *operation);

/* ---- for other operations -------------------------------------------------------------------- */

/* The guest's own rights of the operation's range change, generations on or off. */
enum trk_status trk_generations_protect(const struct operation *operation, unsigned rights);

struct page_look;

/*
 * A store that faulted where the look found a view armed: whether one still is, for then all that
 * are let go and move on. Generations are on.
 */
enum trk_status trk_generations_store(const struct operation *operation,
                                      const struct page_look *look, bool *served);
/* The body of a notify, in a hold of its own; nothing when generations are off. */
enum trk_status trk_generations_notify_range(const struct operation *operation);

/* The window, its ends rounded out to guest pages. */
static inline struct window guest_window(const struct window *window)
{
    return (struct window){
        .index = window->index,
        .first = window->first & ~(GUEST_PAGE_PAGES - 1),
        .end = (window->end + GUEST_PAGE_PAGES - 1) & ~(GUEST_PAGE_PAGES - 1),
    };
}

#endif
