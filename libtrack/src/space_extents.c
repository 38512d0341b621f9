/*
 * Free memory, and owned addresses, as sorted extents.
 */
#include <stdlib.h>
#include <string.h>

#include "space.h"

bool trk_space_extents_room(struct space_extents *extents, size_t more)
{
    if (extents->capacity - extents->count >= more)
        return true;
    size_t capacity = 2 * extents->capacity + more;
    struct space_extent *items = realloc(extents->items, capacity * sizeof *items);
    if (items == NULL)
        return false;
    extents->items = items;
    extents->capacity = capacity;
    return true;
}

/* The first extent that ends at or behind the place. */
static size_t search(const struct space_extents *extents, uint64_t at)
{
    size_t i = 0;
    while (i < extents->count && extents->items[i].end < at)
        i++;
    return i;
}

static void replace(struct space_extents *extents, size_t from, size_t to,
                    const struct space_extent *others, size_t count)
{
    memmove(&extents->items[from + count], &extents->items[to],
            (extents->count - to) * sizeof *extents->items);
    if (count > 0)
        memcpy(&extents->items[from], others, count * sizeof *others);
    extents->count = extents->count - (to - from) + count;
}

void trk_space_extents_give(struct space_extents *extents, uint64_t first, uint64_t end)
{
    struct space_extent given = {first, end};
    size_t from = search(extents, first);
    size_t to = from;
    while (to < extents->count && extents->items[to].first <= end) {
        if (extents->items[to].first < given.first)
            given.first = extents->items[to].first;
        if (extents->items[to].end > given.end)
            given.end = extents->items[to].end;
        to++;
    }
    replace(extents, from, to, &given, 1);
}

void trk_space_extents_take(struct space_extents *extents, uint64_t first, uint64_t end)
{
    size_t at = search(extents, end);
    struct space_extent former = extents->items[at];
    struct space_extent rests[2];
    size_t count = 0;
    if (former.first < first)
        rests[count++] = (struct space_extent){former.first, first};
    if (former.end > end)
        rests[count++] = (struct space_extent){end, former.end};
    replace(extents, at, at + 1, rests, count);
}

bool trk_space_extents_find(const struct space_extents *extents, uint64_t size_bytes,
                            uint64_t alignment_bytes, uint64_t *first)
{
    for (size_t i = 0; i < extents->count; i++) {
        const struct space_extent *extent = &extents->items[i];
        uint64_t at = (extent->first + alignment_bytes - 1) & ~(alignment_bytes - 1);
        if (at >= extent->first && at <= extent->end && extent->end - at >= size_bytes) {
            *first = at;
            return true;
        }
    }
    return false;
}

bool trk_space_extents_hold(const struct space_extents *extents, uint64_t first, uint64_t end)
{
    size_t at = search(extents, end);
    return first < end && at < extents->count && extents->items[at].first <= first;
}

bool trk_space_extents_touch(const struct space_extents *extents, uint64_t first, uint64_t end)
{
    for (size_t i = 0; i < extents->count; i++) {
        if (extents->items[i].first < end && extents->items[i].end > first)
            return true;
    }
    return false;
}
