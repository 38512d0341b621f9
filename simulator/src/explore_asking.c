/*
 * Flushes that one thread carries out for another.
 *
 * A guest that faults on bytes which only the GPU has may not touch the GPU itself: its flush
 * signals that it wants them, and awaits the answer of the thread that may. In a scenario the flush
 * is the fault's own: what the other thread brought home for it is taken out of that thread, so
 * that it comes home in the orders where the access faults, and in no other.
 */
#include "explore_items.h"

#include <string.h>

/* The frame in whose flush the stream stands; NULL: none that concerns the focus. */
static struct frame *flushing(struct projection *projection, uint32_t stream)
{
    struct lane *lane = &projection->lanes[stream];
    for (uint32_t i = lane->depth; i > 0; i--) {
        struct frame *frame = &lane->frames[i - 1];
        if (frame->concerns && (frame->op == TRK_OP_FAULT || frame->op == TRK_OP_INVALIDATE))
            return frame->callback != 0 ? frame : NULL;
    }
    return NULL;
}

static void asks(struct projection *projection, const struct trk_trace_event *event)
{
    if (projection->asking_count == EXPLORE_ASKING_MOST)
        memmove(projection->asking, projection->asking + 1,
                --projection->asking_count * sizeof *projection->asking);
    projection->asking[projection->asking_count++] = (struct asking){
        event->stream, event->event.domain, event->event.argument, SCENARIO_NONE, 0};
}

/* A thread sees what others ask. */
static void serves(struct projection *projection, const struct trk_trace_event *event)
{
    for (uint32_t i = 0; i < projection->asking_count; i++) {
        struct asking *asking = &projection->asking[i];
        if (asking->server != SCENARIO_NONE || asking->timeline != event->event.domain ||
            asking->value > event->event.argument)
            continue;
        asking->server = event->stream;
        asking->since = projection->count;
    }
}

/* The first thing that the server brought home for it and that is nobody else's answer. */
static struct item *answer_of(struct projection *projection, const struct asking *asking,
                              uint64_t guest_addr)
{
    for (uint32_t i = asking->since; i < projection->count; i++) {
        struct item *item = &projection->items[i];
        bool home = item->verb == VERB_DRAIN || item->verb == VERB_DOWNLOAD;
        if (item->stream == asking->server && home && !item->removed && item->kind != ITEM_CLOSE &&
            guest_addr - item->guest_addr < item->size_bytes)
            return item;
    }
    return NULL;
}

/* The thread that asked has its answer: what was brought home for it is its own flush. */
static void answered(struct projection *projection, uint32_t stream, struct frame *frame)
{
    uint64_t guest_addr =
        frame->op == TRK_OP_FAULT ? frame->fault_addr : projection->items[frame->item].guest_addr;
    for (uint32_t i = 0; i < projection->asking_count; i++) {
        const struct asking *asking = &projection->asking[i];
        if (asking->stream != stream)
            continue;
        struct item *answer =
            asking->server == SCENARIO_NONE ? NULL : answer_of(projection, asking, guest_addr);
        if (answer != NULL)
            answer->removed = frame->brought_home = frame->asked = true;
        memmove(projection->asking + i, projection->asking + i + 1,
                (--projection->asking_count - i) * sizeof *asking);
        return;
    }
}

void projection_asks(struct projection *projection, const struct trk_trace_event *event)
{
    struct frame *frame = flushing(projection, event->stream);
    bool signal = event->event.type == TRK_EVENT_SIGNAL;
    if (frame != NULL && signal)
        asks(projection, event);
    else if (frame != NULL)
        answered(projection, event->stream, frame);
    else if (!signal)
        serves(projection, event);
}
