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

/* Whether what a decision is known by rests on events of a type. */
static bool is_part(unsigned type)
{
    return type == TRK_EVENT_DECISION || type == TRK_EVENT_FRAME || type == TRK_EVENT_NONE;
}

enum trk_status trk_live_keys_read(struct trk_live_keys *keys, const char *path,
                                   struct trk_error *error)
{
    struct trk_trace *trace;
    struct trk_trace_event event;
    uint64_t frame = 0;
    keys->count = 0;
    keys->lacks = false;
    enum trk_status status = trk_trace_open(&trace, path, error);
    if (status != TRK_OK) {
        return status;
    }
    status = trk_trace_scan(trace, error);
    while (status == TRK_OK && (status = trk_trace_next(trace, &event, error)) == TRK_OK) {
        unsigned decision = event.event.context;
        if (event.event.type == TRK_EVENT_FRAME) {
            frame = event.event.argument;
        }
        keys->lacks |= event.event.type == TRK_EVENT_DROP && is_part(event.event.context);
        if (event.event.type != TRK_EVENT_DECISION ||
            (decision != TRK_DECISION_SKIP && decision != TRK_DECISION_DISTRUST)) {
            continue;
        }
        struct trk_live_key key = {frame, event.event.argument, 0, event.number};
        if (!keys_add(keys, key)) {
            status = trk_error_set(error, TRK_E_MEMORY, "no memory for the decisions");
        }
    }
    struct trk_trace_state state = trk_trace_state(trace);
    keys->lacks |= !state.ended || state.damaged_chunks > 0;
    trk_trace_close(trace);
    keys_number(keys);
    return status == TRK_E_END ? TRK_OK : status;
}
