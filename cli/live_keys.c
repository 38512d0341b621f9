#include "live_keys.h"

#include <stdlib.h>

static bool keys_add(struct trk_live_keys *keys, struct trk_live_key key)
{
    if (keys->count == keys->capacity) {
        size_t capacity = keys->capacity == 0 ? 1024 : keys->capacity * 2;
        struct trk_live_key *all = realloc(keys->all, capacity * sizeof *all);
        if (all == NULL) {
            return false;
        }
        keys->all = all;
        keys->capacity = capacity;
    }
    keys->all[keys->count++] = key;
    return true;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By frame and page, then in the order of the trace. */
static int compare_events(const void *left, const void *right)
{
    const struct trk_live_key *a = left, *b = right;
    int order = compare_numbers(a->frame, b->frame);
    order = order != 0 ? order : compare_numbers(a->page_addr, b->page_addr);
    return order != 0 ? order : compare_numbers(a->event, b->event);
}

bool trk_live_key_same(const struct trk_live_key *a, const struct trk_live_key *b)
{
    return a->frame == b->frame && a->page_addr == b->page_addr && a->ordinal == b->ordinal;
}

/* Sorted by their keys, which is the order in which limits rise. */
static void keys_number(struct trk_live_keys *keys)
{
    if (keys->count == 0) {
        return;
    }
    qsort(keys->all, keys->count, sizeof *keys->all, compare_events);
    for (size_t i = 1; i < keys->count; i++) {
        struct trk_live_key *key = &keys->all[i];
        const struct trk_live_key *last = key - 1;
        bool again = key->frame == last->frame && key->page_addr == last->page_addr;
        key->ordinal = again ? last->ordinal + 1 : 0;
    }
}

void trk_live_keys_deinit(struct trk_live_keys *keys)
{
    free(keys->all);
    free(keys->losses);
    *keys = (struct trk_live_keys){.all = NULL};
}

/* ---- losses ---------------------------------------------------------------------------------- */

/* Time stamps are cut off and clocks of processors differ by a little. */
#define SLACK_TICKS 8192u

static uint64_t earlier(uint64_t tsc)
{
    return tsc > SLACK_TICKS ? tsc - SLACK_TICKS : 0;
}

static uint64_t later(uint64_t tsc, uint64_t ticks)
{
    uint64_t room = UINT64_MAX - tsc;
    return room > SLACK_TICKS && ticks < room - SLACK_TICKS ? tsc + ticks + SLACK_TICKS
                                                            : UINT64_MAX;
}

static bool losses_add(struct trk_live_keys *keys, uint64_t first_tsc, uint64_t end_tsc)
{
    if (keys->loss_count == keys->loss_capacity) {
        size_t capacity = keys->loss_capacity == 0 ? 16 : keys->loss_capacity * 2;
        struct trk_live_loss *losses = realloc(keys->losses, capacity * sizeof *losses);
        if (losses == NULL) {
            return false;
        }
        keys->losses = losses;
        keys->loss_capacity = capacity;
    }
    keys->losses[keys->loss_count++] = (struct trk_live_loss){first_tsc, end_tsc};
    keys->lacks = true;
    return true;
}

/* Whether what a decision is known by rests on events of a type. */
static bool is_part(unsigned type)
{
    return type == TRK_EVENT_DECISION || type == TRK_EVENT_FRAME || type == TRK_EVENT_NONE;
}

/* What a DROP event tells of; before: the time of the event before it in its stream. */
static bool losses_take(struct trk_live_keys *keys, const struct trk_trace_event *drop,
                        uint64_t before)
{
    /* A first one that is earlier than the event before is told of with the time of that. */
    bool moved = drop->tsc <= later(before, 0);
    bool known = drop->event.context != TRK_EVENT_NONE;
    return losses_add(keys, moved || !known ? 0 : earlier(drop->tsc),
                      known ? later(drop->tsc, trk_event_size(&drop->event)) : UINT64_MAX);
}

/* What the file should have and has not; told: how many events DROP events tell of. */
static enum trk_status losses_of_file(struct trk_live_keys *keys, const struct trk_trace *trace,
                                      uint64_t told)
{
    struct trk_trace_missing *missing;
    size_t count;
    enum trk_status status = trk_trace_missing(trace, &missing, &count);
    if (status != TRK_OK) {
        return status;
    }
    struct trk_trace_state state = trk_trace_state(trace);
    bool anywhere =
        !state.ended || (count == 0 && (state.damaged_chunks > 0 || told != state.dropped));
    bool added = !anywhere || losses_add(keys, 0, UINT64_MAX);
    for (size_t i = 0; i < count && added; i++) {
        added = losses_add(keys, earlier(missing[i].first_tsc), later(missing[i].end_tsc, 0));
    }
    free(missing);
    return added ? TRK_OK : TRK_E_MEMORY;
}

/* The ordinal counts what its frame had before, and the frame is that of the last FRAME event. */
bool trk_live_key_sure(const struct trk_live_keys *keys, const struct trk_live_key *key)
{
    for (size_t i = 0; i < keys->loss_count; i++) {
        if (keys->losses[i].first_tsc <= key->tsc && keys->losses[i].end_tsc >= key->frame_tsc) {
            return false;
        }
    }
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
    struct trk_live_keys *keys;
    uint64_t frame, frame_tsc; /* where it stands */
    uint64_t told;             /* events that DROP events tell of */
    uint64_t *newest;          /* time of each stream's last event */
};

/* The next event; false: no memory. */
static bool take(struct reading *reading, const struct trk_trace_event *event)
{
    const struct trk_event *what = &event->event;
    bool good = true;
    if (what->type == TRK_EVENT_FRAME) {
        reading->frame = what->argument;
        reading->frame_tsc = event->tsc;
    } else if (what->type == TRK_EVENT_DROP) {
        reading->told += what->argument;
        good = !is_part(what->context) ||
               losses_take(reading->keys, event, reading->newest[event->stream]);
    } else if (what->type == TRK_EVENT_DECISION &&
               (what->context == TRK_DECISION_SKIP || what->context == TRK_DECISION_DISTRUST)) {
        good = keys_add(reading->keys,
                        (struct trk_live_key){.frame = reading->frame,
                                              .page_addr = what->argument,
                                              .trusted = what->context == TRK_DECISION_SKIP,
                                              .event = event->number,
                                              .tsc = event->tsc,
                                              .frame_tsc = reading->frame_tsc});
    }
    if (good && event->guessed && is_part(what->type)) { /* its place is not known */
        good = losses_add(reading->keys, 0, UINT64_MAX);
    }
    reading->newest[event->stream] = event->tsc;
    return good;
}

static enum trk_status read_trace(struct reading *reading, struct trk_trace *trace,
                                  struct trk_error *error)
{
    struct trk_trace_event event;
    enum trk_status status = trk_trace_scan(trace, error);
    if (status != TRK_OK) {
        return status;
    }
    reading->newest = calloc(trk_trace_stream_count(trace) + 1, sizeof *reading->newest);
    bool good = reading->newest != NULL;
    while (good && (status = trk_trace_next(trace, &event, error)) == TRK_OK) {
        good = take(reading, &event);
    }
    free(reading->newest);
    if (!good ||
        (status == TRK_E_END && losses_of_file(reading->keys, trace, reading->told) != TRK_OK)) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the decisions");
    }
    return status == TRK_E_END ? TRK_OK : status;
}

enum trk_status trk_live_keys_read(struct trk_live_keys *keys, const char *path,
                                   struct trk_error *error)
{
    struct trk_trace *trace;
    struct reading reading = {.keys = keys};
    keys->count = keys->loss_count = 0;
    keys->lacks = false;
    enum trk_status status = trk_trace_open(&trace, path, error);
    if (status != TRK_OK) {
        return status;
    }
    status = read_trace(&reading, trace, error);
    trk_trace_close(trace);
    keys_number(keys);
    return status;
}
