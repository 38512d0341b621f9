/*
 * Joining and leaving views, and asking for them.
 *
 * Rules: [M-73] [M-75].
 */
#include "views.h"

#include <stddef.h>
#include <string.h>

/* Pages of the region of which a byte is registered; the region is held. */
static void find_seen(const struct region *region, uint64_t *seen)
{
    for (uint32_t i = 0; i < region->span_count; i++) {
        uint32_t first = region->spans[i].first / (uint32_t)TRK_HOST_PAGE_BYTES;
        uint32_t last = (region->spans[i].end - 1) / (uint32_t)TRK_HOST_PAGE_BYTES;
        for (uint32_t page = first; page <= last; page++)
            seen[page / 64] |= UINT64_C(1) << (page % 64);
    }
}

static void bracket_begin(struct hold *hold, const struct operation *operation, uint32_t index)
{
    hold_begin_shared(hold, operation, index);
    hold->bracketed = true;
    if (observed(operation->tracker))
        emit(operation->tracker,
             &(struct trk_event){
                 .type = TRK_EVENT_LOCK,
                 .domain = trk_domain(TRK_DOMAIN_PAGES, operation->tracker->id, hold->number),
                 .seq = hold->seq,
             });
}

/* The region is held, and not shared yet. False: no memory. */
static bool region_share(const struct operation *operation, struct region *region)
{
    struct trk_tracker *tracker = operation->tracker;
    struct hold shared, own;
    bracket_begin(&shared, operation, region_index(tracker, region));
    if (tracker->views.scratch == NULL)
        tracker->views.scratch = trk_arena_take(tracker, sizeof *tracker->views.scratch);
    hold_begin_own(&own, operation, region_index(tracker, region));
    own.seq = ++region->pages_seq;
    pages_extra(tracker, region);
    if (region->views == NULL)
        region->views = trk_arena_take(tracker, sizeof *region->views);
    bool done = tracker->views.scratch != NULL && region->extra != NULL && region->views != NULL;
    if (done) {
        find_seen(region, region->views->seen);
        /* From here on whoever gets the region's own lock turns to the common one. */
        env_raise_flag(&region->shared);
    }
    hold_end(&own, 0);
    hold_end(&shared, 0);
    return done;
}

static enum trk_status regions_share(const struct operation *operation, const struct range *range)
{
    bool done = true;
    for (uint32_t index = range->first_region; done && index < range->end_region; index++) {
        trk_region_make_live(operation->tracker, index);
        struct region *region = trk_region_lock(operation, index);
        if (!region_shared(region))
            done = region_share(operation, region);
        trk_region_unlock(operation, region);
    }
    return done ? TRK_OK : TRK_E_MEMORY;
}

/* All under the common lock from here on, until the public functions. */

static struct view_group *group_take(struct trk_tracker *tracker)
{
    struct view_group *group = tracker->views.free_groups;
    if (group == NULL)
        return trk_arena_take(tracker, sizeof *group);
    tracker->views.free_groups = group->next_free;
    *group = (struct view_group){0};
    return group;
}

static void group_give(struct trk_tracker *tracker, struct view_group *group)
{
    if (group == NULL)
        return;
    group->next_free = tracker->views.free_groups;
    tracker->views.free_groups = group;
}

static void group_point(const struct trk_tracker *tracker, const struct view_group *members,
                        struct view_group *to)
{
    for (uint32_t i = 0; i < members->count; i++)
        *view_slot(tracker, members->page_addr[i]) = to;
}

/* Insert, ascending; there is room. */
static void group_add(struct view_group *group, uint64_t page_addr)
{
    uint32_t at = group->count++;
    for (; at > 0 && group->page_addr[at - 1] > page_addr; at--)
        group->page_addr[at] = group->page_addr[at - 1];
    group->page_addr[at] = page_addr;
}

static void group_add_page(struct view_group *group, const struct view_group *former,
                           uint64_t page_addr)
{
    if (former == NULL)
        group_add(group, page_addr);
    for (uint32_t i = 0; former != NULL && i < former->count; i++)
        group_add(group, former->page_addr[i]);
}

/* Make one group of a page's and another's; the former ones are kept in the scratch. */
static bool page_join(struct trk_tracker *tracker, uint64_t page_addr, uint64_t other_addr)
{
    struct view_scratch *scratch = tracker->views.scratch;
    struct view_group *former = *view_slot(tracker, page_addr);
    struct view_group *other = *view_slot(tracker, other_addr);
    scratch->former[page_number(page_addr)] = former;
    scratch->other_former[page_number(page_addr)] = other;
    if (former != NULL && former == other)
        return true;
    struct view_group *group = group_take(tracker);
    if (group == NULL)
        return false;
    group_add_page(group, former, page_addr);
    group_add_page(group, other, other_addr);
    group_point(tracker, group, group);
    return true;
}

static void page_unjoin(struct trk_tracker *tracker, uint64_t page_addr, uint64_t other_addr)
{
    const struct view_scratch *scratch = tracker->views.scratch;
    struct view_group *former = scratch->former[page_number(page_addr)];
    struct view_group *other = scratch->other_former[page_number(page_addr)];
    if (former != NULL && former == other)
        return;
    group_give(tracker, *view_slot(tracker, page_addr));
    *view_slot(tracker, page_addr) = NULL;
    *view_slot(tracker, other_addr) = NULL;
    if (former != NULL)
        group_point(tracker, former, former);
    if (other != NULL)
        group_point(tracker, other, other);
}

/* A page goes out of its group; a last one is none. */
static bool page_leave(struct trk_tracker *tracker, uint64_t page_addr)
{
    struct view_group *former = *view_slot(tracker, page_addr);
    tracker->views.scratch->former[page_number(page_addr)] = former;
    if (former == NULL)
        return true;
    struct view_group *group = NULL;
    if (former->count > 2) {
        group = group_take(tracker);
        if (group == NULL)
            return false;
    }
    for (uint32_t i = 0; group != NULL && i < former->count; i++) {
        if (former->page_addr[i] != page_addr)
            group_add(group, former->page_addr[i]);
    }
    group_point(tracker, former, group);
    *view_slot(tracker, page_addr) = NULL;
    return true;
}

static void page_unleave(struct trk_tracker *tracker, uint64_t page_addr)
{
    struct view_group *former = tracker->views.scratch->former[page_number(page_addr)];
    if (former == NULL)
        return;
    for (uint32_t i = 0; i < former->count; i++) {
        struct view_group *now = *view_slot(tracker, former->page_addr[i]);
        if (now != NULL) {
            group_give(tracker, now);
            break;
        }
    }
    group_point(tracker, former, former);
}

/* One window's part of a join (distance: from a page to the other) or of a leave (0). */
struct regroup {
    struct window window;
    uint64_t base, distance;
};

static bool page_regroup(struct trk_tracker *tracker, const struct regroup *part, uint32_t page)
{
    uint64_t page_addr = part->base + page * TRK_HOST_PAGE_BYTES;
    return part->distance != 0 ? page_join(tracker, page_addr, page_addr + part->distance)
                               : page_leave(tracker, page_addr);
}

/* Take pages [first, end) back, the last first: they may have met in one group. */
static void pages_ungroup(struct trk_tracker *tracker, const struct regroup *part, uint32_t end)
{
    for (uint32_t page = end; page-- > part->window.first;) {
        uint64_t page_addr = part->base + page * TRK_HOST_PAGE_BYTES;
        if (part->distance != 0)
            page_unjoin(tracker, page_addr, page_addr + part->distance);
        else
            page_unleave(tracker, page_addr);
    }
}

/* The change stands: the groups that nothing points to any more are free. */
static void groups_free(struct trk_tracker *tracker, const struct regroup *part)
{
    const struct view_scratch *scratch = tracker->views.scratch;
    for (uint32_t page = part->window.first; page < part->window.end; page++) {
        struct view_group *former = scratch->former[page];
        struct view_group *other = part->distance != 0 ? scratch->other_former[page] : NULL;
        if (former != NULL && former == other)
            continue;
        group_give(tracker, former);
        group_give(tracker, other);
    }
}

static enum trk_status window_regroup(struct hold *hold, const struct regroup *part)
{
    static const uint64_t all[TRK_REGION_WORDS] = {
        [0 ... TRK_REGION_WORDS - 1] = ~UINT64_C(0),
    };
    struct trk_tracker *tracker = hold->operation->tracker;
    struct rights_before before;
    struct settled settled;
    hold->index = part->window.index;
    hold->region = region_slot(tracker, hold->index);
    remember(&before, hold->region, &part->window);
    if (part->distance == 0)
        trk_views_collect(hold, &part->window, all);
    for (uint32_t page = part->window.first; page < part->window.end; page++) {
        if (!page_regroup(tracker, part, page)) {
            pages_ungroup(tracker, part, page);
            return TRK_E_MEMORY;
        }
    }
    if (part->distance != 0)
        trk_views_collect(hold, &part->window, all);
    hold->region->pages_changes++;
    if (trk_views_settle(hold, &part->window, all, &before, &settled)) {
        groups_free(tracker, part);
        return TRK_OK;
    }
    remember(&before, hold->region, &part->window);
    pages_ungroup(tracker, part, part->window.end);
    trk_views_unsettle(hold, &part->window, &before, &settled);
    return TRK_E_PROTECT;
}

/* A join of all pages [first_addr, end_addr) with those so far away, modulo 2^64. */
struct regroup_range {
    uint64_t first_addr, end_addr, distance;
};

/* Pages that a join would bring together with one page. */
struct frame {
    uint32_t count;
    uint64_t page_addr[TRK_VIEWS_MAX];
};

/* False: there would be too many. */
static bool frame_add(struct frame *frame, uint64_t page_addr)
{
    for (uint32_t i = 0; i < frame->count; i++) {
        if (frame->page_addr[i] == page_addr)
            return true;
    }
    if (frame->count == TRK_VIEWS_MAX)
        return false;
    frame->page_addr[frame->count++] = page_addr;
    return true;
}

/* Add what a page is, or by the join will be, a view of. */
static bool frame_grow(const struct trk_tracker *tracker, struct frame *frame, uint64_t page_addr,
                       const struct regroup_range *join)
{
    const struct view_group *group = *view_slot(tracker, page_addr);
    bool fits = true;
    for (uint32_t i = 0; group != NULL && fits && i < group->count; i++)
        fits = frame_add(frame, group->page_addr[i]);
    uint64_t size_bytes = join->end_addr - join->first_addr;
    if (fits && page_addr - join->first_addr < size_bytes)
        fits = frame_add(frame, page_addr + join->distance);
    if (fits && page_addr - join->distance - join->first_addr < size_bytes)
        fits = frame_add(frame, page_addr - join->distance);
    return fits;
}

/* Whether each frame would have few enough views, once all pages of the range are joined. */
static bool join_fits(const struct trk_tracker *tracker, const struct regroup_range *join)
{
    for (uint64_t at = join->first_addr; at < join->end_addr; at += TRK_HOST_PAGE_BYTES) {
        struct frame frame = {1, {at}};
        for (uint32_t i = 0; i < frame.count; i++) {
            if (!frame_grow(tracker, &frame, frame.page_addr[i], join))
                return false;
        }
    }
    return true;
}

/* In one hold of the common lock. Regions that have never been shared have no groups. */
static enum trk_status regroup_run(const struct operation *operation, const struct range *range,
                                   uint64_t distance)
{
    struct hold hold;
    enum trk_status status = TRK_OK;
    bracket_begin(&hold, operation, range->first_region);
    struct regroup_range join = {range->first_addr, range->end_addr, distance};
    if (distance != 0 && !join_fits(operation->tracker, &join))
        status = TRK_E_ARGUMENT;
    for (uint32_t index = range->first_region; status == TRK_OK && index < range->end_region;
         index++) {
        struct regroup part = {range_window(range, index), trk_region_address(index), distance};
        if (region_shared(region_slot(operation->tracker, index)))
            status = window_regroup(&hold, &part);
    }
    hold_end(&hold, 0);
    return status;
}

static bool aligned(uint64_t guest_addr, uint64_t size_bytes)
{
    return (guest_addr | size_bytes) % TRK_HOST_PAGE_BYTES == 0;
}

static enum trk_status regroup_end(const struct operation *operation, enum trk_status status)
{
    if (status == TRK_E_PROTECT)
        trk_op_fail(operation, status, trk_op_refusal_text(status));
    return trk_op_end(operation, status, 0);
}

enum trk_status trk_tracker_join_views(struct trk_tracker *tracker, uint64_t guest_addr,
                                       uint64_t other_addr, uint64_t size_bytes)
{
    struct operation operation = {.tracker = tracker,
                                  .op = TRK_OP_JOIN_VIEWS,
                                  .guest_addr = guest_addr,
                                  .size_bytes = size_bytes};
    if (!aligned(guest_addr | other_addr, size_bytes) || guest_addr == other_addr)
        return TRK_E_ARGUMENT;
    if (observed(tracker))
        emit(tracker, &(struct trk_event){.type = TRK_EVENT_OPERAND, .argument = other_addr});
    enum trk_status status = trk_op_begin(&operation, 0, 0);
    struct operation other = operation;
    other.guest_addr = other_addr;
    if (status == TRK_OK)
        status = trk_op_check(&other);
    if (status != TRK_OK)
        return trk_op_end(&operation, status, 0);
    struct range range = range_pages(guest_addr, size_bytes, TRK_HOST_PAGE_BYTES);
    struct range other_range = range_pages(other_addr, size_bytes, TRK_HOST_PAGE_BYTES);
    status = regions_share(&operation, &range);
    if (status == TRK_OK)
        status = regions_share(&operation, &other_range);
    if (status == TRK_OK)
        status = regroup_run(&operation, &range, other_addr - guest_addr);
    return regroup_end(&operation, status);
}

enum trk_status trk_tracker_leave_view(struct trk_tracker *tracker, uint64_t guest_addr,
                                       uint64_t size_bytes)
{
    struct operation operation = {.tracker = tracker,
                                  .op = TRK_OP_LEAVE_VIEW,
                                  .guest_addr = guest_addr,
                                  .size_bytes = size_bytes};
    if (!aligned(guest_addr, size_bytes))
        return TRK_E_ARGUMENT;
    enum trk_status status = trk_op_begin(&operation, 0, 0);
    if (status != TRK_OK)
        return trk_op_end(&operation, status, 0);
    struct range range = range_pages(guest_addr, size_bytes, TRK_HOST_PAGE_BYTES);
    return regroup_end(&operation, regroup_run(&operation, &range, 0));
}

uint32_t trk_tracker_views(const struct trk_tracker *tracker, uint64_t guest_addr,
                           uint64_t out[TRK_VIEWS_MAX])
{
    uint32_t index = trk_region_index(guest_addr);
    uint64_t page_addr = guest_addr & ~(TRK_HOST_PAGE_BYTES - 1);
    out[0] = guest_addr;
    if (!trk_range_valid(tracker->policy.arena, guest_addr, 1) ||
        !region_shared(region_slot(tracker, index)))
        return 1;
    const struct view_group *group =
        __atomic_load_n(view_slot(tracker, page_addr), __ATOMIC_ACQUIRE);
    if (group == NULL)
        return 1;
    uint32_t count = group->count;
    for (uint32_t i = 0; i < count; i++)
        out[i] = group->page_addr[i] + guest_addr % TRK_HOST_PAGE_BYTES;
    return count;
}
