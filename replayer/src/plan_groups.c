/*
 * Frames and groups: what can go together, and which stores must be done before.
 *
 * A store is done as early in its frame as it can be: before the first group behind which nobody
 * in that frame has looked at, or written, the same page of guest memory. So most frames change
 * guest memory once, before anything is measured.
 */
#include "plan_internal.h"

#include <stdlib.h>
#include <string.h>

struct grouping {
    struct trk_plan *plan;
    struct trk_plan_item *items, *stores;
    struct trk_plan_group *groups;
    struct trk_plan_frame *frames;
    size_t group_capacity;
    uint32_t *store_group;       /* of each store, as it came: the group that it precedes */
    struct trk_plan_item *early; /* the stores, as they came */
    /* Of each page: 1 + the last group that looked at it on either side; the last that a store to
     * it precedes. */
    uint32_t *touched, *stored;
    bool open;  /* the last group takes more */
    bool waits; /* a store precedes a group that has not begun */
    uint64_t operation;
};

struct pages {
    uint64_t first, end;
};

static struct pages pages_of(const struct trk_plan_item *item)
{
    return (struct pages){item->offset >> PLAN_PAGE_SHIFT,
                          ((item->offset + item->size_bytes - 1) >> PLAN_PAGE_SHIFT) + 1};
}

static enum trk_status group_begin(struct grouping *grouping, uint32_t kind)
{
    struct trk_plan *plan = grouping->plan;
    if (plan->group_count == UINT32_MAX - 1) {
        return TRK_E_MEMORY;
    }
    void *groups = plan_grow(grouping->groups, plan->group_count, &grouping->group_capacity,
                             sizeof *grouping->groups);
    if (groups == NULL) {
        return TRK_E_MEMORY;
    }
    grouping->groups = groups;
    grouping->groups[plan->group_count++] = (struct trk_plan_group){
        .kind = kind,
        .frame = (uint32_t)plan->frame_count - 1,
        .first_item = plan->item_count,
    };
    grouping->frames[plan->frame_count - 1].group_count++;
    grouping->open = true;
    grouping->waits = false;
    return TRK_OK;
}

static void group_store(struct grouping *grouping, const struct plan_raw *raw)
{
    struct trk_plan *plan = grouping->plan;
    const struct trk_plan_frame *frame = &grouping->frames[plan->frame_count - 1];
    struct pages pages = pages_of(&raw->item);
    uint32_t group = (uint32_t)frame->first_group;
    for (uint64_t page = pages.first; page < pages.end; page++) {
        group = grouping->touched[page] > group ? grouping->touched[page] : group;
        group = grouping->stored[page] > group ? grouping->stored[page] : group;
    }
    for (uint64_t page = pages.first; page < pages.end; page++) {
        grouping->stored[page] = group;
    }
    if (group == plan->group_count) {
        grouping->open = false; /* it precedes the next one */
        grouping->waits = true;
    }
    grouping->early[plan->store_count] = raw->item;
    grouping->store_group[plan->store_count++] = group;
}

static bool group_takes(const struct grouping *grouping, const struct plan_raw *raw)
{
    const struct trk_plan *plan = grouping->plan;
    if (!grouping->open || grouping->groups[plan->group_count - 1].kind != raw->item.kind ||
        (raw->item.kind == TRK_PLAN_DOWNLOAD && raw->operation != grouping->operation)) {
        return false;
    }
    struct pages pages = pages_of(&raw->item);
    for (uint64_t page = pages.first; page < pages.end && raw->item.kind != TRK_PLAN_CHECK;
         page++) {
        if (grouping->touched[page] == plan->group_count) {
            return false;
        }
    }
    return true;
}

static void frame_count_item(struct trk_plan *plan, struct trk_plan_frame *frame,
                             const struct trk_plan_item *item)
{
    switch (item->kind) {
    case TRK_PLAN_UPLOAD:
        frame->uploads++, plan->uploads++;
        frame->upload_bytes += item->size_bytes, plan->upload_bytes += item->size_bytes;
        return;
    case TRK_PLAN_DOWNLOAD:
        frame->downloads++, plan->downloads++;
        frame->download_bytes += item->size_bytes, plan->download_bytes += item->size_bytes;
        return;
    case TRK_PLAN_GPU_WRITE:
        frame->gpu_writes++, plan->gpu_writes++;
        plan->dispatches += item->dispatch;
        frame->gpu_write_bytes += item->size_bytes, plan->gpu_write_bytes += item->size_bytes;
        return;
    default:
        return;
    }
}

static enum trk_status group_item(struct grouping *grouping, const struct plan_raw *raw)
{
    struct trk_plan *plan = grouping->plan;
    if (!group_takes(grouping, raw) && group_begin(grouping, raw->item.kind) != TRK_OK) {
        return TRK_E_MEMORY;
    }
    struct trk_plan_group *group = &grouping->groups[plan->group_count - 1];
    struct pages pages = pages_of(&raw->item);
    for (uint64_t page = pages.first; page < pages.end; page++) {
        grouping->touched[page] = (uint32_t)plan->group_count;
    }
    grouping->operation = raw->operation;
    grouping->items[plan->item_count++] = raw->item;
    group->item_count++;
    group->bytes += raw->item.size_bytes;
    frame_count_item(plan, &grouping->frames[plan->frame_count - 1], &raw->item);
    return TRK_OK;
}

/* A store may be left that no group of its frame comes behind: an empty one does. */
static enum trk_status frame_end(struct grouping *grouping)
{
    enum trk_status status = grouping->waits ? group_begin(grouping, TRK_PLAN_UPLOAD) : TRK_OK;
    grouping->open = false;
    return status;
}

static void frame_begin(struct grouping *grouping, uint64_t number)
{
    struct trk_plan *plan = grouping->plan;
    grouping->frames[plan->frame_count++] =
        (struct trk_plan_frame){.number = number, .first_group = plan->group_count};
    grouping->open = false;
}

/* From the order in which they came to the order of their groups; those of one keep theirs. */
static enum trk_status stores_sort(struct grouping *grouping)
{
    struct trk_plan *plan = grouping->plan;
    size_t at = 0;
    if (grouping->groups == NULL) {
        return TRK_OK;
    }
    for (size_t i = 0; i < plan->store_count; i++) {
        grouping->groups[grouping->store_group[i]].store_count++;
    }
    for (size_t i = 0; i < plan->group_count; i++) {
        grouping->groups[i].first_store = at;
        at += grouping->groups[i].store_count;
        grouping->groups[i].store_count = 0;
    }
    for (size_t i = 0; i < plan->store_count; i++) {
        struct trk_plan_group *group = &grouping->groups[grouping->store_group[i]];
        grouping->stores[group->first_store + group->store_count++] = grouping->early[i];
    }
    return TRK_OK;
}

static enum trk_status group_all(struct grouping *grouping, const struct plan_raws *raws,
                                 uint32_t first_frame, uint32_t end_frame)
{
    size_t next = 0;
    while (next < raws->count && raws->all[next].frame < first_frame) {
        next++;
    }
    for (uint32_t frame = first_frame; frame < end_frame; frame++) {
        enum trk_status status = TRK_OK;
        frame_begin(grouping, frame < raws->frame_count ? raws->frames[frame] : 0);
        for (; next < raws->count && raws->all[next].frame == frame && status == TRK_OK; next++) {
            const struct plan_raw *raw = &raws->all[next];
            if (raw->item.kind == TRK_PLAN_STORE) {
                group_store(grouping, raw);
            } else {
                status = group_item(grouping, raw);
            }
        }
        if (status != TRK_OK || frame_end(grouping) != TRK_OK) {
            return TRK_E_MEMORY;
        }
    }
    return stores_sort(grouping);
}

enum trk_status plan_groups(struct trk_plan *plan, const struct plan_raws *raws,
                            uint32_t first_frame, uint32_t end_frame, struct trk_error *error)
{
    const size_t pages = (size_t)(plan->mirror_bytes >> PLAN_PAGE_SHIFT) + 1;
    struct grouping grouping = {
        .plan = plan,
        .items = malloc((raws->count + 1) * sizeof *grouping.items),
        .stores = malloc((raws->count + 1) * sizeof *grouping.stores),
        .early = malloc((raws->count + 1) * sizeof *grouping.early),
        .store_group = calloc(raws->count + 1, sizeof *grouping.store_group),
        .frames = calloc((size_t)(end_frame - first_frame) + 1, sizeof *grouping.frames),
        .touched = calloc(pages, sizeof *grouping.touched),
        .stored = calloc(pages, sizeof *grouping.stored),
    };
    enum trk_status status = TRK_E_MEMORY;
    if (grouping.items != NULL && grouping.stores != NULL && grouping.early != NULL &&
        grouping.store_group != NULL && grouping.frames != NULL && grouping.touched != NULL &&
        grouping.stored != NULL) {
        status = group_all(&grouping, raws, first_frame, end_frame);
    }
    plan->items = grouping.items;
    plan->stores = grouping.stores;
    plan->groups = grouping.groups;
    plan->frames = grouping.frames;
    free(grouping.early);
    free(grouping.store_group);
    free(grouping.touched);
    free(grouping.stored);
    return status == TRK_OK ? TRK_OK : trk_error_set(error, status, "no memory for the plan");
}
