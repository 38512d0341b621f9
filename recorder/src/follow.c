#include "recorder/follow.h"

#include <stdlib.h>
#include <string.h>

#include "chunk_decoder.h"
#include "index.h"
#include "note.h"

struct trk_follow {
    struct trk_trace *trace; /* opened for its header, and closed with it */
    char path[4096];
    struct trk_source source;
    struct trk_chunk_decoder decoder;
    struct trk_index index; /* streams only */
    uint64_t offset;        /* of the next chunk */
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

/* The chunk at the offset, whose header this is, and all of which is there. */
static enum trk_status take_chunk(struct trk_follow *follow, const struct trk_format_chunk *chunk,
                                  struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    if (chunk->kind == TRK_FORMAT_EVENTS) {
        status = trk_chunk_decoder_events(&follow->decoder, follow->offset, chunk, error);
        if (status == TRK_OK) {
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
    status = trk_unpack_header(&follow->decoder.unpack, follow->offset, &chunk, error);
    if (status == TRK_OK) {
        status = take_chunk(follow, &chunk, error);
        if (status == TRK_OK) {
            follow->offset += trk_format_chunk_span(&chunk);
        }
    } else if (trk_unpack_is_damage(status)) {
        enum trk_status at_end =
            trk_unpack_end(&follow->decoder.unpack, follow->offset, &end, error);
        status = at_end == TRK_OK ? TRK_E_END : at_end == TRK_E_END ? status : at_end;
    }
    if (status == TRK_E_DAMAGED) {
        trk_error_set(error, status, "what stands there is no chunk");
        if (error != NULL) {
            error->file_offset = follow->offset;
        }
    }
    return status;
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
