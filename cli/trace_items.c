#include "trace_items.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace_item.h"

#define NONE UINT32_MAX

/* Of a lane, while it is read. */
struct own {
    uint32_t stream;
    uint32_t losses; /* of its stream before its last item */
};

struct reading {
    const struct trk_items_options *options;
    struct trk_items *out;
    struct trk_walk walk;
    struct trk_look_operand *operands; /* of each stream */
    uint32_t *losses;                  /* of each stream, so far */
    uint32_t *slots;                   /* of lanes, by stream and place; a power of two */
    uint32_t slot_count;
    struct own *own; /* of each lane */
};

/* ---- lanes ----------------------------------------------------------------------------------- */

static uint32_t slot_of(const struct reading *reading, uint32_t stream, uint64_t place)
{
    uint32_t at = (uint32_t)(trk_item_mix(stream, place) >> 20) & (reading->slot_count - 1);
    while (reading->slots[at] != NONE) {
        const struct trk_item_lane *lane = &reading->out->lanes[reading->slots[at]];
        if (lane->place == place && reading->own[reading->slots[at]].stream == stream)
            break;
        at = (at + 1) & (reading->slot_count - 1);
    }
    return at;
}

static enum trk_status grow_lanes(struct reading *reading)
{
    struct trk_items *out = reading->out;
    uint32_t capacity = out->lane_capacity == 0 ? 64 : out->lane_capacity * 2;
    if (capacity > TRK_ITEMS_LANES)
        return TRK_E_UNSUPPORTED;
    struct trk_item_lane *lanes = realloc(out->lanes, capacity * sizeof *lanes);
    out->lanes = lanes != NULL ? lanes : out->lanes;
    struct own *own = realloc(reading->own, capacity * sizeof *own);
    reading->own = own != NULL ? own : reading->own;
    uint32_t *slots = malloc(capacity * 4ull * sizeof *slots);
    if (lanes == NULL || own == NULL || slots == NULL) {
        free(slots);
        return TRK_E_MEMORY;
    }
    free(reading->slots);
    out->lane_capacity = capacity;
    reading->slots = slots;
    reading->slot_count = capacity * 4;
    memset(slots, 0xff, reading->slot_count * sizeof *slots);
    for (uint32_t i = 0; i < out->lane_count; i++)
        slots[slot_of(reading, reading->own[i].stream, out->lanes[i].place)] = i;
    return TRK_OK;
}

static enum trk_status lane_of(struct reading *reading, uint32_t stream, uint64_t place,
                               uint32_t *lane)
{
    struct trk_items *out = reading->out;
    if (out->lane_count == out->lane_capacity) {
        enum trk_status status = grow_lanes(reading);
        if (status != TRK_OK)
            return status;
    }
    uint32_t slot = slot_of(reading, stream, place);
    if (reading->slots[slot] == NONE) {
        reading->slots[slot] = out->lane_count;
        reading->own[out->lane_count] = (struct own){.stream = stream};
        struct trk_item_lane *made = &out->lanes[out->lane_count++];
        *made = (struct trk_item_lane){.place = place, .first = NONE, .last = NONE};
        memcpy(made->thread, out->threads[stream].name, sizeof made->thread);
    }
    *lane = reading->slots[slot];
    return TRK_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static enum trk_status append(struct trk_items *out, uint32_t lane, uint64_t hash, uint32_t event)
{
    if (out->count == TRK_ITEMS_MOST)
        return TRK_E_UNSUPPORTED;
    if (out->count == out->capacity) {
        uint32_t capacity = out->capacity == 0 ? 4096 : out->capacity * 2;
        struct trk_item *items = realloc(out->items, capacity * sizeof *items);
        if (items == NULL)
            return TRK_E_MEMORY;
        out->items = items;
        out->capacity = capacity;
    }
    struct trk_item_lane *to = &out->lanes[lane];
    out->items[out->count] = (struct trk_item){hash, event, NONE};
    if (to->last != NONE)
        out->items[to->last].next = out->count;
    else
        to->first = out->count;
    to->last = out->count++;
    to->count += hash != TRK_ITEM_GAP;
    to->torn |= hash == TRK_ITEM_GAP;
    return TRK_OK;
}

/* The lane's stream has lost events since the lane's last item. */
static enum trk_status append_gap(struct reading *reading, uint32_t lane)
{
    struct own *own = &reading->own[lane];
    if (reading->own == NULL || own->losses == reading->losses[own->stream])
        return TRK_OK;
    own->losses = reading->losses[own->stream];
    return append(reading->out, lane, TRK_ITEM_GAP, NONE);
}

static enum trk_status add(struct reading *reading, const struct trk_trace_event *event,
                           uint64_t place)
{
    uint32_t lane;
    if (event->number > UINT32_MAX)
        return TRK_E_UNSUPPORTED;
    enum trk_status status = lane_of(reading, event->stream, place, &lane);
    if (status == TRK_OK)
        status = append_gap(reading, lane);
    return status == TRK_OK
               ? append(reading->out, lane, trk_item_hash(&event->event), (uint32_t)event->number)
               : status;
}

/* begin: of the operation that an OPERAND goes with; NULL: there is none. */
static enum trk_status take_one(struct reading *reading, const struct trk_trace_event *read,
                                const struct trk_walked *walked, const struct trk_event *begin)
{
    const struct trk_items_options *options = reading->options;
    const struct trk_pair *pair = options->pair;
    struct trk_trace_event event = *read;
    bool counts = trk_item_counts(&event.event, options->asked);
    trk_redact_event(options->redact, &event.event, begin);
    uint64_t place = trk_walk_place(&reading->walk, event.stream, &event.event);
    if (!counts)
        return TRK_OK;
    uint32_t thread = pair->thread_of[options->side][event.stream];
    bool hidden = pair->hides && trk_pair_hides(pair, thread, walked->ordinal, event.tsc);
    if (hidden || place == TRK_PLACE_UNKNOWN) {
        reading->out->hidden++;
        reading->losses[event.stream] += !pair->hides;
        return TRK_OK;
    }
    return add(reading, &event, place);
}

static enum trk_status take_operand(struct reading *reading, uint32_t stream,
                                    const struct trk_event *begin)
{
    struct trk_look_operand *operand = &reading->operands[stream];
    if (!operand->there)
        return TRK_OK;
    operand->there = false;
    return take_one(reading, &operand->event, &operand->walked, begin);
}

/* Something is missing: an operand's operation, too, it may be. */
static void take_loss(struct reading *reading, uint32_t stream)
{
    struct trk_look_operand *operand = &reading->operands[stream];
    reading->out->hidden += operand->there;
    operand->there = false;
    reading->losses[stream] += !reading->options->pair->hides;
}

static enum trk_status take(struct reading *reading, const struct trk_trace_event *event)
{
    struct trk_walked walked;
    bool begins = event->event.type == TRK_EVENT_OP_BEGIN;
    trk_walk_event(&reading->walk, event, &walked);
    if (walked.lost)
        take_loss(reading, event->stream);
    enum trk_status status = take_operand(reading, event->stream, begins ? &event->event : NULL);
    if (status == TRK_OK && event->event.type == TRK_EVENT_OPERAND) {
        reading->operands[event->stream] = (struct trk_look_operand){true, *event, walked};
        return TRK_OK;
    }
    return status == TRK_OK ? take_one(reading, event, &walked, NULL) : status;
}

static enum trk_status take_ends(struct reading *reading)
{
    struct trk_items *out = reading->out;
    enum trk_status status = TRK_OK;
    for (uint32_t i = 0; i < reading->walk.count && status == TRK_OK; i++) {
        struct trk_loss loss;
        if (trk_walk_end(&reading->walk, i, &loss))
            take_loss(reading, i);
        status = take_operand(reading, i, NULL);
        out->threads[i].torn = reading->losses[i] > 0;
    }
    for (uint32_t i = 0; i < out->lane_count && status == TRK_OK; i++)
        status = append_gap(reading, i);
    return status;
}

static enum trk_status say_failure(struct trk_error *error, enum trk_status status)
{
    if (status == TRK_E_UNSUPPORTED)
        return trk_error_set(error, status, "more than %" PRIu32 " events to compare",
                             TRK_ITEMS_MOST);
    return status == TRK_OK ? status : trk_error_set(error, status, "no memory");
}

static enum trk_status read_all(struct reading *reading, struct trk_trace *trace,
                                struct trk_error *error)
{
    struct trk_trace_event event;
    enum trk_status status = trk_trace_rewind(trace, error);
    while (status == TRK_OK) {
        status = trk_trace_next(trace, &event, error);
        if (status != TRK_OK)
            break;
        status = say_failure(error, take(reading, &event));
    }
    return status == TRK_E_END ? say_failure(error, take_ends(reading)) : status;
}

int trk_items_compare(const struct trk_item_lane *one, const struct trk_item_lane *other)
{
    int by_name = strcmp(one->thread, other->thread);
    if (by_name != 0)
        return by_name;
    return one->place < other->place ? -1 : one->place > other->place;
}

static int compare(const void *a, const void *b)
{
    return trk_items_compare(a, b);
}

static enum trk_status make_room(struct reading *reading, struct trk_trace *trace)
{
    struct trk_items *out = reading->out;
    const struct trk_pair *pair = reading->options->pair;
    const size_t streams = trk_trace_stream_count(trace);
    reading->operands = calloc(streams + 1, sizeof *reading->operands);
    reading->losses = calloc(streams + 1, sizeof *reading->losses);
    out->threads = calloc(streams + 1, sizeof *out->threads);
    if (reading->operands == NULL || reading->losses == NULL || out->threads == NULL)
        return TRK_E_MEMORY;
    out->thread_count = streams;
    for (size_t i = 0; i < streams; i++)
        memcpy(out->threads[i].name, pair->threads[pair->thread_of[reading->options->side][i]].name,
               sizeof out->threads[i].name);
    return trk_walk_init(&reading->walk, trace);
}

enum trk_status trk_items_read(struct trk_items *out, struct trk_trace *trace,
                               const struct trk_items_options *options, struct trk_error *error)
{
    *out = (struct trk_items){.lacks_threads = options->look->lacks_threads};
    struct reading reading = {.out = out, .options = options};
    reading.walk = (struct trk_walk){
        .asked = options->asked,
        .part = options->look->part != TRK_LOOK_ALL,
        .sparse = !options->pair->hides && options->look->part == TRK_LOOK_SPARSE,
        .unplaced = options->look->unplaced,
    };
    enum trk_status status = say_failure(error, make_room(&reading, trace));
    if (status == TRK_OK)
        status = read_all(&reading, trace, error);
    if (status == TRK_OK && out->lane_count > 0)
        qsort(out->lanes, out->lane_count, sizeof *out->lanes, compare);
    trk_walk_free(&reading.walk);
    free(reading.operands);
    free(reading.losses);
    free(reading.slots);
    free(reading.own);
    return status;
}

void trk_items_free(struct trk_items *items)
{
    free(items->items);
    free(items->lanes);
    free(items->threads);
    *items = (struct trk_items){.items = NULL};
}
