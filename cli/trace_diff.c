#include "trace_diff.h"

#include <stdlib.h>
#include <string.h>

/* So far ahead two lists are looked at for a place where they go on alike, for so many items. */
#define AHEAD_MOST  256u
#define ALIKE_LEAST 3u

struct list {
    const struct trk_items *of;
    uint32_t at; /* TRK_DIFF_NONE: its end */
};

static uint32_t next(const struct list *list, uint32_t at)
{
    return list->of->items[at].next;
}

/* Whether both go on alike from here, to the end or for some items. */
static bool alike(const struct list *a, uint32_t at_a, const struct list *b, uint32_t at_b)
{
    for (uint32_t i = 0; i < ALIKE_LEAST; i++) {
        if (at_a == TRK_DIFF_NONE || at_b == TRK_DIFF_NONE)
            return at_a == at_b;
        if (a->of->items[at_a].hash != b->of->items[at_b].hash)
            return false;
        at_a = next(a, at_a);
        at_b = next(b, at_b);
    }
    return true;
}

/* The items from here on, at most so many; behind the last one of the list stands its end. */
static uint32_t look_ahead(const struct list *list, uint32_t places[AHEAD_MOST])
{
    uint32_t count = 0;
    for (uint32_t at = list->at; count < AHEAD_MOST; at = next(list, at)) {
        places[count++] = at;
        if (at == TRK_DIFF_NONE)
            break;
    }
    return count;
}

/* Step over what differs: how many items of each side. */
static void skip(struct list *a, struct list *b, uint32_t *count_a, uint32_t *count_b)
{
    uint32_t ahead_a[AHEAD_MOST], ahead_b[AHEAD_MOST];
    uint32_t most_a = look_ahead(a, ahead_a), most_b = look_ahead(b, ahead_b);
    for (uint32_t sum = 1; sum < most_a + most_b; sum++) {
        for (uint32_t i = 0; i <= sum && i < most_a; i++) {
            uint32_t k = sum - i;
            if (k >= most_b || !alike(a, ahead_a[i], b, ahead_b[k]))
                continue;
            a->at = ahead_a[i];
            b->at = ahead_b[k];
            *count_a = i;
            *count_b = k;
            return;
        }
    }
    /* They do not meet again in sight. */
    *count_a = *count_b = 0;
    for (; a->at != TRK_DIFF_NONE; a->at = next(a, a->at))
        ++*count_a;
    for (; b->at != TRK_DIFF_NONE; b->at = next(b, b->at))
        ++*count_b;
}

static uint32_t event_at(const struct list *list)
{
    return list->at == TRK_DIFF_NONE ? TRK_DIFF_NONE : list->of->items[list->at].event;
}

/*
 * Compare a lane's two lists; hunk->hunks says whether they differ. What a side that is not whole
 * has nothing in place of is not known to differ: it may be what was lost.
 */
static void compare_lane(struct list a, struct list b, struct trk_diff *out,
                         struct trk_diff_hunk *hunk)
{
    while (a.at != TRK_DIFF_NONE || b.at != TRK_DIFF_NONE) {
        if (a.at != TRK_DIFF_NONE && b.at != TRK_DIFF_NONE &&
            a.of->items[a.at].hash == b.of->items[b.at].hash) {
            a.at = next(&a, a.at);
            b.at = next(&b, b.at);
            continue;
        }
        uint32_t first_a = event_at(&a), first_b = event_at(&b), count_a, count_b;
        skip(&a, &b, &count_a, &count_b);
        if ((count_a == 0 && !a.of->complete) || (count_b == 0 && !b.of->complete)) {
            out->missing += count_a + count_b;
            continue;
        }
        out->items_a += count_a;
        out->items_b += count_b;
        if (hunk->hunks++ > 0)
            continue;
        hunk->event_a = count_a > 0 ? first_a : TRK_DIFF_NONE;
        hunk->event_b = count_b > 0 ? first_b : TRK_DIFF_NONE;
        hunk->count_a = count_a;
        hunk->count_b = count_b;
    }
}

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

/* Whether a thread of one side has a namesake on the other: a thread's name can be lost, too. */
static bool has_thread(const struct trk_items *items, const char *thread)
{
    for (uint32_t i = 0; i < items->lane_count; i++)
        if (strcmp(items->lanes[i].thread, thread) == 0)
            return true;
    return false;
}

static bool nameless(const struct trk_items *of, const struct trk_items *other,
                     const struct trk_item_lane *lane)
{
    return !of->complete && !has_thread(other, lane->thread);
}

enum trk_status trk_diff_items(const struct trk_items *a, const struct trk_items *b,
                               struct trk_diff *out)
{
    *out = (struct trk_diff){.lane_count = 0};
    out->lanes = calloc((size_t)a->lane_count + b->lane_count + 1, sizeof *out->lanes);
    if (out->lanes == NULL)
        return TRK_E_MEMORY;
    for (uint32_t i = 0, k = 0; i < a->lane_count || k < b->lane_count;) {
        int order = i == a->lane_count   ? 1
                    : k == b->lane_count ? -1
                                         : trk_items_compare(&a->lanes[i], &b->lanes[k]);
        const struct trk_item_lane *lane = order <= 0 ? &a->lanes[i] : &b->lanes[k];
        struct trk_diff_hunk *hunk = &out->lanes[out->lane_count];
        struct list list_a = {a, order <= 0 ? a->lanes[i].first : TRK_DIFF_NONE};
        struct list list_b = {b, order >= 0 ? b->lanes[k].first : TRK_DIFF_NONE};
        bool unknown = order < 0 ? nameless(a, b, lane) : order > 0 && nameless(b, a, lane);
        *hunk = (struct trk_diff_hunk){.place = lane->place};
        memcpy(hunk->thread, lane->thread, sizeof hunk->thread);
        if (unknown)
            out->missing += lane->count;
        else
            compare_lane(list_a, list_b, out, hunk);
        out->lane_count += hunk->hunks > 0;
        out->compared++;
        i += order <= 0;
        k += order >= 0;
    }
    if (out->lane_count > 0)
        qsort(out->lanes, out->lane_count, sizeof *out->lanes, by_event);
    return TRK_OK;
}

void trk_diff_free(struct trk_diff *diff)
{
    free(diff->lanes);
}
