/* Going to a place in the middle of a trace. */
#include "checkpoint_list.h"

#include <assert.h>
#include <stdlib.h>

#include "reader.h"
#include "recorder/checkpoint.h"

void trk_checkpoint_list_deinit(struct trk_checkpoint_list *list)
{
    free(list->places);
    *list = (struct trk_checkpoint_list){.places = NULL};
}

enum trk_status trk_checkpoint_list_add(struct trk_checkpoint_list *list, uint64_t offset,
                                        uint64_t event_number)
{
    if (list->count == TRK_FORMAT_CHUNKS_MAX) {
        return TRK_E_DAMAGED;
    }
    if (list->count == list->room) {
        size_t room = list->room == 0 ? 64 : 2 * list->room;
        struct trk_checkpoint_place *places = realloc(list->places, room * sizeof *places);
        if (places == NULL) {
            return TRK_E_MEMORY;
        }
        list->places = places;
        list->room = room;
    }
    list->places[list->count++] = (struct trk_checkpoint_place){offset, event_number};
    return TRK_OK;
}

size_t trk_trace_checkpoint_count(const struct trk_trace *trace)
{
    return trace->index.checkpoints.count;
}

const struct trk_trace_event *trk_trace_prologue(const struct trk_trace *trace, size_t *count)
{
    *count = trace->checkpoint.prologue_count;
    return trace->checkpoint.prologue;
}

uint64_t trk_trace_before(const struct trk_trace *trace, size_t stream)
{
    return trace->begin != NULL ? trace->before[stream] : 0;
}

/* How many events of a stream there are before an ordinal, and whether all are there behind it. */
static uint64_t events_before(const struct trk_index *index, const struct trk_index_stream *stream,
                              uint64_t ordinal, bool *whole_behind)
{
    uint64_t count = 0;
    uint64_t expected = ordinal;
    for (uint32_t at = stream->first_chunk; at != TRK_INDEX_NONE; at = index->chunks[at].next) {
        const struct trk_index_chunk *chunk = &index->chunks[at];
        uint64_t end = chunk->first_ordinal + chunk->events;
        if (end <= ordinal) {
            count += chunk->bad ? 0 : chunk->events;
            continue;
        }
        if (chunk->first_ordinal < ordinal) {
            count += chunk->bad ? 0 : ordinal - chunk->first_ordinal;
        } else if (chunk->first_ordinal != expected) {
            *whole_behind = false;
        }
        *whole_behind = *whole_behind && !chunk->bad && chunk->dropped == 0;
        expected = end;
    }
    if (expected != stream->next_ordinal) {
        *whole_behind = false;
    }
    return count;
}

/* Where the streams stand; whether that can be. */
static bool take_streams(struct trk_trace *trace, struct trk_trace_checkpoint *out)
{
    struct trk_index *index = &trace->index;
    struct trk_checkpoint_state *state = &trace->checkpoint;
    *out = (struct trk_trace_checkpoint){.whole_behind = index->state.ended && !index->state.cut};
    trace->begin = calloc(2 * index->stream_count + 1, sizeof *trace->begin);
    if (trace->begin == NULL) {
        return false;
    }
    trace->before = trace->begin + index->stream_count;
    for (size_t i = 0; i < state->stream_count; i++) {
        struct trk_index_stream *stream = trk_index_find(index, state->streams[i].stream_id);
        if (stream == NULL || state->streams[i].ordinal > stream->next_ordinal) {
            return false;
        }
        trace->begin[stream - index->streams] = state->streams[i].ordinal;
    }
    for (size_t i = 0; i < index->stream_count; i++) {
        trace->before[i] =
            events_before(index, &index->streams[i], trace->begin[i], &out->whole_behind);
        out->event_number += trace->before[i];
    }
    for (size_t i = 0; i < state->prologue_count; i++) {
        const struct trk_index_stream *stream = trk_index_find(index, state->prologue[i].stream);
        if (stream == NULL) {
            return false;
        }
        state->prologue[i].stream = (uint32_t)(stream - index->streams);
    }
    return true;
}

enum trk_status trk_trace_go_to(struct trk_trace *trace, size_t index,
                                struct trk_trace_checkpoint *out, struct trk_error *error)
{
    struct trk_trace_checkpoint place;
    assert(index < trace->index.checkpoints.count);
    enum trk_status status = trk_trace_rewind(trace, error);
    if (status == TRK_OK) {
        status = trk_checkpoint_load(trace, index, &trace->checkpoint, error);
    }
    if (status == TRK_OK && !take_streams(trace, &place)) {
        status = trace->begin == NULL ? TRK_E_MEMORY : TRK_E_DAMAGED;
    }
    if (status == TRK_OK) {
        trace->number = place.event_number;
        if (out != NULL) {
            *out = place;
        }
        return TRK_OK;
    }
    enum trk_status again = trk_trace_rewind(trace, NULL);
    if (again != TRK_OK) {
        return again;
    }
    if (status == TRK_E_DAMAGED) {
        trk_error_set(error, status, "a checkpoint is not readable");
        if (error != NULL) {
            error->file_offset = trace->index.checkpoints.places[index].offset;
        }
    } else if (status == TRK_E_MEMORY) {
        trk_error_set(error, status, "no memory for a checkpoint");
    }
    return status;
}

/* The last checkpoint that is not behind an event; the count: none. */
static size_t last_before(const struct trk_trace *trace, uint64_t event_number)
{
    const struct trk_checkpoint_list *list = &trace->index.checkpoints;
    size_t found = list->count;
    for (size_t i = 0; i < list->count; i++) {
        if (list->places[i].event_number <= event_number) {
            found = i;
        }
    }
    return found;
}

enum trk_status trk_trace_seek(struct trk_trace *trace, uint64_t event_number,
                               struct trk_error *error)
{
    enum trk_status status = trk_trace_scan(trace, error);
    if (status == TRK_OK) {
        status = trk_trace_rewind(trace, error);
    }
    /* Where events are missing they have other numbers than the checkpoints say. */
    bool numbered = trace->index.state.damaged_chunks == 0;
    size_t from = numbered ? last_before(trace, event_number) : trace->index.checkpoints.count;
    if (status == TRK_OK && from < trace->index.checkpoints.count) {
        status = trk_trace_go_to(trace, from, NULL, error);
        status = status == TRK_E_DAMAGED ? TRK_OK : status; /* from the beginning, then */
    }
    while (status == TRK_OK && trace->number < event_number) {
        struct trk_trace_event event;
        status = trk_trace_next(trace, &event, error);
    }
    return status;
}
