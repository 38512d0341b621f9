/*
 * Operations of a projection: what was asked of the tracker, and what stands inside.
 */
#include "explore_items.h"

#include <string.h>

/* How an operation becomes an item. */
enum shape {
    SHAPE_NONE, /* unknown to scenarios: a barrier */
    SHAPE_LEAF,
    SHAPE_OPEN,
    SHAPE_SILENT, /* a leaf; what is nested is its own affair */
};

static const struct {
    enum scenario_verb verb;
    enum shape shape;
} table[TRK_OP_COUNT] = {
    [TRK_OP_IS_CPU] = {VERB_IS_CPU, SHAPE_LEAF},
    [TRK_OP_IS_GPU] = {VERB_IS_GPU, SHAPE_LEAF},
    [TRK_OP_MARK_CPU] = {VERB_MARK_CPU, SHAPE_LEAF},
    [TRK_OP_MARK_GPU] = {VERB_MARK_GPU, SHAPE_LEAF},
    [TRK_OP_UNMARK_GPU] = {VERB_UNMARK_GPU, SHAPE_LEAF},
    [TRK_OP_UNTRACK] = {VERB_UNTRACK, SHAPE_LEAF},
    [TRK_OP_UPLOAD] = {VERB_UPLOAD, SHAPE_OPEN},
    [TRK_OP_DOWNLOAD] = {VERB_DOWNLOAD, SHAPE_OPEN},
    [TRK_OP_DRAIN] = {VERB_DRAIN, SHAPE_SILENT},
    [TRK_OP_INVALIDATE] = {VERB_INVALIDATE, SHAPE_OPEN},
    [TRK_OP_GUEST_PROTECT] = {VERB_GUEST_PROTECT, SHAPE_LEAF},
    [TRK_OP_WATCH] = {VERB_WATCH, SHAPE_LEAF},
    [TRK_OP_UNWATCH] = {VERB_UNWATCH, SHAPE_LEAF},
    [TRK_OP_WATCH_MASK] = {VERB_WATCH_MASK, SHAPE_LEAF},
    [TRK_OP_UNWATCH_MASK] = {VERB_UNWATCH_MASK, SHAPE_LEAF},
    [TRK_OP_LOCK] = {VERB_LOCK, SHAPE_LEAF},
    [TRK_OP_UNLOCK] = {VERB_UNLOCK, SHAPE_LEAF},
    [TRK_OP_GEN_TRACK] = {VERB_GEN_TRACK, SHAPE_LEAF},
    [TRK_OP_GEN_QUERY] = {VERB_GEN, SHAPE_LEAF},
    [TRK_OP_GEN_NOTIFY] = {VERB_GEN_HLE, SHAPE_LEAF},
    [TRK_OP_HLE_WRITE] = {VERB_HLE_WRITE, SHAPE_SILENT},
};

struct frame *projection_frame(struct projection *projection, uint32_t stream)
{
    struct lane *lane = &projection->lanes[stream];
    return lane->depth == 0 ? NULL : &lane->frames[lane->depth - 1];
}

static struct frame *push(struct projection *projection, uint32_t stream, uint16_t op,
                          uint64_t event)
{
    struct lane *lane = &projection->lanes[stream];
    if (lane->depth == EXPLORE_NEST_MOST) {
        projection->full = true; /* the log nests deeper than any program does */
        return NULL;
    }
    bool silent = lane->depth > 0 && lane->frames[lane->depth - 1].silent;
    struct frame *frame = &lane->frames[lane->depth++];
    *frame = (struct frame){.event = event, .op = op, .item = SCENARIO_NONE, .silent = silent};
    return frame;
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* The range of an operation as far as it concerns the focus. */
static bool op_range(const struct projection *projection, const struct trk_event *event,
                     uint64_t *guest_addr, uint64_t *size_bytes)
{
    *guest_addr = event->argument;
    *size_bytes = trk_event_size(event);
    switch (event->context) {
    case TRK_OP_LOCK:
    case TRK_OP_UNLOCK:
        return trk_region_index(event->argument) == trk_region_index(projection->first_addr);
    case TRK_OP_WATCH_MASK:
    case TRK_OP_UNWATCH_MASK:
        *size_bytes = TRK_REGION_BYTES;
        break;
    case TRK_OP_RESOURCE_LAYER:
        return true;
    default:
        break;
    }
    return projection_clip(projection, guest_addr, size_bytes);
}

/* The pages of a mask that are in the focus. */
static uint64_t mask_of(const struct projection *projection, const struct lane *lane,
                        uint64_t base_addr)
{
    uint64_t mask = 0;
    for (uint32_t i = 0; i < projection->page_count; i++) {
        uint64_t page = (projection->first_addr - base_addr) / TRK_HOST_PAGE_BYTES + i;
        if (page < TRK_REGION_PAGES && (lane->mask[page / 64] >> (page % 64) & 1) != 0)
            mask |= UINT64_C(1) << i;
    }
    return mask;
}

static void op_item(struct projection *projection, const struct trk_trace_event *event,
                    struct frame *frame, uint64_t guest_addr, uint64_t size_bytes)
{
    struct lane *lane = &projection->lanes[event->stream];
    enum shape shape = frame->op < TRK_OP_COUNT ? table[frame->op].shape : SHAPE_NONE;
    bool masked = frame->op == TRK_OP_WATCH_MASK || frame->op == TRK_OP_UNWATCH_MASK;
    uint64_t mask = masked ? mask_of(projection, lane, event->event.argument) : 0;
    if (masked && mask == 0)
        return;
    lane->depth--; /* the item stands in what is around the operation */
    struct item *item = projection_add(projection, event->stream, event->number,
                                       shape == SHAPE_NONE   ? ITEM_BARRIER
                                       : shape == SHAPE_OPEN ? ITEM_OPEN
                                                             : ITEM_LEAF,
                                       shape == SHAPE_NONE ? VERB_COUNT : table[frame->op].verb);
    lane->depth++;
    if (item == NULL)
        return;
    frame->item = (uint32_t)(item - projection->items);
    frame->concerns = true;
    frame->silent = shape == SHAPE_SILENT;
    projection->open++;
    item->guest_addr = guest_addr;
    item->size_bytes = size_bytes;
    item->mask = mask;
    item->rights = event->event.pages;
    item->written = (event->event.flags & TRK_OP_FLAG_WRITTEN) != 0;
    item->clear = (event->event.flags & TRK_OP_FLAG_CLEAR) != 0;
    item->read_watch = (event->event.flags & TRK_OP_FLAG_READ) != 0;
    item->conditional = frame->op == TRK_OP_INVALIDATE;
    item->no_copy_braces =
        frame->op == TRK_OP_INVALIDATE && (event->event.flags & TRK_OP_FLAG_FLUSH) == 0;
}

/* Views that join those of the focus; what they see and do is left out. */
static void views_join(struct projection *projection, const struct trk_trace_event *event)
{
    uint64_t other_addr = projection->lanes[event->stream].operand;
    uint64_t other_bytes = trk_event_size(&event->event);
    uint64_t guest_addr = event->event.argument, size_bytes = other_bytes;
    projection->shared |= projection_clip(projection, &guest_addr, &size_bytes) ||
                          projection_clip(projection, &other_addr, &other_bytes);
}

static void op_begin(struct projection *projection, const struct trk_trace_event *event)
{
    struct frame *frame = push(projection, event->stream, event->event.context, event->number);
    uint64_t guest_addr, size_bytes;
    if (event->event.context == TRK_OP_JOIN_VIEWS)
        views_join(projection, event);
    if (frame == NULL || !op_range(projection, &event->event, &guest_addr, &size_bytes))
        return;
    if (projection->tracker == SCENARIO_NONE && event->event.context != TRK_OP_RESOURCE_LAYER)
        projection->tracker = event->event.page;
    if (event->event.page != projection->tracker)
        return;
    if (!frame->silent)
        op_item(projection, event, frame, guest_addr, size_bytes);
    else if (frame->op == TRK_OP_DRAIN || frame->op == TRK_OP_DOWNLOAD)
        for (uint32_t i = 0; i < projection->lanes[event->stream].depth; i++)
            projection->lanes[event->stream].frames[i].brought_home = true;
}

static void fault_begin(struct projection *projection, const struct trk_trace_event *event)
{
    struct lane *lane = &projection->lanes[event->stream];
    struct frame *frame = push(projection, event->stream, TRK_OP_FAULT, event->number);
    uint64_t guest_addr = event->event.argument, size_bytes = 1;
    if (frame == NULL || frame->silent || !projection_clip(projection, &guest_addr, &size_bytes) ||
        trk_domain_tracker(event->event.domain) != projection->tracker)
        return;
    frame->concerns = true;
    frame->silent = true;
    frame->access = event->event.flags;
    frame->fault_addr = guest_addr;
    if (lane->pending.on && lane->pending.access != frame->access)
        projection_settle(projection, event->stream);
    if (lane->pending.on)
        return;
    lane->depth--; /* the access stands around its fault */
    struct item *item = projection_add(projection, event->stream, event->number, ITEM_LEAF,
                                       frame->access == TRK_ACCESS_WRITE ? VERB_STORE : VERB_LOAD);
    lane->depth++;
    if (item == NULL)
        return;
    item->guest_addr = guest_addr;
    item->size_bytes = 1;
    item->faulted = true;
    lane->pending = (struct pending){.on = true,
                                     .access = frame->access,
                                     .item = (uint32_t)(item - projection->items),
                                     .guest_addr = guest_addr};
    projection->open++;
}

/* ---- inside ---------------------------------------------------------------------------------- */

static void report(const struct projection *projection, uint64_t guest_addr, uint64_t size_bytes,
                   struct frame *frame)
{
    bool concerns = frame->concerns && projection_clip(projection, &guest_addr, &size_bytes);
    frame->in_range = true;
    frame->ranges += concerns;
    frame->to_copy_bytes = concerns ? size_bytes : 0;
}

static void reported(struct projection *projection, const struct trk_trace_event *event,
                     struct frame *frame)
{
    uint64_t guest_addr = trk_region_address(trk_domain_region(event->event.domain)) +
                          event->event.page * TRK_HOST_PAGE_BYTES;
    report(projection, guest_addr, event->event.pages * TRK_HOST_PAGE_BYTES, frame);
}

/* A foreign tracker's run of pages goes to its callback. */
static void handed(const struct projection *projection, const struct trk_trace_event *event,
                   struct frame *frame)
{
    report(projection, event->event.argument, trk_event_size(&event->event), frame);
}

static void called_back(struct projection *projection, const struct trk_trace_event *event,
                        struct frame *frame)
{
    frame->callback = (uint8_t)event->event.context;
    if (frame->item != SCENARIO_NONE && event->event.context == TRK_CALLBACK_FLUSH)
        projection->items[frame->item].flushed = true;
}

bool projection_page_is_cpu(const struct projection *projection, uint64_t guest_addr)
{
    if (projection->tracker == SCENARIO_NONE ||
        projection->run->machines[projection->tracker].tracker == NULL)
        return true;
    return core_live->page(projection->run->machines[projection->tracker].tracker, guest_addr)
        .cpu_dirty;
}

/* A hold of an upload is over: pages that it covers are not the CPU's any more. */
static void took(struct projection *projection, const struct trk_trace_event *event,
                 const struct frame *frame)
{
    if (frame->op != TRK_OP_UPLOAD || frame->item == SCENARIO_NONE)
        return;
    const struct item *item = &projection->items[frame->item];
    for (uint32_t i = 0; i < projection->page_count; i++) {
        uint64_t page_addr = projection->first_addr + i * TRK_HOST_PAGE_BYTES;
        if (page_addr < item->guest_addr + item->size_bytes &&
            item->guest_addr < page_addr + TRK_HOST_PAGE_BYTES &&
            !projection_page_is_cpu(projection, page_addr))
            projection->taken[i] = (struct taking){event->number, event->stream};
    }
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void transfer_end(struct projection *projection, const struct frame *frame)
{
    struct item *item = &projection->items[frame->item];
    if (frame->ranges <= frame->copied)
        return;
    if (frame->op == TRK_OP_UPLOAD && frame->copied == 0 && frame->copied_late > 0)
        item->verb = VERB_UPLOAD_AT_END;
    else
        item->drops = frame->ranges - frame->copied;
}

/* A flush that another thread carried out: what stands in the braces is the asking, no more. */
static void forget_nested(struct projection *projection, uint32_t open)
{
    for (uint32_t i = open + 1; i < projection->count; i++)
        if (projection->items[i].outer == open && projection->items[i].kind != ITEM_CLOSE)
            projection->items[i].removed = true;
    projection->items[open].flushed = false;
}

static void fault_end(struct projection *projection, const struct trk_trace_event *event,
                      const struct frame *frame)
{
    struct pending *pending = &projection->lanes[event->stream].pending;
    if (!pending->on)
        return;
    struct item *item = &projection->items[pending->item];
    item->last = event->number;
    item->no_flush |= frame->callback != 0 && !frame->brought_home;
    if (event->event.argument == TRK_FAULT_UNHANDLED) {
        item->removed = true;
        projection_settle(projection, event->stream);
    }
}

static void op_end(struct projection *projection, const struct trk_trace_event *event)
{
    struct lane *lane = &projection->lanes[event->stream];
    if (lane->depth == 0)
        return;
    struct frame frame = lane->frames[--lane->depth];
    if (!frame.concerns)
        return;
    if (frame.op == TRK_OP_FAULT) {
        fault_end(projection, event, &frame);
        return;
    }
    projection->open--;
    struct item *item = &projection->items[frame.item];
    if (item->kind == ITEM_LEAF)
        item->last = event->number;
    if (frame.op == TRK_OP_LOCK || frame.op == TRK_OP_UNLOCK) {
        bool held = frame.op == TRK_OP_LOCK;
        if (held != lane->held)
            projection->open += held ? 1u : UINT32_MAX;
        lane->held = held;
    }
    if (frame.op == TRK_OP_UPLOAD || frame.op == TRK_OP_DOWNLOAD || frame.op == TRK_OP_DRAIN)
        transfer_end(projection, &frame);
    item->idle = (frame.op == TRK_OP_UPLOAD || frame.op == TRK_OP_DOWNLOAD) && frame.ranges == 0 &&
                 !item->written && projection->count == frame.item + 1;
    if (item->kind != ITEM_OPEN)
        return;
    if (frame.asked)
        forget_nested(projection, frame.item);
    /* An opening stands around its closing: that is found by its number alone. */
    struct item *close =
        projection_add(projection, event->stream, event->number, ITEM_CLOSE, item->verb);
    if (close != NULL)
        close->outer = frame.item;
}

void projection_operation(struct projection *projection, const struct trk_trace_event *event)
{
    struct frame *frame;
    struct lane *lane = &projection->lanes[event->stream];
    switch (event->event.type) {
    case TRK_EVENT_OP_BEGIN:
        op_begin(projection, event);
        memset(lane->mask, 0, sizeof lane->mask);
        return;
    case TRK_EVENT_FAULT:
        fault_begin(projection, event);
        return;
    case TRK_EVENT_MASK:
        lane->mask[event->event.page % TRK_REGION_WORDS] = event->event.argument;
        return;
    case TRK_EVENT_OPERAND:
        lane->operand = event->event.argument;
        return;
    case TRK_EVENT_OP_END:
        op_end(projection, event);
        return;
    default:
        break;
    }
    frame = projection_frame(projection, event->stream);
    if (frame != NULL && event->event.type == TRK_EVENT_HANDED)
        handed(projection, event, frame);
    if (frame == NULL || trk_event_is_command(&event->event))
        return;
    frame->in_range = false;
    if (event->event.type == TRK_EVENT_RANGE)
        reported(projection, event, frame);
    else if (event->event.type == TRK_EVENT_CALLBACK)
        called_back(projection, event, frame);
    else if (event->event.type == TRK_EVENT_UNLOCK)
        took(projection, event, frame);
}
