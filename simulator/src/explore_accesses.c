/*
 * Accesses of a projection: stores and loads, work of the GPU, copies.
 */
#include "explore_items.h"

/* Whether what the stream does now is carried out by a scenario's operation itself. */
static bool silent(const struct projection *projection, uint32_t stream)
{
    const struct lane *lane = &projection->lanes[stream];
    return lane->depth > 0 && lane->frames[lane->depth - 1].silent;
}

/*
 * A store to a page that was taken from the CPU: either it came before that and its witness is
 * late, or, where that cannot be, the page was open when it should have been closed.
 */
static bool came_after(const struct projection *projection, const struct item *item)
{
    uint64_t page = (item->guest_addr - projection->first_addr) / TRK_HOST_PAGE_BYTES;
    const struct taking *taken = &projection->taken[page];
    return taken->event != 0 && (taken->stream == item->stream ||
                                 projection_clock(projection, item)[taken->stream] > taken->event);
}

/* ---- the access that faulted ----------------------------------------------------------------- */

/* Its item, which stays as it is unless a witness says more. */
static struct item *settled(struct projection *projection, uint32_t stream)
{
    struct pending *pending = &projection->lanes[stream].pending;
    pending->on = false;
    projection->open--;
    return &projection->items[pending->item];
}

void projection_settle(struct projection *projection, uint32_t stream)
{
    settled(projection, stream);
}

/* ---- witnesses and GPU work ------------------------------------------------------------------ */

/* The same bytes that the stream has just been said to read on the GPU. */
static bool read_already(const struct projection *projection, uint32_t stream, uint64_t guest_addr,
                         uint64_t size_bytes)
{
    for (uint32_t i = projection->count; i > 0; i--) {
        const struct item *item = &projection->items[i - 1];
        if (item->stream != stream)
            continue;
        if (item->kind != ITEM_LEAF || item->verb != VERB_GPU_READ)
            return false;
        if (guest_addr >= item->guest_addr &&
            guest_addr + size_bytes <= item->guest_addr + item->size_bytes)
            return true;
    }
    return false;
}

/* Agents beside guest and GPU go past the guest's protection: nothing faults. */
static enum scenario_verb verb_of(const struct trk_event *event)
{
    bool gpu = event->flags == TRK_AGENT_GPU, guest = event->flags == TRK_AGENT_CPU;
    switch (event->type) {
    case TRK_EVENT_GPU_WRITE:
        return VERB_GPU_WRITE;
    case TRK_EVENT_GPU_READ:
        return VERB_GPU_READ;
    case TRK_EVENT_WITNESS_STORE:
        return gpu ? VERB_GPU_WRITE : guest ? VERB_STORE : VERB_RAW_WRITE;
    default:
        return gpu ? VERB_GPU_READ : guest ? VERB_LOAD : VERB_SPARSE_READ;
    }
}

/* A store through a view that nobody tracks: where its bytes are in the focus; false: nowhere. */
static bool through_side_view(const struct projection *projection, uint64_t *guest_addr,
                              uint64_t size_bytes)
{
    for (uint32_t i = 0; i < projection->view_count; i++) {
        const struct side_view *view = &projection->views[i];
        uint64_t offset = *guest_addr - view->guest_addr, size = size_bytes;
        if (offset >= view->size_bytes)
            continue;
        uint64_t target = view->target_addr + offset;
        if (!projection_clip(projection, &target, &size))
            continue;
        *guest_addr = view->target_addr + offset;
        return true;
    }
    return false;
}

void projection_access(struct projection *projection, const struct trk_trace_event *event)
{
    uint64_t guest_addr = event->event.argument, size_bytes = event->event.seq;
    uint32_t stream = event->stream;
    enum scenario_verb verb = verb_of(&event->event);
    struct pending *pending = &projection->lanes[stream].pending;
    uint64_t size_left = size_bytes;
    if ((verb == VERB_STORE || verb == VERB_RAW_WRITE) &&
        through_side_view(projection, &guest_addr, size_bytes))
        verb = VERB_RAW_WRITE;
    if (!projection_clip(projection, &guest_addr, &size_left) || silent(projection, stream))
        return;
    if (verb == VERB_GPU_READ && read_already(projection, stream, guest_addr, size_left))
        return;
    bool faulted = pending->on && (verb == VERB_STORE || verb == VERB_LOAD);
    struct item *item = faulted
                            ? settled(projection, stream)
                            : projection_add(projection, stream, event->number, ITEM_LEAF, verb);
    if (item == NULL)
        return;
    item->guest_addr = guest_addr;
    item->size_bytes = size_left;
    item->last = event->number;
    item->stamp = event->event.domain;
    if (event->event.type == TRK_EVENT_GPU_WRITE)
        item->tick = trk_event_number32(&event->event);
    if (verb != VERB_STORE || projection_page_is_cpu(projection, guest_addr))
        return;
    item->late = !came_after(projection, item);
    if (!item->late)
        item->verb = VERB_RAW_WRITE;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* A copy inside an operation that reported its range is the operation's own. */
static bool own_copy(struct projection *projection, uint32_t stream, bool down, uint64_t size_bytes)
{
    struct frame *frame = projection_frame(projection, stream);
    if (frame == NULL || !frame->concerns || frame->item == SCENARIO_NONE)
        return false;
    bool transfer = down ? frame->op == TRK_OP_DOWNLOAD || frame->op == TRK_OP_DRAIN
                         : frame->op == TRK_OP_UPLOAD;
    if (!transfer)
        return false;
    if (frame->in_range && frame->to_copy_bytes > 0) {
        frame->to_copy_bytes -=
            size_bytes < frame->to_copy_bytes ? size_bytes : frame->to_copy_bytes;
        frame->copied += frame->to_copy_bytes == 0;
    } else if (frame->copied < frame->ranges && !frame->in_range) {
        frame->copied_late++;
    } else {
        return false;
    }
    return true;
}

void projection_copy(struct projection *projection, const struct trk_trace_event *event)
{
    uint64_t guest_addr = event->event.argument, size_bytes = trk_event_size(&event->event);
    bool down = event->event.context == TRK_COPY_DOWN;
    if (!projection_clip(projection, &guest_addr, &size_bytes))
        return;
    bool implied =
        own_copy(projection, event->stream, down, size_bytes) || silent(projection, event->stream);
    struct item *item =
        projection_add(projection, event->stream, event->number, implied ? ITEM_COPIED : ITEM_LEAF,
                       down ? VERB_COPY_DOWN : VERB_COPY_UP);
    if (item == NULL)
        return;
    item->guest_addr = guest_addr;
    item->size_bytes = size_bytes;
}

/* Bytes were brought home. Work of the GPU on them that has not run by now comes too late. */
void projection_copied(struct projection *projection, const struct trk_trace_event *event)
{
    uint64_t guest_addr = event->event.argument, size_bytes = trk_event_size(&event->event);
    if (event->event.context != TRK_COPY_DOWN ||
        !projection_clip(projection, &guest_addr, &size_bytes))
        return;
    struct lane *lane = &projection->lanes[event->stream];
    for (uint32_t i = projection->count; i > 0; i--) {
        struct item *item = &projection->items[i - 1];
        if (item->tick == 0 || item->stream != event->stream)
            continue;
        if (trk_tick_has_run(item->tick, projection->completed))
            return;
        if (item->guest_addr < guest_addr + size_bytes &&
            guest_addr < item->guest_addr + item->size_bytes) {
            item->delayed = true;
            lane->delayed_tick = item->tick;
        }
    }
}

/* The GPU has come so far: what was late takes effect at a frame of its thread. */
void projection_completed(struct projection *projection, const struct trk_trace_event *event)
{
    struct lane *lane = &projection->lanes[event->stream];
    if (event->event.argument > projection->completed)
        projection->completed = event->event.argument;
    if (lane->delayed_tick == 0 || !trk_tick_has_run(lane->delayed_tick, projection->completed))
        return;
    lane->delayed_tick = 0;
    projection_add(projection, event->stream, event->number, ITEM_LEAF, VERB_FRAME);
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Pages of the focus that a view of frames shows, where no tracker looks. */
static void add_side_view(struct projection *projection, const struct side_view *view)
{
    if (projection->view_count < EXPLORE_VIEWS_MOST)
        projection->views[projection->view_count++] = *view;
}

/* MAP events name frames; those of the focus are mapped before its other views are. */
void projection_map(struct projection *projection, const struct trk_trace_event *event)
{
    const struct trk_event *map = &event->event;
    uint64_t guest_addr = map->argument, size_bytes = trk_event_size(map);
    uint64_t clipped = guest_addr, size_left = size_bytes;
    bool inside = projection_clip(projection, &clipped, &size_left);
    if (inside)
        projection_add(projection, event->stream, event->number, ITEM_BARRIER, VERB_COUNT);
    if (map->type == TRK_EVENT_UNMAP)
        return;
    uint64_t frame = trk_event_number32(map);
    if (inside) {
        projection->frame_first = frame + (clipped - guest_addr) / TRK_HOST_PAGE_BYTES;
        projection->frames_known = true;
    } else if ((map->flags & TRK_MAP_UNTRACKED) != 0 && projection->frames_known) {
        uint64_t frames_bytes = frame * TRK_HOST_PAGE_BYTES;
        struct side_view view = {guest_addr, size_bytes,
                                 projection->first_addr + frames_bytes -
                                     projection->frame_first * TRK_HOST_PAGE_BYTES};
        add_side_view(projection, &view);
    }
}
