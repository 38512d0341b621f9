/*
 * Serving a guest access that faulted.
 *
 * In this order: the guest's own rights forbid it: not ours; the live host page permits it now:
 * another thread was faster, run it again; every byte of the fault's width is registered: the
 * tracker serves it; else not ours. A store invalidates, a load or an instruction fetch reads back.
 *
 * Rules: tracker-spec 7, branch 2.
 */
#include <stddef.h>

#include "internal.h"
#include "track/fault.h"

/*
 * Whether a fault of ours has come again and again: same thread, page and access, and nothing
 * changed in the page's region in between. (A region is what one thread can look at under a lock it
 * takes anyway; the simulator counts changes anywhere.)
 */
static bool no_progress(const struct operation *operation, enum trk_access access, uint32_t changes)
{
    struct trk_thread *self = operation->self;
    uint64_t page = operation->guest_addr / TRK_HOST_PAGE_BYTES;
    bool again = self->fault_tracker == operation->tracker->serial && self->fault_page == page &&
                 self->fault_access == (uint32_t)access && self->fault_changes == changes;
    self->fault_tracker = operation->tracker->serial;
    self->fault_page = page;
    self->fault_access = (uint32_t)access;
    self->fault_changes = changes;
    self->fault_repeats = again ? self->fault_repeats + 1 : 1;
    return self->fault_repeats >= FAULT_REPEATS;
}

static enum trk_fault_outcome end(const struct operation *operation, enum trk_status status,
                                  enum trk_fault_outcome outcome)
{
    trk_op_end(operation, status, (uint64_t)outcome);
    return outcome;
}

/* The end of a fault that is ours and will be tried again. */
static enum trk_fault_outcome end_again(const struct operation *operation, enum trk_access access,
                                        uint32_t changes, enum trk_fault_outcome outcome)
{
    if (no_progress(operation, access, changes)) {
        operation->self->fault_tracker = 0;
        trk_op_fail(operation, TRK_E_LIVELOCK,
                    "one access faulted again and again without a change");
        return end(operation, TRK_E_LIVELOCK, TRK_FAULT_UNHANDLED);
    }
    if (operation->self->fault_repeats > 1)
        env_stand_back();
    return end(operation, TRK_OK, outcome);
}

/* A load or an instruction fetch from a page that only the GPU has: bring it home. */
static enum trk_status read_back(const struct operation *operation)
{
    const struct trk_tracker *tracker = operation->tracker;
    bool gpu = false;
    trk_regions_lock(operation, false);
    bool registered = trk_bytes_registered(operation);
    FOR_HELD_REGIONS(region, operation)
    {
        struct window window = range_window(&operation->range, region_index(tracker, region));
        gpu |= window_any(&window, region->gpu);
    }
    trk_regions_unlock(operation);
    if (!registered)
        return TRK_E_END;
    if (!gpu)
        return TRK_OK;
    if (observed(tracker))
        emit(tracker, &(struct trk_event){
                          .type = TRK_EVENT_CALLBACK,
                          .context = TRK_CALLBACK_READ_BACK,
                      });
    if (tracker->layer.read_back != NULL)
        env_call_flush(tracker->layer.read_back, tracker->layer.context,
                       operation->range.first_addr,
                       operation->range.end_addr - operation->range.first_addr);
    return TRK_OK;
}

enum trk_fault_outcome trk_tracker_fault(struct trk_tracker *tracker, uint64_t guest_addr,
                                         enum trk_access access)
{
    struct operation operation = {.tracker = tracker,
                                  .self = env_self(),
                                  .op = TRK_OP_FAULT,
                                  .guest_addr = guest_addr,
                                  .size_bytes = tracker->policy.fault_width_bytes};
    if (!trk_range_valid(tracker->policy.arena, guest_addr, 1))
        return TRK_FAULT_UNHANDLED;
    uint32_t changes = 0;
    enum trk_fault_look look = trk_pages_look(&operation, access, &changes);
    if (look == TRK_LOOK_FORBIDDEN || look == TRK_LOOK_UNKNOWN)
        return end(&operation, TRK_OK, TRK_FAULT_UNHANDLED);
    if (look == TRK_LOOK_PERMITTED)
        return end_again(&operation, access, changes, TRK_FAULT_RETRY);

    /* A wide fault at the end of a band touches only what is there. */
    if (!trk_range_valid(tracker->policy.arena, guest_addr, operation.size_bytes))
        operation.size_bytes = 1;
    enum trk_status status = trk_op_check(&operation);
    if (status != TRK_OK)
        return end(&operation, status, TRK_FAULT_UNHANDLED);
    uint64_t flushes = 0;
    if (access == TRK_ACCESS_WRITE)
        status = trk_invalidate_run(&operation, tracker->layer.flush, tracker->layer.context, true,
                                    &flushes);
    else
        status = read_back(&operation);
    if (status == TRK_E_END) /* a byte is not the GPU's */
        return end(&operation, TRK_OK, TRK_FAULT_UNHANDLED);
    if (status != TRK_OK) {
        trk_op_fail(&operation, status, trk_op_refusal_text(status));
        return end(&operation, status, TRK_FAULT_UNHANDLED);
    }
    return end_again(&operation, access, changes, TRK_FAULT_SERVED);
}

enum trk_fault_outcome trk_fault_tracker(void *tracker, uint64_t host_addr, enum trk_access access)
{
    struct trk_tracker *self = tracker;
    return trk_tracker_fault(self, host_addr - (uint64_t)self->backend->host_bias_bytes, access);
}
