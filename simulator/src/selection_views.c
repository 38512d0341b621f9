#include "selection_views.h"

#include <stdlib.h>

#include "track/address.h"

#define PAGE TRK_HOST_PAGE_BYTES

void selection_views_deinit(struct selection_views *views)
{
    free(views->view);
    *views = (struct selection_views){0};
}

static int by_frame(const void *left, const void *right)
{
    const struct selection_view *a = left, *b = right;
    if (a->frame != b->frame)
        return a->frame < b->frame ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return (a->guest_addr > b->guest_addr) - (a->guest_addr < b->guest_addr);
}

/* What is mapped again and again is kept once. */
static void sort(struct selection_views *views)
{
    size_t kept = 0;
    if (views->count > 0)
        qsort(views->view, views->count, sizeof *views->view, by_frame);
    for (size_t i = 0; i < views->count; i++)
        if (kept == 0 || by_frame(&views->view[kept - 1], &views->view[i]) != 0)
            views->view[kept++] = views->view[i];
    views->count = kept;
}

static enum trk_status make_room(struct selection_views *views)
{
    sort(views);
    if (2 * views->count < views->room)
        return TRK_OK;
    size_t room = views->room ? 2 * views->room : 64;
    struct selection_view *grown = realloc(views->view, room * sizeof *grown);
    if (grown == NULL)
        return TRK_E_MEMORY;
    views->view = grown;
    views->room = room;
    return TRK_OK;
}

enum trk_status selection_views_note(struct selection_views *views, const struct trk_event *event)
{
    uint64_t guest_addr = event->argument & ~(PAGE - 1);
    uint64_t size_bytes = trk_event_size(event);
    if (size_bytes == 0 || !trk_range_valid(TRK_ARENA_LOW_EXTENDED, event->argument, 1))
        return TRK_OK;
    uint64_t band_end = event->argument < TRK_LOW_END ? TRK_LOW_END : TRK_ARENA_END;
    uint64_t end_addr =
        size_bytes < band_end - event->argument ? event->argument + size_bytes : band_end;
    if (views->count == views->room && make_room(views) != TRK_OK)
        return TRK_E_MEMORY;
    uint64_t frame = trk_event_number32(event);
    views->view[views->count++] = (struct selection_view){
        .frame = frame,
        .end = frame + (end_addr - guest_addr + PAGE - 1) / PAGE,
        .guest_addr = guest_addr,
    };
    return TRK_OK;
}

static uint64_t address_of(const struct selection_view *view, uint64_t frame)
{
    return view->guest_addr + (frame - view->frame) * PAGE;
}

/* Frames up to the end of the region in which a view shows one. */
static uint64_t region_left(const struct selection_view *view, uint64_t frame)
{
    return TRK_REGION_PAGES - address_of(view, frame) % TRK_REGION_BYTES / PAGE;
}

static void give_pairs(const struct selection_view *view, const struct selection_view *other,
                       selection_views_fn *fn, void *context)
{
    uint64_t end = view->end < other->end ? view->end : other->end;
    for (uint64_t frame = other->frame; frame < end;) {
        fn(context, trk_region_index(address_of(view, frame)),
           trk_region_index(address_of(other, frame)));
        uint64_t left = region_left(view, frame), others = region_left(other, frame);
        frame += left < others ? left : others;
    }
}

/*
 * Of the views up to one, by their first frames, that which reaches farthest shows all frames of
 * the others from there on: so each is joined to that one only.
 */
void selection_views_pairs(struct selection_views *views, selection_views_fn *fn, void *context)
{
    sort(views);
    const struct selection_view *farthest = views->view;
    for (size_t i = 1; i < views->count; i++) {
        const struct selection_view *view = &views->view[i];
        give_pairs(farthest, view, fn, context);
        if (view->end > farthest->end)
            farthest = view;
    }
}
