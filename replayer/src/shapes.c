/*
 * How ranges become regions.
 *
 * A gap between ranges is copied along only where both sides hold the same bytes in it: an emulator
 * knows its clean pages. So what a policy leaves on the device is the same whatever its shape is.
 */
#include <stdlib.h>

#include "schedule.h"

static bool page_differs(const struct shape *shape, uint64_t page)
{
    return shape->differs != NULL && (shape->differs[page / 64] >> page % 64 & 1) != 0;
}

/* Whether the pages that a gap touches are the same on both sides. */
static bool gap_same(const struct shape *shape, uint64_t first, uint64_t end)
{
    for (uint64_t at = first; at < end; at = (at | (TRK_PLAN_PAGE_BYTES - 1)) + 1) {
        if (page_differs(shape, at / TRK_PLAN_PAGE_BYTES)) {
            return false;
        }
    }
    return true;
}

static int region_compare(const void *a, const void *b)
{
    uint64_t left = ((const struct region *)a)->first, right = ((const struct region *)b)->first;
    return left < right ? -1 : left > right;
}

static size_t regions_join(const struct shape *shape, uint64_t gap_bytes, struct region *regions,
                           size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct region *last = kept > 0 ? &regions[kept - 1] : NULL;
        if (last != NULL &&
            (regions[i].first <= last->end || (regions[i].first - last->end <= gap_bytes &&
                                               gap_same(shape, last->end, regions[i].first)))) {
            last->end = regions[i].end > last->end ? regions[i].end : last->end;
        } else {
            regions[kept++] = regions[i];
        }
    }
    return kept;
}

/* To the granule's edges, page by page, as far as the pages are the same on both sides. */
static void region_widen(const struct shape *shape, struct region *region)
{
    uint64_t first = region->first - region->first % shape->bytes;
    uint64_t end = region->end + (shape->bytes - region->end % shape->bytes) % shape->bytes;
    end = end < shape->mirror_bytes ? end : shape->mirror_bytes;
    while (region->first > first) {
        uint64_t step = (region->first - 1) & ~(uint64_t)(TRK_PLAN_PAGE_BYTES - 1);
        if (!gap_same(shape, step, region->first)) {
            break;
        }
        region->first = step;
    }
    while (region->end < end) {
        uint64_t step = (region->end | (TRK_PLAN_PAGE_BYTES - 1)) + 1;
        if (!gap_same(shape, region->end, step)) {
            break;
        }
        region->end = step;
    }
}

size_t shape_regions(const struct shape *shape, struct region *regions, size_t count)
{
    if (shape->shape == TRK_SHAPE_GRANULE) {
        for (size_t i = 0; i < count; i++) {
            region_widen(shape, &regions[i]);
        }
    }
    if (shape->sorted || shape->shape != TRK_SHAPE_PER_RANGE) {
        qsort(regions, count, sizeof *regions, region_compare);
    }
    switch (shape->shape) {
    case TRK_SHAPE_COALESCE:
    case TRK_SHAPE_AUTO:
        return regions_join(shape, shape->bytes, regions, count);
    case TRK_SHAPE_WHOLE:
        return regions_join(shape, UINT64_MAX, regions, count);
    case TRK_SHAPE_GRANULE:
        return regions_join(shape, 0, regions, count);
    default:
        return count;
    }
}
