/* What was taken of a flight ring: written to a file, given back. */
#include <stdlib.h>
#include <zstd.h>

#include "flight.h"
#include "flight_block.h"

/* The writer holds a chunk of each stream that has begun: most of very many have ended. */
#define STREAMS_AT_ONCE 64u
/* Of more streams than that, those that nothing is left of are one: a chunk each would be most of
 * the dump, and a file takes no more than 4096. */
#define STREAMS_ALONE 256u

void trk_flight_view_destroy(struct trk_flight_view *view)
{
    if (view == NULL)
        return;
    for (size_t i = 0; i < view->block_count; ++i)
        trk_flight_block_release(view->blocks[i]);
    free(view->blocks);
    free(view->streams);
    free(view->missing);
    free(view->pinned);
    free(view->pinned_streams);
    trk_flight_state_release(view->state);
    free(view);
}

size_t trk_flight_view_streams(const struct trk_flight_view *view)
{
    return view->stream_count;
}

const struct trk_trace_stream *trk_flight_view_stream(const struct trk_flight_view *view, size_t i)
{
    return &view->streams[i];
}

const struct trk_flight_state *trk_flight_view_state(const struct trk_flight_view *view)
{
    return view->state;
}

unsigned trk_flight_view_clock_shift(const struct trk_flight_view *view)
{
    return view->clock_shift;
}

uint64_t trk_flight_view_before(const struct trk_flight_view *view, size_t i)
{
    return trk_flight_state_before(view->state, i) - trk_flight_state_prologue(view->state, i);
}

bool trk_flight_view_has(const struct trk_flight_view *view, uint32_t stream_id, uint64_t record)
{
    for (size_t i = 0; i < view->block_count; ++i) {
        const struct trk_flight_block *block = view->blocks[i];
        uint64_t before = trk_flight_state_before(view->state, block->stream);
        if (view->streams[block->stream].stream_id == stream_id && record >= before &&
            record >= block->first && record - block->first < block->count)
            return true;
    }
    return false;
}

struct work {
    struct trk_columns *decoder;
    uint8_t *raw;
    size_t raw_room;
    uint8_t *packed; /* out of the ring's file */
    size_t packed_room;
    struct trk_record *records;
};

static enum trk_status no_memory(struct trk_error *error)
{
    return trk_error_set(error, TRK_E_MEMORY, "no memory to write the flight ring");
}

/* What of the time before the state is needed of a stream. */
static enum trk_status write_prologue(const struct trk_flight_view *view, uint32_t stream,
                                      struct trk_writer *writer, struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    size_t count = view->state != NULL ? view->state->prologue_count : 0;
    for (size_t i = 0; i < count && status == TRK_OK; ++i) {
        const struct trk_flight_prologue *event = &view->state->prologue[i];
        if (event->stream == stream)
            status = trk_writer_append(writer, view->streams[stream].stream_id, &event->record, 1,
                                       0, error);
    }
    return status;
}

/*
 * A stream's first events: what is pinned of it, and what is missing. That stands at the begin of
 * the whole dump, or behind what is pinned: nothing of other streams is before it.
 */
static enum trk_status begin_stream(const struct trk_flight_view *view, uint32_t stream,
                                    struct trk_writer *writer, struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    uint32_t id = view->streams[stream].stream_id;
    struct trk_record missing = {
        .tsc = view->begin_ticks,
        .event = {.type = TRK_EVENT_DROP, .argument = view->missing[stream]},
    };
    for (size_t i = 0; i < view->pinned_count && status == TRK_OK; ++i) {
        if (view->pinned_streams[i] != stream)
            continue;
        if (view->pinned[i].tsc > missing.tsc)
            missing.tsc = view->pinned[i].tsc;
        status = trk_writer_append(writer, id, &view->pinned[i], 1, 0, error);
    }
    if (status == TRK_OK && missing.event.argument > 0)
        status = trk_writer_append(writer, id, &missing, 1, 0, error);
    return status == TRK_OK ? write_prologue(view, stream, writer, error) : status;
}

static bool make_room(uint8_t **bytes, size_t *room, size_t size)
{
    if (*room >= size)
        return true;
    uint8_t *larger = realloc(*bytes, size);
    if (larger == NULL)
        return false;
    *bytes = larger;
    *room = size;
    return true;
}

/* What a block has, decompressed to work->raw. */
static enum trk_status open_block(const struct trk_flight_block *block, struct work *work,
                                  struct trk_error *error)
{
    const uint8_t *packed = block->packed;
    if (!make_room(&work->raw, &work->raw_room, block->raw_bytes) ||
        (block->spill != NULL &&
         !make_room(&work->packed, &work->packed_room, block->packed_bytes)))
        return no_memory(error);
    if (block->spill != NULL) {
        if (!trk_flight_spill_get(block->spill, block->spill_offset, work->packed,
                                  block->packed_bytes))
            return trk_error_set(error, TRK_E_SYSTEM, "the flight ring's file cannot be read");
        packed = work->packed;
    }
    size_t got = ZSTD_decompress(work->raw, work->raw_room, packed, block->packed_bytes);
    return !ZSTD_isError(got) && got == block->raw_bytes
               ? TRK_OK
               : trk_error_set(error, TRK_E_DAMAGED, "the flight ring's memory was written over");
}

static enum trk_status write_block(const struct trk_flight_view *view,
                                   const struct trk_flight_block *block, struct work *work,
                                   struct trk_writer *writer, struct trk_error *error)
{
    struct trk_columns_input input = {
        .size_bytes = block->raw_bytes,
        .count = block->count,
        .clock_shift = view->clock_shift,
        .first_tsc = block->first_tsc,
    };
    enum trk_status status = open_block(block, work, error);
    if (status != TRK_OK)
        return status;
    input.bytes = work->raw;
    if (trk_columns_decode(work->decoder, &input, work->records) != TRK_OK)
        return trk_error_set(error, TRK_E_DAMAGED, "the flight ring's memory was written over");
    uint64_t before = trk_flight_state_before(view->state, block->stream);
    size_t skipped = before > block->first ? (size_t)(before - block->first) : 0;
    size_t end = block->count;
    while (end > skipped && work->records[end - 1].tsc > view->end_ticks)
        --end;
    return end > skipped ? trk_writer_append(writer, view->streams[block->stream].stream_id,
                                             work->records + skipped, end - skipped, 0, error)
                         : TRK_OK;
}

/* Which streams the view has something of but what is missing. */
static void find_left(const struct trk_flight_view *view, bool *left)
{
    for (size_t i = 0; i < view->block_count; ++i)
        left[view->blocks[i]->stream] = true;
    for (size_t i = 0; i < view->pinned_count; ++i)
        left[view->pinned_streams[i]] = true;
    size_t prologue = view->state != NULL ? view->state->prologue_count : 0;
    for (size_t i = 0; i < prologue; ++i)
        left[view->state->prologue[i].stream] = true;
}

bool trk_flight_view_gone(const struct trk_flight_view *view, uint64_t *events)
{
    bool *left = calloc(view->stream_count + 1, sizeof *left);
    if (left == NULL)
        return false;
    find_left(view, left);
    for (size_t i = 0; i < view->stream_count; ++i)
        events[i] = left[i] || view->stream_count <= STREAMS_ALONE ? 0 : view->missing[i];
    free(left);
    return true;
}

/* What is missing of all streams that have nothing else, as one that comes behind them. */
static enum trk_status write_rest(const struct trk_flight_view *view, const bool *left,
                                  struct trk_writer *writer, struct trk_error *error)
{
    struct trk_trace_stream rest = {.stream_id = TRK_FORGOTTEN_STREAM, .name = "(forgotten)"};
    struct trk_record missing = {.tsc = view->begin_ticks, .event = {.type = TRK_EVENT_DROP}};
    for (size_t i = 0; i < view->stream_count; ++i)
        missing.event.argument += left[i] ? 0 : view->missing[i];
    if (missing.event.argument == 0)
        return TRK_OK;
    enum trk_status status = trk_writer_stream(writer, &rest, error);
    return status == TRK_OK ? trk_writer_append(writer, rest.stream_id, &missing, 1, 0, error)
                            : status;
}

/*
 * All streams begin: each by itself, or, where there are many, those that are left. Each is known
 * before anything of another one is written [F-15].
 */
static enum trk_status begin_streams(const struct trk_flight_view *view, struct trk_writer *writer,
                                     struct trk_error *error)
{
    const bool all = view->stream_count <= STREAMS_ALONE;
    size_t begun = 0;
    enum trk_status status = TRK_OK;
    bool *left = calloc(view->stream_count + 1, sizeof *left);
    if (left == NULL)
        return no_memory(error);
    find_left(view, left);
    for (size_t i = 0; i < view->stream_count; ++i)
        left[i] = left[i] || all;
    for (size_t i = 0; i < view->stream_count && status == TRK_OK; ++i) {
        if (left[i])
            status = trk_writer_stream(writer, &view->streams[i], error);
    }
    if (status == TRK_OK)
        status = write_rest(view, left, writer, error);
    for (uint32_t i = 0; i < view->stream_count && status == TRK_OK; ++i) {
        if (!left[i])
            continue;
        status = begin_stream(view, i, writer, error);
        if (status == TRK_OK && ++begun % STREAMS_AT_ONCE == 0)
            status = trk_writer_flush(writer, error);
    }
    free(left);
    return status;
}

enum trk_status trk_flight_view_write(const struct trk_flight_view *view, struct trk_writer *writer,
                                      struct trk_error *error)
{
    struct work work = {0};
    enum trk_status status = TRK_OK;
    work.records = malloc(TRK_CHUNK_EVENTS * sizeof *work.records);
    if (work.records == NULL || trk_columns_create_decoder(&work.decoder) != TRK_OK)
        goto no_memory;
    if (view->state != NULL)
        status =
            trk_writer_snapshot(writer, view->state->snapshot, view->state->snapshot_bytes, error);
    if (status == TRK_OK)
        status = begin_streams(view, writer, error);
    for (size_t i = 0; i < view->block_count && status == TRK_OK; ++i)
        status = write_block(view, view->blocks[i], &work, writer, error);
    goto out;
no_memory:
    status = no_memory(error);
out:
    trk_columns_destroy(work.decoder);
    free(work.raw);
    free(work.packed);
    free(work.records);
    return status;
}
