/*
 * The interpreter: what a recorded thread asked of the core is asked again.
 *
 * It runs at the bottom of each stream's coroutine, and again inside each callback that the core
 * calls: the stream's commands belong to the callback until its next outcome.
 */
#include "run.h"

#include <string.h>

#include "track/generations.h"
#include "track/hle.h"
#include "track/pages.h"

static void run_stream(struct stream *stream, bool in_callback);

void interpreter_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)guest_addr;
    (void)size_bytes;
    struct run *run = ((struct machine *)context)->run;
    run_stream(run->current, true);
}

static void on_completion(void *context)
{
    struct run *run = ((struct machine *)context)->run;
    run_stream(run->current, true);
}

/* The statuses are in the log: what the core ends with was compared when it emitted OP_END. */
static void ignore(enum trk_status status)
{
    (void)status;
}

static void run_transfer(struct trk_tracker *tracker, void *context, const struct trk_event *event)
{
    struct trk_transfer transfer = {
        .size = sizeof transfer,
        .guest_addr = event->argument,
        .size_bytes = trk_event_size(event),
        .written = (event->flags & TRK_OP_FLAG_WRITTEN) != 0,
        .clear = (event->flags & TRK_OP_FLAG_CLEAR) != 0,
        .range = interpreter_range,
        .completion = on_completion,
        .context = context,
    };
    if (event->context == TRK_OP_UPLOAD)
        ignore(core_live->upload(tracker, &transfer));
    else if (event->context == TRK_OP_DOWNLOAD)
        ignore(core_live->download(tracker, &transfer));
    else
        ignore(core_live->drain(tracker, &transfer));
}

static void run_layer(struct trk_tracker *tracker, void *context, const struct trk_event *event)
{
    struct trk_resource_layer layer = {
        .flush = event->flags & TRK_OP_FLAG_FLUSH ? interpreter_range : NULL,
        .read_back = event->flags & TRK_OP_FLAG_READ_BACK ? interpreter_range : NULL,
        .context = context,
    };
    bool any = layer.flush != NULL || layer.read_back != NULL;
    ignore(core_live->resource_layer(tracker, any ? &layer : NULL));
}

static void run_mask(struct stream *stream, struct trk_tracker *tracker,
                     const struct trk_event *event)
{
    uint64_t mask[TRK_REGION_WORDS];
    memcpy(mask, stream->mask, sizeof mask);
    bool read = (event->flags & TRK_OP_FLAG_READ) != 0;
    if (event->context == TRK_OP_WATCH_MASK)
        ignore(core_live->watch_mask(tracker, event->argument, mask, read));
    else
        ignore(core_live->unwatch_mask(tracker, event->argument, mask, read));
}

/* Generations of a range. False: not one of them. */
static bool run_generations(struct trk_tracker *tracker, const struct trk_event *event)
{
    uint64_t guest_addr = event->argument, size_bytes = trk_event_size(event), sum;
    switch (event->context) {
    case TRK_OP_GEN_TRACK:
        ignore(core_live->gen_track(tracker, guest_addr, size_bytes, &sum));
        return true;
    case TRK_OP_GEN_QUERY:
        ignore(core_live->gen_query(tracker, guest_addr, size_bytes, &sum));
        return true;
    case TRK_OP_GEN_NOTIFY:
        ignore(core_live->gen_notify(tracker, guest_addr, size_bytes));
        return true;
    default:
        return false;
    }
}

static void run_gen_map(struct stream *stream, struct trk_tracker *tracker,
                        const struct trk_event *event)
{
    struct trk_generations_view view = {event->argument, trk_event_size(event), stream->operand,
                                        event->pages};
    ignore(core_live->gen_map(tracker, &view, NULL));
}

static void run_hle_write(struct trk_tracker *tracker, void *context, const struct trk_event *event)
{
    struct trk_hle_write write = {.size = sizeof write,
                                  .guest_addr = event->argument,
                                  .size_bytes = trk_event_size(event),
                                  .write = interpreter_range,
                                  .context = context};
    bool written;
    ignore(core_live->hle_write(tracker, &write, &written));
}

/* Operations of a range and nothing else, likewise. */
static bool run_plain(struct trk_tracker *tracker, const struct trk_event *event)
{
    uint64_t guest_addr = event->argument, size_bytes = trk_event_size(event);
    bool answer;
    switch (event->context) {
    case TRK_OP_IS_CPU:
        ignore(core_live->is_cpu(tracker, guest_addr, size_bytes, &answer));
        return true;
    case TRK_OP_IS_GPU:
        ignore(core_live->is_gpu(tracker, guest_addr, size_bytes, &answer));
        return true;
    case TRK_OP_MARK_CPU:
        ignore(core_live->mark_cpu(tracker, guest_addr, size_bytes));
        return true;
    case TRK_OP_MARK_GPU:
        ignore(core_live->mark_gpu(tracker, guest_addr, size_bytes));
        return true;
    case TRK_OP_UNMARK_GPU:
        ignore(core_live->unmark_gpu(tracker, guest_addr, size_bytes));
        return true;
    case TRK_OP_UNTRACK:
        ignore(core_live->untrack(tracker, guest_addr, size_bytes));
        return true;
    case TRK_OP_REGISTER:
        ignore(core_live->register_bytes(tracker, guest_addr, size_bytes));
        return true;
    case TRK_OP_UNREGISTER:
        ignore(core_live->unregister_bytes(tracker, guest_addr, size_bytes));
        return true;
    case TRK_OP_GUEST_PROTECT:
        ignore(core_live->guest_rights(tracker, guest_addr, size_bytes, event->pages));
        return true;
    case TRK_OP_WATCH:
        ignore(core_live->watch(tracker, guest_addr, size_bytes));
        return true;
    case TRK_OP_UNWATCH:
        ignore(core_live->unwatch(tracker, guest_addr, size_bytes));
        return true;
    case TRK_OP_LOCK:
        ignore(core_live->lock(tracker, guest_addr));
        return true;
    case TRK_OP_UNLOCK:
        ignore(core_live->unlock(tracker, guest_addr));
        return true;
    case TRK_OP_LEAVE_VIEW:
        ignore(core_live->leave_view(tracker, guest_addr, size_bytes));
        return true;
    default:
        return false;
    }
}

static void run_call(struct stream *stream, struct machine *machine, const struct trk_event *event)
{
    struct trk_tracker *tracker = machine->tracker;
    if (run_plain(tracker, event) || run_generations(tracker, event))
        return;
    switch (event->context) {
    case TRK_OP_UPLOAD:
    case TRK_OP_DOWNLOAD:
    case TRK_OP_DRAIN:
        run_transfer(tracker, machine, event);
        return;
    case TRK_OP_INVALIDATE:
        ignore(core_live->invalidate(tracker, event->argument, trk_event_size(event),
                                     event->flags & TRK_OP_FLAG_FLUSH ? interpreter_range : NULL,
                                     machine));
        return;
    case TRK_OP_JOIN_VIEWS:
        ignore(core_live->join_views(tracker, event->argument, stream->operand,
                                     trk_event_size(event)));
        return;
    case TRK_OP_GEN_MAP:
        run_gen_map(stream, tracker, event);
        return;
    case TRK_OP_HLE_WRITE:
        run_hle_write(tracker, machine, event);
        return;
    case TRK_OP_RESOURCE_LAYER:
        run_layer(tracker, machine, event);
        return;
    case TRK_OP_WATCH_MASK:
    case TRK_OP_UNWATCH_MASK:
        run_mask(stream, tracker, event);
        return;
    default:
        verdict_unknown(stream, "an operation that this version does not know");
        stream_stop(stream);
    }
}

/* Whether the core may be asked: it takes these values for granted. */
static bool arguments_known(const struct trk_event *event)
{
    if (event->type == TRK_EVENT_FAULT)
        return event->flags <= TRK_ACCESS_EXECUTE;
    const unsigned rights = TRK_RIGHT_READ | TRK_RIGHT_WRITE | TRK_RIGHT_EXEC;
    return event->context != TRK_OP_GUEST_PROTECT || (event->pages & ~rights) == 0;
}

static struct machine *machine_of(struct stream *stream, const struct trk_event *event)
{
    uint32_t id = event->type == TRK_EVENT_FAULT ? trk_domain_tracker(event->domain) : event->page;
    if (id >= RUN_TRACKERS || stream->run->machines[id].tracker == NULL) {
        verdict_unknown(stream, "an operation of a tracker that the log does not declare");
        stream_stop(stream);
    }
    return &stream->run->machines[id];
}

/* Ask the core what the due event, OP_BEGIN or FAULT, says; the core consumes it. */
static void run_operation(struct stream *stream)
{
    /* A copy: the due event changes while the operation runs. */
    const struct trk_event event = stream->due.event;
    struct machine *machine = machine_of(stream, &event);
    if (!arguments_known(&event)) {
        verdict_unknown(stream, "an operation with arguments that this version does not know");
        stream_stop(stream);
    }
    bool fault = event.type == TRK_EVENT_FAULT;
    struct operation_run operation = {
        .outer = stream->operation,
        .machine = machine,
        .asked.op = fault ? TRK_OP_FAULT : (enum trk_op)event.context,
        .asked.flags = fault ? 0 : event.flags,
        .asked.access = fault ? (enum trk_access)event.flags : TRK_ACCESS_READ,
        .guest_addr = event.argument,
        .size_bytes = fault ? machine->policy.fault_width_bytes : trk_event_size(&event),
        .event = stream->due.number,
        .callback_event = TRK_NOT_KNOWN,
    };
    stream->operation = &operation;
    /* Whether the host was short of mappings is seen from the event alone. */
    if (fault && event.pages != 0)
        machine->mappings.budget = INT32_MIN;
    if (fault)
        core_live->fault(machine->tracker, event.argument, operation.asked.access);
    else
        run_call(stream, machine, &event);
    stream->operation = operation.outer;
    if (operation.outer != NULL) {
        struct operation_run *outer = operation.outer;
        memmove(outer->nested + 1, outer->nested, (RUN_NESTED_KEPT - 1) * sizeof *outer->nested);
        outer->nested[0] = (struct past){operation.event, operation.asked.op, operation.guest_addr,
                                         operation.size_bytes};
        outer->nested_count += outer->nested_count < RUN_NESTED_KEPT;
    }
}

/* The failure of a tracker's destruction, which is no operation: whether one has live watches. */
static bool destroyed_watched(const struct run *run, const struct trk_event *event)
{
    if (event->type != TRK_EVENT_FAIL || event->context != TRK_E_WATCH ||
        event->flags != TRK_OP_NONE)
        return false;
    for (uint32_t i = 0; i < RUN_TRACKERS; i++) {
        const struct trk_tracker *tracker = run->machines[i].tracker;
        if (tracker != NULL && core_live->live_watches(tracker) > 0)
            return true;
    }
    return false;
}

static void run_stream(struct stream *stream, bool in_callback)
{
    for (;;) {
        stream_await(stream);
        const struct trk_trace_event *due = &stream->due;
        if (!trk_event_is_command(&due->event)) {
            if (in_callback)
                return;
            if (destroyed_watched(stream->run, &due->event))
                verdict_fatal(stream, due);
            else
                verdict_divergence(stream, due, NULL);
            stream_stop(stream);
        }
        if (due->event.type == TRK_EVENT_OP_BEGIN || due->event.type == TRK_EVENT_FAULT) {
            uint64_t number = due->number;
            run_operation(stream);
            if (stream->has_due && stream->due.number == number) {
                verdict_divergence(stream, &stream->due, NULL);
                stream_stop(stream);
            }
        } else {
            annotation_take(stream, due);
            stream_consume(stream);
        }
    }
}

void interpreter_body(void *stream)
{
    run_stream(stream, false);
}
