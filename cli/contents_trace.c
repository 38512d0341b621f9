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

/* ---- frame by frame -------------------------------------------------------------------------- */

struct walk {
    struct held held;
    struct trk_lost *lost;
    bool whole;     /* the trace is, as far as is known */
    bool ended;     /* the program ended by itself, and not in the middle of a frame */
    uint64_t frame; /* TRK_NOT_KNOWN: before the first */
    uint64_t first_event, last_event; /* of it */
    /* It is over. ends: nothing of the next one was taken for its own. false: no memory. */
    bool (*over)(struct walk *walk, bool ends);
    void *context;
};

static bool is_over(struct walk *walk, uint64_t next)
{
    /* Its end may be missing, and then other frames' uploads are taken for its own. */
    bool ends = next == TRK_NOT_KNOWN ? walk->ended : walk->whole || next == walk->frame + 1;
    return walk->over(walk, ends);
}

static enum trk_status walk_frames(struct walk *walk, struct trk_trace *trace,
                                   struct trk_error *error)
{
    struct trk_trace_event event;
    bool room = true;
    struct trk_trace_state state = trk_trace_state(trace);
    walk->whole = state.complete;
    walk->ended = state.complete && state.child_status != -1 && WIFEXITED(state.child_status);
    walk->frame = TRK_NOT_KNOWN;
    enum trk_status status = trk_lost_create(&walk->lost, trace, error);
    while (status == TRK_OK && room && (status = trk_trace_next(trace, &event, error)) == TRK_OK) {
        if (event.event.type == TRK_EVENT_FRAME) {
            room = is_over(walk, event.event.argument);
            walk->frame = event.event.argument;
            walk->first_event = event.number;
        }
        trk_lost_pass(walk->lost, &event);
        room = room && note(&walk->held, &event);
        walk->last_event = event.number;
    }
    if (status == TRK_E_END) {
        status = TRK_OK;
        room = is_over(walk, TRK_NOT_KNOWN);
    }
    trk_lost_destroy(walk->lost);
    free(walk->held.slots);
    return room ? status : trk_error_set(error, TRK_E_MEMORY, "no memory for the contents");
}

/* Whether the content of a page is what it has at the end of its frame. */
static bool is_last(const struct walk *walk, const struct slot *slot, bool ends)
{
    return ends && !trk_lost_since(walk->lost, slot->event);
}

/* ---- lines of a trace ------------------------------------------------------------------------ */

/* Take over what was uploaded in the frame, and forget it. */
static bool take_frame(struct walk *walk, bool ends)
{
    struct held *held = &walk->held;
    for (size_t i = 0; i < held->slot_count; i++) {
        const struct slot *slot = &held->slots[i];
        struct trk_content content = {walk->frame, (slot->page - 1) * TRK_CONTENTS_PAGE_BYTES,
                                      slot->hash};
        bool wanted = walk->frame != TRK_NOT_KNOWN && slot->page != 0 && is_last(walk, slot, ends);
        if (wanted && !trk_contents_add(walk->context, &content)) {
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
    struct walk walk = {.over = take_frame, .context = out};
    *out = (struct trk_contents){.list = NULL};
    enum trk_status status = walk_frames(&walk, trace, error);
    trk_contents_sort(out);
    return status;
}

/* ---- both ------------------------------------------------------------------------------------ */

struct comparing {
    const struct trk_contents *contents;
    bool *met; /* lines whose frame the trace has */
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

/* Hold the lines of the frame against what the pages have. */
static bool compare_frame(struct walk *walk, bool ends)
{
    const struct comparing *comparing = walk->context;
    const struct trk_contents *contents = comparing->contents;
    struct trk_contents_compared *out = comparing->out;
    size_t at = walk->frame == TRK_NOT_KNOWN ? contents->count : first_line(contents, walk->frame);
    for (; at < contents->count && contents->list[at].frame == walk->frame; at++) {
        const struct slot *slot = find(&walk->held, contents->list[at].guest_addr);
        bool same = slot != NULL && slot->hash == contents->list[at].hash;
        bool sure = slot != NULL && is_last(walk, slot, ends);
        out->absent -= !comparing->met[at]; /* a frame may come twice */
        comparing->met[at] = true;
        out->unknown += slot == NULL;
        out->same += same;
        out->doubted += slot != NULL && !same && !sure;
        if (slot != NULL && !same && sure && out->other_count < contents->count) {
            out->others[out->other_count++] =
                (struct trk_content_other){at, walk->first_event, walk->last_event};
        }
    }
    return true;
}

enum trk_status trk_contents_compare(const struct trk_contents *contents, struct trk_trace *trace,
                                     struct trk_contents_compared *out, struct trk_error *error)
{
    struct comparing comparing = {.contents = contents, .out = out};
    struct walk walk = {.over = compare_frame, .context = &comparing};
    out->absent = contents->count;
    comparing.met = calloc(contents->count, sizeof *comparing.met);
    if (comparing.met == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the contents");
    }
    enum trk_status status = walk_frames(&walk, trace, error);
    free(comparing.met);
    return status;
}
