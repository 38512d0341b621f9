/*
 * What is ordered before what: vector clocks over the streams of a trace.
 *
 * A clock's entry is 1 + the newest event known of a stream, 0 for none. A timeline keeps its
 * newest signals; an await joins the newest of them that it covers. Signals accumulate along a
 * timeline, because its values grow: who has seen value v has seen all before it.
 */
#include "order.h"

#include <stdlib.h>
#include <string.h>

struct signal {
    uint64_t value;
    uint64_t *clock; /* one entry a stream */
};

struct timeline {
    uint32_t number;
    uint32_t count; /* of signals, at most ORDER_SIGNALS_KEPT; the oldest goes first */
    uint32_t newest;
    struct signal signals[ORDER_SIGNALS_KEPT];
};

struct order {
    uint32_t streams;
    uint64_t *clocks;    /* streams x streams */
    uint64_t kept_bytes; /* of the signals' clocks */
    uint32_t timeline_count;
    struct timeline *timelines[ORDER_TIMELINES_MAX];
    uint16_t index[2 * ORDER_TIMELINES_MAX]; /* open addressing; 1 + position in timelines */
};

enum trk_status order_create(struct order **out, uint32_t streams)
{
    struct order *order = calloc(1, sizeof *order);
    if (order == NULL)
        return TRK_E_MEMORY;
    order->streams = streams;
    order->clocks = calloc((size_t)streams * streams + 1, sizeof *order->clocks);
    if (order->clocks == NULL) {
        free(order);
        return TRK_E_MEMORY;
    }
    *out = order;
    return TRK_OK;
}

void order_destroy(struct order *order)
{
    if (order == NULL)
        return;
    for (uint32_t t = 0; t < order->timeline_count; t++) {
        for (uint32_t i = 0; i < ORDER_SIGNALS_KEPT; i++)
            free(order->timelines[t]->signals[i].clock);
        free(order->timelines[t]);
    }
    free(order->clocks);
    free(order);
}

static uint64_t *clock_of(const struct order *order, uint32_t stream)
{
    return order->clocks + (size_t)stream * order->streams;
}

/* The place of a timeline in the index: its own, or the free one where it would go. */
static uint32_t index_find(const struct order *order, uint32_t number)
{
    const uint32_t mask = 2 * ORDER_TIMELINES_MAX - 1;
    uint32_t place = (number * UINT32_C(2654435761)) >> 7 & mask;
    while (order->index[place] != 0 && order->timelines[order->index[place] - 1]->number != number)
        place = (place + 1) & mask;
    return place;
}

static struct timeline *timeline_find(const struct order *order, uint32_t number)
{
    uint32_t place = index_find(order, number);
    return order->index[place] == 0 ? NULL : order->timelines[order->index[place] - 1];
}

static struct timeline *timeline_add(struct order *order, uint32_t number)
{
    struct timeline *timeline = calloc(1, sizeof *timeline);
    if (timeline == NULL)
        return NULL;
    timeline->number = number;
    uint32_t place = index_find(order, number);
    order->timelines[order->timeline_count++] = timeline;
    order->index[place] = (uint16_t)order->timeline_count;
    return timeline;
}

static void join(uint64_t *into, const uint64_t *from, uint32_t streams)
{
    for (uint32_t s = 0; s < streams; s++)
        into[s] = into[s] > from[s] ? into[s] : from[s];
}

enum trk_status order_signal(struct order *order, uint32_t stream, uint64_t number,
                             uint32_t timeline_number, uint64_t value)
{
    struct timeline *timeline = timeline_find(order, timeline_number);
    if (timeline == NULL) {
        if (order->timeline_count == ORDER_TIMELINES_MAX)
            return TRK_OK;
        timeline = timeline_add(order, timeline_number);
        if (timeline == NULL)
            return TRK_E_MEMORY;
    }
    const struct signal *before = timeline->count ? &timeline->signals[timeline->newest] : NULL;
    if (before != NULL && before->value > value)
        return TRK_OK; /* values must grow; one that does not gives no edge */
    uint32_t slot = before == NULL ? 0 : (timeline->newest + 1) % ORDER_SIGNALS_KEPT;
    struct signal *signal = &timeline->signals[slot];
    if (signal->clock == NULL) {
        uint64_t clock_bytes = order->streams * sizeof *signal->clock;
        if (order->kept_bytes + clock_bytes > ORDER_KEPT_BYTES_MAX)
            return TRK_OK;
        signal->clock = calloc(1, clock_bytes);
        if (signal->clock == NULL)
            return TRK_E_MEMORY;
        order->kept_bytes += clock_bytes;
    }
    uint64_t *own = clock_of(order, stream);
    own[stream] = number + 1;
    memcpy(signal->clock, own, order->streams * sizeof *own);
    if (before != NULL)
        join(signal->clock, before->clock, order->streams);
    signal->value = value;
    timeline->newest = slot;
    timeline->count += timeline->count < ORDER_SIGNALS_KEPT;
    return TRK_OK;
}

void order_await(struct order *order, uint32_t stream, uint32_t timeline_number, uint64_t value)
{
    const struct timeline *timeline = timeline_find(order, timeline_number);
    if (timeline == NULL)
        return;
    for (uint32_t i = 0; i < timeline->count; i++) {
        uint32_t slot = (timeline->newest + ORDER_SIGNALS_KEPT - i) % ORDER_SIGNALS_KEPT;
        if (timeline->signals[slot].value <= value) {
            join(clock_of(order, stream), timeline->signals[slot].clock, order->streams);
            return;
        }
    }
}

bool order_before(const struct order *order, uint32_t stream, uint64_t number, uint32_t reader)
{
    return stream == reader || number < clock_of(order, reader)[stream];
}

void order_clock(const struct order *order, uint32_t reader, uint64_t *out)
{
    memcpy(out, clock_of(order, reader), order->streams * sizeof *out);
}
