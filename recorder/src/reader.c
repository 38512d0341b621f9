#include "recorder/trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "chunk_events.h"
#include "columns.h"
#include "index.h"
#include "linear.h"
#include "scan.h"
#include "source.h"
#include "unpack.h"

/*
 * Decoded chunks that may be held at one time, all streams together. A recording has one for each
 * thread that lives at the time; the limit is for files that claim otherwise.
 */
#define DECODED_MAX_BYTES (1ull << 30)

/* Where reading stands in a stream. */
struct cursor {
    struct trk_record *records; /* the chunk's, when it is decoded */
    uint32_t chunk;             /* index of the current chunk, or TRK_INDEX_NONE */
    uint32_t next;              /* record in it */
};

struct trk_trace {
    struct trk_source source;
    struct trk_unpack unpack;
    struct trk_index index;
    struct trk_columns *columns;
    struct trk_linear *linear; /* NULL until the first event is asked for */
    struct cursor *cursors;
    uint64_t decoded_bytes;
    uint64_t number; /* of the next event */
    uint64_t first_chunk_offset;
    bool scanned;
    enum trk_status failed; /* reading stopped in the middle: given again until rewound */
    char *header_json;
};

static enum trk_status no_memory(struct trk_error *error)
{
    return trk_error_set(error, TRK_E_MEMORY, "no memory to read the trace");
}

static enum trk_status fail_at(struct trk_error *error, enum trk_status status, uint64_t offset,
                               const char *text)
{
    trk_error_set(error, status, "%s", text);
    if (error != NULL) {
        error->file_offset = offset;
    }
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* A file too short for its header: is it the beginning of one? */
static bool begins_like_a_trace(const uint8_t *bytes, size_t got)
{
    uint8_t model[TRK_FORMAT_FILE_BYTES];
    trk_format_put_file(model, &(struct trk_format_file){.major = 0});
    size_t fixed = TRK_FORMAT_FRAME_PREFIX + 8; /* prefix and magic */
    return memcmp(bytes, model, got < fixed ? got : fixed) == 0;
}

static enum trk_status read_file_header(struct trk_trace *trace, struct trk_format_file *file,
                                        struct trk_error *error)
{
    uint8_t bytes[TRK_FORMAT_FILE_BYTES] = {0};
    struct trk_source_part part = {.to = bytes, .size_bytes = sizeof bytes};
    enum trk_status status = trk_source_read(&trace->source, &part, error);
    if (status != TRK_OK) {
        return status;
    }
    if (part.got < sizeof bytes) {
        return begins_like_a_trace(bytes, part.got)
                   ? fail_at(error, TRK_E_INCOMPLETE, part.got, "the file ends inside its header")
                   : fail_at(error, TRK_E_DAMAGED, 0, "this is no .trk file");
    }
    status = trk_format_get_file(bytes, file, error);
    if (status != TRK_OK && error != NULL) {
        error->file_offset = 0;
    }
    return status;
}

/* [F-14] The first chunk says what the recording is of; without it nothing is to be made of it. */
static enum trk_status read_header_chunk(struct trk_trace *trace, struct trk_error *error)
{
    static const uint64_t offset = TRK_FORMAT_FILE_BYTES;
    struct trk_format_chunk chunk;
    enum trk_status status = trk_unpack_header(&trace->unpack, offset, &chunk, error);
    if (status == TRK_OK && chunk.kind == TRK_FORMAT_HEADER &&
        chunk.codec != TRK_FORMAT_CODEC_ZSTD) {
        return fail_at(error, TRK_E_VERSION, offset, "the HEADER chunk needs a newer reader");
    }
    if (status == TRK_OK) {
        status = chunk.kind == TRK_FORMAT_HEADER && chunk.file_chunk == 0
                     ? trk_unpack_payload(&trace->unpack, offset, &chunk, error)
                     : TRK_E_DAMAGED;
    }
    if (status == TRK_E_INCOMPLETE) {
        return fail_at(error, status, offset, "the file ends inside its HEADER chunk");
    }
    if (status == TRK_E_DAMAGED || (status == TRK_OK && chunk.raw_bytes > 0 &&
                                    memchr(trace->unpack.raw, '\0', chunk.raw_bytes) != NULL)) {
        return fail_at(error, TRK_E_DAMAGED, offset, "the HEADER chunk is damaged");
    }
    if (status != TRK_OK) {
        return status;
    }
    trace->header_json = malloc((size_t)chunk.raw_bytes + 1);
    if (trace->header_json == NULL) {
        return no_memory(error);
    }
    memcpy(trace->header_json, trace->unpack.raw, chunk.raw_bytes);
    trace->header_json[chunk.raw_bytes] = '\0';
    trace->first_chunk_offset = offset + TRK_FORMAT_CHUNK_BYTES + chunk.packed_bytes;
    return TRK_OK;
}

/* Takes over the source of `trace`, whatever comes of it. */
static enum trk_status open_source(struct trk_trace **out, struct trk_trace *trace,
                                   struct trk_error *error)
{
    trk_index_init(&trace->index);
    struct trk_format_file file;
    enum trk_status status = read_file_header(trace, &file, error);
    if (status == TRK_OK) {
        status = trk_unpack_init(&trace->unpack, &trace->source, file.sync);
        status = status == TRK_OK ? trk_columns_create_decoder(&trace->columns) : status;
        status = status != TRK_OK ? no_memory(error) : status;
    }
    if (status == TRK_OK) {
        status = read_header_chunk(trace, error);
    }
    if (status != TRK_OK) {
        trk_trace_close(trace);
        return status;
    }
    *out = trace;
    return TRK_OK;
}

enum trk_status trk_trace_open(struct trk_trace **out, const char *path, struct trk_error *error)
{
    *out = NULL;
    struct trk_trace *trace = calloc(1, sizeof *trace);
    if (trace == NULL) {
        return no_memory(error);
    }
    enum trk_status status = trk_source_open(&trace->source, path, error);
    if (status != TRK_OK) {
        free(trace);
        return status;
    }
    return open_source(out, trace, error);
}

enum trk_status trk_trace_open_bytes(struct trk_trace **out, const void *bytes, size_t size_bytes,
                                     struct trk_error *error)
{
    *out = NULL;
    struct trk_trace *trace = calloc(1, sizeof *trace);
    if (trace == NULL) {
        return no_memory(error);
    }
    trk_source_open_bytes(&trace->source, bytes, size_bytes);
    return open_source(out, trace, error);
}

static void drop_chunk(struct trk_trace *trace, struct cursor *cursor)
{
    if (cursor->records != NULL) {
        trace->decoded_bytes -= trace->index.chunks[cursor->chunk].events * sizeof *cursor->records;
        free(cursor->records);
        cursor->records = NULL;
    }
}

/* Forget how far reading has come. */
static void stop_reading(struct trk_trace *trace)
{
    for (size_t i = 0; trace->cursors != NULL && i < trace->index.stream_count; i++) {
        drop_chunk(trace, &trace->cursors[i]);
    }
    free(trace->cursors);
    trace->cursors = NULL;
    trk_linear_destroy(trace->linear);
    trace->linear = NULL;
    trace->number = 0;
}

void trk_trace_close(struct trk_trace *trace)
{
    if (trace == NULL) {
        return;
    }
    stop_reading(trace);
    trk_index_deinit(&trace->index);
    trk_columns_destroy(trace->columns);
    trk_unpack_deinit(&trace->unpack);
    trk_source_close(&trace->source);
    free(trace->header_json);
    free(trace);
}

/* ---- what is known --------------------------------------------------------------------------- */

const char *trk_trace_header_json(const struct trk_trace *trace)
{
    return trace->header_json;
}

size_t trk_trace_stream_count(const struct trk_trace *trace)
{
    return trace->index.stream_count;
}

const struct trk_trace_stream *trk_trace_stream(const struct trk_trace *trace, size_t index)
{
    assert(index < trace->index.stream_count);
    return &trace->index.streams[index].note;
}

void trk_trace_on_damage(struct trk_trace *trace, trk_trace_damage_fn *fn, void *context)
{
    trace->index.on_damage = fn;
    trace->index.damage_context = context;
}

enum trk_status trk_trace_scan(struct trk_trace *trace, struct trk_error *error)
{
    if (trace->scanned) {
        return TRK_OK;
    }
    trk_trace_damage_fn *on_damage = trace->index.on_damage;
    void *context = trace->index.damage_context;
    trk_index_deinit(&trace->index); /* of a scan that failed */
    trk_trace_on_damage(trace, on_damage, context);
    enum trk_status status =
        trk_scan_run(&trace->unpack, trace->first_chunk_offset, &trace->index, error);
    trace->scanned = status == TRK_OK;
    return status;
}

struct trk_trace_state trk_trace_state(const struct trk_trace *trace)
{
    struct trk_trace_state state = trace->index.state;
    state.complete = trace->scanned && state.ended && !state.cut && state.dropped == 0 &&
                     state.damaged_chunks == 0 && state.first_damage_offset == TRK_NOT_KNOWN;
    state.order_gaps = trace->linear != NULL ? trk_linear_gaps(trace->linear) : 0;
    return state;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Give the stream's next chunk to the order; it is decoded when its turn comes. */
static void expect_chunk(struct trk_trace *trace, size_t stream, uint32_t chunk)
{
    struct cursor *cursor = &trace->cursors[stream];
    cursor->chunk = chunk;
    cursor->next = 0;
    if (chunk == TRK_INDEX_NONE) {
        trk_linear_exhaust(trace->linear, stream);
    } else {
        trk_linear_expect(trace->linear, stream, trace->index.chunks[chunk].first_tsc);
    }
}

static enum trk_status start_reading(struct trk_trace *trace, struct trk_error *error)
{
    enum trk_status status = trk_trace_scan(trace, error);
    if (status != TRK_OK) {
        return status;
    }
    trace->cursors = calloc(trace->index.stream_count + 1, sizeof *trace->cursors);
    if (trace->cursors == NULL ||
        trk_linear_create(&trace->linear, trace->index.stream_count) != TRK_OK) {
        stop_reading(trace);
        return no_memory(error);
    }
    for (size_t i = 0; i < trace->index.stream_count; i++) {
        expect_chunk(trace, i, trace->index.streams[i].first_chunk);
    }
    return TRK_OK;
}

/* Decode the current chunk of a stream. TRK_E_DAMAGED, TRK_E_INCOMPLETE: it is not what it was. */
static enum trk_status decode_chunk(struct trk_trace *trace, struct cursor *cursor,
                                    struct trk_error *error)
{
    const struct trk_index_chunk *known = &trace->index.chunks[cursor->chunk];
    struct trk_format_chunk chunk;
    enum trk_status status = trk_unpack_header(&trace->unpack, known->offset, &chunk, error);
    if (status == TRK_OK &&
        (chunk.events != known->events || chunk.first_tsc != known->first_tsc)) {
        status = TRK_E_DAMAGED; /* the file was rewritten since the scan */
    }
    if (status != TRK_OK) {
        return status;
    }
    size_t size_bytes = chunk.events * sizeof *cursor->records;
    if (trace->decoded_bytes + size_bytes > DECODED_MAX_BYTES) {
        return trk_error_set(error, TRK_E_MEMORY, "more streams at a time than a reader holds");
    }
    cursor->records = malloc(size_bytes);
    if (cursor->records == NULL) {
        return no_memory(error);
    }
    trace->decoded_bytes += size_bytes;
    status = trk_chunk_events(&trace->unpack, trace->columns, known->offset, &chunk,
                              cursor->records, error);
    if (status != TRK_OK) {
        drop_chunk(trace, cursor);
    }
    return status;
}

/*
 * A chunk with right checksums that does not decode: its events are lost, and that is said, once.
 * It has its turn again after a rewind, so that the order stays what it was [F-31].
 */
static void give_up_chunk(struct trk_trace *trace, size_t stream)
{
    struct trk_index *index = &trace->index;
    struct trk_index_chunk *chunk = &index->chunks[trace->cursors[stream].chunk];
    expect_chunk(trace, stream, chunk->next);
    if (chunk->bad) {
        return;
    }
    chunk->bad = 1;
    index->state.damaged_chunks++;
    index->at_chunk = chunk->file_chunk;
    index->streams[stream].note.events -= chunk->events;
    trk_index_lose(index, &index->streams[stream], chunk->events);
    trk_index_damage(index, chunk->offset, "the events of a chunk are not readable");
}

/* Bring the stream's next event, which the order asks for. */
static enum trk_status load(struct trk_trace *trace, size_t stream, struct trk_error *error)
{
    struct cursor *cursor = &trace->cursors[stream];
    bool bad = trace->index.chunks[cursor->chunk].bad;
    enum trk_status status = bad ? TRK_E_DAMAGED : decode_chunk(trace, cursor, error);
    if (status == TRK_E_DAMAGED || status == TRK_E_INCOMPLETE) {
        give_up_chunk(trace, stream);
        return TRK_OK;
    }
    if (status == TRK_OK &&
        trk_linear_offer(trace->linear, stream, &cursor->records[0]) != TRK_OK) {
        status = no_memory(error);
    }
    return status;
}

/* The stream's current event has been given; offer the next one. */
static enum trk_status advance(struct trk_trace *trace, size_t stream, struct trk_error *error)
{
    struct cursor *cursor = &trace->cursors[stream];
    const struct trk_index_chunk *chunk = &trace->index.chunks[cursor->chunk];
    cursor->next++;
    if (cursor->next == chunk->events) {
        drop_chunk(trace, cursor);
        expect_chunk(trace, stream, chunk->next);
        return TRK_OK;
    }
    if (trk_linear_offer(trace->linear, stream, &cursor->records[cursor->next]) != TRK_OK) {
        return no_memory(error);
    }
    return TRK_OK;
}

static enum trk_status next_event(struct trk_trace *trace, struct trk_trace_event *out,
                                  struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    if (trace->linear == NULL) {
        status = start_reading(trace, error);
    }
    while (status == TRK_OK) {
        size_t stream;
        switch (trk_linear_next(trace->linear, &stream)) {
        case TRK_LINEAR_DONE:
            return TRK_E_END;
        case TRK_LINEAR_LOAD:
            status = load(trace, stream, error);
            break;
        case TRK_LINEAR_TAKE: {
            const struct cursor *cursor = &trace->cursors[stream];
            *out = (struct trk_trace_event){
                .number = trace->number++,
                .tsc = cursor->records[cursor->next].tsc,
                .file_offset = trace->index.chunks[cursor->chunk].offset,
                .stream = (uint32_t)stream,
                .event = cursor->records[cursor->next].event,
            };
            return advance(trace, stream, error);
        }
        }
    }
    return status;
}

enum trk_status trk_trace_next(struct trk_trace *trace, struct trk_trace_event *out,
                               struct trk_error *error)
{
    if (trace->failed != TRK_OK) {
        return trk_error_set(error, trace->failed, "reading has failed before");
    }
    enum trk_status status = next_event(trace, out, error);
    if (status != TRK_OK && status != TRK_E_END) {
        trace->failed = status;
    }
    return status;
}

enum trk_status trk_trace_rewind(struct trk_trace *trace, struct trk_error *error)
{
    (void)error; /* nothing can fail as long as the whole index stays in memory */
    stop_reading(trace);
    trace->failed = TRK_OK;
    return TRK_OK;
}
