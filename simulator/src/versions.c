/*
 * The version check: whether each byte that was read is as new as it had to be.
 *
 * A read is judged against the newest store to the byte that is ordered before it. Stamps grow
 * with later stores to the same bytes, so that a check that saw a smaller stamp saw older bytes. A
 * check that saw bytes of no known stamp may have met a store half-way: it counts only when no
 * store races it, and as the racing store's event may come later in the log, it is kept back until
 * the end. A read without a stamp is stale only when every copy that could have brought the store
 * is ordered before it.
 */
#include "versions.h"

#include <stdlib.h>
#include <string.h>

#include "track/address.h"
#include "views.h"

#define HELD_BACK_MAX 8u

/* A range of more pages than this makes no new pages: what is known of them is still kept right. */
#define MAKE_PAGES_MAX (UINT64_C(1) << 18)

/* A finding that a racing store may still excuse. */
struct held {
    struct finding finding;
    uint64_t key; /* the bytes, whatever view shows them */
    uint32_t first, end;
};

struct versions {
    const struct order *order;
    struct shadow *shadow;
    struct views views;
    size_t held_count;
    struct held held[HELD_BACK_MAX]; /* ascending by event */
};

enum trk_status versions_create(struct versions **out, const struct order *order)
{
    struct versions *versions = calloc(1, sizeof *versions);
    if (versions == NULL)
        return TRK_E_MEMORY;
    versions->order = order;
    if (shadow_create(&versions->shadow) != TRK_OK) {
        free(versions);
        return TRK_E_MEMORY;
    }
    *out = versions;
    return TRK_OK;
}

void versions_destroy(struct versions *versions)
{
    if (versions == NULL)
        return;
    shadow_destroy(versions->shadow);
    views_deinit(&versions->views);
    free(versions);
}

/* ---- walking a range ------------------------------------------------------------------------- */

/* What is done to each piece of a range; exactly one of the pointers is set, by kind. */
struct change {
    const struct shadow_store *store;
    const struct shadow_copy *up, *down;
    const struct shadow_clean *clean;
};

/* The part of a range that lies in one page. */
struct piece {
    uint64_t guest_addr;
    uint32_t first, end; /* bytes of the page */
};

/* The next piece of [*at, end_addr); false at the end. */
static bool piece_next(uint64_t *at, uint64_t end_addr, struct piece *piece)
{
    if (*at >= end_addr)
        return false;
    uint64_t page_end = (*at | (SHADOW_PAGE_BYTES - 1)) + 1;
    uint64_t stop = page_end < end_addr ? page_end : end_addr;
    piece->guest_addr = *at;
    piece->first = (uint32_t)(*at % SHADOW_PAGE_BYTES);
    piece->end = piece->first + (uint32_t)(stop - *at);
    *at = stop;
    return true;
}

static bool access_valid(const struct access *access)
{
    return trk_range_valid(TRK_ARENA_LOW_EXTENDED, access->guest_addr, access->size_bytes);
}

static void store_add(const struct versions *versions, struct shadow_history *history,
                      const struct shadow_store *store)
{
    struct shadow_store own = *store;
    bool after = history->up_count > 0;
    for (uint32_t i = 0; i < history->up_count; i++)
        after = after && order_before(versions->order, history->up[i].stream, history->up[i].end,
                                      store->stream);
    if (after)
        own.flags |= SHADOW_STORE_AFTER_COPIES;
    shadow_add_store(history, &own);
}

static enum trk_status page_change(struct versions *versions, struct shadow_page *page,
                                   const struct piece *piece, const struct change *change)
{
    if (change->clean != NULL) {
        shadow_add_clean(page, change->clean);
        return TRK_OK;
    }
    struct shadow_segment *segments;
    size_t count;
    if (shadow_cut(page, piece->first, piece->end, &segments, &count) != TRK_OK)
        return TRK_E_MEMORY;
    for (size_t i = 0; i < count; i++) {
        struct shadow_history *history = &segments[i].history;
        if (change->store != NULL)
            store_add(versions, history, change->store);
        else if (change->up != NULL)
            shadow_add_up(history, change->up);
        else
            shadow_add_down(history, change->down);
    }
    shadow_join(page);
    return TRK_OK;
}

static enum trk_status range_change(struct versions *versions, const struct access *access,
                                    const struct change *change)
{
    if (!access_valid(access))
        return TRK_OK;
    bool make = access->size_bytes / SHADOW_PAGE_BYTES <= MAKE_PAGES_MAX;
    uint64_t at = access->guest_addr, end_addr = access->guest_addr + access->size_bytes;
    struct piece piece;
    while (piece_next(&at, end_addr, &piece)) {
        uint64_t key = views_key(&versions->views, piece.guest_addr);
        struct shadow_page *page = NULL;
        if (!make)
            page = shadow_find(versions->shadow, key);
        else if (shadow_touch(versions->shadow, key, &page) != TRK_OK)
            return TRK_E_MEMORY;
        if (page != NULL && page_change(versions, page, &piece, change) != TRK_OK)
            return TRK_E_MEMORY;
    }
    return TRK_OK;
}

/* ---- being told ------------------------------------------------------------------------------ */

/* Whether a store touches the bytes of a finding, through any view. */
static bool held_touched(const struct versions *versions, const struct held *held,
                         const struct access *store)
{
    uint64_t at = store->guest_addr, end_addr = at + store->size_bytes;
    struct piece piece;
    while (piece_next(&at, end_addr, &piece)) {
        if (piece.first < held->end && held->first < piece.end &&
            views_key(&versions->views, piece.guest_addr) == held->key)
            return true;
    }
    return false;
}

/* A store that races a check held back excuses it. */
static void excuse(struct versions *versions, const struct access *store)
{
    size_t kept = 0;
    for (size_t i = 0; i < versions->held_count; i++) {
        const struct held *held = &versions->held[i];
        const struct access *check = &held->finding.check;
        bool after = order_before(versions->order, check->stream, check->event, store->stream);
        if (after || !held_touched(versions, held, store))
            versions->held[kept++] = *held;
    }
    versions->held_count = kept;
}

enum trk_status versions_store(struct versions *versions, const struct access *access,
                               unsigned flags, uint32_t stamp)
{
    if (!access_valid(access))
        return TRK_OK;
    const struct view *view = views_find(&versions->views, access->guest_addr);
    if (view != NULL && (view->flags & TRK_MAP_UNTRACKED))
        flags |= SHADOW_STORE_UNTRACKED;
    struct shadow_store store = {
        .event = access->event,
        .stream = access->stream,
        .stamp = stamp,
        .flags = flags,
    };
    excuse(versions, access);
    return range_change(versions, access, &(struct change){.store = &store});
}

enum trk_status versions_copy(struct versions *versions, const struct access *access,
                              uint64_t begin, enum trk_copy direction)
{
    struct shadow_copy copy = {
        .begin = begin,
        .end = access->event,
        .guest_addr = access->guest_addr,
        .size_bytes = access->size_bytes,
        .stream = access->stream,
    };
    struct change change = {0};
    if (direction == TRK_COPY_UP)
        change.up = &copy;
    else
        change.down = &copy;
    return range_change(versions, access, &change);
}

enum trk_status versions_fetch(struct versions *versions, const struct access *access)
{
    struct shadow_copy fetch = {
        .begin = access->event,
        .end = access->event,
        .guest_addr = access->guest_addr,
        .size_bytes = access->size_bytes,
        .stream = access->stream,
        .fetched = 1,
    };
    return range_change(versions, access, &(struct change){.down = &fetch});
}

enum trk_status versions_clean(struct versions *versions, const struct access *access)
{
    struct shadow_clean clean = {
        .event = access->event,
        .guest_addr = access->guest_addr,
        .size_bytes = access->size_bytes,
        .stream = access->stream,
    };
    return range_change(versions, access, &(struct change){.clean = &clean});
}

/* Forget what the pages of a range hold, where no view shows them. */
static void forget_unseen(struct versions *versions, uint64_t first_frame, uint64_t pages)
{
    for (uint64_t i = 0; i < pages && i < MAKE_PAGES_MAX; i++) {
        struct views one = {0};
        struct view view = {.end_addr = SHADOW_PAGE_BYTES, .frame = first_frame + i};
        one.view = &view;
        one.count = 1;
        struct shadow_page *page = shadow_find(versions->shadow, views_key(&one, 0));
        if (page != NULL && !views_show(&versions->views, first_frame + i))
            shadow_forget(page);
    }
}

enum trk_status versions_map(struct versions *versions, const struct access *access, uint64_t frame,
                             unsigned flags)
{
    if (!access_valid(access))
        return TRK_OK;
    struct view view = {
        .guest_addr = access->guest_addr & ~(uint64_t)(SHADOW_PAGE_BYTES - 1),
        .frame = frame,
        .flags = flags,
    };
    view.end_addr = access->guest_addr + access->size_bytes;
    view.end_addr = (view.end_addr + SHADOW_PAGE_BYTES - 1) & ~(uint64_t)(SHADOW_PAGE_BYTES - 1);
    if (!(flags & TRK_MAP_ALIAS))
        forget_unseen(versions, frame, (view.end_addr - view.guest_addr) / SHADOW_PAGE_BYTES);
    return views_map(&versions->views, &view);
}

enum trk_status versions_unmap(struct versions *versions, const struct access *access)
{
    if (!access_valid(access))
        return TRK_OK;
    uint64_t first = access->guest_addr & ~(uint64_t)(SHADOW_PAGE_BYTES - 1);
    uint64_t end = access->guest_addr + access->size_bytes;
    end = (end + SHADOW_PAGE_BYTES - 1) & ~(uint64_t)(SHADOW_PAGE_BYTES - 1);
    return views_unmap(&versions->views, first, end);
}

/* ---- judging --------------------------------------------------------------------------------- */

/* Whether a store is ordered before what the reader does now. */
static bool store_before(const struct versions *versions, const struct shadow_history *history,
                         const struct shadow_store *store, uint32_t reader)
{
    if (order_before(versions->order, store->stream, store->event, reader))
        return true;
    if (!(store->flags & SHADOW_STORE_GPU))
        return false;
    for (uint32_t i = 0; i < history->down_count; i++) {
        const struct shadow_copy *down = &history->down[i];
        if (down->begin > store->event &&
            order_before(versions->order, down->stream, down->end, reader))
            return true;
    }
    return false;
}

/* The newest store that is ordered before the reader, or NULL; *races: another one is not. */
static const struct shadow_store *newest_before(const struct versions *versions,
                                                const struct shadow_history *history,
                                                uint32_t reader, bool *races)
{
    const struct shadow_store *newest = NULL;
    *races = false;
    for (uint32_t i = 0; i < history->store_count; i++) {
        const struct shadow_store *store = &history->stores[i];
        if (!store_before(versions, history, store, reader))
            *races = true;
        else if (newest == NULL || store->stamp > newest->stamp)
            newest = store;
    }
    return newest;
}

/* Whether a check with a stamp is stale for one segment; fills store and *hold_back. */
static bool stamped_stale(const struct versions *versions, const struct shadow_history *history,
                          struct finding *finding, bool *hold_back)
{
    bool races;
    const struct shadow_store *newest =
        newest_before(versions, history, finding->check.stream, &races);
    if (newest == NULL || newest->stamp == 0)
        return false;
    for (uint32_t i = 0; i < history->store_count; i++) {
        const struct shadow_store *store = &history->stores[i];
        bool unknown_later = store->stamp == 0 && store->event > newest->event;
        bool seen_races = store->stamp == finding->seen &&
                          !store_before(versions, history, store, finding->check.stream);
        if (unknown_later || seen_races)
            return false;
    }
    if (finding->seen == 0 ? races : finding->seen >= newest->stamp)
        return false;
    *hold_back = finding->seen == 0;
    finding->store = *newest;
    return true;
}

/* Whether the GPU, reading now, must have old bytes for one segment; fills store. */
static bool unstamped_stale(const struct versions *versions, const struct shadow_history *history,
                            struct finding *finding)
{
    const struct shadow_store *newest = NULL;
    for (uint32_t i = 0; i < history->store_count && newest == NULL; i++) {
        const struct shadow_store *store = &history->stores[i];
        if (store->flags & SHADOW_STORE_GPU)
            return false; /* newer than any CPU store that follows in the list */
        if (order_before(versions->order, store->stream, store->event, finding->check.stream))
            newest = store;
    }
    if (newest == NULL || !(newest->flags & SHADOW_STORE_AFTER_COPIES) ||
        history->up[0].end > newest->event)
        return false;
    finding->store = *newest;
    return true;
}

/* Judge one page's piece; *stale only with out filled. Findings to be held back are kept here. */
static void piece_check(struct versions *versions, const struct shadow_page *page,
                        const struct piece *piece, struct finding *out, bool *stale)
{
    for (uint32_t i = 0; i < page->count && !*stale; i++) {
        const struct shadow_segment *segment = &page->segments[i];
        uint32_t first = segment->first > piece->first ? segment->first : piece->first;
        uint32_t end = segment->end < piece->end ? segment->end : piece->end;
        if (first >= end)
            continue;
        struct finding finding = *out;
        bool hold_back = false;
        bool found = finding.stamped
                         ? stamped_stale(versions, &segment->history, &finding, &hold_back)
                         : unstamped_stale(versions, &segment->history, &finding);
        if (!found)
            continue;
        finding.guest_addr = piece->guest_addr + (first - piece->first);
        finding.size_bytes = end - first;
        finding_blame(&finding, page, &segment->history);
        if (!hold_back) {
            *out = finding;
            *stale = true;
        } else if (versions->held_count < HELD_BACK_MAX) {
            versions->held[versions->held_count++] =
                (struct held){.finding = finding, .key = page->key, .first = first, .end = end};
        }
    }
}

void versions_check(struct versions *versions, struct finding *finding, bool *stale)
{
    *stale = false;
    finding->detail = "";
    if (!access_valid(&finding->check))
        return;
    uint64_t at = finding->check.guest_addr, end_addr = at + finding->check.size_bytes;
    struct piece piece;
    while (!*stale && piece_next(&at, end_addr, &piece)) {
        const struct shadow_page *page =
            shadow_find(versions->shadow, views_key(&versions->views, piece.guest_addr));
        if (page != NULL)
            piece_check(versions, page, &piece, finding, stale);
    }
}

bool versions_unexcused(const struct versions *versions, struct finding *out)
{
    if (versions->held_count == 0)
        return false;
    *out = versions->held[0].finding;
    return true;
}
