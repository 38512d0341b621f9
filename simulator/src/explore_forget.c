/*
 * Forgetting items that no window needs which begins shortly before some event: pages that a
 * program looks at in every frame would leave no room for what comes later.
 */
#include <stdlib.h>
#include <string.h>

#include "explore_items.h"

/* Items from which on forgetting is worth it. */
#define FORGET_LEAST 4096u

/* Whether an item changes nothing: a look at bytes or states, or a transfer with nothing in it. */
static bool changes_nothing(const struct item *item)
{
    if (item->kind == ITEM_LEAF)
        return item->removed || item->idle || item->verb == VERB_GPU_READ ||
               item->verb == VERB_SPARSE_READ || item->verb == VERB_IS_CPU ||
               item->verb == VERB_IS_GPU || (item->verb == VERB_LOAD && !item->faulted);
    return item->kind == ITEM_OPEN && item->idle;
}

/* Mark what goes; where the others will stand. */
static uint32_t choose(const struct projection *projection, const struct forgetting *forgetting,
                       uint64_t now, uint32_t *places)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < projection->count; i++) {
        const struct item *item = &projection->items[i];
        bool outer_gone = item->outer != SCENARIO_NONE && places[item->outer] == SCENARIO_NONE;
        bool old = now < forgetting->before;
        bool idle = item->event < forgetting->keep && changes_nothing(item);
        places[i] = old || idle || outer_gone ? SCENARIO_NONE : kept++;
    }
    return kept;
}

/* States that are still named; new ones only ever follow older ones. */
static void pack_starts(struct projection *projection)
{
    uint32_t count = 0, last = SCENARIO_NONE;
    for (uint32_t i = 0; i < projection->count; i++) {
        struct item *item = &projection->items[i];
        if (item->start == SCENARIO_NONE)
            continue;
        if (item->start != last) {
            last = item->start;
            projection->starts[count++] = projection->starts[last];
        }
        item->start = count - 1;
    }
    projection->start_count = count;
    projection->quiet_start = SCENARIO_NONE;
}

/* Clocks that are still named; each stream shares one while it learns nothing new. */
static bool pack_clocks(struct projection *projection)
{
    size_t streams = projection->stream_count, count = 0;
    size_t *was = malloc((streams + 1) * sizeof *was), *now = malloc((streams + 1) * sizeof *now);
    uint64_t *clocks = malloc((projection->clock_count + 1) * sizeof *clocks);
    bool room = was != NULL && now != NULL && clocks != NULL;
    for (size_t i = 0; room && i < streams; i++)
        was[i] = SIZE_MAX;
    for (uint32_t i = 0; room && i < projection->count; i++) {
        struct item *item = &projection->items[i];
        if (item->clock != was[item->stream]) {
            was[item->stream] = item->clock;
            now[item->stream] = count;
            memcpy(clocks + count, projection->clocks + item->clock, streams * sizeof *clocks);
            count += streams;
        }
        item->clock = now[item->stream];
    }
    if (room) {
        free(projection->clocks);
        projection->clocks = clocks;
        projection->clock_capacity = projection->clock_count + 1;
        projection->clock_count = count;
        for (size_t i = 0; i < streams; i++)
            projection->lanes[i].clock = SIZE_MAX;
    } else {
        free(clocks);
    }
    free(was);
    free(now);
    return room;
}

void projection_forget(struct projection *projection, const struct forgetting *forgetting,
                       uint64_t now)
{
    if (projection->open > 0 || projection->asking_count > 0 ||
        projection->count < FORGET_LEAST + projection->kept * 2 || projection->no_memory)
        return;
    uint32_t *places = malloc(projection->count * sizeof *places);
    projection->no_memory |= places == NULL;
    if (places == NULL)
        return;
    uint32_t kept = choose(projection, forgetting, now, places);
    for (uint32_t i = 0; i < projection->count; i++) {
        struct item item = projection->items[i];
        if (places[i] == SCENARIO_NONE)
            continue;
        if (item.outer != SCENARIO_NONE)
            item.outer = places[item.outer];
        projection->items[places[i]] = item;
    }
    free(places);
    projection->count = projection->kept = kept;
    pack_starts(projection);
    projection->no_memory |= !pack_clocks(projection);
}
