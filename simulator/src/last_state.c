/*
 * The last state of a trace: found by its events, then re-executed up to there.
 *
 * The trace ends in the midst of a recording: a thread whose events end may have others on their
 * way. All that came before `ticks` is in it, but for what no other event waits for: so no place
 * behind an event that is later is looked at, and none behind an event whose turn was a guess.
 */
#include "simulator/last_state.h"

#include <stdlib.h>

#include "simulator/rest.h"
#include "simulator/snapshot.h"

#define PROLOGUE_MOST 65536u
#define FIRST_ROOM    64u

static enum trk_status no_memory(struct trk_error *error)
{
    return trk_error_set(error, TRK_E_MEMORY, "no memory for a state");
}

/* How many events are before the last place at rest; 0: there is none. */
static enum trk_status find_place(struct trk_trace *trace, uint64_t ticks, uint64_t *place,
                                  struct trk_error *error)
{
    struct trk_rest rest;
    struct trk_trace_event event = {.tsc = 0};
    enum trk_status status = TRK_OK;
    *place = 0;
    if (trk_rest_init(&rest, trace) != TRK_OK)
        return no_memory(error);
    while ((status = trk_trace_next(trace, &event, error)) == TRK_OK && event.tsc < ticks) {
        if (event.event.type == TRK_EVENT_DROP || event.event.type == TRK_EVENT_FOREIGN) {
            bool lost = event.event.type == TRK_EVENT_DROP;
            status = trk_error_set(error, TRK_E_INCOMPLETE, "%s",
                                   lost ? "events were lost" : "another tracker says what it does");
            break;
        }
        trk_rest_take(&rest, &event);
        if (!trk_rest_is(&rest))
            continue;
        if (trk_trace_state(trace).order_gaps > 0)
            break;
        *place = event.number + 1;
    }
    trk_rest_deinit(&rest);
    return status == TRK_E_END ? TRK_OK : status;
}

/* What a later declaration replaces. */
static bool declares_again(const struct trk_event *first, const struct trk_event *second)
{
    return first->type == TRK_EVENT_TRACKER && second->type == TRK_EVENT_TRACKER &&
           first->page == second->page;
}

/* Trackers, as last declared, and mappings. */
static enum trk_status note_prologue(struct trk_record_state *out, size_t *room,
                                     const struct trk_trace_event *event, struct trk_error *error)
{
    uint8_t type = event->event.type;
    size_t kept = 0;
    if (type != TRK_EVENT_TRACKER && type != TRK_EVENT_MAP && type != TRK_EVENT_UNMAP)
        return TRK_OK;
    for (size_t i = 0; i < out->prologue_count; i++) {
        if (!declares_again(&out->prologue[i].event, &event->event))
            out->prologue[kept++] = out->prologue[i];
    }
    out->prologue_count = kept;
    if (kept == PROLOGUE_MOST)
        return trk_error_set(error, TRK_E_INCOMPLETE, "more than %u mappings", PROLOGUE_MOST);
    if (kept == *room) {
        size_t larger = *room > 0 ? 2 * *room : FIRST_ROOM;
        struct trk_trace_event *prologue = realloc(out->prologue, larger * sizeof *prologue);
        if (prologue == NULL)
            return no_memory(error);
        out->prologue = prologue;
        *room = larger;
    }
    out->prologue[out->prologue_count++] = *event;
    return TRK_OK;
}

static enum trk_status take_events(struct trk_trace *trace, uint64_t place,
                                   struct trk_record_state *out, struct trk_error *error)
{
    size_t room = 0;
    enum trk_status status = trk_trace_rewind(trace, error);
    out->ordinals = calloc(trk_trace_stream_count(trace) + 1, sizeof *out->ordinals);
    if (out->ordinals == NULL)
        return no_memory(error);
    for (uint64_t next = 0; next < place && status == TRK_OK; next++) {
        struct trk_trace_event event;
        status = trk_trace_next(trace, &event, error);
        if (status != TRK_OK)
            break;
        out->ordinals[event.stream]++;
        out->ticks = event.tsc > out->ticks ? event.tsc : out->ticks;
        status = note_prologue(out, &room, &event, error);
    }
    return status;
}

/* What is no state of ours to keep here may be one later; a broken rule stays broken. */
static enum trk_status re_execute(struct trk_trace *trace, uint64_t place,
                                  struct trk_record_state *out, struct trk_error *error)
{
    struct trk_error reason = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    enum trk_status status = trk_sim_snapshot(trace, place, &out->snapshot, &reason);
    return status == TRK_OK ? TRK_OK : trk_error_set(error, status, "%s", reason.text);
}

enum trk_status trk_sim_last_state(struct trk_trace *trace, uint64_t ticks,
                                   struct trk_record_state *out, struct trk_error *error)
{
    uint64_t place;
    *out = (struct trk_record_state){.ticks = 0};
    enum trk_status status = find_place(trace, ticks, &place, error);
    if (status == TRK_OK && place == 0)
        status = trk_error_set(error, TRK_E_UNSUPPORTED, "something is always under way");
    if (status == TRK_OK)
        status = take_events(trace, place, out, error);
    if (status == TRK_OK)
        status = re_execute(trace, place, out, error);
    if (status != TRK_OK) {
        free(out->snapshot.bytes);
        free(out->ordinals);
        free(out->prologue);
        *out = (struct trk_record_state){.ticks = 0};
    }
    return status;
}
