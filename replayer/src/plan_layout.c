/*
 * The mirror: pages that the trace touches, in the order of their keys, with short holes kept.
 */
#include "plan_internal.h"

#include <stdlib.h>

struct extent {
    uint64_t first, end; /* pages' keys */
    uint64_t place;      /* page of the mirror of the first */
};

static int extent_compare(const void *a, const void *b)
{
    uint64_t left = ((const struct extent *)a)->first, right = ((const struct extent *)b)->first;
    return left < right ? -1 : left > right;
}

/* Join what overlaps or is near; the number that is left. */
static size_t extents_join(struct extent *extents, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct extent *last = kept > 0 ? &extents[kept - 1] : NULL;
        if (last != NULL && extents[i].first <= last->end + TRK_PLAN_HOLE_PAGES) {
            last->end = extents[i].end > last->end ? extents[i].end : last->end;
        } else {
            extents[kept++] = extents[i];
        }
    }
    return kept;
}

static const struct extent *extent_of(const struct extent *extents, size_t count, uint64_t page)
{
    size_t low = 0, high = count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (extents[middle].first <= page) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &extents[low];
}

static struct extent extent_make(uint64_t offset, uint64_t size_bytes)
{
    return (struct extent){
        .first = offset >> PLAN_PAGE_SHIFT,
        .end = ((offset + size_bytes - 1) >> PLAN_PAGE_SHIFT) + 1,
    };
}

static void place_it(const struct extent *extents, size_t count, uint64_t *offset)
{
    const struct extent *extent = extent_of(extents, count, *offset >> PLAN_PAGE_SHIFT);
    *offset -= (extent->first - extent->place) << PLAN_PAGE_SHIFT;
}

enum trk_status plan_layout(struct plan_raws *raws, uint64_t *mirror_bytes, struct trk_error *error)
{
    const size_t all = raws->count + raws->image_count;
    struct extent *extents = calloc(all + 1, sizeof *extents);
    if (extents == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the plan's pages");
    }
    for (size_t i = 0; i < raws->count; i++) {
        extents[i] = extent_make(raws->all[i].item.offset, raws->all[i].item.size_bytes);
    }
    for (size_t i = 0; i < raws->image_count; i++) { /* all of it, whatever was copied */
        const struct trk_plan_image *image = &raws->images[i].image;
        extents[raws->count + i] = extent_make(image->offset, image->size_bytes);
    }
    qsort(extents, all, sizeof *extents, extent_compare);
    size_t count = extents_join(extents, all);
    uint64_t place = 0;
    for (size_t i = 0; i < count; i++) {
        extents[i].place = place;
        place += extents[i].end - extents[i].first;
    }
    for (size_t i = 0; i < raws->count; i++) {
        place_it(extents, count, &raws->all[i].item.offset);
    }
    for (size_t i = 0; i < raws->image_count; i++) {
        place_it(extents, count, &raws->images[i].image.offset);
    }
    free(extents);
    *mirror_bytes = place << PLAN_PAGE_SHIFT;
    return TRK_OK;
}
