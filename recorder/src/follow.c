#include "recorder/follow.h"

#include <stdlib.h>
#include <string.h>

#include "chunk_decoder.h"
#include "index.h"
#include "note.h"
#include "type_fields.h"

struct trk_follow {
    struct trk_trace *trace; /* opened for its header, and closed with it */
    char path[4096];
    struct trk_source source;
    struct trk_chunk_decoder decoder;
    struct trk_index index; /* streams only */
    uint64_t offset;        /* of the next chunk */
    uint64_t next_chunk;    /* number that it should have */
    bool counted;           /* END is there: only the end mark may come */
    uint64_t number;
    struct trk_format_chunk chunk; /* whose events are given */
    uint32_t next;                 /* of them; chunk.events: none are left */
};

static enum trk_status no_memory(struct trk_error *error)
{
    return trk_error_set(error, TRK_E_MEMORY, "no memory to follow the trace");
}

static enum trk_status start(struct trk_follow *follow, struct trk_error *error)
{
    uint8_t sync[TRK_FORMAT_SYNC_BYTES];
    enum trk_status status = trk_source_open(&follow->source, follow->path, error);
    if (status != TRK_OK) {
        return status;
    }
    trk_trace_marker(follow->trace, sync);
    if (trk_chunk_decoder_init(&follow->decoder, &follow->source, sync) != TRK_OK) {
        return no_memory(error);
    }
    follow->offset = TRK_FORMAT_FILE_BYTES;
    return TRK_OK;
}

enum trk_status trk_follow_open(struct trk_follow **out, const char *path, struct trk_error *error)
{
    *out = NULL;
    struct trk_follow *follow = calloc(1, sizeof *follow);
    if (follow == NULL || strlen(path) >= sizeof follow->path) {
        free(follow);
        return no_memory(error);
    }
    memcpy(follow->path, path, strlen(path) + 1);
    follow->source.fd = -1;
    trk_index_init(&follow->index);
    enum trk_status status = trk_trace_open(&follow->trace, path, error);
    if (status == TRK_OK) {
        status = start(follow, error);
    }
    if (status != TRK_OK) {
        trk_follow_close(follow);
        return status;
    }
    *out = follow;
    return TRK_OK;
}

void trk_follow_close(struct trk_follow *follow)
{
    if (follow == NULL) {
        return;
    }
    trk_trace_close(follow->trace);
    trk_index_deinit(&follow->index);
    trk_chunk_decoder_deinit(&follow->decoder);
    trk_source_close(&follow->source);
    free(follow);
}

const char *trk_follow_header_json(const struct trk_follow *follow)
{
    return trk_trace_header_json(follow->trace);
}

const char *trk_follow_type_name(const struct trk_follow *follow, uint8_t id)
{
    bool described = follow->decoder.types[id].known && !trk_schema_table[id].known;
    return described ? follow->decoder.names[id] : trk_event_type_name(id);
}

size_t trk_follow_event_fields(const struct trk_follow *follow, const struct trk_event *event,
                               struct trk_event_field out[TRK_EVENT_FIELDS_MOST])
{
    return trk_schema_event_fields(&follow->decoder.types[event->type], event, out);
}

const char *trk_follow_name(const struct trk_follow *follow, uint32_t stream_id)
{
    for (size_t i = 0; i < follow->index.stream_count; i++) {
        if (follow->index.streams[i].note.stream_id == stream_id) {
            return follow->index.streams[i].note.name;
        }
    }
    return "";
}

static enum trk_status take_note(struct trk_follow *follow, const struct trk_format_chunk *chunk,
                                 struct trk_error *error)
{
    struct trk_index_stream *stream;
    enum trk_status status = trk_index_stream(&follow->index, chunk->stream, &stream);
    if (status == TRK_OK) {
        (void)trk_note_parse((const char *)follow->decoder.unpack.raw, chunk->raw_bytes,
                             &stream->note);
    }
    return status == TRK_E_MEMORY ? no_memory(error) : TRK_OK;
}

static enum trk_status say_damaged(const struct trk_follow *follow, const char *what,
                                   struct trk_error *error)
{
    trk_error_set(error, TRK_E_DAMAGED, "%s", what);
    if (error != NULL) {
        error->file_offset = follow->offset;
    }
    return TRK_E_DAMAGED;
}

/* [F-9] [F-12] [F-13] Whether what a chunk says can be known, and nothing is missing before it. */
static enum trk_status check_place(struct trk_follow *follow, const struct trk_format_chunk *chunk,
                                   struct trk_error *error)
{
    enum trk_status status = trk_unpack_refuse(follow->offset, chunk, error);
    if (status != TRK_OK) {
        return status;
    }
    if (chunk->file_chunk != follow->next_chunk) {
        return say_damaged(follow,
                           chunk->file_chunk < follow->next_chunk
                               ? "the chunk that stands there is out of order"
                               : "chunks are missing before the one that stands there",
                           error);
    }
    if (chunk->kind != TRK_FORMAT_EVENTS) {
        return TRK_OK;
    }
    struct trk_index_stream *stream;
    status = trk_index_stream(&follow->index, chunk->stream, &stream);
    if (status == TRK_E_MEMORY) {
        return no_memory(error);
    }
    if (status != TRK_OK) {
        return say_damaged(follow, "the stream of the chunk that stands there is one too many",
                           error);
    }
    return chunk->first_ordinal == stream->next_ordinal
               ? TRK_OK
               : say_damaged(follow, "events are missing before those that stand there", error);
}

/* The chunk at the offset, whose header this is, and all of which is there. */
static enum trk_status take_chunk(struct trk_follow *follow, const struct trk_format_chunk *chunk,
                                  struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    if (chunk->kind == TRK_FORMAT_EVENTS) {
        status = trk_chunk_decoder_events(&follow->decoder, follow->offset, chunk, error);
        if (status == TRK_OK) {
            trk_index_find(&follow->index, chunk->stream)->next_ordinal += chunk->events;
            follow->chunk = *chunk;
            follow->next = 0;
        }
    } else if (chunk->kind == TRK_FORMAT_NOTE || chunk->kind == TRK_FORMAT_SCHEMA) {
        status = trk_unpack_payload(&follow->decoder.unpack, follow->offset, chunk, error);
        if (status == TRK_OK && chunk->kind == TRK_FORMAT_NOTE) {
            status = take_note(follow, chunk, error);
        } else if (status == TRK_OK) {
            status = trk_chunk_decoder_schema(&follow->decoder, chunk);
        }
    } else {
        status = trk_unpack_check(&follow->decoder.unpack, follow->offset, chunk, error);
    }
    return status;
}

/* A file that is written grows; where it ends in the middle of a chunk, more is to come. */
static enum trk_status look_for_more(struct trk_follow *follow, struct trk_error *error)
{
    struct trk_source grown;
    enum trk_status status = trk_source_open(&grown, follow->path, error);
    if (status != TRK_OK) {
        return status;
    }
    follow->source.size_bytes = grown.size_bytes;
    trk_source_close(&grown);
    struct trk_format_chunk chunk;
    struct trk_format_end end;
    const char *damage = "what stands there is no chunk";
    status = trk_unpack_header(&follow->decoder.unpack, follow->offset, &chunk, error);
    if (status == TRK_OK) {
        status = check_place(follow, &chunk, error);
        if (status != TRK_OK) {
            return status;
        }
        damage = "the chunk that stands there is damaged";
        status = take_chunk(follow, &chunk, error);
        if (status == TRK_OK) {
            follow->offset += trk_format_chunk_span(&chunk);
            follow->next_chunk = (uint64_t)chunk.file_chunk + 1;
            follow->counted = chunk.kind == TRK_FORMAT_END;
        }
    } else if (trk_unpack_is_damage(status)) {
        enum trk_status at_end =
            trk_unpack_end(&follow->decoder.unpack, follow->offset, &end, error);
        if (at_end == TRK_OK && !follow->counted) {
            return say_damaged(follow, "chunks are missing before the end that stands there",
                               error);
        }
        status = at_end == TRK_OK ? TRK_E_END : at_end == TRK_E_END ? status : at_end;
    }
    return status == TRK_E_DAMAGED ? say_damaged(follow, damage, error) : status;
}

enum trk_status trk_follow_next(struct trk_follow *follow, struct trk_trace_event *event,
                                struct trk_error *error)
{
    while (follow->next == follow->chunk.events) {
        enum trk_status status = look_for_more(follow, error);
        if (status != TRK_OK) {
            return status;
        }
    }
    const struct trk_record *record = &follow->decoder.records[follow->next++];
    *event = (struct trk_trace_event){
        .number = follow->number++,
        .tsc = record->tsc,
        .file_offset = follow->offset,
        .stream = follow->chunk.stream,
        .event = record->event,
    };
    return TRK_OK;
}
