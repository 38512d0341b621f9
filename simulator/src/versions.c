/*
 * The version check: being told of stores, copies and views.
 */
#include "versions.h"

#include <stdlib.h>
#include <string.h>

#include "track/address.h"
#include "versions_state.h"

/* A range of more pages than this makes no new pages: what is known of them is still kept right. */
#define MAKE_PAGES_MAX (UINT64_C(1) << 18)

enum trk_status versions_create(struct versions **out, const struct order *order,
                                uint32_t granule_bytes)
{
    struct versions *versions = calloc(1, sizeof *versions);
    if (versions == NULL)
        return TRK_E_MEMORY;
    versions->order = order;
    versions->granule_bytes = granule_bytes;
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
    struct finding *lost; /* of a copy; NULL: nobody asks */
};

bool piece_next(uint64_t *at, uint64_t end_addr, struct piece *piece)
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

bool access_valid(const struct access *access)
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

/* A download whose bytes the GPU had not finished. */
static void down_add(const struct versions *versions, struct shadow_history *history,
                     const struct shadow_copy *down)
{
    struct shadow_copy own = *down;
    const struct shadow_store *newest = &history->stores[0];
    if (history->store_count > 0 && (newest->flags & SHADOW_STORE_GPU) && newest->tick != 0 &&
        !(own.flags & SHADOW_COPY_FETCHED) && versions->tick_done > 0 &&
        !trk_tick_has_run(newest->tick, versions->tick_done))
        own.flags |= SHADOW_COPY_EARLY;
    shadow_add_down(history, &own);
}

static void segment_change(const struct versions *versions, const struct piece *piece,
                           struct shadow_segment *segment, const struct change *change)
{
    struct shadow_history *history = &segment->history;
    if (change->store != NULL) {
        store_add(versions, history, change->store);
        return;
    }
    const struct shadow_copy *copy = change->up != NULL ? change->up : change->down;
    enum trk_copy direction = change->up != NULL ? TRK_COPY_UP : TRK_COPY_DOWN;
    if (history->overwritten == 0 &&
        (copy->flags & (SHADOW_COPY_FETCHED | SHADOW_COPY_ENDED)) == 0 &&
        copy_overwrites(versions, history, copy, direction))
        history->overwritten = copy->end;
    if (history->doubted == 0 && (copy->flags & SHADOW_COPY_FETCHED) == 0 &&
        copy_may_overwrite(history, copy, direction))
        history->doubted = copy->end;
    if (change->lost != NULL && !change->lost->found &&
        copy_loses(versions, history, copy, direction, change->lost)) {
        change->lost->guest_addr = piece->guest_addr + (segment->first - piece->first);
        change->lost->size_bytes = segment->end - segment->first;
    }
    if (change->up != NULL)
        shadow_add_up(history, copy);
    else
        down_add(versions, history, copy);
}

static enum trk_status page_change(struct versions *versions, struct shadow_page *page,
                                   const struct piece *piece, const struct change *change)
{
    if (change->clean != NULL) {
        shadow_add_clean(page, change->clean);
        return TRK_OK;
    }
    struct shadow_part part;
    if (shadow_cut(versions->shadow, page, piece->first, piece->end, &part) != TRK_OK)
        return TRK_E_MEMORY;
    for (size_t i = 0; i < part.count; i++)
        segment_change(versions, piece, &part.segments[i], change);
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

/*
 * Granules: what covers one in part only is taken for bytes of no known stamp in all of it, so
 * that nothing false is ever said of the neighbours.
 */
static enum trk_status store_granules(struct versions *versions, const struct access *access,
                                      const struct shadow_store *store)
{
    uint64_t mask = versions->granule_bytes - 1;
    uint64_t end_addr = access->guest_addr + access->size_bytes;
    uint64_t first_whole = (access->guest_addr + mask) & ~mask, end_whole = end_addr & ~mask;
    struct shadow_store part = *store;
    part.stamp = 0;
    part.flags |= SHADOW_STORE_PART;
    struct access one = *access;
    enum trk_status status = TRK_OK;
    if (first_whole < end_whole) {
        one.guest_addr = first_whole;
        one.size_bytes = end_whole - first_whole;
        status = range_change(versions, &one, &(struct change){.store = store});
    }
    one.size_bytes = versions->granule_bytes;
    one.guest_addr = access->guest_addr & ~mask;
    if (status == TRK_OK && one.guest_addr < access->guest_addr)
        status = range_change(versions, &one, &(struct change){.store = &part});
    bool same = one.guest_addr == end_whole && one.guest_addr < access->guest_addr;
    one.guest_addr = end_whole;
    if (status == TRK_OK && end_whole < end_addr && !same)
        status = range_change(versions, &one, &(struct change){.store = &part});
    return status;
}

enum trk_status versions_store(struct versions *versions, const struct access *access,
                               const struct shadow_store *store)
{
    if (!access_valid(access))
        return TRK_OK;
    struct shadow_store own = *store;
    own.event = access->event;
    own.stream = access->stream;
    excuse(versions, access);
    if (versions->granule_bytes > 1)
        return store_granules(versions, access, &own);
    return range_change(versions, access, &(struct change){.store = &own});
}

enum trk_status versions_copy(struct versions *versions, const struct access *access,
                              const struct shadow_copy *told, enum trk_copy direction,
                              struct finding *lost)
{
    struct shadow_copy copy = {
        .begin = told->begin,
        .end = access->event,
        .guest_addr = access->guest_addr,
        .size_bytes = access->size_bytes,
        .stream = access->stream,
        .flags = told->flags,
    };
    struct change change = {.lost = lost};
    *lost = (struct finding){.check = *access};
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
        .flags = SHADOW_COPY_FETCHED,
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

void versions_doubt(struct versions *versions, uint64_t event)
{
    uint64_t doubt = event == UINT64_MAX ? event : event + 1;
    if (doubt > versions->doubt)
        versions->doubt = doubt;
}

void versions_lose(struct versions *versions, uint64_t lost)
{
    versions->lost = lost;
}

void versions_lose_views(struct versions *versions, uint64_t lost)
{
    versions->views_lost = lost;
}

void versions_views_astray(struct versions *versions)
{
    versions->views_astray = true;
}

void versions_disorder(struct versions *versions, const struct disorder *disorder)
{
    versions->disorder = disorder;
}

void versions_now(struct versions *versions, uint64_t event)
{
    versions->now = event;
}

void versions_complete(struct versions *versions, uint64_t event, uint64_t tick)
{
    if (tick < versions->tick_done)
        return;
    versions->tick_done = tick;
    versions->tick_event = event;
}

/* ---- views ----------------------------------------------------------------------------------- */

static void forget_page(const struct versions *versions, struct shadow_page *page, uint64_t frame)
{
    if (page != NULL && !views_show(&versions->views, frame))
        shadow_forget(page);
}

/* Forget what the pages of a range hold, where no view shows them. */
static void forget_unseen(const struct versions *versions, uint64_t first_frame, uint64_t pages)
{
    struct shadow_page *page;
    size_t at = 0;
    uint64_t frame;
    if (pages > MAKE_PAGES_MAX) {
        while ((page = shadow_next(versions->shadow, &at)) != NULL) {
            if (views_key_frame(page->key, &frame) && frame - first_frame < pages)
                forget_page(versions, page, frame);
        }
        return;
    }
    for (frame = first_frame; frame - first_frame < pages; frame++) {
        struct view view = {.end_addr = SHADOW_PAGE_BYTES, .frame = frame};
        const struct views one = {.view = &view, .count = 1};
        forget_page(versions, shadow_find(versions->shadow, views_key(&one, 0)), frame);
    }
}

enum trk_status versions_map(struct versions *versions, const struct access *access, uint64_t frame,
                             unsigned flags)
{
    if (!access_valid(access))
        return TRK_OK;
    versions->views_changed = access->event + 1;
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
    versions->views_changed = access->event + 1;
    uint64_t first = access->guest_addr & ~(uint64_t)(SHADOW_PAGE_BYTES - 1);
    uint64_t end = access->guest_addr + access->size_bytes;
    end = (end + SHADOW_PAGE_BYTES - 1) & ~(uint64_t)(SHADOW_PAGE_BYTES - 1);
    return views_unmap(&versions->views, first, end);
}

bool versions_untracked(const struct versions *versions, uint64_t guest_addr)
{
    const struct view *view = views_find(&versions->views, guest_addr);
    return view != NULL && (view->flags & TRK_MAP_UNTRACKED);
}

uint64_t versions_tracked_addr(const struct versions *versions, uint64_t guest_addr)
{
    const struct view *view = views_find(&versions->views, guest_addr);
    return view == NULL ? guest_addr : views_tracked(&versions->views, view, guest_addr);
}

bool versions_limited(const struct versions *versions)
{
    return shadow_limited(versions->shadow);
}
