#include "trace_look.h"

#include <stdlib.h>
#include <string.h>

#include "trace_item.h"

struct looking {
    struct trk_look *out;
    struct trk_walk walk;
    struct trk_look_operand *operands; /* of each stream */
    bool asked;
};

static enum trk_status add(struct trk_look_stream *stream, const struct trk_loss *loss)
{
    if (stream->count == stream->capacity) {
        uint32_t capacity = stream->capacity == 0 ? 8 : stream->capacity * 2;
        struct trk_loss *losses =
            capacity == 0 ? NULL : realloc(stream->losses, capacity * sizeof *losses);
        if (losses == NULL)
            return TRK_E_MEMORY;
        stream->losses = losses;
        stream->capacity = capacity;
    }
    stream->losses[stream->count++] = *loss;
    return TRK_OK;
}

/* An event that is there and cannot be judged. */
static enum trk_status add_event(struct trk_look_stream *stream, uint64_t ordinal, uint64_t tsc)
{
    const struct trk_loss loss = {ordinal, ordinal, tsc, tsc, false};
    return add(stream, &loss);
}

/* What is missing behind an operand may be its operation. */
static enum trk_status lose_operand(struct trk_look_operand *operand,
                                    struct trk_look_stream *stream)
{
    if (!operand->there)
        return TRK_OK;
    operand->there = false;
    return add_event(stream, operand->walked.ordinal, operand->event.tsc);
}

static enum trk_status look_at(struct looking *looking, const struct trk_trace_event *event)
{
    struct trk_look_stream *stream = &looking->out->streams[event->stream];
    struct trk_look_operand *operand = &looking->operands[event->stream];
    struct trk_redact *redact = &looking->out->redact;
    struct trk_walked walked;
    enum trk_status status = TRK_OK;
    bool first = !looking->walk.streams[event->stream].begun;
    trk_walk_event(&looking->walk, event, &walked);
    stream->begin_tsc = first ? event->tsc : stream->begin_tsc;
    if (walked.lost) {
        status = add(stream, &walked.loss);
        status = status == TRK_OK ? lose_operand(operand, stream) : status;
    }
    if (status == TRK_OK && operand->there) {
        bool begins = event->event.type == TRK_EVENT_OP_BEGIN;
        trk_redact_note(redact, &operand->event.event, begins ? &event->event : NULL);
        operand->there = false;
    }
    if (status == TRK_OK && event->event.type == TRK_EVENT_OPERAND) {
        *operand = (struct trk_look_operand){true, *event, walked};
        return TRK_OK;
    }
    trk_redact_note(redact, &event->event, NULL);
    uint64_t place = trk_walk_place(&looking->walk, event->stream, &event->event);
    bool unknown = place == TRK_PLACE_UNKNOWN && trk_item_counts(&event->event, looking->asked);
    return status == TRK_OK && unknown ? add_event(stream, walked.ordinal, event->tsc) : status;
}

/* Threads that found no ring have lost events, which stand in a stream of their own. */
static enum trk_status look_for_unplaced(struct looking *looking)
{
    struct trk_look *out = looking->out;
    enum trk_status status = TRK_OK;
    for (size_t i = 0; i < out->stream_count; i++) {
        const struct trk_walk_stream *stream = &looking->walk.streams[i];
        out->unplaced |= stream->begun && stream->kept == 0;
    }
    looking->walk.unplaced = out->unplaced;
    for (size_t i = 0; out->unplaced && status == TRK_OK && i < out->stream_count; i++) {
        const struct trk_loss before = {1, 0, 0, out->streams[i].begin_tsc, false};
        status = add(&out->streams[i], &before);
    }
    return status;
}

static enum trk_status look_at_ends(struct looking *looking)
{
    struct trk_look *out = looking->out;
    enum trk_status status = look_for_unplaced(looking);
    for (size_t i = 0; status == TRK_OK && i < out->stream_count; i++) {
        struct trk_look_operand *operand = &looking->operands[i];
        struct trk_loss loss;
        if (trk_walk_end(&looking->walk, (uint32_t)i, &loss)) {
            status = add(&out->streams[i], &loss);
            status = status == TRK_OK ? lose_operand(operand, &out->streams[i]) : status;
        }
        if (operand->there)
            trk_redact_note(&out->redact, &operand->event.event, NULL);
    }
    return status;
}

static enum trk_status make_room(struct looking *looking, struct trk_trace *trace)
{
    struct trk_look *out = looking->out;
    out->stream_count = trk_trace_stream_count(trace);
    out->streams = calloc(out->stream_count + 1, sizeof *out->streams);
    looking->operands = calloc(out->stream_count + 1, sizeof *looking->operands);
    if (out->streams == NULL || looking->operands == NULL)
        return TRK_E_MEMORY;
    for (size_t i = 0; i < out->stream_count; i++) {
        const struct trk_trace_stream *stream = trk_trace_stream(trace, i);
        out->streams[i].stream_id = stream->stream_id;
        memcpy(out->streams[i].name, stream->name, sizeof stream->name);
        trk_redact_name(out->streams[i].name);
    }
    return trk_walk_init(&looking->walk, trace);
}

enum trk_status trk_look_read(struct trk_look *out, struct trk_trace *trace, bool asked,
                              struct trk_error *error)
{
    struct looking looking = {.out = out, .asked = asked};
    struct trk_trace_event event;
    looking.walk = (struct trk_walk){.asked = asked, .part = out->part != TRK_LOOK_ALL};
    trk_redact_init(&out->redact, trace);
    enum trk_status status = make_room(&looking, trace);
    status = status == TRK_OK ? trk_trace_rewind(trace, error) : status;
    while (status == TRK_OK) {
        status = trk_trace_next(trace, &event, error);
        if (status == TRK_OK) {
            status = look_at(&looking, &event);
        }
    }
    if (status == TRK_E_END)
        status = look_at_ends(&looking);
    out->complete = trk_trace_state(trace).complete;
    out->lacks_threads = looking.walk.streams != NULL && trk_walk_lacks_threads(&looking.walk);
    trk_walk_free(&looking.walk);
    free(looking.operands);
    return status == TRK_E_MEMORY ? trk_error_set(error, status, "no memory") : status;
}

void trk_look_free(struct trk_look *look)
{
    for (size_t i = 0; look->streams != NULL && i < look->stream_count; i++)
        free(look->streams[i].losses);
    free(look->streams);
}
