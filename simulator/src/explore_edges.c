/*
 * The order among a window's items that its threads made themselves: few edges that say all of it.
 *
 * A position is an item that is said; its knowledge is, for each thread of the window, the newest
 * position that is ordered before it (with all before that one). An edge is left out where another
 * one, or an earlier edge of the same thread, implies it.
 */
#include <stdlib.h>
#include <string.h>

#include "explore_window.h"

struct ordering {
    struct window *window;
    uint32_t *known; /* a row a position, an entry a thread: 1 + an item; 0: nothing */
    uint32_t *now;   /* a row a thread: of its newest position */
    uint32_t capacity;
};

static uint32_t *row(const struct ordering *ordering, uint32_t item)
{
    return ordering->known +
           (size_t)(item - ordering->window->first) * ordering->window->stream_count;
}

uint32_t window_thread(const struct window *window, uint32_t stream)
{
    uint32_t thread = 0;
    while (window->streams[thread] != stream)
        thread++;
    return thread;
}

/* What surrounds an item, outwards, and may not run at all; SCENARIO_NONE: it runs for certain. */
static uint32_t conditional_around(const struct projection *projection, uint32_t index)
{
    const struct item *item = &projection->items[index];
    uint32_t found = SCENARIO_NONE;
    if (item->kind == ITEM_CLOSE)
        return SCENARIO_NONE;
    if (item->in_range)
        found = item->outer;
    for (uint32_t at = item->outer; at != SCENARIO_NONE; at = projection->items[at].outer)
        if (projection->items[at].conditional || projection->items[at].in_range)
            found = projection->items[at].conditional ? at : projection->items[at].outer;
    return found;
}

/* The newest position of a stream that ended before what a clock knows of it; 1 + it, or 0. */
static uint32_t newest_before(const struct window *window, uint32_t stream, uint64_t clock,
                              uint32_t below)
{
    const struct projection *projection = window->projection;
    for (uint32_t i = below; i > window->first; i--) {
        const struct item *item = &projection->items[i - 1];
        if (item->stream == stream && item->last < clock && window_says(projection, i - 1))
            return i;
    }
    return 0;
}

static enum trk_status add_edge(struct ordering *ordering, uint32_t from, uint32_t to)
{
    struct window *window = ordering->window;
    if (window->edge_count == ordering->capacity) {
        uint32_t capacity = ordering->capacity == 0 ? 32 : ordering->capacity * 2;
        struct edge *larger = realloc(window->edges, capacity * sizeof *larger);
        if (larger == NULL)
            return TRK_E_MEMORY;
        window->edges = larger;
        ordering->capacity = capacity;
    }
    window->unsayable |= conditional_around(window->projection, from) != SCENARIO_NONE;
    window->edges[window->edge_count++] = (struct edge){from, to};
    return TRK_OK;
}

/* Whether one of the other edges to the same item says it, too. */
static bool implied(const struct ordering *ordering, const uint32_t *wanted, uint32_t thread)
{
    for (uint32_t t = 0; t < ordering->window->stream_count; t++)
        if (t != thread && wanted[t] != 0 && row(ordering, wanted[t] - 1)[thread] >= wanted[thread])
            return true;
    return false;
}

static enum trk_status order_item(struct ordering *ordering, uint32_t index, uint32_t *wanted)
{
    const struct window *window = ordering->window;
    const struct projection *projection = window->projection;
    const struct item *item = &projection->items[index];
    uint32_t self = window_thread(window, item->stream), count = window->stream_count;
    const uint64_t *clock = projection_clock(projection, item);
    uint32_t *known = row(ordering, index), *now = ordering->now + (size_t)self * count;
    /* What a braced end would wait for, the next operation waits for where braces may not run. */
    bool waits = item->kind != ITEM_CLOSE || !projection->items[item->outer].conditional;
    memcpy(known, now, count * sizeof *known);
    for (uint32_t t = 0; t < count; t++) {
        wanted[t] = 0;
        if (t == self || !waits)
            continue;
        uint32_t newest =
            newest_before(window, window->streams[t], clock[window->streams[t]], index);
        wanted[t] = newest > now[t] ? newest : 0;
    }
    for (uint32_t t = 0; t < count; t++) {
        if (wanted[t] == 0)
            continue;
        enum trk_status status =
            implied(ordering, wanted, t) ? TRK_OK : add_edge(ordering, wanted[t] - 1, index);
        if (status != TRK_OK)
            return status;
        const uint32_t *theirs = row(ordering, wanted[t] - 1);
        for (uint32_t other = 0; other < count; other++)
            known[other] = theirs[other] > known[other] ? theirs[other] : known[other];
        known[t] = wanted[t] > known[t] ? wanted[t] : known[t];
    }
    known[self] = index + 1;
    /* What is waited for where it may not run is waited for again behind it. */
    if (conditional_around(projection, index) == SCENARIO_NONE)
        memcpy(now, known, count * sizeof *now);
    return TRK_OK;
}

enum trk_status window_order(struct window *window)
{
    uint32_t count = window->stream_count;
    struct ordering ordering = {.window = window};
    ordering.known =
        calloc((size_t)(window->end - window->first + 1) * count, sizeof *ordering.known);
    ordering.now = calloc((size_t)count * (count + 1), sizeof *ordering.now);
    enum trk_status status = ordering.known == NULL || ordering.now == NULL ? TRK_E_MEMORY : TRK_OK;
    for (uint32_t i = window->first; i < window->end && status == TRK_OK; i++)
        if (window_says(window->projection, i))
            status = order_item(&ordering, i, ordering.now + (size_t)count * count);
    free(ordering.known);
    free(ordering.now);
    return status;
}
