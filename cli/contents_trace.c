/* What the pages of a trace hold at the end of its frames, and whether that is what lines say. */
#include "contents.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "simulator/lost.h"

/* ---- a trace --------------------------------------------------------------------------------- */

/* What a page holds. */
struct slot {
    uint64_t page; /* number + 1; 0: free */
    uint64_t hash;
    uint64_t event; /* the upload */
};

/* By its address. */
struct held {
    struct slot *slots;
    size_t slot_count, count;
};

static size_t place_of(const struct held *held, uint64_t page)
{
    size_t at = (size_t)(page * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (held->slot_count - 1);
    while (held->slots[at].page != 0 && held->slots[at].page != page) {
        at = (at + 1) & (held->slot_count - 1);
    }
    return at;
}

static bool make_room(struct held *held)
{
    if (2 * held->count < held->slot_count) {
        return true;
    }
    struct held larger = {.slot_count = held->slot_count == 0 ? 1024 : 2 * held->slot_count,
                          .count = held->count};
    larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
    if (larger.slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < held->slot_count; i++) {
        if (held->slots[i].page != 0) {
            larger.slots[place_of(&larger, held->slots[i].page)] = held->slots[i];
        }
    }
    free(held->slots);
    *held = larger;
    return true;
}

/* Note an uploaded page; false: no memory. */
static bool note(struct held *held, const struct trk_trace_event *given)
{
    const struct trk_event *event = &given->event;
    if (event->type != TRK_EVENT_PAGE || event->flags != TRK_PAGE_COPIED) {
        return true;
    }
    if (!make_room(held)) {
        return false;
    }
    uint64_t page = event->argument / TRK_CONTENTS_PAGE_BYTES + 1;
    size_t at = place_of(held, page);
    held->count += held->slots[at].page == 0;
    /* The hash is a pair, as one number. */
    held->slots[at] = (struct slot){page, trk_event_size(event), given->number};
    return true;
}

/* NULL: nothing is known of the page. */
static const struct slot *find(const struct held *held, uint64_t guest_addr)
{
    if (held->slot_count == 0) {
        return NULL;
    }
    const struct slot *slot =
        &held->slots[place_of(held, guest_addr / TRK_CONTENTS_PAGE_BYTES + 1)];
    return slot->page != 0 ? slot : NULL;
}

/* Take over what was uploaded in a frame that is over, and forget it. */
static bool take_frame(struct trk_contents *out, struct held *held, uint64_t frame)
{
    for (size_t i = 0; i < held->slot_count; i++) {
        struct trk_content content = {frame, (held->slots[i].page - 1) * TRK_CONTENTS_PAGE_BYTES,
                                      held->slots[i].hash};
        if (held->slots[i].page != 0 && !trk_contents_add(out, &content)) {
            return false;
        }
    }
    if (held->slot_count > 0) {
        memset(held->slots, 0, held->slot_count * sizeof held->slots[0]);
    }
    held->count = 0;
    return true;
}

enum trk_status trk_contents_of_trace(struct trk_contents *out, struct trk_trace *trace,
                                      struct trk_error *error)
{
    struct held held = {.slots = NULL};
    struct trk_trace_event event;
    enum trk_status status;
    uint64_t frame = TRK_NOT_KNOWN;
    bool room = true;
    *out = (struct trk_contents){.list = NULL};
    while ((status = trk_trace_next(trace, &event, error)) == TRK_OK && room) {
        if (event.event.type == TRK_EVENT_FRAME) {
            room = frame == TRK_NOT_KNOWN || take_frame(out, &held, frame);
            frame = event.event.argument;
        }
        room = room && (frame == TRK_NOT_KNOWN || note(&held, &event));
    }
    if (status == TRK_E_END) {
        status = TRK_OK;
        room = frame == TRK_NOT_KNOWN || take_frame(out, &held, frame);
    }
    free(held.slots);
    trk_contents_sort(out);
    return room ? status : trk_error_set(error, TRK_E_MEMORY, "no memory for the contents");
}

/* ---- both ------------------------------------------------------------------------------------ */

struct comparing {
    const struct trk_contents *contents;
    struct held held;
    struct trk_lost *lost;
    bool whole; /* the trace is, as far as is known */
    bool ended; /* the program ended by itself, and not in the middle of a frame */
    bool *met;  /* lines whose frame the trace has */
    uint64_t frame;
    uint64_t first_event, last_event; /* of the frame */
    struct trk_contents_compared *out;
};

/* The first line of a frame, or of one behind it. */
static size_t first_line(const struct trk_contents *contents, uint64_t frame)
{
    size_t at = 0, end = contents->count;
    while (at < end) {
        size_t middle = at + (end - at) / 2;
        if (contents->list[middle].frame < frame) {
            at = middle + 1;
        } else {
            end = middle;
        }
    }
    return at;
}

/* Hold the lines of a frame that is over against what the pages have. next: the frame behind it, as
 * far as there is one. */
static void compare_frame(struct comparing *comparing, uint64_t next)
{
    const struct trk_contents *contents = comparing->contents;
    struct trk_contents_compared *out = comparing->out;
    /* Its end may be missing, and then other frames' uploads are taken for its own. */
    bool ends =
        next == TRK_NOT_KNOWN ? comparing->ended : comparing->whole || next == comparing->frame + 1;
    for (size_t at = first_line(contents, comparing->frame);
         at < contents->count && contents->list[at].frame == comparing->frame; at++) {
        const struct slot *slot = find(&comparing->held, contents->list[at].guest_addr);
        bool same = slot != NULL && slot->hash == contents->list[at].hash;
        bool sure = slot != NULL && ends && !trk_lost_since(comparing->lost, slot->event);
        bool again = comparing->met[at]; /* a frame may come twice */
        comparing->met[at] = true;
        out->absent -= !again;
        out->unknown += slot == NULL;
        out->same += same;
        out->doubted += slot != NULL && !same && !sure;
        if (slot != NULL && !same && sure && out->other_count < contents->count) {
            out->others[out->other_count++] =
                (struct trk_content_other){at, comparing->first_event, comparing->last_event};
        }
    }
}

static enum trk_status compare_all(struct comparing *comparing, struct trk_trace *trace,
                                   struct trk_error *error)
{
    struct trk_trace_event event;
    enum trk_status status;
    while ((status = trk_trace_next(trace, &event, error)) == TRK_OK) {
        if (event.event.type == TRK_EVENT_FRAME) {
            if (comparing->frame != TRK_NOT_KNOWN) {
                compare_frame(comparing, event.event.argument);
            }
            comparing->frame = event.event.argument;
            comparing->first_event = event.number;
        }
        trk_lost_pass(comparing->lost, &event);
        if (!note(&comparing->held, &event)) {
            return trk_error_set(error, TRK_E_MEMORY, "no memory for the contents");
        }
        comparing->last_event = event.number;
    }
    if (status == TRK_E_END && comparing->frame != TRK_NOT_KNOWN) {
        compare_frame(comparing, TRK_NOT_KNOWN);
    }
    return status == TRK_E_END ? TRK_OK : status;
}

enum trk_status trk_contents_compare(const struct trk_contents *contents, struct trk_trace *trace,
                                     struct trk_contents_compared *out, struct trk_error *error)
{
    struct comparing comparing = {.contents = contents, .frame = TRK_NOT_KNOWN, .out = out};
    out->absent = contents->count;
    comparing.met = calloc(contents->count, sizeof *comparing.met);
    enum trk_status status = comparing.met == NULL
                                 ? trk_error_set(error, TRK_E_MEMORY, "no memory for the contents")
                                 : trk_lost_create(&comparing.lost, trace, error);
    struct trk_trace_state state = trk_trace_state(trace);
    comparing.whole = state.complete;
    comparing.ended = state.complete && state.child_status != -1 && WIFEXITED(state.child_status);
    if (status == TRK_OK) {
        status = compare_all(&comparing, trace, error);
    }
    trk_lost_destroy(comparing.lost);
    free(comparing.held.slots);
    free(comparing.met);
    return status;
}
