/* Reading the events of an open trace in canonical order; of damaged chunks none [F-33]. */
#include "reader.h"

#include <errno.h>
#include <stdlib.h>

#include "chunk_events.h"
#include "places.h"
#include "recorder/packing.h"

/*
 * Decoded chunks that may be held at one time, all streams together. A recording has one for each
 * thread that lives at the time; the limit is for files that claim otherwise.
 */
#define DECODED_MAX_BYTES (1ull << 30)

static enum trk_status no_memory(struct trk_error *error)
{
    return trk_error_set(error, TRK_E_MEMORY, "no memory to read the trace");
}

static void drop_chunk(struct trk_trace *trace, struct trk_cursor *cursor)
{
    if (cursor->records != NULL) {
        trace->decoded_bytes -= trace->index.chunks[cursor->chunk].events * sizeof *cursor->records;
        free(cursor->records);
        cursor->records = NULL;
    }
}

void trk_reader_stop(struct trk_trace *trace)
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

/* Give the stream's next chunk to the order; it is decoded when its turn comes. */
static void expect_chunk(struct trk_trace *trace, size_t stream, uint32_t chunk)
{
    struct trk_cursor *cursor = &trace->cursors[stream];
    cursor->chunk = chunk;
    cursor->next = 0;
    if (chunk == TRK_INDEX_NONE) {
        trk_linear_exhaust(trace->linear, stream);
    } else {
        trk_linear_expect(trace->linear, stream, trace->index.chunks[chunk].first_tsc);
    }
}

/* [F-37] Holds and timelines that a snapshot says were before the first event. */
static enum trk_status begin_in_middle(struct trk_trace *trace)
{
    struct trk_unpacking in = {0};
    in.at = trk_trace_snapshot(trace, &in.end);
    enum trk_status status = TRK_OK;
    for (int timelines = 0; timelines < 2 && in.at != NULL; timelines++) {
        uint64_t count = trk_unpacking_number(&in, UINT64_MAX);
        for (uint64_t i = 0; i < count && !in.failed && status == TRK_OK; i++) {
            uint32_t number = (uint32_t)trk_unpacking_number(&in, UINT32_MAX);
            uint64_t value = trk_unpacking_number(&in, UINT64_MAX);
            status = trk_linear_begin(trace->linear, timelines != 0, number, value);
        }
    }
    if (in.failed) {
        trace->index.at_chunk = trace->index.snapshot_chunk;
        trk_index_damage(&trace->index, trace->index.snapshot_offset,
                         "the snapshot is not readable");
    }
    return status;
}

/* A stream's first event, or that behind the checkpoint. */
static void begin_stream(struct trk_trace *trace, size_t stream)
{
    const struct trk_index *index = &trace->index;
    uint64_t ordinal = trace->begin != NULL ? trace->begin[stream] : 0;
    uint32_t at = index->streams[stream].first_chunk;
    while (at != TRK_INDEX_NONE &&
           index->chunks[at].first_ordinal + index->chunks[at].events <= ordinal) {
        at = index->chunks[at].next;
    }
    expect_chunk(trace, stream, at);
    if (at != TRK_INDEX_NONE && index->chunks[at].first_ordinal < ordinal) {
        trace->cursors[stream].next = (uint32_t)(ordinal - index->chunks[at].first_ordinal);
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
        trk_linear_create(&trace->linear, trace->index.stream_count, trace->types) != TRK_OK) {
        trk_reader_stop(trace);
        return no_memory(error);
    }
    if (begin_in_middle(trace) != TRK_OK) {
        trk_reader_stop(trace);
        return no_memory(error);
    }
    trace->expected = 0;
    for (size_t i = 0; i < trace->index.stream_count; i++) {
        begin_stream(trace, i);
        trace->expected += trace->index.streams[i].note.events;
    }
    return TRK_OK;
}

/* [F-42] Events of which the index says that they are not there are given, and it is damage. */
static void check_places(struct trk_index *index, uint32_t at, uint32_t met)
{
    struct trk_index_chunk *chunk = &index->chunks[at];
    if (!trk_places_lack(chunk->places, met)) {
        return;
    }
    chunk->places = 0; /* said once */
    index->state.damaged_chunks++;
    index->at_chunk = chunk->file_chunk;
    trk_index_damage(index, chunk->offset,
                     "an index has other places than the events of this chunk");
}

enum trk_status trk_reader_decode(struct trk_trace *trace, uint32_t chunk,
                                  struct trk_record *records, struct trk_error *error)
{
    const struct trk_index_chunk *known = &trace->index.chunks[chunk];
    struct trk_format_chunk header;
    enum trk_status status = trk_unpack_header(&trace->unpack, known->offset, &header, error);
    if (status == TRK_OK &&
        (header.events != known->events || header.first_tsc != known->first_tsc)) {
        status = TRK_E_DAMAGED; /* the file was rewritten since the scan */
    }
    if (status != TRK_OK) {
        return status;
    }
    uint32_t met = 0;
    struct trk_chunk_reader reader = {&trace->unpack, trace->columns, trace->types, &met};
    status = trk_chunk_events(&reader, known->offset, &header, records, error);
    if (status == TRK_OK) {
        check_places(&trace->index, chunk, met);
    }
    return status;
}

/* Decode the current chunk of a stream. TRK_E_DAMAGED, TRK_E_INCOMPLETE: it is not what it was. */
static enum trk_status decode_chunk(struct trk_trace *trace, struct trk_cursor *cursor,
                                    struct trk_error *error)
{
    size_t size_bytes = trace->index.chunks[cursor->chunk].events * sizeof *cursor->records;
    if (trace->decoded_bytes + size_bytes > DECODED_MAX_BYTES) {
        return trk_error_set(error, TRK_E_MEMORY, "more streams at a time than a reader holds");
    }
    cursor->records = malloc(size_bytes);
    if (cursor->records == NULL) {
        return no_memory(error);
    }
    trace->decoded_bytes += size_bytes;
    enum trk_status status = trk_reader_decode(trace, cursor->chunk, cursor->records, error);
    if (status != TRK_OK) {
        drop_chunk(trace, cursor);
    }
    return status;
}

void trk_reader_lose_chunk(struct trk_trace *trace, uint32_t at)
{
    struct trk_index *index = &trace->index;
    struct trk_index_chunk *chunk = &index->chunks[at];
    if (chunk->bad) {
        return;
    }
    chunk->bad = 1;
    index->state.damaged_chunks++;
    index->at_chunk = chunk->file_chunk;
    index->streams[chunk->stream].note.events -= chunk->events;
    trk_index_lose(index, &index->streams[chunk->stream], chunk->events);
    trk_index_damage(index, chunk->offset, "the events of a chunk are not readable");
}

/*
 * [F-33] A chunk with right checksums that does not decode: its events are lost, and that is said,
 * once. It has its turn again after a rewind, so that the order stays what it was [F-31].
 */
static void give_up_chunk(struct trk_trace *trace, size_t stream)
{
    uint32_t chunk = trace->cursors[stream].chunk;
    expect_chunk(trace, stream, trace->index.chunks[chunk].next);
    trk_reader_lose_chunk(trace, chunk);
}

/* Bring the stream's next event, which the order asks for. */
static enum trk_status load(struct trk_trace *trace, size_t stream, struct trk_error *error)
{
    struct trk_cursor *cursor = &trace->cursors[stream];
    bool bad = trace->index.chunks[cursor->chunk].bad;
    enum trk_status status = bad ? TRK_E_DAMAGED : decode_chunk(trace, cursor, error);
    if (trk_unpack_is_damage(status)) {
        give_up_chunk(trace, stream);
        return TRK_OK;
    }
    trk_scan_tell(&trace->watch, false, trace->number, trace->expected);
    if (status == TRK_OK &&
        trk_linear_offer(trace->linear, stream, &cursor->records[cursor->next]) != TRK_OK) {
        status = no_memory(error);
    }
    return status;
}

/* The stream's current event has been given; offer the next one. */
static enum trk_status advance(struct trk_trace *trace, size_t stream, struct trk_error *error)
{
    struct trk_cursor *cursor = &trace->cursors[stream];
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

/* [F-36] What is required changes what other events mean: of those no verdict can be given. */
static enum trk_status check_type(const struct trk_trace *trace, const struct trk_cursor *cursor,
                                  struct trk_error *error)
{
    struct trk_trace_type type;
    uint8_t id = cursor->records[cursor->next].event.type;
    if (!trace->judged || !trk_trace_type(trace, id, &type) || type.known || !type.required) {
        return TRK_OK;
    }
    trk_error_set(error, TRK_E_VERSION,
                  "events of type %u (%.32s) are required, and this version does not know them", id,
                  type.name);
    if (error != NULL) {
        error->event_number = trace->number;
        error->file_offset = trace->index.chunks[cursor->chunk].offset;
    }
    return TRK_E_VERSION;
}

void trk_trace_judge(struct trk_trace *trace, bool judged)
{
    trace->judged = judged;
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
        uint64_t gaps = trk_linear_gaps(trace->linear);
        switch (trk_linear_next(trace->linear, &stream)) {
        case TRK_LINEAR_DONE:
            trk_scan_tell(&trace->watch, false, trace->number, trace->number);
            return TRK_E_END;
        case TRK_LINEAR_LOAD:
            status = load(trace, stream, error);
            break;
        case TRK_LINEAR_TAKE: {
            const struct trk_cursor *cursor = &trace->cursors[stream];
            status = check_type(trace, cursor, error);
            if (status != TRK_OK) {
                return status;
            }
            *out = (struct trk_trace_event){
                .number = trace->number++,
                .tsc = cursor->records[cursor->next].tsc,
                .file_offset = trace->index.chunks[cursor->chunk].offset,
                .stream = (uint32_t)stream,
                .guessed = trk_linear_gaps(trace->linear) > gaps,
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
    if (trace->stop != NULL && *trace->stop != 0) {
        return trk_error_set_errno(error, TRK_E_SYSTEM, EINTR, "%s", "");
    }
    enum trk_status status = next_event(trace, out, error);
    if (status != TRK_OK && status != TRK_E_END) {
        trace->failed = status;
    }
    return status;
}

void trk_trace_stop_on(struct trk_trace *trace, const volatile sig_atomic_t *flag)
{
    trace->stop = flag;
}

enum trk_status trk_trace_rewind(struct trk_trace *trace, struct trk_error *error)
{
    (void)error; /* nothing can fail as long as the whole index stays in memory */
    trk_reader_stop(trace);
    trk_checkpoint_state_deinit(&trace->checkpoint);
    free(trace->begin);
    trace->begin = NULL;
    trace->failed = TRK_OK;
    return TRK_OK;
}
