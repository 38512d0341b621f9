/*
 * What is ordered before what: vector clocks over the streams of a trace.
 *
 * A clock's entry is 1 + the newest event known of a stream, 0 for none. A timeline keeps its
 * newest signals; an await joins the newest of them that it covers. Signals accumulate along a
 * timeline, because its values grow: who has seen value v has seen all before it. For the same
 * reason a forgotten signal is missed by nobody who knows of a later one; and one that all streams
 * know of is let go, for nobody has anything to learn from it or from those before it.
 */
#include "order.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 4u

/* A ring of signals; each one's clock is a row of `clocks`. */
struct timeline {
    uint32_t number;
    uint32_t count, capacity; /* a power of two, or 0 */
    uint32_t oldest;          /* place in the ring */
    bool forgets;             /* older signals are gone that some stream does not know of */
    uint64_t lost_value;      /* of the first of those */
    uint64_t *values;
    uint64_t *numbers; /* events */
    uint64_t *clocks;  /* one entry a stream */
};

struct order {
    uint32_t streams;
    uint64_t *clocks;    /* streams x streams */
    uint64_t kept_bytes; /* of the signals */
    uint64_t forgot;     /* as order_forgot */
    uint64_t left_out;   /* 1 + the newest signal on a timeline that is not kept at all */
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
        free(order->timelines[t]->values);
        free(order->timelines[t]->numbers);
        free(order->timelines[t]->clocks);
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

static uint32_t place_of(const struct timeline *timeline, uint32_t index)
{
    return (timeline->oldest + index) & (timeline->capacity - 1);
}

static uint64_t *row(const struct order *order, const struct timeline *timeline, uint32_t place)
{
    return timeline->clocks + (size_t)place * order->streams;
}

static bool knows(const struct order *order, const uint64_t *own, const uint64_t *clock)
{
    for (uint32_t s = 0; s < order->streams; s++)
        if (own[s] < clock[s])
            return false;
    return true;
}

/* A ring's rows of `width` numbers, from its oldest on, in a larger array; NULL: no memory. */
static uint64_t *in_order(const struct timeline *timeline, const uint64_t *ring, size_t width,
                          uint32_t capacity)
{
    uint64_t *larger = malloc(capacity * width * sizeof *larger);
    for (uint32_t i = 0; larger != NULL && i < timeline->count; i++)
        memcpy(larger + i * width, ring + place_of(timeline, i) * width, width * sizeof *larger);
    return larger;
}

/* Double the ring, which is full. */
static enum trk_status grow(struct order *order, struct timeline *timeline)
{
    uint32_t capacity = timeline->capacity == 0 ? FIRST_CAPACITY : timeline->capacity * 2;
    uint64_t *values = in_order(timeline, timeline->values, 1, capacity);
    uint64_t *numbers = in_order(timeline, timeline->numbers, 1, capacity);
    uint64_t *clocks = in_order(timeline, timeline->clocks, order->streams, capacity);
    if (values == NULL || numbers == NULL || clocks == NULL) {
        free(values);
        free(numbers);
        free(clocks);
        return TRK_E_MEMORY;
    }
    free(timeline->values);
    free(timeline->numbers);
    free(timeline->clocks);
    timeline->values = values;
    timeline->numbers = numbers;
    timeline->clocks = clocks;
    timeline->oldest = 0;
    order->kept_bytes +=
        (capacity - timeline->capacity) * (2 + (uint64_t)order->streams) * sizeof(uint64_t);
    timeline->capacity = capacity;
    return TRK_OK;
}

/* Whether a ring may become larger. */
static bool may_grow(const struct order *order, const struct timeline *timeline)
{
    uint64_t more = timeline->capacity == 0 ? FIRST_CAPACITY : timeline->capacity;
    return timeline->capacity < ORDER_SIGNALS_KEPT &&
           order->kept_bytes + more * (2 + (uint64_t)order->streams) * sizeof(uint64_t) <=
               ORDER_KEPT_BYTES_MAX;
}

static bool all_know(const struct order *order, const uint64_t *clock)
{
    for (uint32_t s = 0; s < order->streams; s++)
        if (!knows(order, clock_of(order, s), clock))
            return false;
    return true;
}

/* Let the older half of a full ring go if all streams know of it. */
static bool let_go(const struct order *order, struct timeline *timeline)
{
    uint32_t half = timeline->capacity / 2;
    if (half == 0 || !all_know(order, row(order, timeline, place_of(timeline, half - 1))))
        return false;
    timeline->oldest = place_of(timeline, half);
    timeline->count -= half;
    timeline->forgets = false;
    return true;
}

/* A place for the newest signal; UINT32_MAX: there is none for this timeline. */
static enum trk_status make_place(struct order *order, struct timeline *timeline, uint32_t *place)
{
    *place = UINT32_MAX;
    if (timeline->count == timeline->capacity && !let_go(order, timeline) &&
        may_grow(order, timeline) && grow(order, timeline) != TRK_OK)
        return TRK_E_MEMORY;
    if (timeline->capacity == 0)
        return TRK_OK;
    if (timeline->count == timeline->capacity) {
        if (!timeline->forgets)
            timeline->lost_value = timeline->values[timeline->oldest];
        timeline->forgets = true;
        timeline->oldest = place_of(timeline, 1);
        timeline->count--;
    }
    *place = place_of(timeline, timeline->count++);
    return TRK_OK;
}

static enum trk_status find_or_add(struct order *order, uint32_t number, struct timeline **out)
{
    *out = timeline_find(order, number);
    if (*out != NULL || order->timeline_count == ORDER_TIMELINES_MAX)
        return TRK_OK;
    *out = timeline_add(order, number);
    return *out == NULL ? TRK_E_MEMORY : TRK_OK;
}

enum trk_status order_signal(struct order *order, uint32_t stream, uint64_t number,
                             uint32_t timeline_number, uint64_t value)
{
    struct timeline *timeline;
    enum trk_status status = find_or_add(order, timeline_number, &timeline);
    uint32_t before = UINT32_MAX, place = UINT32_MAX;
    if (status == TRK_OK && timeline != NULL && timeline->count > 0)
        before = place_of(timeline, timeline->count - 1);
    if (before != UINT32_MAX && timeline->values[before] > value)
        return TRK_OK; /* values must grow; one that does not gives no edge */
    /* Nobody will join the older of two signals with one value. */
    if (before != UINT32_MAX && timeline->values[before] == value)
        place = before;
    else if (status == TRK_OK && timeline != NULL)
        status = make_place(order, timeline, &place);
    if (status != TRK_OK)
        return status;
    if (place == UINT32_MAX) {
        order->left_out = number + 1;
        return TRK_OK;
    }
    uint64_t *own = clock_of(order, stream), *clock = row(order, timeline, place);
    own[stream] = number + 1;
    if (before == UINT32_MAX)
        memset(clock, 0, order->streams * sizeof *clock);
    else if (place != before)
        memmove(clock, row(order, timeline, before), order->streams * sizeof *clock);
    join(clock, own, order->streams);
    timeline->values[place] = value;
    timeline->numbers[place] = number;
    return TRK_OK;
}

/* How many of a timeline's signals an await covers: those with values up to its own. */
static uint32_t covered(const struct timeline *timeline, uint64_t value)
{
    uint32_t low = 0, high = timeline->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (timeline->values[place_of(timeline, middle)] <= value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void forget(struct order *order, uint64_t event)
{
    order->forgot = event > order->forgot ? event : order->forgot;
}

void order_await(struct order *order, uint32_t stream, uint32_t timeline_number, uint64_t value)
{
    const struct timeline *timeline = timeline_find(order, timeline_number);
    if (timeline == NULL || timeline->count == 0) {
        forget(order, order->left_out);
        return;
    }
    uint64_t *own = clock_of(order, stream);
    uint32_t count = covered(timeline, value);
    if (count > 0) {
        join(own, row(order, timeline, place_of(timeline, count - 1)), order->streams);
        return;
    }
    /* What is gone is older than the oldest that is kept. */
    if (timeline->forgets && value >= timeline->lost_value &&
        !knows(order, own, row(order, timeline, timeline->oldest)))
        forget(order, timeline->numbers[timeline->oldest]);
}

uint64_t order_forgot(const struct order *order)
{
    return order->forgot;
}

bool order_before(const struct order *order, uint32_t stream, uint64_t number, uint32_t reader)
{
    return stream == reader || number < clock_of(order, reader)[stream];
}

void order_clock(const struct order *order, uint32_t reader, uint64_t *out)
{
    memcpy(out, clock_of(order, reader), order->streams * sizeof *out);
}
