/*
 * The emulator's own checked write: the guest's rights, invalidate, generations, the write.
 *
 * Rules: [M-72].
 */
#include "track/hle.h"

#include <stddef.h>

#include "generations.h"
#include "mutation.h"
#include "views.h"

/*
 * Whether the guest may write every page; a hold of each region's page manager. `shared`: a page of
 * the range may have other views.
 */
static bool guest_may_write(const struct operation *operation, bool *shared)
{
    struct range bytes =
        range_pages(operation->guest_addr, operation->size_bytes, TRK_HOST_PAGE_BYTES);
    bool may = true;
    *shared = false;
    for (uint32_t index = bytes.first_region;
         may && index < bytes.end_region && !(MUTANT(121) && index > bytes.first_region); index++) {
        trk_region_make_live(operation->tracker, index);
        struct window window = range_window(&bytes, index);
        struct hold hold;
        hold_begin(&hold, operation, index);
        *shared |= hold.number == TRK_DOMAIN_SHARED;
        FOR_WINDOW_WORDS(word, &window)
        may &= (~rights_guest(hold.region, word).write & window_mask(&window, word)) == 0;
        hold_end(&hold, 0);
    }
    return may;
}

/* The first run of registered bytes in the part's range, over region edges; its regions are held.
 */
static bool first_run(const struct operation *part, struct operation *run)
{
    const struct trk_tracker *tracker = part->tracker;
    uint64_t part_end = part->guest_addr + part->size_bytes;
    uint64_t first_addr = 0, end_addr = 0; /* end_addr 0: none found */
    FOR_HELD_REGIONS(region, part)
    {
        uint64_t base = trk_region_address(region_index(tracker, region));
        for (uint32_t i = 0; i < region->span_count; i++) {
            uint64_t first = base + region->spans[i].first, end = base + region->spans[i].end;
            first = first > part->guest_addr ? first : part->guest_addr;
            end = end < part_end ? end : part_end;
            if (first >= end || (end_addr != 0 && first != end_addr))
                continue;
            first_addr = end_addr == 0 ? first : first_addr;
            end_addr = end;
        }
    }
    run->guest_addr = first_addr;
    run->size_bytes = end_addr - first_addr;
    return end_addr != 0;
}

/* The range of an operation's part. */
static void set_range(struct operation *part, uint64_t guest_addr, uint64_t size_bytes)
{
    part->guest_addr = guest_addr;
    part->size_bytes = size_bytes;
    part->range = range_pages(guest_addr, size_bytes, part->tracker->policy.page_size_bytes);
}

/* Bytes of one region, and where else the same bytes are seen by registered views. */
struct segment {
    uint64_t guest_addr, size_bytes;
    uint32_t count; /* others */
    uint64_t other_addr[TRK_VIEWS_MAX];
};

/* Registered views of a page that is one, but itself; under the hold. */
static uint32_t other_views(const struct hold *hold, uint64_t page_addr, uint64_t *out)
{
    const struct trk_tracker *tracker = hold->operation->tracker;
    const struct view_group *group =
        hold->number == TRK_DOMAIN_SHARED && view_seen(tracker, page_addr)
            ? *view_slot(tracker, page_addr)
            : NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; group != NULL && i < group->count; i++) {
        if (group->page_addr[i] != page_addr && view_seen(tracker, group->page_addr[i]))
            out[count++] = group->page_addr[i];
    }
    return count;
}

/* Whether a page's other views follow on those of the segment before it. */
static bool continues(const struct segment *segment, const uint64_t *page_addr, uint32_t count)
{
    bool same = count == segment->count;
    for (uint32_t i = 0; same && i < count; i++)
        same = page_addr[i] == segment->other_addr[i] + segment->size_bytes;
    return same;
}

/* The first bytes of the range that have the same views throughout. */
static void first_segment(const struct operation *run, struct segment *out)
{
    uint64_t end_addr = run->guest_addr + run->size_bytes;
    uint64_t at = run->guest_addr & ~(TRK_HOST_PAGE_BYTES - 1);
    uint32_t index = trk_region_index(at);
    uint64_t region_end = trk_region_address(index) + TRK_REGION_BYTES;
    struct hold hold;
    hold_begin(&hold, run, index);
    *out = (struct segment){.guest_addr = at};
    out->count = other_views(&hold, at, out->other_addr);
    for (; at < end_addr && at < region_end; at += TRK_HOST_PAGE_BYTES) {
        uint64_t page_addr[TRK_VIEWS_MAX];
        uint32_t count = other_views(&hold, at, page_addr);
        if (!continues(out, page_addr, count))
            break;
        out->size_bytes += TRK_HOST_PAGE_BYTES;
    }
    hold_end(&hold, 0);
}

static enum trk_status invalidate(const struct operation *run)
{
    const struct trk_resource_layer *layer = &run->tracker->layer;
    uint64_t flushes = 0;
    return trk_invalidate_run(run, layer->flush, layer->context, false, &flushes);
}

/* The same bytes in the run's other registered views; those above the run's own, or below. */
static enum trk_status tell_others(const struct operation *run, bool above)
{
    struct operation rest = *run, other = *run;
    uint64_t end_addr = run->guest_addr + run->size_bytes;
    enum trk_status status = TRK_OK;
    while (status == TRK_OK && rest.size_bytes > 0) {
        struct segment segment;
        first_segment(&rest, &segment);
        uint64_t segment_end = segment.guest_addr + segment.size_bytes;
        uint64_t skipped = rest.guest_addr - segment.guest_addr;
        uint64_t stop = segment_end < end_addr ? segment_end : end_addr;
        for (uint32_t i = 0; status == TRK_OK && i < segment.count; i++) {
            if ((segment.other_addr[i] > segment.guest_addr) != above)
                continue;
            set_range(&other, segment.other_addr[i] + skipped, stop - rest.guest_addr);
            status = invalidate(&other);
            if (status == TRK_OK)
                status = trk_generations_notify_range(&other);
        }
        set_range(&rest, stop, end_addr - stop);
    }
    return status;
}

/* Each run of registered bytes is invalidated once in each registered view, ascending. */
static enum trk_status tell_runs(const struct operation *operation, bool shared)
{
    uint64_t end_addr = operation->guest_addr + operation->size_bytes;
    struct operation part = *operation, run = *operation;
    enum trk_status status = TRK_OK;
    while (status == TRK_OK && part.size_bytes > 0) {
        trk_regions_lock(&part, false);
        bool found = first_run(&part, &run);
        trk_regions_unlock(&part);
        if (!found)
            break;
        set_range(&run, run.guest_addr, run.size_bytes);
        if (shared && !MUTANT(120))
            status = tell_others(&run, false);
        if (status == TRK_OK)
            status = invalidate(&run);
        if (status == TRK_OK && shared)
            status = tell_others(&run, true);
        uint64_t run_end = run.guest_addr + run.size_bytes;
        set_range(&part, run_end, end_addr - run_end);
    }
    return status;
}

/*
 * A lock of another view's region that this thread holds would never be granted. Looked at before
 * anything changes; a failure has been told of.
 */
static enum trk_status check_others(const struct operation *operation)
{
    struct operation rest = *operation, other = *operation;
    uint64_t end_addr = operation->guest_addr + operation->size_bytes;
    enum trk_status status = TRK_OK;
    while (status == TRK_OK && rest.size_bytes > 0) {
        struct segment segment;
        first_segment(&rest, &segment);
        for (uint32_t i = 0; status == TRK_OK && i < segment.count; i++) {
            set_range(&other, segment.other_addr[i], segment.size_bytes);
            status = trk_op_check(&other);
        }
        uint64_t segment_end = segment.guest_addr + segment.size_bytes;
        uint64_t stop = segment_end < end_addr ? segment_end : end_addr;
        set_range(&rest, stop, end_addr - stop);
    }
    return status;
}

static enum trk_status write_run(const struct operation *operation,
                                 const struct trk_hle_write *write, bool shared)
{
    enum trk_status status = tell_runs(operation, shared);
    if (status == TRK_OK) /* also of bytes that the GPU does not know */
        status = trk_generations_notify_range(operation);
    if (status != TRK_OK) {
        trk_op_fail(operation, status, trk_op_refusal_text(status));
        return status;
    }
    if (observed(operation->tracker))
        emit(operation->tracker, &(struct trk_event){
                                     .type = TRK_EVENT_CALLBACK,
                                     .context = TRK_CALLBACK_WRITE,
                                 });
    env_call_range(write->write, write->context, operation->guest_addr, operation->size_bytes);
    return TRK_OK;
}

enum trk_status trk_tracker_hle_write(struct trk_tracker *tracker,
                                      const struct trk_hle_write *write, bool *written)
{
    *written = false;
    if (write->size != sizeof *write || write->write == NULL)
        return TRK_E_ARGUMENT;
    struct operation operation = {.tracker = tracker,
                                  .op = TRK_OP_HLE_WRITE,
                                  .guest_addr = write->guest_addr,
                                  .size_bytes = write->size_bytes};
    enum trk_status status = trk_op_begin(&operation, 0, 0);
    if (status != TRK_OK)
        return trk_op_end(&operation, status, 0);
    bool shared = false;
    if (!guest_may_write(&operation, &shared))
        return trk_op_end(&operation, TRK_OK, 0);
    if (shared && operation.self->locks_held != 0)
        status = check_others(&operation);
    if (status == TRK_OK)
        status = write_run(&operation, write, shared);
    *written = status == TRK_OK;
    return trk_op_end(&operation, status, *written);
}
