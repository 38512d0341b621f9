#include "replayer/advice.h"

#include <stdlib.h>

struct span {
    uint64_t first, end;
};

struct advising {
    const struct trk_plan *plan;
    uint64_t *same; /* a bit a byte of the mirror: both sides are known to have the same */
    struct span *spans;
};

uint32_t trk_advice_class(uint64_t bytes)
{
    uint32_t class_number = 0;
    while (bytes > 0 && class_number < TRK_ADVICE_CLASSES - 1) {
        bytes >>= 1;
        class_number++;
    }
    return class_number;
}

uint64_t trk_advice_class_least(uint32_t class_number)
{
    return class_number == 0 ? 0 : UINT64_C(1) << (class_number - 1);
}

/* The bits of a word that lie in [first, end), for the word that begins at byte `at`. */
static uint64_t word_mask(uint64_t at, uint64_t first, uint64_t end)
{
    uint64_t mask = ~UINT64_C(0);
    if (first > at) {
        mask &= ~UINT64_C(0) << (first - at);
    }
    if (end < at + 64) {
        mask &= ~UINT64_C(0) >> (at + 64 - end);
    }
    return mask;
}

/* Note that a range's bytes are the same on both sides, or may not be; how many were not. */
static uint64_t same_set(struct advising *advising, const struct trk_plan_item *item, bool same)
{
    const uint64_t end = item->offset + item->size_bytes;
    uint64_t differed = 0;
    for (uint64_t at = item->offset / 64 * 64; at < end; at += 64) {
        const uint64_t mask = word_mask(at, item->offset, end);
        uint64_t *word = &advising->same[at / 64];
        differed += (uint64_t)__builtin_popcountll(~*word & mask);
        *word = same ? *word | mask : *word & ~mask;
    }
    return differed;
}

static int compare_spans(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    return a->first != b->first ? (a->first > b->first) - (a->first < b->first)
                                : (a->end > b->end) - (a->end < b->end);
}

/* Distances between neighbours of a group, each from the furthest end so far. */
static void gaps_count(struct advising *advising, struct trk_advice_way *way, size_t count)
{
    qsort(advising->spans, count, sizeof *advising->spans, compare_spans);
    uint64_t end = count > 0 ? advising->spans[0].end : 0;
    for (size_t i = 1; i < count; i++) {
        const struct span *span = &advising->spans[i];
        const uint64_t gap = span->first > end ? span->first - end : 0;
        const uint32_t class_number = trk_advice_class(gap);
        way->gaps[class_number]++;
        way->gap_bytes[class_number] += gap;
        end = span->end > end ? span->end : end;
    }
}

static void group_count(struct advising *advising, struct trk_advice_way *way,
                        const struct trk_plan_group *group)
{
    const struct trk_plan_item *items = &advising->plan->items[group->first_item];
    way->groups++;
    way->ranges += group->item_count;
    for (size_t i = 0; i < group->item_count; i++) {
        way->moved_bytes += items[i].size_bytes;
        way->changed_bytes += same_set(advising, &items[i], true);
        way->sizes[trk_advice_class(items[i].size_bytes)]++;
        advising->spans[i] = (struct span){items[i].offset, items[i].offset + items[i].size_bytes};
    }
    gaps_count(advising, way, group->item_count);
}

static void groups_count(struct advising *advising, struct trk_advice *out)
{
    const struct trk_plan *plan = advising->plan;
    for (size_t i = 0; i < plan->group_count; i++) {
        const struct trk_plan_group *group = &plan->groups[i];
        for (size_t k = 0; k < group->store_count; k++) {
            const struct trk_plan_item *store = &plan->stores[group->first_store + k];
            if (store->page == 0) { /* a recorded page is told of beside the stores to it */
                (void)same_set(advising, store, false);
            }
        }
        if (group->kind == TRK_PLAN_UPLOAD) {
            group_count(advising, &out->up, group);
        } else if (group->kind == TRK_PLAN_DOWNLOAD) {
            group_count(advising, &out->down, group);
        }
        for (size_t k = 0; group->kind == TRK_PLAN_GPU_WRITE && k < group->item_count; k++) {
            (void)same_set(advising, &plan->items[group->first_item + k], false);
        }
    }
}

enum trk_status trk_advice_make(struct trk_advice *out, const struct trk_plan *plan,
                                struct trk_error *error)
{
    struct advising advising = {
        .plan = plan,
        .same = calloc(plan->mirror_bytes / 64 + 1, sizeof(uint64_t)),
        .spans = calloc(plan->item_count + 1, sizeof(struct span)),
    };
    enum trk_status status = TRK_OK;
    if (advising.same == NULL || advising.spans == NULL) {
        status = trk_error_set(error, TRK_E_MEMORY, "no memory to look at the copies");
    } else {
        *out = (struct trk_advice){.up = {.ranges = 0}};
        groups_count(&advising, out);
        if (!plan->witnessed) {
            out->up.changed_bytes = TRK_NOT_KNOWN;
            out->down.changed_bytes = TRK_NOT_KNOWN;
        }
    }
    free(advising.same);
    free(advising.spans);
    return status;
}

double trk_advice_predict_ns(const struct trk_gpu_cost *cost,
                             const struct trk_transfer_policy *policy,
                             const struct trk_replay_pass *pass)
{
    uint64_t regions = pass->regions;
    switch (policy->path) {
    case TRK_PATH_SCATTER:
    case TRK_PATH_IMPORT_SCATTER:
    case TRK_PATH_FETCH:
        regions = pass->submits;
        break;
    case TRK_PATH_DIRECT:
    case TRK_PATH_HOST_COPY:
        return -1.0;
    case TRK_PATH_COPY:
    case TRK_PATH_IMPORT:
        break;
    }
    return ((double)regions * cost->region_ns + (double)pass->moved_bytes * cost->byte_ns) *
           (1.0 + policy->slow);
}
