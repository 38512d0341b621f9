/*
 * Cutting windows out of a projection.
 */
#include "explore_window.h"

#include <stdlib.h>
#include <string.h>

enum trk_status cutter_init(struct cutter *cutter, const struct projection *projection,
                            uint64_t from, uint64_t to, uint32_t steps_most)
{
    *cutter =
        (struct cutter){.projection = projection, .from = from, .to = to, .steps_most = steps_most};
    uint64_t bytes = projection->end_addr - projection->first_addr;
    cutter->writer = calloc(bytes, sizeof *cutter->writer);
    return cutter->writer == NULL ? TRK_E_MEMORY : TRK_OK;
}

void cutter_deinit(struct cutter *cutter)
{
    free(cutter->writer);
}

void window_deinit(struct window *window)
{
    free(window->edges);
}

static bool gone(const struct projection *projection, uint32_t item)
{
    for (; item != SCENARIO_NONE; item = projection->items[item].outer)
        if (projection->items[item].removed)
            return true;
    return false;
}

bool window_says(const struct projection *projection, uint32_t item)
{
    uint8_t kind = projection->items[item].kind;
    return kind != ITEM_COPIED && kind != ITEM_BARRIER && !gone(projection, item);
}

/* ---- who has the newest bytes ---------------------------------------------------------------- */

static bool writes(const struct item *item, bool *gpu)
{
    *gpu = item->verb == VERB_GPU_WRITE;
    return item->kind == ITEM_LEAF && !item->removed &&
           (*gpu || item->verb == VERB_STORE || item->verb == VERB_RAW_WRITE ||
            item->verb == VERB_HLE_WRITE);
}

static bool copies(const struct item *item, bool *down)
{
    *down = item->verb == VERB_COPY_DOWN;
    return item->kind == ITEM_COPIED || item->verb == VERB_COPY_UP || item->verb == VERB_COPY_DOWN;
}

/* Let what an item did to the bytes be known. */
static void tell(struct cutter *cutter, uint32_t index)
{
    const struct projection *projection = cutter->projection;
    const struct item *item = &projection->items[index];
    bool gpu, down;
    bool write = writes(item, &gpu), copy = copies(item, &down);
    if (!write && !copy)
        return;
    uint64_t first = item->guest_addr - projection->first_addr;
    for (uint64_t i = first; i < first + item->size_bytes; i++) {
        uint32_t *writer = &cutter->writer[i];
        if (write && !item->late) {
            *writer = index + 1;
            continue;
        }
        /* A copy brings what one side alone had to the other. */
        if (copy && *writer != 0 && (projection->items[*writer - 1].verb == VERB_GPU_WRITE) == down)
            *writer = 0;
    }
}

/* Whether each read of the window that sees those bytes knows that they were written before. */
static bool known_to_all(const struct window *window, const struct newer *newer)
{
    const struct projection *projection = window->projection;
    const struct item *writer = &projection->items[newer->item];
    for (uint32_t i = window->first; i < window->end; i++) {
        const struct item *item = &projection->items[i];
        bool reads =
            item->kind == ITEM_LEAF && (item->verb == VERB_LOAD || item->verb == VERB_GPU_READ ||
                                        item->verb == VERB_SPARSE_READ);
        if (!reads || item->stream == writer->stream ||
            item->guest_addr >= newer->guest_addr + newer->size_bytes ||
            newer->guest_addr >= item->guest_addr + item->size_bytes)
            continue;
        if (projection_clock(projection, item)[writer->stream] <= writer->last)
            return false;
    }
    return true;
}

/* The runs of bytes that one side alone has where the window begins. */
static void find_newer(const struct cutter *cutter, struct window *window)
{
    const struct projection *projection = cutter->projection;
    uint64_t bytes = projection->end_addr - projection->first_addr;
    for (uint64_t i = 0; i < bytes;) {
        uint64_t end = i + 1;
        while (end < bytes && cutter->writer[end] == cutter->writer[i])
            end++;
        if (cutter->writer[i] != 0 && window->newer_count < WINDOW_NEWER_MOST) {
            uint32_t item = cutter->writer[i] - 1;
            struct newer newer = {projection->first_addr + i, end - i, item,
                                  projection->items[item].verb == VERB_GPU_WRITE};
            if (known_to_all(window, &newer))
                window->newer[window->newer_count++] = newer;
        }
        i = end;
    }
}

/* ---- cutting --------------------------------------------------------------------------------- */

static bool begins(const struct cutter *cutter, uint32_t index)
{
    const struct item *item = &cutter->projection->items[index];
    return item->start != SCENARIO_NONE && item->kind != ITEM_BARRIER &&
           item->event >= cutter->from;
}

static bool is_step(const struct projection *projection, uint32_t index)
{
    const struct item *item = &projection->items[index];
    return item->outer == SCENARIO_NONE && item->kind != ITEM_CLOSE &&
           window_says(projection, index);
}

static void add_stream(struct window *window, uint32_t stream)
{
    uint32_t at = 0;
    while (at < window->stream_count && window->streams[at] < stream)
        at++;
    if (at < window->stream_count && window->streams[at] == stream)
        return;
    if (window->stream_count < TRK_SCENARIO_THREADS) {
        memmove(window->streams + at + 1, window->streams + at,
                (window->stream_count - at) * sizeof *window->streams);
        window->streams[at] = stream;
    }
    window->stream_count++;
}

/* Where the window that begins at cutter->at ends; and, half on, where the next may begin. */
static uint32_t measure(const struct cutter *cutter, struct window *window, uint32_t *next)
{
    const struct projection *projection = cutter->projection;
    uint32_t i = cutter->at;
    *next = 0;
    for (; i < projection->count; i++) {
        const struct item *item = &projection->items[i];
        bool quiet = item->start != SCENARIO_NONE;
        if (item->kind == ITEM_BARRIER || (quiet && window->steps >= cutter->steps_most) ||
            (quiet && item->event > cutter->to))
            break;
        if (quiet && *next == 0 && window->steps > 0 && window->steps * 2 >= cutter->steps_most)
            *next = i;
        window->steps += is_step(projection, i);
        window->unsayable |= item->shared;
        /* Two of its items may be ordered by a signal that is not known any more. */
        window->unsayable |= item->forgot > projection->items[cutter->at].event;
        if (window_says(projection, i))
            add_stream(window, item->stream);
    }
    if (*next == 0)
        *next = i;
    return i;
}

/* Few enough for a scenario, and several threads, or what the trace itself broke at; or it is tried
 * on another tracker than the one that ran. */
static bool worth(const struct window *window)
{
    const struct projection *projection = window->projection;
    bool broken = projection->run->stopped && window->end == projection->count;
    return window->stream_count >= (broken || core_is_plugin() ? 1u : 2u) &&
           window->stream_count <= TRK_SCENARIO_THREADS &&
           window->end - window->first <= WINDOW_ITEMS_MOST;
}

enum trk_status cutter_next(struct cutter *cutter, struct window *window)
{
    const struct projection *projection = cutter->projection;
    for (;;) {
        while (cutter->at < projection->count && !begins(cutter, cutter->at))
            cutter->at++;
        if (cutter->at >= projection->count || projection->items[cutter->at].event > cutter->to)
            return TRK_E_END;
        for (; cutter->told < cutter->at; cutter->told++)
            tell(cutter, cutter->told);
        uint32_t next;
        memset(window, 0, sizeof *window);
        window->projection = projection;
        window->first = cutter->at;
        window->end = measure(cutter, window, &next);
        bool last = window->end >= projection->count;
        cutter->at = last ? window->end : next;
        if (!worth(window))
            continue;
        find_newer(cutter, window);
        return window_order(window);
    }
}
