#include "trace_items.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redact.h"
#include "track/address.h"

#define NEST_MOST 16u
#define NONE      UINT32_MAX

struct stream_state {
    uint64_t places[NEST_MOST]; /* of the operations under way */
    uint32_t depth;
    bool has_operand;
    struct trk_trace_event operand; /* what it means is said by the event behind it */
    char name[32];
};

struct reading {
    struct trk_items *out;
    struct trk_redact redact;
    struct stream_state *streams;
    size_t stream_count;
    uint32_t *slots; /* of lanes, by stream and place; a power of two */
    uint32_t slot_count;
    uint32_t *stream_of; /* of a lane */
    bool looking;        /* events are only noted */
    bool asked_only;
};

/* ---- what an event says ---------------------------------------------------------------------- */

/* Whether an event is what the program did. */
static bool is_asked(const struct trk_event *event)
{
    switch (event->type) {
    case TRK_EVENT_OP_BEGIN: /* flushes and read-backs come of faults, on whatever thread */
        return event->context != TRK_OP_DRAIN && event->context != TRK_OP_DOWNLOAD;
    case TRK_EVENT_MASK:
    case TRK_EVENT_OPERAND:
    case TRK_EVENT_TRACKER:
    case TRK_EVENT_FOREIGN:
    case TRK_EVENT_GPU_WRITE:
    case TRK_EVENT_GPU_READ:
    case TRK_EVENT_GUEST_PROTECT:
    case TRK_EVENT_MAP:
    case TRK_EVENT_UNMAP:
    case TRK_EVENT_INVALIDATE_REQUEST:
    case TRK_EVENT_FRAME:
    case TRK_EVENT_WITNESS_STORE:
    case TRK_EVENT_MARK:
    case TRK_EVENT_ACCESS:
    case TRK_EVENT_OBJECT:
    case TRK_EVENT_DISPATCH:
        return true;
    default:
        return false;
    }
}

static bool came_of_it(const struct trk_event *event)
{
    switch (event->type) {
    case TRK_EVENT_OP_BEGIN:
    case TRK_EVENT_OP_END:
    case TRK_EVENT_FAULT:
    case TRK_EVENT_RANGE:
    case TRK_EVENT_CALLBACK:
    case TRK_EVENT_FAIL:
    case TRK_EVENT_COPY_BEGIN:
    case TRK_EVENT_IMAGE:
    case TRK_EVENT_WITNESS_CHECK:
    case TRK_EVENT_SIGNAL: /* threads ask each other for flushes */
    case TRK_EVENT_AWAIT:
    case TRK_EVENT_HANDED:
    case TRK_EVENT_DECISION:
        return true;
    default:
        return false;
    }
}

/* The event without what may differ between two runs that do the same. */
static struct trk_event plain(const struct trk_event *event)
{
    struct trk_event out = *event;
    bool ranged = event->type == TRK_EVENT_RANGE;
    if (ranged || event->type == TRK_EVENT_FAULT) { /* the hold's number */
        out.seq = 0;
        out.domain = ranged ? event->domain & UINT32_C(0xfffffff) : 0; /* tracker and region */
    }
    if (event->type == TRK_EVENT_FAULT) {
        out.page = 0;
        out.pages = 0;
    }
    if (event->type == TRK_EVENT_GPU_WRITE || event->type == TRK_EVENT_GPU_READ ||
        event->type == TRK_EVENT_DISPATCH)
        trk_event_set_number32(&out, 0); /* the tick */
    if (event->type == TRK_EVENT_OP_BEGIN && event->context != TRK_OP_GUEST_PROTECT)
        out.pages = 0;
    return out;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const struct trk_event *event)
{
    uint64_t hash = mix(event->type, event->argument);
    hash = mix(hash, (uint64_t)event->domain << 32 | event->seq);
    hash = mix(hash, (uint64_t)event->page << 48 | (uint64_t)event->pages << 32 |
                         (uint64_t)event->context << 16 | event->flags);
    return hash;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static uint64_t page_of(uint64_t guest_addr)
{
    bool low = guest_addr >= TRK_LOW_FIRST && guest_addr < TRK_LOW_END;
    bool arena = guest_addr >= TRK_ARENA_FIRST && guest_addr < TRK_ARENA_END;
    return low || arena ? guest_addr / TRK_HOST_PAGE_BYTES : TRK_ITEMS_NO_PLACE;
}

/* Where an operation is that begins. */
static uint64_t begin(struct stream_state *state, const struct trk_event *event)
{
    uint64_t place = page_of(event->argument);
    if (state->depth < NEST_MOST)
        state->places[state->depth] = place;
    state->depth++;
    return place;
}

/* The place that an event is about; that of what comes of an operation is the operation's. */
static uint64_t place_of(struct reading *reading, uint32_t stream, const struct trk_event *event)
{
    struct stream_state *state = &reading->streams[stream];
    switch (event->type) {
    case TRK_EVENT_OP_BEGIN:
    case TRK_EVENT_FAULT:
        return begin(state, event);
    case TRK_EVENT_OP_END:
        state->depth -= state->depth > 0;
        return state->depth < NEST_MOST ? state->places[state->depth] : TRK_ITEMS_NO_PLACE;
    case TRK_EVENT_CALLBACK:
    case TRK_EVENT_RANGE:
        return state->depth > 0 && state->depth <= NEST_MOST ? state->places[state->depth - 1]
                                                             : TRK_ITEMS_NO_PLACE;
    case TRK_EVENT_SIGNAL:
    case TRK_EVENT_AWAIT:
        return TRK_ITEMS_TIMELINE | event->domain;
    case TRK_EVENT_MASK:
    case TRK_EVENT_OPERAND:
    case TRK_EVENT_TRACKER:
    case TRK_EVENT_FOREIGN:
    case TRK_EVENT_FRAME:
    case TRK_EVENT_MARK:
        return TRK_ITEMS_NO_PLACE;
    default:
        return page_of(event->argument);
    }
}

static uint32_t slot_of(const struct reading *reading, uint32_t stream, uint64_t place)
{
    uint32_t at = (uint32_t)(mix(stream, place) >> 20) & (reading->slot_count - 1);
    while (reading->slots[at] != NONE) {
        const struct trk_item_lane *lane = &reading->out->lanes[reading->slots[at]];
        if (lane->place == place && reading->stream_of[reading->slots[at]] == stream)
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
    uint32_t *stream_of = realloc(reading->stream_of, capacity * sizeof *stream_of);
    reading->stream_of = stream_of != NULL ? stream_of : reading->stream_of;
    uint32_t *slots = malloc(capacity * 4ull * sizeof *slots);
    if (lanes == NULL || stream_of == NULL || slots == NULL) {
        free(slots);
        return TRK_E_MEMORY;
    }
    free(reading->slots);
    out->lane_capacity = capacity;
    reading->slots = slots;
    reading->slot_count = capacity * 4;
    memset(slots, 0xff, reading->slot_count * sizeof *slots);
    for (uint32_t i = 0; i < out->lane_count; i++)
        slots[slot_of(reading, reading->stream_of[i], out->lanes[i].place)] = i;
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
        reading->stream_of[out->lane_count] = stream;
        struct trk_item_lane *made = &out->lanes[out->lane_count++];
        *made = (struct trk_item_lane){.place = place, .first = NONE, .last = NONE};
        memcpy(made->thread, reading->streams[stream].name, sizeof made->thread);
    }
    *lane = reading->slots[slot];
    return TRK_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static enum trk_status add(struct reading *reading, const struct trk_trace_event *event,
                           uint64_t place)
{
    struct trk_items *out = reading->out;
    uint32_t lane;
    if (out->count == TRK_ITEMS_MOST || event->number > UINT32_MAX)
        return TRK_E_UNSUPPORTED;
    if (out->count == out->capacity) {
        uint32_t capacity = out->capacity == 0 ? 4096 : out->capacity * 2;
        struct trk_item *items = realloc(out->items, capacity * sizeof *items);
        if (items == NULL)
            return TRK_E_MEMORY;
        out->items = items;
        out->capacity = capacity;
    }
    enum trk_status status = lane_of(reading, event->stream, place, &lane);
    if (status != TRK_OK)
        return status;
    struct trk_event said = plain(&event->event);
    struct trk_item_lane *to = &out->lanes[lane];
    out->items[out->count] = (struct trk_item){hash_of(&said), (uint32_t)event->number, NONE};
    if (to->last != NONE)
        out->items[to->last].next = out->count;
    else
        to->first = out->count;
    to->last = out->count++;
    to->count++;
    return TRK_OK;
}

/* begin: of the operation that an OPERAND goes with; NULL: there is none. */
static enum trk_status take_one(struct reading *reading, const struct trk_trace_event *read,
                                const struct trk_event *begin)
{
    struct trk_trace_event event = *read;
    if (reading->looking) {
        trk_redact_note(&reading->redact, &event.event, begin);
        return TRK_OK;
    }
    bool asked = is_asked(&event.event);
    trk_redact_event(&reading->redact, &event.event, begin);
    uint64_t place = place_of(reading, event.stream, &event.event);
    if (!asked && (reading->asked_only || !came_of_it(&event.event)))
        return TRK_OK;
    return add(reading, &event, place);
}

static enum trk_status take_operand(struct reading *reading, struct stream_state *state,
                                    const struct trk_event *begin)
{
    if (!state->has_operand)
        return TRK_OK;
    state->has_operand = false;
    return take_one(reading, &state->operand, begin);
}

static enum trk_status take(struct reading *reading, const struct trk_trace_event *event)
{
    struct stream_state *state = &reading->streams[event->stream];
    bool begins = event->event.type == TRK_EVENT_OP_BEGIN;
    enum trk_status status = take_operand(reading, state, begins ? &event->event : NULL);
    if (status == TRK_OK && event->event.type == TRK_EVENT_OPERAND) {
        state->operand = *event;
        state->has_operand = true;
        return TRK_OK;
    }
    return status == TRK_OK ? take_one(reading, event, NULL) : status;
}

static enum trk_status take_last_operands(struct reading *reading)
{
    enum trk_status status = TRK_OK;
    for (uint32_t i = 0; i < reading->stream_count && status == TRK_OK; i++)
        status = take_operand(reading, &reading->streams[i], NULL);
    return status;
}

/* Threads are known by their names, or by their numbers; of two alike the second one by both. */
static void name_streams(struct reading *reading, const struct trk_trace *trace)
{
    for (uint32_t i = 0; i < reading->stream_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s", trk_trace_stream(trace, i)->name);
        bool taken = name[0] == '\0';
        trk_redact_name(name);
        for (uint32_t k = 0; k < i; k++)
            taken |= strcmp(reading->streams[k].name, name) == 0;
        if (taken)
            snprintf(reading->streams[i].name, sizeof name, "%.18s #%" PRIu32, name, i);
        else
            memcpy(reading->streams[i].name, name, sizeof name);
    }
}

static enum trk_status say_failure(struct trk_error *error, enum trk_status status)
{
    if (status == TRK_E_UNSUPPORTED)
        return trk_error_set(error, status, "more than %" PRIu32 " events to compare",
                             TRK_ITEMS_MOST);
    return status == TRK_OK ? status : trk_error_set(error, status, "no memory");
}

static enum trk_status pass(struct reading *reading, struct trk_trace *trace, bool looking,
                            struct trk_error *error)
{
    struct trk_trace_event event;
    reading->looking = looking;
    enum trk_status status = trk_trace_rewind(trace, error);
    while (status == TRK_OK) {
        status = trk_trace_next(trace, &event, error);
        if (status != TRK_OK)
            break;
        status = say_failure(error, take(reading, &event));
    }
    return status == TRK_E_END ? say_failure(error, take_last_operands(reading)) : status;
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

enum trk_status trk_items_read(struct trk_items *out, struct trk_trace *trace, bool asked_only,
                               struct trk_error *error)
{
    *out = (struct trk_items){.count = 0};
    struct reading reading = {
        .out = out, .stream_count = trk_trace_stream_count(trace), .asked_only = asked_only};
    reading.streams = calloc(reading.stream_count + 1, sizeof *reading.streams);
    if (reading.streams == NULL)
        return trk_error_set(error, TRK_E_MEMORY, "no memory");
    name_streams(&reading, trace);
    trk_redact_init(&reading.redact);
    enum trk_status status = pass(&reading, trace, true, error);
    trk_redact_decide(&reading.redact);
    if (status == TRK_OK)
        status = pass(&reading, trace, false, error);
    out->complete = trk_trace_state(trace).complete;
    if (status == TRK_OK && out->lane_count > 0)
        qsort(out->lanes, out->lane_count, sizeof *out->lanes, compare);
    free(reading.streams);
    free(reading.slots);
    free(reading.stream_of);
    return status;
}

void trk_items_free(struct trk_items *items)
{
    free(items->items);
    free(items->lanes);
}
