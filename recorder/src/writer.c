#include "recorder/writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "blob_batch.h"
#include "columns.h"
#include "note.h"
#include "output.h"
#include "places.h"
#include "reader.h"
#include "recorder/blobs.h"
#include "recorder/checkpoint.h"
#include "schema_text.h"
#include "summary.h"

/* Records waiting for their chunk. Kept for the next stream that needs one when it is written. */
struct buffer {
    struct buffer *next;
    size_t count;
    uint64_t dropped;
    size_t losses;               /* records that are DROP events */
    struct trk_record records[]; /* options.chunk_events */
};

struct stream {
    struct trk_trace_stream note; /* as last written */
    uint64_t last_tsc;
    struct buffer *buffer; /* NULL: no open chunk */
};

struct trk_writer {
    struct trk_writer_options options;
    struct trk_output *output;
    bool cut;
    struct trk_columns *columns;
    struct stream *streams; /* in order of naming */
    size_t stream_count, stream_room;
    size_t last_found; /* most appends are to the stream of the one before */
    struct buffer *spare;
    struct trk_blob_batch *blobs; /* NULL: nobody gave any */
    uint64_t events;              /* in the file, without those that tell of losses */
    uint64_t dropped;             /* that those tell of */
};

struct trk_writer_options trk_writer_options_default(void)
{
    return (struct trk_writer_options){
        .size = sizeof(struct trk_writer_options),
        .zstd_level = 3,
        .clock_shift = 5,
        .chunk_events = TRK_CHUNK_EVENTS,
    };
}

static enum trk_status no_memory(struct trk_error *error)
{
    return trk_error_set(error, TRK_E_MEMORY, "no memory to write the trace");
}

static enum trk_status write_header(struct trk_writer *writer, const char *json,
                                    struct trk_error *error)
{
    struct trk_format_chunk chunk = {
        .kind = TRK_FORMAT_HEADER,
        .flags = TRK_FORMAT_FLAG_REQUIRED,
        .stream = TRK_FORMAT_NO_STREAM,
    };
    return trk_output_chunk(writer->output, &chunk, json, strlen(json), error);
}

/* [F-36] What the events are, for readers that are older than they. */
static enum trk_status write_schema(struct trk_writer *writer, struct trk_error *error)
{
    const struct trk_trace *from = writer->options.types_of;
    char *text = trk_schema_print(from != NULL ? from->type_texts : NULL);
    if (text == NULL) {
        return no_memory(error);
    }
    struct trk_format_chunk chunk = {.kind = TRK_FORMAT_SCHEMA, .stream = TRK_FORMAT_NO_STREAM};
    enum trk_status status =
        strlen(text) > TRK_FORMAT_JSON_MAX
            ? trk_error_set(error, TRK_E_UNSUPPORTED,
                            "newer types are described at too much length")
            : trk_output_chunk(writer->output, &chunk, text, strlen(text), error);
    trk_schema_free(text);
    return status;
}

enum trk_status trk_writer_create(struct trk_writer **out, int fd,
                                  const struct trk_writer_options *options, const char *header_json,
                                  struct trk_error *error)
{
    *out = NULL;
    if (options == NULL || options->size != sizeof *options ||
        options->clock_shift > TRK_FORMAT_SHIFT_MAX || options->chunk_events == 0 ||
        options->chunk_events > TRK_FORMAT_EVENTS_MAX) {
        return trk_error_set(error, TRK_E_ARGUMENT, "the writer's options are not usable");
    }
    if (header_json == NULL || header_json[0] == '\0' ||
        strlen(header_json) > TRK_FORMAT_JSON_MAX) {
        return trk_error_set(error, TRK_E_ARGUMENT, "the header is empty or above %u bytes",
                             TRK_FORMAT_JSON_MAX);
    }
    struct trk_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        return no_memory(error);
    }
    writer->options = *options;
    enum trk_status status =
        trk_columns_create_encoder(&writer->columns, writer->options.chunk_events);
    if (status != TRK_OK) {
        trk_writer_destroy(writer);
        return no_memory(error);
    }
    struct trk_output_options output = {options->zstd_level, options->plain, options->sync_marker};
    status = trk_output_create(&writer->output, fd, &output, error);
    if (status == TRK_OK) {
        status = write_header(writer, header_json, error);
    }
    if (status == TRK_OK && !options->plain) {
        status = write_schema(writer, error);
    }
    if (status != TRK_OK) {
        trk_writer_destroy(writer);
        return status;
    }
    *out = writer;
    return TRK_OK;
}

void trk_writer_destroy(struct trk_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    for (size_t i = 0; i < writer->stream_count; i++) {
        free(writer->streams[i].buffer);
        trk_note_free_more(&writer->streams[i].note);
    }
    while (writer->spare != NULL) {
        struct buffer *next = writer->spare->next;
        free(writer->spare);
        writer->spare = next;
    }
    free(writer->streams);
    trk_blob_batch_destroy(writer->blobs);
    trk_columns_destroy(writer->columns);
    trk_output_destroy(writer->output);
    free(writer);
}

static struct stream *find_stream(struct trk_writer *writer, uint32_t stream_id)
{
    for (size_t i = 0; i < writer->stream_count; i++) {
        size_t at = (writer->last_found + i) % writer->stream_count;
        if (writer->streams[at].note.stream_id == stream_id) {
            writer->last_found = at;
            return &writer->streams[at];
        }
    }
    return NULL;
}

static struct stream *add_stream(struct trk_writer *writer, uint32_t stream_id,
                                 struct trk_error *error)
{
    if (stream_id == TRK_FORMAT_NO_STREAM || writer->stream_count == TRK_FORMAT_STREAMS_MAX) {
        trk_error_set(error, TRK_E_ARGUMENT, "stream %u is %s", stream_id,
                      stream_id == TRK_FORMAT_NO_STREAM ? "no number" : "one too many for a file");
        return NULL;
    }
    if (writer->stream_count == writer->stream_room) {
        size_t room = writer->stream_room == 0 ? 16 : 2 * writer->stream_room;
        struct stream *streams = realloc(writer->streams, room * sizeof *streams);
        if (streams == NULL) {
            no_memory(error);
            return NULL;
        }
        writer->streams = streams;
        writer->stream_room = room;
    }
    struct stream *stream = &writer->streams[writer->stream_count++];
    *stream = (struct stream){.note.stream_id = stream_id};
    return stream;
}

enum trk_status trk_writer_stream(struct trk_writer *writer, const struct trk_trace_stream *note,
                                  struct trk_error *error)
{
    struct stream *stream = find_stream(writer, note->stream_id);
    if (stream != NULL && trk_note_same(&stream->note, note)) {
        return TRK_OK;
    }
    if (stream == NULL) {
        struct trk_error refused = {.status = TRK_OK};
        stream = add_stream(writer, note->stream_id, &refused);
        if (stream == NULL) {
            return trk_error_set(error, refused.status, "%s", refused.text);
        }
    }
    char *text = trk_note_print(note);
    if (text == NULL || !trk_note_copy(&stream->note, note)) {
        trk_note_free(text);
        return no_memory(error);
    }
    struct trk_format_chunk chunk = {.kind = TRK_FORMAT_NOTE, .stream = note->stream_id};
    enum trk_status status = trk_output_chunk(writer->output, &chunk, text, strlen(text), error);
    trk_note_free(text);
    return status;
}

enum trk_status trk_writer_clocks(struct trk_writer *writer, const struct trk_trace_anchor *clocks,
                                  struct trk_error *error)
{
    if (writer->stream_count == 0) {
        return TRK_OK;
    }
    struct trk_trace_stream note = writer->streams[0].note;
    note.clocks = *clocks;
    return trk_writer_stream(writer, &note, error);
}

static uint64_t rounded(const struct trk_writer *writer, uint64_t tsc)
{
    return tsc >> writer->options.clock_shift << writer->options.clock_shift;
}

/* Write the stream's open chunk, if it has one, and put its buffer by. */
static enum trk_status write_events(struct trk_writer *writer, struct stream *stream,
                                    struct trk_error *error)
{
    struct buffer *buffer = stream->buffer;
    if (buffer == NULL) {
        return TRK_OK;
    }
    assert(buffer->count > 0);
    struct trk_format_chunk chunk = {
        .kind = TRK_FORMAT_EVENTS,
        .flags = TRK_FORMAT_FLAG_REQUIRED,
        .clock_shift = (uint8_t)writer->options.clock_shift,
        .stream = stream->note.stream_id,
        .events = (uint32_t)buffer->count,
        .first_tsc = rounded(writer, buffer->records[0].tsc),
        .last_tsc = rounded(writer, buffer->records[buffer->count - 1].tsc),
        .dropped = buffer->dropped,
        .places = trk_places_of(buffer->records, buffer->count),
    };
    const uint8_t *payload;
    size_t size_bytes = trk_columns_encode(writer->columns, buffer->records, buffer->count,
                                           writer->options.clock_shift, &payload);
    const uint8_t *summary = NULL;
    size_t summary_bytes = 0;
    if (!writer->options.plain &&
        trk_summary_make(writer->columns, &summary, &summary_bytes) != TRK_OK) {
        return no_memory(error);
    }
    trk_output_summary(writer->output, summary, summary_bytes);
    enum trk_status status = trk_output_chunk(writer->output, &chunk, payload, size_bytes, error);
    if (status != TRK_OK) {
        return status;
    }
    writer->events += buffer->count - buffer->losses;
    writer->dropped += buffer->dropped;
    stream->buffer = NULL;
    buffer->next = writer->spare;
    writer->spare = buffer;
    return TRK_OK;
}

/* The stream's open chunk, opened if need be; NULL without memory. */
static struct buffer *open_buffer(struct trk_writer *writer, struct stream *stream)
{
    if (stream->buffer != NULL) {
        return stream->buffer;
    }
    struct buffer *buffer = writer->spare;
    if (buffer != NULL) {
        writer->spare = buffer->next;
    } else {
        buffer =
            calloc(1, sizeof *buffer + writer->options.chunk_events * sizeof buffer->records[0]);
        if (buffer == NULL) {
            return NULL;
        }
    }
    buffer->next = NULL;
    buffer->count = 0;
    buffer->dropped = 0;
    buffer->losses = 0;
    stream->buffer = buffer;
    return buffer;
}

/* [F-32] The header of a chunk has the sum of the losses in it. */
static void count_losses(struct buffer *buffer, const struct trk_record *records, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (records[i].event.type == TRK_EVENT_DROP) {
            buffer->dropped += records[i].event.argument;
            buffer->losses++;
        }
    }
}

/* Append to the open chunk; a full one is written at once, so that none is left full. */
static enum trk_status append(struct trk_writer *writer, struct stream *stream,
                              const struct trk_record *records, size_t count,
                              struct trk_error *error)
{
    while (count > 0) {
        struct buffer *buffer = open_buffer(writer, stream);
        if (buffer == NULL) {
            return no_memory(error);
        }
        size_t part = writer->options.chunk_events - buffer->count;
        part = part < count ? part : count;
        memcpy(buffer->records + buffer->count, records, part * sizeof *records);
        count_losses(buffer, records, part);
        buffer->count += part;
        records += part;
        count -= part;
        stream->last_tsc = buffer->records[buffer->count - 1].tsc;
        enum trk_status status = TRK_OK;
        if (buffer->count == writer->options.chunk_events) {
            status = write_events(writer, stream, error);
        }
        if (status != TRK_OK) {
            return status;
        }
    }
    return TRK_OK;
}

enum trk_status trk_writer_append(struct trk_writer *writer, uint32_t stream_id,
                                  const struct trk_record *records, size_t count, uint64_t dropped,
                                  struct trk_error *error)
{
    struct stream *stream = find_stream(writer, stream_id);
    if (stream == NULL) {
        return trk_error_set(error, TRK_E_ARGUMENT, "stream %u has not been named", stream_id);
    }
    if (dropped > 0) {
        /* [F-32] The loss stands at its place in the stream, as an event of its own. */
        struct trk_record drop = {
            .tsc = count > 0 ? records[0].tsc : stream->last_tsc,
            .event = {.type = TRK_EVENT_DROP, .argument = dropped},
        };
        enum trk_status status = append(writer, stream, &drop, 1, error);
        if (status != TRK_OK) {
            return status;
        }
    }
    return append(writer, stream, records, count, error);
}

enum trk_status trk_writer_blob(struct trk_writer *writer, const void *bytes,
                                struct trk_error *error)
{
    if (writer->blobs == NULL) {
        writer->blobs = trk_blob_batch_create();
    }
    return writer->blobs != NULL ? trk_blob_batch_add(writer->blobs, writer->output, bytes, error)
                                 : no_memory(error);
}

uint64_t trk_writer_blobs(const struct trk_writer *writer)
{
    return writer->blobs != NULL ? trk_blob_batch_count(writer->blobs) : 0;
}

enum trk_status trk_writer_flush_stream(struct trk_writer *writer, uint32_t stream_id,
                                        struct trk_error *error)
{
    struct stream *stream = find_stream(writer, stream_id);
    return stream != NULL ? write_events(writer, stream, error) : TRK_OK;
}

enum trk_status trk_writer_flush(struct trk_writer *writer, struct trk_error *error)
{
    enum trk_status status =
        writer->blobs != NULL ? trk_blob_batch_flush(writer->blobs, writer->output, error) : TRK_OK;
    for (size_t i = 0; i < writer->stream_count && status == TRK_OK; i++) {
        status = write_events(writer, &writer->streams[i], error);
    }
    return status;
}

/* [F-37] Required: who does not know it would take the first holds for lost ones. */
enum trk_status trk_writer_snapshot(struct trk_writer *writer, const void *payload,
                                    size_t size_bytes, struct trk_error *error)
{
    struct trk_format_chunk chunk = {.kind = TRK_FORMAT_SNAPSHOT,
                                     .flags = TRK_FORMAT_FLAG_REQUIRED,
                                     .stream = TRK_FORMAT_NO_STREAM};
    if (writer->events > 0 || size_bytes > TRK_FORMAT_RAW_MAX) {
        return trk_error_set(error, TRK_E_ARGUMENT, "a snapshot comes first and has its bounds");
    }
    return trk_output_chunk(writer->output, &chunk, payload, size_bytes, error);
}

enum trk_status trk_writer_checkpoint(struct trk_writer *writer, uint64_t event_number,
                                      const void *payload, size_t size_bytes,
                                      struct trk_error *error)
{
    struct trk_format_chunk chunk = {.kind = TRK_FORMAT_CHECKPOINT,
                                     .stream = TRK_FORMAT_NO_STREAM,
                                     .first_ordinal = event_number};
    if (size_bytes > TRK_FORMAT_RAW_MAX) {
        return trk_error_set(error, TRK_E_ARGUMENT, "a checkpoint has its bounds");
    }
    enum trk_status status = trk_writer_flush(writer, error);
    return status == TRK_OK ? trk_output_chunk(writer->output, &chunk, payload, size_bytes, error)
                            : status;
}

void trk_writer_cut(struct trk_writer *writer)
{
    writer->cut = true;
}

enum trk_status trk_writer_end(struct trk_writer *writer, int32_t child_status,
                               struct trk_error *error)
{
    enum trk_status status = trk_writer_flush(writer, error);
    if (status == TRK_OK) {
        struct trk_format_end end = {.child_status = child_status, .cut = writer->cut};
        status = trk_output_end(writer->output, &end, error);
    }
    trk_writer_destroy(writer);
    return status;
}

uint64_t trk_writer_bytes(const struct trk_writer *writer)
{
    return trk_output_bytes(writer->output);
}

uint64_t trk_writer_events(const struct trk_writer *writer)
{
    return writer->events;
}

uint64_t trk_writer_dropped(const struct trk_writer *writer)
{
    return writer->dropped;
}
