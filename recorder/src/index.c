#include "index.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "note.h"

void trk_index_init(struct trk_index *index)
{
    *index = (struct trk_index){
        .all_summarised = true,
        .state = {.first_damage_offset = TRK_NOT_KNOWN, .child_status = -1},
    };
}

void trk_index_deinit(struct trk_index *index)
{
    for (size_t i = 0; i < index->stream_count; i++) {
        trk_note_free_more(&index->streams[i].note);
    }
    free(index->chunks);
    free(index->streams);
    free(index->snapshot);
    trk_blob_list_deinit(&index->blobs);
    trk_checkpoint_list_deinit(&index->checkpoints);
    trk_holds_deinit(&index->holds);
    trk_index_init(index);
}

struct trk_index_stream *trk_index_find(struct trk_index *index, uint32_t stream_id)
{
    for (size_t i = 0; i < index->stream_count; i++) {
        size_t at = index->last_found + i;
        at -= at >= index->stream_count ? index->stream_count : 0;
        if (index->streams[at].note.stream_id == stream_id) {
            index->last_found = at;
            return &index->streams[at];
        }
    }
    return NULL;
}

enum trk_status trk_index_stream(struct trk_index *index, uint32_t stream_id,
                                 struct trk_index_stream **out)
{
    *out = trk_index_find(index, stream_id);
    if (*out != NULL) {
        return TRK_OK;
    }
    if (stream_id == TRK_FORMAT_NO_STREAM || index->stream_count == TRK_FORMAT_STREAMS_MAX) {
        return TRK_E_DAMAGED;
    }
    if (index->stream_count == index->stream_room) {
        size_t room = index->stream_room == 0 ? 16 : 2 * index->stream_room;
        struct trk_index_stream *streams = realloc(index->streams, room * sizeof *streams);
        if (streams == NULL) {
            return TRK_E_MEMORY;
        }
        index->streams = streams;
        index->stream_room = room;
    }
    *out = &index->streams[index->stream_count++];
    **out = (struct trk_index_stream){
        .note.stream_id = stream_id,
        .first_chunk = TRK_INDEX_NONE,
        .last_chunk = TRK_INDEX_NONE,
    };
    return TRK_OK;
}

void trk_index_lose_note(struct trk_index *index, uint32_t stream_id)
{
    struct trk_index_stream *stream = trk_index_find(index, stream_id);
    if (stream != NULL) {
        stream->note.thread_id = 0;
        stream->note.name[0] = '\0';
    }
}

enum trk_status trk_index_add(struct trk_index *index, struct trk_index_stream *stream,
                              uint64_t offset, const struct trk_format_chunk *chunk)
{
    if (index->chunk_count == TRK_FORMAT_CHUNKS_MAX) {
        return TRK_E_DAMAGED;
    }
    if (index->chunk_count == index->chunk_room) {
        size_t room = index->chunk_room == 0 ? 64 : 2 * index->chunk_room;
        struct trk_index_chunk *chunks = realloc(index->chunks, room * sizeof *chunks);
        if (chunks == NULL) {
            return TRK_E_MEMORY;
        }
        index->chunks = chunks;
        index->chunk_room = room;
    }
    if (index->chunk_count == 0 || chunk->clock_shift < index->clock_shift) {
        index->clock_shift = chunk->clock_shift;
    }
    uint32_t at = (uint32_t)index->chunk_count++;
    index->chunks[at] = (struct trk_index_chunk){
        .offset = offset,
        .first_tsc = chunk->first_tsc,
        .last_tsc = chunk->last_tsc,
        .first_ordinal = chunk->first_ordinal,
        .dropped = chunk->dropped,
        .stream = (uint32_t)(stream - index->streams),
        .events = chunk->events,
        .next = TRK_INDEX_NONE,
        .file_chunk = chunk->file_chunk,
        .places = chunk->places,
    };
    if (stream->last_chunk == TRK_INDEX_NONE) {
        stream->first_chunk = at;
    } else {
        index->chunks[stream->last_chunk].next = at;
    }
    stream->last_chunk = at;
    stream->note.events += chunk->events;
    index->state.last_events_offset = offset;
    return TRK_OK;
}

void trk_index_damage(struct trk_index *index, uint64_t offset, const char *format, ...)
{
    struct trk_trace_state *state = &index->state;
    bool first = state->first_damage_offset == TRK_NOT_KNOWN || state->first_damage_offset > offset;
    if (!first && index->on_damage == NULL) {
        return;
    }
    char text[sizeof state->damage];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (first) {
        state->first_damage_offset = offset;
        memcpy(state->damage, text, sizeof text);
    }
    if (index->on_damage != NULL) {
        struct trk_trace_damage damage = {offset, index->at_chunk, text};
        index->on_damage(index->damage_context, &damage);
    }
}

enum trk_status trk_index_snapshot(struct trk_index *index, uint64_t offset,
                                   const struct trk_format_chunk *chunk, const uint8_t *payload)
{
    size_t size_bytes = chunk->raw_bytes;
    if (index->snapshot != NULL || index->chunk_count > 0 || size_bytes == 0) {
        return TRK_OK;
    }
    index->snapshot = malloc(size_bytes);
    if (index->snapshot == NULL) {
        return TRK_E_MEMORY;
    }
    memcpy(index->snapshot, payload, size_bytes);
    index->snapshot_bytes = size_bytes;
    index->snapshot_offset = offset;
    index->snapshot_chunk = chunk->file_chunk;
    return TRK_OK;
}

/* Stops at the top instead of wrapping to a number that would say "nothing lost". */
static void add_up(uint64_t *sum, uint64_t value)
{
    *sum = value > UINT64_MAX - *sum ? UINT64_MAX : *sum + value;
}

void trk_index_lose(struct trk_index *index, struct trk_index_stream *stream, uint64_t events)
{
    add_up(&stream->note.dropped, events);
    add_up(&index->state.dropped, events);
}

void trk_index_pass_over(struct trk_index *index, uint8_t kind)
{
    struct trk_trace_state *state = &index->state;
    state->unknown_kind = state->unknown_chunks > 0 ? state->unknown_kind : kind;
    state->unknown_chunks++;
}
