#include "linear.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Parked: the stream's next event waits for another stream. */
enum place { PLACE_NONE, PLACE_HEAP, PLACE_PARKED, PLACE_DONE };

#define NOBODY UINT32_MAX

struct stream {
    uint64_t tsc;
    struct trk_event event;
    bool loaded; /* event is known, not only tsc */
    enum place place;
    uint32_t next; /* parked at the same point */
    uint32_t open_holds;
};

/* A domain or a timeline: what events wait for. */
struct point {
    uint64_t key; /* 0: free slot */
    bool seen;
    bool ended;      /* domain: the current hold has ended */
    uint64_t value;  /* domain: current hold; timeline: greatest value signalled */
    uint32_t owner;  /* domain: stream of the current hold */
    uint32_t parked; /* first stream of the list, or NOBODY */
};

struct trk_linear {
    const struct trk_schema_type *types;
    struct stream *streams;
    size_t stream_count;
    uint32_t *heap; /* streams whose next event is ready, smallest (tsc, stream) first */
    size_t heap_count;
    struct point *points; /* open addressing, at most half full */
    size_t point_room, point_count;
    uint64_t gaps;
    uint64_t ended;     /* streams that have no more events */
    uint64_t unwritten; /* holds that they may not have come to note */
};

enum trk_status trk_linear_create(struct trk_linear **out, size_t streams,
                                  const struct trk_schema_type *types)
{
    *out = NULL;
    struct trk_linear *linear = calloc(1, sizeof *linear);
    if (linear == NULL) {
        return TRK_E_MEMORY;
    }
    linear->stream_count = streams;
    linear->types = types != NULL ? types : trk_schema_table;
    linear->point_room = 1024;
    linear->streams = calloc(streams + 1, sizeof *linear->streams);
    linear->heap = calloc(streams + 1, sizeof *linear->heap);
    linear->points = calloc(linear->point_room, sizeof *linear->points);
    if (linear->streams == NULL || linear->heap == NULL || linear->points == NULL) {
        trk_linear_destroy(linear);
        return TRK_E_MEMORY;
    }
    *out = linear;
    return TRK_OK;
}

void trk_linear_destroy(struct trk_linear *linear)
{
    if (linear == NULL) {
        return;
    }
    free(linear->streams);
    free(linear->heap);
    free(linear->points);
    free(linear);
}

uint64_t trk_linear_gaps(const struct trk_linear *linear)
{
    return linear->gaps;
}

uint64_t trk_linear_unwritten(const struct trk_linear *linear)
{
    return linear->unwritten;
}

/* ---- points ---------------------------------------------------------------------------------- */

/* Upper half of a point's key. */
enum { KEY_DOMAIN = 1, KEY_TIMELINE = 2 };

/* The domain or timeline that orders an event, as a key; 0 when the event waits for nothing. */
static uint64_t point_key(const struct trk_linear *linear, const struct trk_event *event)
{
    if (event->type == TRK_EVENT_SIGNAL || event->type == TRK_EVENT_AWAIT) {
        return (uint64_t)KEY_TIMELINE << 32 | event->domain;
    }
    /* [F-36] A type that only the file describes may be in a hold; it ends none. */
    bool added = !trk_schema_table[event->type].known &&
                 linear->types[event->type].pair == TRK_SCHEMA_PAIR_HOLD &&
                 event->domain >> 28 != 0;
    if (added || trk_event_in_hold(event)) {
        return (uint64_t)KEY_DOMAIN << 32 | event->domain;
    }
    return 0;
}

static struct point *point_slot(struct point *points, size_t room, uint64_t key)
{
    size_t at = (size_t)(key * 0x9E3779B97F4A7C15ull >> 20) & (room - 1);
    while (points[at].key != 0 && points[at].key != key) {
        at = (at + 1) & (room - 1);
    }
    return &points[at];
}

static enum trk_status grow_points(struct trk_linear *linear)
{
    size_t room = 2 * linear->point_room;
    struct point *points = calloc(room, sizeof *points);
    if (points == NULL) {
        return TRK_E_MEMORY;
    }
    for (size_t i = 0; i < linear->point_room; i++) {
        if (linear->points[i].key != 0) {
            *point_slot(points, room, linear->points[i].key) = linear->points[i];
        }
    }
    free(linear->points);
    linear->points = points;
    linear->point_room = room;
    return TRK_OK;
}

/* Find or make a point; NULL without memory. Moves the others. */
static struct point *get_point(struct trk_linear *linear, uint64_t key)
{
    struct point *point = point_slot(linear->points, linear->point_room, key);
    if (point->key == key) {
        return point;
    }
    if (2 * (linear->point_count + 1) > linear->point_room) {
        if (grow_points(linear) != TRK_OK) {
            return NULL;
        }
        point = point_slot(linear->points, linear->point_room, key);
    }
    linear->point_count++;
    *point = (struct point){.key = key, .owner = NOBODY, .parked = NOBODY};
    return point;
}

enum trk_status trk_linear_begin(struct trk_linear *linear, bool timeline, uint32_t number,
                                 uint64_t value)
{
    struct point *point =
        get_point(linear, (uint64_t)(timeline ? KEY_TIMELINE : KEY_DOMAIN) << 32 | number);
    if (point == NULL) {
        return TRK_E_MEMORY;
    }
    point->seen = true;
    point->ended = true;
    point->value = value;
    return TRK_OK;
}

/* How a hold's number stands to the current one, also where the 32 bits have wrapped. */
static int32_t hold_distance(const struct point *point, const struct trk_event *event)
{
    return (int32_t)(event->seq - (uint32_t)point->value);
}

/*
 * [F-29] An event waits for the end of the hold before its own, and for its signal. One whose hold
 * is past waits for nothing that could still come.
 */
static bool is_ready(const struct point *point, const struct trk_event *event)
{
    if (event->type == TRK_EVENT_SIGNAL) {
        return true;
    }
    if (event->type == TRK_EVENT_AWAIT) {
        return point->seen && point->value >= event->argument;
    }
    if (!point->seen) {
        return event->seq == 1;
    }
    int32_t distance = hold_distance(point, event);
    return distance <= 0 || (distance == 1 && point->ended);
}

/* ---- heap ------------------------------------------------------------------------------------ */

static bool goes_before(const struct trk_linear *linear, uint32_t a, uint32_t b)
{
    uint64_t tsc_a = linear->streams[a].tsc;
    uint64_t tsc_b = linear->streams[b].tsc;
    return tsc_a < tsc_b || (tsc_a == tsc_b && a < b);
}

static void heap_push(struct trk_linear *linear, uint32_t stream)
{
    size_t at = linear->heap_count++;
    while (at > 0) {
        size_t parent = (at - 1) / 2;
        if (!goes_before(linear, stream, linear->heap[parent])) {
            break;
        }
        linear->heap[at] = linear->heap[parent];
        at = parent;
    }
    linear->heap[at] = stream;
    linear->streams[stream].place = PLACE_HEAP;
}

static uint32_t heap_pop(struct trk_linear *linear)
{
    uint32_t first = linear->heap[0];
    uint32_t moved = linear->heap[--linear->heap_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= linear->heap_count) {
            break;
        }
        if (child + 1 < linear->heap_count &&
            goes_before(linear, linear->heap[child + 1], linear->heap[child])) {
            child++;
        }
        if (!goes_before(linear, linear->heap[child], moved)) {
            break;
        }
        linear->heap[at] = linear->heap[child];
        at = child;
    }
    linear->heap[at] = moved;
    linear->streams[first].place = PLACE_NONE;
    return first;
}

/* ---- parking --------------------------------------------------------------------------------- */

static void park(struct trk_linear *linear, struct point *point, uint32_t stream)
{
    linear->streams[stream].place = PLACE_PARKED;
    linear->streams[stream].next = point->parked;
    point->parked = stream;
}

/* The point has moved: those that waited for that are ready now. */
static void wake(struct trk_linear *linear, struct point *point)
{
    uint32_t *link = &point->parked;
    while (*link != NOBODY) {
        uint32_t stream = *link;
        if (is_ready(point, &linear->streams[stream].event)) {
            *link = linear->streams[stream].next;
            heap_push(linear, stream);
        } else {
            link = &linear->streams[stream].next;
        }
    }
}

/* [F-30] Nothing is ready: of what waits, the one with the smallest time stamp; or NOBODY. */
static uint32_t release_one(struct trk_linear *linear)
{
    uint32_t first = NOBODY;
    for (uint32_t i = 0; i < linear->stream_count; i++) {
        if (linear->streams[i].place == PLACE_PARKED &&
            (first == NOBODY || goes_before(linear, i, first))) {
            first = i;
        }
    }
    if (first == NOBODY) {
        return NOBODY;
    }
    uint64_t key = point_key(linear, &linear->streams[first].event);
    uint32_t *link = &point_slot(linear->points, linear->point_room, key)->parked;
    while (*link != first) {
        link = &linear->streams[*link].next;
    }
    *link = linear->streams[first].next;
    linear->streams[first].place = PLACE_NONE;
    return first;
}

/* ---- events ---------------------------------------------------------------------------------- */

void trk_linear_expect(struct trk_linear *linear, size_t stream, uint64_t tsc)
{
    assert(linear->streams[stream].place == PLACE_NONE);
    linear->streams[stream].tsc = tsc;
    linear->streams[stream].loaded = false;
    heap_push(linear, (uint32_t)stream);
}

enum trk_status trk_linear_offer(struct trk_linear *linear, size_t stream,
                                 const struct trk_record *record)
{
    struct stream *self = &linear->streams[stream];
    assert(self->place == PLACE_NONE);
    self->tsc = record->tsc;
    self->event = record->event;
    self->loaded = true;
    uint64_t key = point_key(linear, &record->event);
    if (key != 0) {
        struct point *point = get_point(linear, key);
        if (point == NULL) {
            return TRK_E_MEMORY;
        }
        if (!is_ready(point, &record->event)) {
            park(linear, point, (uint32_t)stream);
            return TRK_OK;
        }
    }
    heap_push(linear, (uint32_t)stream);
    return TRK_OK;
}

void trk_linear_exhaust(struct trk_linear *linear, size_t stream)
{
    struct stream *self = &linear->streams[stream];
    assert(self->place == PLACE_NONE);
    self->place = PLACE_DONE;
    linear->ended++;
    for (size_t i = 0; i < linear->point_room && self->open_holds > 0; i++) {
        struct point *point = &linear->points[i];
        if (point->key != 0 && point->owner == stream && !point->ended) {
            point->ended = true;
            self->open_holds--;
            wake(linear, point);
        }
    }
}

static void take_signal(struct trk_linear *linear, struct point *point,
                        const struct trk_event *event)
{
    if (event->type == TRK_EVENT_AWAIT) {
        linear->gaps += !is_ready(point, event);
        return;
    }
    if (!point->seen || point->value < event->argument) {
        point->seen = true;
        point->value = event->argument;
        wake(linear, point);
    }
}

/*
 * [F-31] Whether so many streams that have ended may each lack a hold of a page manager behind
 * their last event: its only event comes behind the release. Holds of other domains begin with an
 * event.
 */
static bool take_unwritten(struct trk_linear *linear, const struct point *point, uint64_t missing)
{
    if (trk_domain_class((uint32_t)point->key) != TRK_DOMAIN_PAGES || !point->ended ||
        missing > linear->ended - linear->unwritten) {
        return false;
    }
    linear->unwritten += missing;
    return true;
}

static void take_hold(struct trk_linear *linear, struct point *point, uint32_t stream)
{
    const struct trk_event *event = &linear->streams[stream].event;
    int32_t distance = point->seen ? hold_distance(point, event) : 1;
    if (distance < 0) { /* of a hold that is past */
        linear->gaps++;
        return;
    }
    if (distance > 0) {
        /* [F-28] The first hold that is seen of a domain may have any number. */
        linear->gaps += point->seen && !is_ready(point, event) &&
                        !take_unwritten(linear, point, (uint64_t)distance - 1);
        if (point->seen && !point->ended) {
            linear->streams[point->owner].open_holds--;
        }
        point->seen = true;
        point->ended = false;
        point->value = event->seq;
        point->owner = stream;
        linear->streams[stream].open_holds++;
    }
    if (trk_event_ends_hold(event) && !point->ended) {
        point->ended = true;
        linear->streams[point->owner].open_holds--;
    }
    wake(linear, point);
}

/* The point an event waits at; NULL: none. It was made when the event was offered. */
static struct point *point_of(struct trk_linear *linear, const struct trk_event *event)
{
    uint64_t key = point_key(linear, event);
    return key != 0 ? point_slot(linear->points, linear->point_room, key) : NULL;
}

/*
 * Take the first ready stream off the heap. What was ready when it was offered may not be any more:
 * two streams that claim the same hold, or numbers that are half of all numbers apart.
 */
static uint32_t pop_ready(struct trk_linear *linear)
{
    while (linear->heap_count > 0) {
        uint32_t first = heap_pop(linear);
        const struct stream *self = &linear->streams[first];
        struct point *point = self->loaded ? point_of(linear, &self->event) : NULL;
        if (point == NULL || is_ready(point, &self->event)) {
            return first;
        }
        park(linear, point, first);
    }
    return release_one(linear);
}

enum trk_linear_turn trk_linear_next(struct trk_linear *linear, size_t *stream)
{
    uint32_t first = pop_ready(linear);
    if (first == NOBODY) {
        return TRK_LINEAR_DONE;
    }
    *stream = first;
    if (!linear->streams[first].loaded) {
        return TRK_LINEAR_LOAD;
    }
    const struct trk_event *event = &linear->streams[first].event;
    struct point *point = point_of(linear, event);
    if (point != NULL && point->key >> 32 == KEY_TIMELINE) {
        take_signal(linear, point, event);
    } else if (point != NULL) {
        take_hold(linear, point, first);
    }
    return TRK_LINEAR_TAKE;
}
