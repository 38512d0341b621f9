/*
 * Serving a guest access that faulted.
 *
 * In this order: the guest's own rights forbid it: not ours; the live host page permits it now:
 * another thread was faster, run it again; generations had armed the page against this store: they
 * serve it; every byte of the fault's width is registered: the tracker serves it too; else, when
 * nobody has served it, the page is looked at once more, for other threads may have been faster
 * since the first look; else not ours. For the tracker a store invalidates, a load or an
 * instruction fetch reads back.
 *
 * Rules: [M-55] to [M-59], [M-66] [M-74].
 */
#include <stddef.h>

#include "generations.h"
#include "mutation.h"
#include "track/fault.h"
#include "views.h"

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

/* Whether the fault's bytes are all registered, and whether a page of them is the GPU's. */
struct ownership {
    bool registered, gpu;
};

static struct ownership ownership(const struct operation *operation)
{
    struct ownership found = {0};
    trk_regions_lock(operation, false);
    found.registered = trk_bytes_registered(operation);
    FOR_HELD_REGIONS(region, operation)
    {
        struct window window =
            range_window(&operation->range, region_index(operation->tracker, region));
        found.gpu |= window_any(&window, region->gpu);
    }
    trk_regions_unlock(operation);
    return found;
}

/*
 * Bytes that only the GPU has come home: before a store by the flush, else by the read-back. The
 * layer is taken as one, before the event: who hears of that may take the tracker's layer away.
 */
static void bring_home(const struct operation *operation, enum trk_access access)
{
    const struct trk_resource_layer layer = operation->tracker->layer;
    bool store = access == TRK_ACCESS_WRITE;
    trk_flush_fn *bring = store ? layer.flush : layer.read_back;
    if (observed(operation->tracker))
        emit(operation->tracker, &(struct trk_event){
                                     .type = TRK_EVENT_CALLBACK,
                                     .context = store ? TRK_CALLBACK_FLUSH : TRK_CALLBACK_READ_BACK,
                                 });
    if (bring != NULL)
        env_call_flush(bring, layer.context, operation->range.first_addr,
                       operation->range.end_addr - operation->range.first_addr);
}

/*
 * A host out of mappings opens no page inside a larger closed run: bring the whole run home first.
 * What is left for the page alone then takes no mapping.
 */
static void bring_run_home(const struct operation *operation, enum trk_access access,
                           const struct window *run)
{
    if (TRK_LIKELY(run->end == run->first))
        return;
    struct ownership found = ownership(operation);
    if (!found.registered || !found.gpu)
        return;
    struct operation whole = *operation;
    whole.range = range_pages(trk_region_address(run->index) + run->first * TRK_HOST_PAGE_BYTES,
                              (run->end - run->first) * TRK_HOST_PAGE_BYTES,
                              operation->tracker->policy.page_size_bytes);
    bring_home(&whole, access);
}

/*
 * One view's part. The faulting view is served if every byte is registered; TRK_E_END says that
 * one is not. Whether to serve the others is decided already.
 */
static enum trk_status serve_view(const struct operation *operation, enum trk_access access,
                                  bool registered_only)
{
    const struct trk_resource_layer *layer = &operation->tracker->layer;
    uint64_t flushes = 0;
    if (access == TRK_ACCESS_WRITE && !MUTANT(33))
        return trk_invalidate_run(operation, layer->flush, layer->context, registered_only,
                                  &flushes);
    struct ownership found = ownership(operation);
    if (registered_only && !found.registered)
        return TRK_E_END;
    if (!found.gpu)
        return TRK_OK;
    struct trk_read_back_frame frame = {operation->tracker, operation->self->read_backs, false};
    operation->self->read_backs = &frame;
    bring_home(operation, access);
    operation->self->read_backs = frame.outer;
    /* What the host refused, with the page left where it was, it would refuse at the next try. */
    return frame.refused && ownership(operation).gpu ? TRK_E_PROTECT : TRK_OK;
}

/* Tell of a failure that nobody has told of. */
static enum trk_status report(const struct operation *operation, enum trk_status status)
{
    if (status != TRK_OK && status != TRK_E_END)
        trk_op_fail(operation, status, trk_op_refusal_text(status));
    return status;
}

/*
 * The fault in one of the page's views. What a wide fault touches behind the page is the faulting
 * view's alone.
 */
static struct operation view_of(const struct operation *operation, uint64_t page_addr)
{
    struct operation view = *operation;
    uint64_t offset = operation->guest_addr % TRK_HOST_PAGE_BYTES;
    if (page_addr == operation->guest_addr - offset)
        return view;
    view.guest_addr = page_addr + offset;
    if (offset + view.size_bytes > TRK_HOST_PAGE_BYTES)
        view.size_bytes = TRK_HOST_PAGE_BYTES - offset;
    return view;
}

/* All registered views of the page, ascending, if each may be served; failures are told of. */
static enum trk_status serve_views(const struct operation *operation, enum trk_access access,
                                   const struct page_look *look)
{
    struct operation views[TRK_VIEWS_MAX];
    if (!ownership(operation).registered)
        return TRK_E_END;
    enum trk_status status = TRK_OK;
    for (uint32_t i = 0; status == TRK_OK && i < look->view_count; i++) {
        views[i] = view_of(operation, look->page_addr[i]);
        status = trk_op_check(&views[i]);
    }
    if (status != TRK_OK)
        return status;
    for (uint32_t i = 0; i < look->view_count; i++)
        bring_run_home(&views[i], access, &look->runs[i]);
    for (uint32_t i = 0; status == TRK_OK && i < look->view_count; i++)
        status = report(operation, serve_view(&views[i], access, false));
    return status;
}

/* The tracker's part of a fault; TRK_E_END: a byte is not the GPU's. Failures are told of. */
static enum trk_status serve(struct operation *operation, enum trk_access access,
                             const struct page_look *look)
{
    /* A wide fault at the end of a band touches only what is there. */
    if (!trk_range_valid(operation->tracker->policy.arena, operation->guest_addr,
                         operation->size_bytes) &&
        !MUTANT(43))
        operation->size_bytes = 1;
    enum trk_status status = trk_op_check(operation);
    if (status != TRK_OK)
        return status;
    if (look->view_count > 1)
        return serve_views(operation, access, look);
    bring_run_home(operation, access, &look->runs[0]);
    return report(operation, serve_view(operation, access, true));
}

static bool armed(const struct trk_tracker *tracker, uint64_t page_addr)
{
    const struct region *region = region_slot(tracker, trk_region_index(page_addr));
    return region->extra != NULL && page_bit(region->extra->armed, page_number(page_addr));
}

/* Whether generations wait for a store to the page, in any registered view of it. */
static bool armed_now(const struct hold *hold, uint64_t page_addr)
{
    const struct trk_tracker *tracker = hold->operation->tracker;
    const struct view_group *group = NULL;
    if (hold->number == TRK_DOMAIN_SHARED && view_seen(tracker, page_addr))
        group = *view_slot(tracker, page_addr);
    bool found = armed(tracker, page_addr);
    for (uint32_t i = 0; group != NULL && !found && i < group->count; i++)
        found = view_seen(tracker, group->page_addr[i]) && armed(tracker, group->page_addr[i]);
    return found;
}

/*
 * The second look, when nobody took the fault: since the first, another thread may have opened the
 * page, and yet another armed it again. Then the access is tried again.
 */
static bool changed_since(const struct operation *operation, enum trk_access access)
{
    static const unsigned needed[] = {
        [TRK_ACCESS_READ] = TRK_RIGHT_READ,
        [TRK_ACCESS_WRITE] = TRK_RIGHT_WRITE,
        [TRK_ACCESS_EXECUTE] = TRK_RIGHT_EXEC,
    };
    uint32_t page = page_number(operation->guest_addr);
    struct hold hold;
    hold_begin(&hold, operation, trk_region_index(operation->guest_addr));
    unsigned host = rights_of_page(rights_host(hold.region, page / 64), page);
    bool changed = (host & needed[access]) != 0;
    if (!changed && access == TRK_ACCESS_WRITE && !MUTANT(125))
        changed = armed_now(&hold, operation->guest_addr & ~(TRK_HOST_PAGE_BYTES - 1));
    hold_end(&hold, 0);
    return changed;
}

/* A store that generations wait for: they are served first. */
static enum trk_status serve_generations(const struct operation *operation,
                                         const struct page_look *look, bool *served)
{
    *served = false;
    if (TRK_LIKELY(look->armed == 0))
        return TRK_OK;
    enum trk_status status = trk_generations_store(operation, look, served);
    if (status != TRK_OK)
        trk_op_fail(operation, status, trk_op_refusal_text(status));
    return status;
}

/* Of the FAULT that comes next: where the access was, if a handler brought it. */
static void tell_place(const struct trk_tracker *tracker, uint64_t guest_addr)
{
    const struct env_interrupted *at = env_interrupted(guest_addr);
    if (at == NULL)
        return;
    struct trk_event event = trk_event_of(TRK_EVENT_FAULT_AT, at->pc);
    trk_event_set_size(&event, at->stack_addr);
    event.flags = (uint8_t)at->source;
    emit(tracker, &event);
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
    if (observed(tracker))
        tell_place(tracker, guest_addr);
    struct page_look look;
    trk_pages_look_views(&operation, access, &look);
    if (look.look == TRK_LOOK_FORBIDDEN || look.look == TRK_LOOK_UNKNOWN)
        return end(&operation, TRK_OK, TRK_FAULT_UNHANDLED);
    if (look.look == TRK_LOOK_PERMITTED)
        return end_again(&operation, access, look.changes, TRK_FAULT_RETRY);

    bool served = false;
    enum trk_status status = TRK_OK;
    if (access == TRK_ACCESS_WRITE)
        status = serve_generations(&operation, &look, &served);
    if (status == TRK_OK)
        status = serve(&operation, access, &look);
    if (status == TRK_OK || (status == TRK_E_END && served))
        return end_again(&operation, access, look.changes, TRK_FAULT_SERVED);
    if (status != TRK_E_END)
        return end(&operation, status, TRK_FAULT_UNHANDLED);
    if (changed_since(&operation, access) && !MUTANT(118))
        return end_again(&operation, access, look.changes, TRK_FAULT_RETRY);
    return end(&operation, TRK_OK, TRK_FAULT_UNHANDLED);
}

enum trk_fault_outcome trk_fault_tracker(void *tracker, uint64_t host_addr, enum trk_access access)
{
    struct trk_tracker *self = tracker;
    return trk_tracker_fault(self, host_addr - (uint64_t)self->backend->host_bias_bytes, access);
}
