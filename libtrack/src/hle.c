/*
 * The emulator's own checked write: the guest's rights, invalidate, generations, the write.
 *
 * Rules: tracker-spec 9, 10; scenario-format, fine print 14.
 */
#include "track/hle.h"

#include <stddef.h>

#include "generations.h"
#include "pages_hold.h"

/* Whether the guest may write every page; a hold of each region's page manager. */
static bool guest_may_write(const struct operation *operation)
{
    struct range bytes =
        range_pages(operation->guest_addr, operation->size_bytes, TRK_HOST_PAGE_BYTES);
    bool may = true;
    for (uint32_t index = bytes.first_region; may && index < bytes.end_region; index++) {
        trk_region_make_live(operation->tracker, index);
        struct window window = range_window(&bytes, index);
        struct hold hold;
        hold_begin(&hold, operation, index);
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

/* Invalidate each run of registered bytes, once. */
static enum trk_status invalidate_runs(const struct operation *operation)
{
    const struct trk_resource_layer *layer = &operation->tracker->layer;
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
        uint64_t flushes = 0;
        status = trk_invalidate_run(&run, layer->flush, layer->context, false, &flushes);
        uint64_t run_end = run.guest_addr + run.size_bytes;
        if (run_end == end_addr)
            break;
        set_range(&part, run_end, end_addr - run_end);
    }
    return status;
}

static enum trk_status write_run(const struct operation *operation,
                                 const struct trk_hle_write *write)
{
    enum trk_status status = invalidate_runs(operation);
    if (status == TRK_OK)
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
    if (!guest_may_write(&operation))
        return trk_op_end(&operation, TRK_OK, 0);
    status = write_run(&operation, write);
    *written = status == TRK_OK;
    return trk_op_end(&operation, status, *written);
}
