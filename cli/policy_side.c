#include "policy_side.h"

#include <stdlib.h>
#include <string.h>

#include "track/hle.h"
#include "track/tracker.h"

#define NONE TRK_POLICY_LOG_NONE

static void run_op(struct trk_policy_side *side, uint32_t index);

static const struct trk_policy_command *command_of(const struct trk_policy_side *side,
                                                   uint32_t index)
{
    return &side->log->commands[index];
}

/* ---- callbacks ------------------------------------------------------------------------------- */

static void note_run(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_policy_side *side = context;
    if (side->came.run_count < TRK_POLICY_SIDE_RUNS) {
        side->runs[side->came.run_count] = (struct trk_policy_run_of_pages){guest_addr, size_bytes};
    }
    side->came.run_count++;
}

static void write_nothing(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    (void)guest_addr;
    (void)size_bytes;
}

static void on_failure(void *context, const struct trk_failure *failure)
{
    (void)failure;
    ((struct trk_policy_side *)context)->came.failures++;
}

static struct trk_transfer transfer_of(struct trk_policy_side *side, uint64_t guest_addr,
                                       uint64_t size_bytes)
{
    return (struct trk_transfer){.size = sizeof(struct trk_transfer),
                                 .guest_addr = guest_addr,
                                 .size_bytes = size_bytes,
                                 .range = note_run,
                                 .context = side};
}

/* What the recorded flush did, in its call of the same number, or else in its last one. Whether
 * that is in the trace. */
static bool run_nested(struct trk_policy_side *side, uint64_t round)
{
    uint32_t outer = side->current;
    const struct trk_policy_command *command = command_of(side, outer);
    if (command->first_nested == NONE) {
        return false;
    }
    round = round < command->rounds ? round : command->rounds - UINT64_C(1);
    for (uint32_t i = command->first_nested; i != NONE; i = command_of(side, i)->sister) {
        if (command_of(side, i)->round == round) {
            side->done[i] = 1;
            run_op(side, i);
        }
    }
    side->current = outer;
    return true;
}

static void on_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_policy_side *side = context;
    if (!run_nested(side, side->came.flushes++)) {
        struct trk_transfer drain = transfer_of(side, guest_addr, size_bytes);
        (void)!trk_tracker_drain(side->trackers[side->serving], &drain);
    }
}

static void on_read_back(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_policy_side *side = context;
    if (!run_nested(side, side->came.flushes++)) {
        struct trk_transfer download = transfer_of(side, guest_addr, size_bytes);
        download.clear = true;
        (void)!trk_tracker_download(side->trackers[side->serving], &download);
    }
}

/* ---- commands -------------------------------------------------------------------------------- */

static enum trk_status create(struct trk_policy_side *side, unsigned id)
{
    struct trk_tracker_options options = trk_tracker_options_default();
    const struct trk_resource_layer layer = {on_flush, on_read_back, side};
    trk_tracker_destroy(side->trackers[id]);
    side->trackers[id] = NULL;
    options.policy = side->policy;
    options.backend = side->backend;
    options.failure = on_failure;
    options.failure_context = side;
    options.id = id;
    enum trk_status status = trk_tracker_create(&side->trackers[id], &options, NULL);
    return status == TRK_OK ? trk_tracker_set_resource_layer(side->trackers[id], &layer) : status;
}

/* An access of the guest's, as often as it faults: once a page. */
static void access_page(struct trk_policy_side *side, uint64_t guest_addr, enum trk_access access)
{
    unsigned wanted = access == TRK_ACCESS_WRITE ? TRK_RIGHT_WRITE : TRK_RIGHT_READ;
    for (uint32_t id = 0; id < TRK_POLICY_SIDE_TRACKERS; id++) {
        struct trk_tracker *tracker = side->trackers[id];
        if (tracker == NULL || !trk_policy_in_bands(guest_addr) ||
            (trk_pages_view(tracker, guest_addr).host_rights & wanted) != 0) {
            continue;
        }
        side->serving = id;
        if (trk_tracker_fault(tracker, guest_addr, access) == TRK_FAULT_UNHANDLED) {
            side->came.unserved++;
        } else {
            side->came.faults++;
        }
    }
}

static void access_range(struct trk_policy_side *side, const struct trk_event *event)
{
    uint64_t size_bytes = event->type == TRK_EVENT_ACCESS ? trk_event_size(event) : event->seq;
    enum trk_access access = event->type == TRK_EVENT_WITNESS_STORE   ? TRK_ACCESS_WRITE
                             : event->type == TRK_EVENT_WITNESS_CHECK ? TRK_ACCESS_READ
                                                                      : event->context;
    uint64_t at = event->argument, end = at + size_bytes;
    while (at < end && trk_policy_in_bands(at)) {
        access_page(side, at, access);
        at = (at | (TRK_HOST_PAGE_BYTES - 1)) + 1;
    }
}

/* Operations that take a range and nothing else; false: it is none of them. */
static bool run_plain(struct trk_policy_side *side, struct trk_tracker *tracker,
                      const struct trk_event *event)
{
    typedef enum trk_status range_fn(struct trk_tracker *, uint64_t, uint64_t);
    static range_fn *const plain[TRK_OP_COUNT] = {
        [TRK_OP_MARK_CPU] = trk_tracker_mark_cpu,
        [TRK_OP_MARK_GPU] = trk_tracker_mark_gpu,
        [TRK_OP_UNMARK_GPU] = trk_tracker_unmark_gpu,
        [TRK_OP_UNTRACK] = trk_tracker_untrack,
        [TRK_OP_REGISTER] = trk_tracker_register,
        [TRK_OP_UNREGISTER] = trk_tracker_unregister,
        [TRK_OP_WATCH] = trk_pages_watch,
        [TRK_OP_UNWATCH] = trk_pages_unwatch,
        [TRK_OP_LEAVE_VIEW] = trk_tracker_leave_view,
    };
    if (event->context >= TRK_OP_COUNT || plain[event->context] == NULL) {
        return false;
    }
    side->came.status = plain[event->context](tracker, event->argument, trk_event_size(event));
    return true;
}

static void run_transfer(struct trk_policy_side *side, struct trk_tracker *tracker,
                         const struct trk_event *event)
{
    struct trk_transfer transfer = transfer_of(side, event->argument, trk_event_size(event));
    transfer.written = event->flags & TRK_OP_FLAG_WRITTEN;
    transfer.clear = event->flags & TRK_OP_FLAG_CLEAR;
    side->came.status = event->context == TRK_OP_UPLOAD ? trk_tracker_upload(tracker, &transfer)
                        : event->context == TRK_OP_DOWNLOAD
                            ? trk_tracker_download(tracker, &transfer)
                            : trk_tracker_drain(tracker, &transfer);
}

static void run_hle_write(struct trk_policy_side *side, struct trk_tracker *tracker,
                          const struct trk_event *event)
{
    const struct trk_hle_write write = {.size = sizeof write,
                                        .guest_addr = event->argument,
                                        .size_bytes = trk_event_size(event),
                                        .write = write_nothing};
    bool written = false;
    side->came.status = trk_tracker_hle_write(tracker, &write, &written);
    side->came.answer = written;
}

static void run_extra(struct trk_policy_side *side, struct trk_tracker *tracker,
                      const struct trk_policy_command *command)
{
    static const struct trk_policy_extra none;
    const struct trk_policy_extra *extra =
        command->extra == NONE ? &none : &side->log->extras[command->extra];
    const struct trk_event *event = &command->event;
    bool read = event->flags & TRK_OP_FLAG_READ;
    side->came.status = event->context == TRK_OP_JOIN_VIEWS
                            ? trk_tracker_join_views(tracker, event->argument, extra->operand,
                                                     trk_event_size(event))
                        : event->context == TRK_OP_WATCH_MASK
                            ? trk_pages_watch_mask(tracker, event->argument, extra->mask, read)
                            : trk_pages_unwatch_mask(tracker, event->argument, extra->mask, read);
}

static void run_op(struct trk_policy_side *side, uint32_t index)
{
    const struct trk_policy_command *command = command_of(side, index);
    const struct trk_event *event = &command->event;
    struct trk_tracker *tracker = side->trackers[event->page & (TRK_POLICY_SIDE_TRACKERS - 1)];
    bool answer = false;
    side->current = index;
    if (event->type != TRK_EVENT_OP_BEGIN) {
        enum trk_access access = event->flags;
        if (event->type == TRK_EVENT_FAULT) {
            access_page(side, event->argument, access);
        } else {
            access_range(side, event);
        }
        return;
    }
    side->serving = event->page & (TRK_POLICY_SIDE_TRACKERS - 1);
    if (tracker == NULL || run_plain(side, tracker, event)) {
        side->came.left_out |= tracker == NULL;
        return;
    }
    switch (event->context) {
    case TRK_OP_IS_CPU:
    case TRK_OP_IS_GPU:
        side->came.status =
            (event->context == TRK_OP_IS_CPU ? trk_tracker_is_cpu : trk_tracker_is_gpu)(
                tracker, event->argument, trk_event_size(event), &answer);
        side->came.answer = answer;
        return;
    case TRK_OP_UPLOAD:
    case TRK_OP_DOWNLOAD:
    case TRK_OP_DRAIN:
        run_transfer(side, tracker, event);
        return;
    case TRK_OP_INVALIDATE:
        side->came.status =
            trk_tracker_invalidate(tracker, event->argument, trk_event_size(event),
                                   event->flags & TRK_OP_FLAG_FLUSH ? on_flush : NULL, side);
        return;
    case TRK_OP_GUEST_PROTECT:
        side->came.status = trk_tracker_set_guest_protection(tracker, event->argument,
                                                             trk_event_size(event), event->pages);
        return;
    case TRK_OP_HLE_WRITE:
        run_hle_write(side, tracker, event);
        return;
    case TRK_OP_JOIN_VIEWS:
    case TRK_OP_WATCH_MASK:
    case TRK_OP_UNWATCH_MASK:
        run_extra(side, tracker, command);
        return;
    default: /* locks by hand, generations */
        side->came.left_out = true;
        return;
    }
}

enum trk_status trk_policy_side_run(struct trk_policy_side *side, uint32_t command)
{
    const struct trk_event *event = &command_of(side, command)->event;
    side->came = (struct trk_policy_came){.status = TRK_OK};
    if (event->type == TRK_EVENT_TRACKER) {
        return create(side, event->page & (TRK_POLICY_SIDE_TRACKERS - 1));
    }
    if (!side->done[command]) {
        run_op(side, command);
    }
    return side->came.status == TRK_E_MEMORY ? TRK_E_MEMORY : TRK_OK;
}

/* ---- life ------------------------------------------------------------------------------------ */

enum trk_status trk_policy_side_open(struct trk_policy_side *side, const struct trk_policy_log *log,
                                     const struct trk_policy *policy)
{
    memset(side, 0, sizeof *side);
    side->log = log;
    side->policy = *policy;
    side->done = calloc((size_t)log->count + 1, 1);
    return side->done == NULL ? TRK_E_MEMORY : trk_backend_simulated_create(&side->backend, NULL);
}

struct trk_page_view trk_policy_side_page(const struct trk_policy_side *side, uint32_t tracker,
                                          uint64_t guest_addr)
{
    struct trk_page_view fresh = {.cpu_dirty = true};
    if (side->trackers[tracker] == NULL) {
        return fresh;
    }
    return trk_pages_view(side->trackers[tracker], guest_addr);
}

void trk_policy_side_close(struct trk_policy_side *side)
{
    for (size_t i = 0; i < TRK_POLICY_SIDE_TRACKERS; i++) {
        trk_tracker_destroy(side->trackers[i]);
    }
    trk_backend_destroy(side->backend);
    free(side->done);
}
