#include "trace_diff.h"

#include <stdlib.h>
#include <string.h>

#include "lane_diff.h"

static uint32_t key(const struct trk_diff_hunk *hunk)
{
    return hunk->event_a != TRK_DIFF_NONE ? hunk->event_a : hunk->event_b;
}

static int by_event(const void *a, const void *b)
{
    const struct trk_diff_hunk *one = a, *other = b;
    if (key(one) != key(other))
        return key(one) < key(other) ? -1 : 1;
    int by_name = strcmp(one->thread, other->thread);
    if (by_name != 0)
        return by_name;
    return one->place < other->place ? -1 : one->place > other->place;
}

/* A thread by its name; NULL: there is none. */
static const struct trk_item_thread *thread_of(const struct trk_items *items, const char *name)
{
    for (size_t i = 0; i < items->thread_count; i++)
        if (strcmp(items->threads[i].name, name) == 0)
            return &items->threads[i];
    return NULL;
}

/* Whether a lane that only one side has is one of which the other may have lost all. */
static bool may_be_lost(const struct trk_items *has, const struct trk_items *lacks,
                        const struct trk_item_lane *lane)
{
    const struct trk_item_thread *thread = thread_of(lacks, lane->thread);
    /* A thread's name can be lost, too. */
    return thread != NULL ? thread->torn : has->lacks_threads || lacks->lacks_threads;
}

/* Write a lane's items one after the other. lane: NULL for none. */
static enum trk_status lay_out(struct trk_lane *out, const struct trk_item_lane *lane)
{
    out->count = 0;
    for (uint32_t at = lane != NULL ? lane->first : TRK_DIFF_NONE; at != TRK_DIFF_NONE;
         at = out->of->items[at].next) {
        if (out->count == out->capacity) {
            uint32_t capacity = out->capacity == 0 ? 1024 : out->capacity * 2;
            uint32_t *more = realloc(out->at, capacity * sizeof *more);
            if (more == NULL)
                return TRK_E_MEMORY;
            out->at = more;
            out->capacity = capacity;
        }
        bool gap = out->of->items[at].hash == TRK_ITEM_GAP;
        out->at[out->count++] = gap ? TRK_DIFF_NONE : at;
    }
    return TRK_OK;
}

/* A lane, and what the sides have of it. */
struct lane_pair {
    const struct trk_item_lane *lane;
    const struct trk_item_lane *of[2];
    bool has[2];
};

static enum trk_status compare_pair(struct trk_lane lanes[2], const struct lane_pair *pair,
                                    const struct trk_diff_options *options, struct trk_diff *out)
{
    const struct trk_item_lane *lane = pair->lane;
    bool unknown = options->places_unknown && lane->place < TRK_PLACE_TIMELINE;
    for (int i = 0; i < 2; i++) {
        if (!pair->has[i])
            unknown = unknown || may_be_lost(lanes[1 - i].of, lanes[i].of, lane);
        else
            out->missing[i] += pair->of[i]->count;
    }
    if (unknown)
        return TRK_OK;
    struct trk_lane_diff diff;
    for (int i = 0; i < 2; i++)
        if (lay_out(&lanes[i], pair->has[i] ? pair->of[i] : NULL) != TRK_OK)
            return TRK_E_MEMORY;
    trk_lane_compare(lanes, &diff);
    for (int i = 0; i < 2; i++) {
        out->judged[i] += diff.judged[i];
        out->missing[i] -= diff.judged[i];
    }
    out->items_a += diff.items[0];
    out->items_b += diff.items[1];
    out->compared += diff.judged[0] + diff.judged[1] > 0;
    if (diff.first.hunks > 0) {
        struct trk_diff_hunk *hunk = &out->lanes[out->lane_count++];
        *hunk = diff.first;
        hunk->place = lane->place;
        memcpy(hunk->thread, lane->thread, sizeof hunk->thread);
    }
    return TRK_OK;
}

enum trk_status trk_diff_items(const struct trk_items *a, const struct trk_items *b,
                               const struct trk_diff_options *options, struct trk_diff *out)
{
    struct trk_lane lanes[2] = {{.of = a}, {.of = b}};
    enum trk_status status = TRK_OK;
    *out = (struct trk_diff){.missing = {a->hidden, b->hidden}};
    out->lanes = calloc((size_t)a->lane_count + b->lane_count + 1, sizeof *out->lanes);
    if (out->lanes == NULL)
        return TRK_E_MEMORY;
    for (uint32_t i = 0, k = 0; status == TRK_OK && (i < a->lane_count || k < b->lane_count);) {
        int order = i == a->lane_count   ? 1
                    : k == b->lane_count ? -1
                                         : trk_items_compare(&a->lanes[i], &b->lanes[k]);
        const struct lane_pair pair = {
            .lane = order <= 0 ? &a->lanes[i] : &b->lanes[k],
            .of = {order <= 0 ? &a->lanes[i] : NULL, order >= 0 ? &b->lanes[k] : NULL},
            .has = {order <= 0, order >= 0},
        };
        status = compare_pair(lanes, &pair, options, out);
        i += order <= 0;
        k += order >= 0;
    }
    free(lanes[0].at);
    free(lanes[1].at);
    if (status == TRK_OK && out->lane_count > 0)
        qsort(out->lanes, out->lane_count, sizeof *out->lanes, by_event);
    return status;
}

void trk_diff_free(struct trk_diff *diff)
{
    free(diff->lanes);
    diff->lanes = NULL;
}
