/*
 * The oracle of traces: what the tracker's operations leave behind.
 *
 * Only what an operation is for is taken from it, when it has ended well: whose its pages are then.
 */
#include "judge.h"

#include "track/address.h"

struct judge_operation *judge_operation_of(const struct judge *judge, uint32_t stream)
{
    struct judge_stream *own = &judge->streams[stream];
    return own->depth == 0 || own->depth > JUDGE_DEPTH ? NULL : &own->operations[own->depth - 1];
}

/* Whether the stream is inside a callback of an upload of the same tracker. */
static bool in_upload(const struct judge_stream *stream, uint8_t tracker)
{
    for (uint32_t i = 0; i < stream->depth && i < JUDGE_DEPTH; i++) {
        const struct judge_operation *operation = &stream->operations[i];
        if (operation->op == TRK_OP_UPLOAD && operation->tracker == tracker &&
            operation->in_callback)
            return true;
    }
    return false;
}

static void begin(const struct judge *judge, const struct trk_trace_event *event)
{
    struct judge_stream *stream = &judge->streams[event->stream];
    bool fault = event->event.type == TRK_EVENT_FAULT;
    struct judge_operation operation = {
        .event = event->number,
        .guest_addr = event->event.argument,
        .size_bytes = fault ? 1 : trk_event_size(&event->event),
        .callback_event = TRK_NOT_KNOWN,
        .op = fault ? TRK_OP_FAULT : (uint8_t)event->event.context,
        .flags = fault ? 0 : event->event.flags,
        .access = fault ? event->event.flags : 0,
        .tracker = (uint8_t)((fault ? trk_domain_tracker(event->event.domain) : event->event.page) &
                             (SAID_TRACKERS - 1)),
    };
    bool own = judge->foreign >> operation.tracker & 1u;
    operation.reentered =
        !fault && !own && judge_sure(judge) && in_upload(stream, operation.tracker);
    if (fault) {
        const struct said_page *page = said_find(&judge->said, operation.guest_addr);
        operation.was_gpu = page != NULL && page->state == SAID_GPU;
        stream->faulted = true;
        stream->fault_page = operation.guest_addr / TRK_HOST_PAGE_BYTES;
    }
    if (stream->depth < JUDGE_DEPTH)
        stream->operations[stream->depth] = operation;
    stream->depth++;
}

/* ---- what an operation does to its pages ----------------------------------------------------- */

struct pages {
    uint64_t first_addr, end_addr;
};

static struct pages pages_of(const struct judge *judge, const struct judge_operation *operation)
{
    uint64_t mask = judge->policies[operation->tracker].page_size_bytes - 1;
    return (struct pages){operation->guest_addr & ~mask,
                          (operation->guest_addr + operation->size_bytes + mask) & ~mask};
}

/* Which states an operation that ended well takes pages from, and the state it leaves. */
struct effect {
    unsigned from;
    enum said_state to;
    bool fetches; /* the GPU's bytes may have come home, or were given up */
    bool needs;   /* the GPU's bytes must have come home before */
};

static struct effect effect_of(const struct judge_operation *operation)
{
    switch (operation->op) {
    case TRK_OP_MARK_CPU:
        return (struct effect){SAID_FROM_ANY, SAID_CPU, false, false};
    case TRK_OP_INVALIDATE:
    case TRK_OP_UNTRACK:
        return (struct effect){SAID_FROM_ANY, SAID_CPU, false, true};
    case TRK_OP_HLE_WRITE:
        return (struct effect){SAID_FROM_ANY, SAID_CPU, false, false};
    case TRK_OP_MARK_GPU:
        return (struct effect){SAID_FROM_ANY, SAID_GPU, false, false};
    case TRK_OP_UPLOAD:
        return (struct effect){operation->flags & TRK_OP_FLAG_WRITTEN ? SAID_FROM_ANY : 0, SAID_GPU,
                               false, false};
    case TRK_OP_UNMARK_GPU:
        return (struct effect){SAID_FROM(SAID_GPU), SAID_CLEAN, true, false};
    case TRK_OP_DOWNLOAD:
        return (struct effect){operation->flags & TRK_OP_FLAG_CLEAR ? SAID_FROM(SAID_GPU) : 0,
                               SAID_CLEAN, false, false};
    case TRK_OP_DRAIN:
        return (struct effect){SAID_FROM(SAID_GPU), SAID_CPU, false, false};
    case TRK_OP_FAULT:
        if (operation->access == TRK_ACCESS_WRITE)
            return (struct effect){SAID_FROM_ANY, SAID_CPU, false, false};
        return (struct effect){SAID_FROM(SAID_GPU), SAID_CLEAN, false, false};
    default:
        return (struct effect){0};
    }
}

static enum trk_status apply(struct judge *judge, const struct judge_operation *operation,
                             const struct trk_trace_event *event, struct finding *finding)
{
    struct effect effect = effect_of(operation);
    struct pages pages = pages_of(judge, operation);
    struct said_change change = {
        .event = event->number,
        .first_addr = pages.first_addr,
        .end_addr = pages.end_addr,
        .stream = event->stream,
        .op = operation->op,
        .tracker = operation->tracker,
    };
    struct access access = {event->number, event->stream, pages.first_addr,
                            pages.end_addr - pages.first_addr};
    enum trk_status status = TRK_OK;
    if (!trk_range_valid(TRK_ARENA_LOW_EXTENDED, pages.first_addr, access.size_bytes))
        return TRK_OK;
    if (operation->op == TRK_OP_GUEST_PROTECT)
        return said_protect(&judge->said, &change);
    judge->watch_masks |=
        operation->op == TRK_OP_WATCH_MASK || operation->op == TRK_OP_UNWATCH_MASK;
    if (operation->op == TRK_OP_WATCH || operation->op == TRK_OP_UNWATCH) {
        if (operation->op == TRK_OP_WATCH) {
            judge->last_watch = operation->event + 1;
            judge->last_watch_stream = event->stream;
        }
        return said_watch(&judge->said, &change, operation->op == TRK_OP_WATCH);
    }
    if (effect.needs) {
        *finding = (struct finding){.found = false};
        versions_drop(judge->versions, &access, finding);
    }
    if (effect.fetches || operation->was_gpu)
        status = versions_fetch(judge->versions, &access);
    if (effect.from == 0 || status != TRK_OK)
        return status;
    if (effect.to == SAID_CPU || effect.to == SAID_GPU)
        latents_excuse(&judge->latents, pages.first_addr, pages.end_addr);
    return said_set(&judge->said, &change, effect.from, effect.to);
}

static enum trk_status end(struct judge *judge, const struct trk_trace_event *event,
                           struct finding *finding)
{
    struct judge_stream *stream = &judge->streams[event->stream];
    if (stream->depth == 0)
        return TRK_OK; /* what began it is missing */
    stream->depth--;
    if (stream->depth >= JUDGE_DEPTH)
        return TRK_OK;
    const struct judge_operation *operation = &stream->operations[stream->depth];
    if (stream->depth > 0)
        stream->operations[stream->depth - 1].nested = (struct judge_past){
            operation->event, operation->guest_addr, operation->size_bytes, operation->op};
    if (operation->op != event->event.context) {
        stream->depth = 0; /* events are missing: begin anew */
        return TRK_OK;
    }
    if (operation->op == TRK_OP_FAULT)
        return event->event.argument == TRK_FAULT_SERVED ? apply(judge, operation, event, finding)
                                                         : TRK_OK;
    bool denied = operation->op == TRK_OP_HLE_WRITE && event->event.argument == 0;
    if (event->event.flags != TRK_OK || denied)
        return TRK_OK;
    return apply(judge, operation, event, finding);
}

/* A range callback: an upload has taken these pages, or a download brings them home. */
static enum trk_status hand_over(struct judge *judge, const struct access *given)
{
    struct judge_operation *operation = judge_operation_of(judge, given->stream);
    if (operation == NULL)
        return TRK_OK;
    operation->callback_event = given->event;
    operation->callback = 0;
    operation->in_callback = true;
    if (!trk_range_valid(TRK_ARENA_LOW_EXTENDED, given->guest_addr, given->size_bytes))
        return TRK_OK;
    if (operation->op == TRK_OP_DOWNLOAD || operation->op == TRK_OP_DRAIN)
        return versions_fetch(judge->versions, given); /* copied, or not noted as copied */
    if (operation->op != TRK_OP_UPLOAD)
        return TRK_OK;
    struct said_change change = {
        .event = given->event,
        .first_addr = given->guest_addr & ~(TRK_HOST_PAGE_BYTES - 1),
        .end_addr = (given->guest_addr + given->size_bytes + TRK_HOST_PAGE_BYTES - 1) &
                    ~(TRK_HOST_PAGE_BYTES - 1),
        .stream = given->stream,
        .op = operation->op,
        .tracker = operation->tracker,
    };
    enum trk_status status = versions_clean(judge->versions, given);
    if (status != TRK_OK)
        return status;
    return said_set(&judge->said, &change, SAID_FROM(SAID_CPU), SAID_CLEAN);
}

static enum trk_status range(struct judge *judge, const struct trk_trace_event *event)
{
    struct access given = {event->number, event->stream,
                           trk_region_address(trk_domain_region(event->event.domain)) +
                               event->event.page * TRK_HOST_PAGE_BYTES,
                           event->event.pages * TRK_HOST_PAGE_BYTES};
    return hand_over(judge, &given);
}

enum trk_status judge_handed(struct judge *judge, const struct trk_trace_event *event,
                             uint64_t size_bytes)
{
    struct access given = {event->number, event->stream, event->event.argument, size_bytes};
    return hand_over(judge, &given);
}

/* An operation that was begun inside an upload's callback, and is not refused. */
static void reentered(const struct judge_operation *operation, uint32_t stream,
                      struct finding *finding)
{
    *finding = (struct finding){.found = true};
    finding->kind = TRK_VERDICT_FATAL;
    finding->agent = TRK_AGENT_CPU;
    finding->check =
        (struct access){operation->event, stream, operation->guest_addr, operation->size_bytes};
    finding->guest_addr = operation->guest_addr;
    finding->size_bytes = operation->size_bytes;
    finding_at(finding, operation->event, stream, CAUSE_REENTRY);
}

void judge_refusal(const struct judge *judge, const struct trk_trace_event *event,
                   struct finding *finding)
{
    enum trk_status failure_class = (enum trk_status)event->event.context;
    bool livelock = failure_class == TRK_E_LIVELOCK;
    *finding = (struct finding){
        .found = true,
        .kind = livelock ? TRK_VERDICT_LIVELOCK : TRK_VERDICT_FATAL,
        .agent = TRK_AGENT_CPU,
        .check = {event->number, event->stream, event->event.argument,
                  trk_event_size(&event->event)},
        .guest_addr = event->event.argument,
        .size_bytes = trk_event_size(&event->event),
    };
    finding_at(finding, event->number, event->stream,
               failure_class == TRK_E_REENTRY    ? CAUSE_REENTRY
               : failure_class == TRK_E_RETAINED ? CAUSE_RETAINED
                                                 : CAUSE_REFUSED);
    if (failure_class != TRK_E_RETAINED ||
        !trk_range_valid(TRK_ARENA_LOW_EXTENDED, finding->guest_addr, finding->size_bytes))
        return;
    /* The page that the flush has left, and what the GPU wrote to it. */
    uint64_t end_addr = finding->guest_addr + finding->size_bytes;
    uint64_t at = finding->guest_addr & ~(TRK_HOST_PAGE_BYTES - 1);
    for (; at < end_addr; at += TRK_HOST_PAGE_BYTES) {
        const struct said_page *page = said_find(&judge->said, at);
        if (page == NULL || page->state != SAID_GPU)
            continue;
        struct finding kept = *finding;
        struct access access = {event->number, event->stream, at, TRK_HOST_PAGE_BYTES};
        finding->found = false;
        versions_drop(judge->versions, &access, finding);
        kept.has_said = true;
        kept.said = *page;
        kept.store = finding->found ? finding->store : (struct shadow_store){0};
        kept.guest_addr = at;
        kept.size_bytes = TRK_HOST_PAGE_BYTES;
        *finding = kept;
        return;
    }
}

enum trk_status judge_operation_event(struct judge *judge, const struct trk_trace_event *event,
                                      struct finding *finding)
{
    struct judge_operation *operation = judge_operation_of(judge, event->stream);
    if (operation != NULL && operation->reentered && event->event.type != TRK_EVENT_FAIL &&
        event->event.type != TRK_EVENT_MASK && event->event.type != TRK_EVENT_OPERAND) {
        reentered(operation, event->stream, finding);
        return TRK_OK;
    }
    switch (event->event.type) {
    case TRK_EVENT_OP_BEGIN:
    case TRK_EVENT_FAULT:
        begin(judge, event);
        return TRK_OK;
    case TRK_EVENT_OP_END:
        return end(judge, event, finding);
    case TRK_EVENT_RANGE:
        return range(judge, event);
    case TRK_EVENT_CALLBACK:
        if (operation != NULL) {
            operation->callback_event = event->number;
            operation->callback = (uint8_t)event->event.context;
            operation->in_callback = true;
        }
        return TRK_OK;
    case TRK_EVENT_LOCK:
    case TRK_EVENT_UNLOCK:
        if (operation != NULL)
            operation->in_callback = false;
        return TRK_OK;
    default:
        return TRK_OK;
    }
}
