/*
 * Which bytes are the same: views of the backing object.
 */
#include "views.h"

#include <stdlib.h>
#include <string.h>

#include "track/address.h"
#include "track/event.h"

#define KEY_OF_FRAME (UINT64_C(1) << 63)

void views_deinit(struct views *views)
{
    free(views->view);
    *views = (struct views){0};
}

/* The first view that ends behind the address. */
static size_t views_search(const struct views *views, uint64_t guest_addr)
{
    size_t low = 0, high = views->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (views->view[middle].end_addr <= guest_addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum trk_status views_insert(struct views *views, size_t at, const struct view *view)
{
    if (views->count == VIEWS_MAX)
        return TRK_E_MEMORY;
    if (views->count == views->capacity) {
        size_t capacity = views->capacity ? 2 * views->capacity : 16;
        struct view *grown = realloc(views->view, capacity * sizeof *grown);
        if (grown == NULL)
            return TRK_E_MEMORY;
        views->view = grown;
        views->capacity = capacity;
    }
    memmove(views->view + at + 1, views->view + at, (views->count - at) * sizeof *view);
    views->view[at] = *view;
    views->count++;
    return TRK_OK;
}

enum trk_status views_unmap(struct views *views, uint64_t guest_addr, uint64_t end_addr)
{
    size_t at = views_search(views, guest_addr);
    if (at < views->count && views->view[at].guest_addr < guest_addr) {
        struct view *cut = &views->view[at];
        struct view rest = *cut;
        cut->end_addr = guest_addr;
        at++;
        if (rest.end_addr > end_addr) {
            rest.frame += (end_addr - rest.guest_addr) / TRK_HOST_PAGE_BYTES;
            rest.guest_addr = end_addr;
            return views_insert(views, at, &rest);
        }
    }
    size_t end = at;
    while (end < views->count && views->view[end].end_addr <= end_addr)
        end++;
    if (end < views->count && views->view[end].guest_addr < end_addr) {
        struct view *cut = &views->view[end];
        cut->frame += (end_addr - cut->guest_addr) / TRK_HOST_PAGE_BYTES;
        cut->guest_addr = end_addr;
    }
    if (end > at)
        memmove(views->view + at, views->view + end, (views->count - end) * sizeof *views->view);
    views->count -= end - at;
    return TRK_OK;
}

enum trk_status views_map(struct views *views, const struct view *view)
{
    enum trk_status status = views_unmap(views, view->guest_addr, view->end_addr);
    if (status != TRK_OK)
        return status;
    return views_insert(views, views_search(views, view->guest_addr), view);
}

const struct view *views_find(const struct views *views, uint64_t guest_addr)
{
    size_t at = views_search(views, guest_addr);
    if (at == views->count || views->view[at].guest_addr > guest_addr)
        return NULL;
    return &views->view[at];
}

uint64_t views_key(const struct views *views, uint64_t guest_addr)
{
    const struct view *view = views_find(views, guest_addr);
    if (view == NULL)
        return guest_addr / TRK_HOST_PAGE_BYTES;
    uint64_t page = guest_addr / TRK_HOST_PAGE_BYTES - view->guest_addr / TRK_HOST_PAGE_BYTES;
    return KEY_OF_FRAME | (view->frame + page);
}

bool views_key_frame(uint64_t key, uint64_t *frame)
{
    *frame = key & ~KEY_OF_FRAME;
    return (key & KEY_OF_FRAME) != 0;
}

uint64_t views_tracked(const struct views *views, const struct view *view, uint64_t guest_addr)
{
    if (!(view->flags & TRK_MAP_UNTRACKED))
        return guest_addr;
    uint64_t frame = view->frame + (guest_addr - view->guest_addr) / TRK_HOST_PAGE_BYTES;
    for (size_t i = 0; i < views->count; i++) {
        const struct view *other = &views->view[i];
        uint64_t pages = (other->end_addr - other->guest_addr) / TRK_HOST_PAGE_BYTES;
        if (!(other->flags & TRK_MAP_UNTRACKED) && frame >= other->frame &&
            frame - other->frame < pages)
            return other->guest_addr + (frame - other->frame) * TRK_HOST_PAGE_BYTES +
                   guest_addr % TRK_HOST_PAGE_BYTES;
    }
    return guest_addr;
}

/* How many views show a frame, counted up to `most`. */
static unsigned shown(const struct views *views, uint64_t frame, unsigned most)
{
    unsigned count = 0;
    for (size_t i = 0; i < views->count && count < most; i++) {
        const struct view *view = &views->view[i];
        uint64_t pages = (view->end_addr - view->guest_addr) / TRK_HOST_PAGE_BYTES;
        count += frame >= view->frame && frame - view->frame < pages;
    }
    return count;
}

bool views_show(const struct views *views, uint64_t frame)
{
    return shown(views, frame, 1) > 0;
}

bool views_shared(const struct views *views, uint64_t key)
{
    uint64_t frame;
    return views_key_frame(key, &frame) && shown(views, frame, 2) > 1;
}
