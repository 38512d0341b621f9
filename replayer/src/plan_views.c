#include "plan_internal.h"

#include <stdlib.h>
#include <string.h>

/* Keys of frames stand above those of all guest pages. */
#define FRAME_KEYS (UINT64_C(1) << 40)

void *plan_grow(void *array, size_t count, size_t *capacity, size_t item_bytes)
{
    if (count < *capacity) {
        return array;
    }
    size_t more = *capacity == 0 ? 64 : *capacity * 2;
    void *larger = realloc(array, more * item_bytes);
    if (larger != NULL) {
        *capacity = more;
    }
    return larger;
}

bool plan_raws_grow(struct plan_raws *raws)
{
    void *all = raws->count < PLAN_RAWS_MAX
                    ? plan_grow(raws->all, raws->count, &raws->capacity, sizeof *raws->all)
                    : NULL;
    if (all == NULL) {
        return false;
    }
    raws->all = all;
    return true;
}

void plan_views_deinit(struct plan_views *views)
{
    free(views->all);
    memset(views, 0, sizeof *views);
}

/* The first view that ends behind a page. */
static size_t views_behind(const struct plan_views *views, uint64_t page)
{
    size_t low = 0, high = views->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (views->all[middle].end > page) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static void views_insert(struct plan_views *views, size_t at, struct plan_view view)
{
    memmove(views->all + at + 1, views->all + at, (views->count - at) * sizeof *views->all);
    views->all[at] = view;
    views->count++;
}

/* Forget what is known of a range; there is room for one more view. */
static void views_cut(struct plan_views *views, uint64_t first, uint64_t end)
{
    size_t at = views_behind(views, first);
    if (at < views->count && views->all[at].first < first) {
        struct plan_view *view = &views->all[at];
        struct plan_view rest = {end, view->end, view->key + (end - view->first)};
        bool split = view->end > end;
        view->end = first;
        at++;
        if (split) {
            views_insert(views, at, rest);
            return;
        }
    }
    size_t stop = at;
    while (stop < views->count && views->all[stop].end <= end) {
        stop++;
    }
    memmove(views->all + at, views->all + stop, (views->count - stop) * sizeof *views->all);
    views->count -= stop - at;
    if (at < views->count && views->all[at].first < end) {
        views->all[at].key += end - views->all[at].first;
        views->all[at].first = end;
    }
}

enum trk_status plan_views_set(struct plan_views *views, uint64_t guest_addr, uint64_t size_bytes,
                               bool mapped, uint64_t frame)
{
    if (size_bytes == 0 || guest_addr + size_bytes < guest_addr) {
        return TRK_OK;
    }
    for (int i = 0; i < 2; i++) { /* a cut may make two of one, and the new one comes in between */
        void *all =
            plan_grow(views->all, views->count + (size_t)i, &views->capacity, sizeof *views->all);
        if (all == NULL) {
            return TRK_E_MEMORY;
        }
        views->all = all;
    }
    uint64_t first = guest_addr >> PLAN_PAGE_SHIFT;
    uint64_t end = ((guest_addr + size_bytes - 1) >> PLAN_PAGE_SHIFT) + 1;
    views_cut(views, first, end);
    if (mapped) {
        struct plan_view view = {first, end, FRAME_KEYS + frame};
        views_insert(views, views_behind(views, first), view);
    }
    return TRK_OK;
}

uint64_t plan_views_key(const struct plan_views *views, uint64_t guest_addr, uint64_t *size_bytes)
{
    uint64_t page = guest_addr >> PLAN_PAGE_SHIFT, key = page, end = UINT64_MAX;
    size_t at = views_behind(views, page);
    if (at < views->count && views->all[at].first <= page) {
        key = views->all[at].key + (page - views->all[at].first);
        end = views->all[at].end;
    } else if (at < views->count) {
        end = views->all[at].first;
    }
    if (end != UINT64_MAX && *size_bytes > (end << PLAN_PAGE_SHIFT) - guest_addr) {
        *size_bytes = (end << PLAN_PAGE_SHIFT) - guest_addr;
    }
    return (key << PLAN_PAGE_SHIFT) + (guest_addr & (TRK_PLAN_PAGE_BYTES - 1));
}
