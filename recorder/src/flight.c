#include "flight.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "flight_ring.h"

#define ZSTD_LEVEL 1 /* a third faster than 3, a twentieth larger */

static enum trk_status no_memory(struct trk_error *error)
{
    return trk_error_set(error, TRK_E_MEMORY, "no memory for the flight ring");
}

enum trk_status trk_flight_create(struct trk_flight **out, uint64_t budget_bytes,
                                  struct trk_error *error)
{
    struct trk_flight *flight = calloc(1, sizeof *flight);
    *out = NULL;
    if (flight == NULL)
        return no_memory(error);
    flight->budget_bytes = budget_bytes;
    flight->clock_shift = trk_writer_options_default().clock_shift;
    flight->keep_from = flight->hold_from = UINT64_MAX;
    flight->zstd = ZSTD_createCCtx();
    if (flight->zstd == NULL ||
        ZSTD_isError(ZSTD_CCtx_setParameter(flight->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)) ||
        trk_columns_create_encoder(&flight->columns, TRK_CHUNK_EVENTS) != TRK_OK) {
        trk_flight_destroy(flight);
        return no_memory(error);
    }
    *out = flight;
    return TRK_OK;
}

void trk_flight_set_clock_shift(struct trk_flight *flight, unsigned clock_shift)
{
    flight->clock_shift = clock_shift;
}

enum trk_status trk_flight_spill(struct trk_flight *flight, const char *path, uint64_t most_bytes,
                                 uint64_t left_bytes, struct trk_error *error)
{
    flight->spill = trk_flight_spill_create(path, most_bytes, left_bytes);
    return flight->spill != NULL ? TRK_OK : no_memory(error);
}

void trk_flight_block_release(struct trk_flight_block *block)
{
    if (atomic_fetch_sub_explicit(&block->users, 1, memory_order_acq_rel) != 1)
        return;
    if (block->spill != NULL)
        trk_flight_spill_take_back(block->spill, block->spill_offset, block->packed_bytes);
    free(block);
}

void trk_flight_destroy(struct trk_flight *flight)
{
    if (flight == NULL)
        return;
    for (size_t i = 0; i < flight->held; ++i)
        trk_flight_block_release(trk_flight_block_at(flight, i));
    for (size_t i = 0; i < flight->stream_count; ++i)
        free(flight->streams[i].open);
    free(flight->blocks);
    free(flight->streams);
    free(flight->pinned);
    trk_flight_spill_release(flight->spill);
    trk_columns_destroy(flight->columns);
    ZSTD_freeCCtx(flight->zstd);
    free(flight);
}

static struct trk_flight_stream *find_stream(struct trk_flight *flight, uint32_t stream_id)
{
    for (size_t i = flight->stream_count; i > 0; --i) { /* newer ones have the events */
        if (flight->streams[i - 1].note.stream_id == stream_id)
            return &flight->streams[i - 1];
    }
    return NULL;
}

enum trk_status trk_flight_stream(struct trk_flight *flight, const struct trk_trace_stream *note,
                                  struct trk_error *error)
{
    struct trk_flight_stream *stream = find_stream(flight, note->stream_id);
    if (stream == NULL) {
        if (flight->stream_count == flight->stream_room) {
            size_t room = flight->stream_room == 0 ? 16 : 2 * flight->stream_room;
            struct trk_flight_stream *streams = realloc(flight->streams, room * sizeof *streams);
            if (streams == NULL)
                return no_memory(error);
            flight->streams = streams;
            flight->stream_room = room;
        }
        stream = &flight->streams[flight->stream_count++];
        *stream = (struct trk_flight_stream){0};
    }
    stream->note = *note;
    return TRK_OK;
}

static void forget_oldest(struct trk_flight *flight)
{
    struct trk_flight_block *block = trk_flight_block_at(flight, 0);
    if (flight->spilled > 0)
        flight->spilled -= 1;
    else
        flight->bytes -= sizeof *block + block->packed_bytes;
    flight->forgotten += block->count - block->losses;
    flight->streams[block->stream].gone = block->first + block->count;
    flight->oldest = (flight->oldest + 1) & (flight->room - 1);
    flight->held -= 1;
    trk_flight_block_release(block);
}

static bool make_room(struct trk_flight *flight)
{
    if (flight->held < flight->room)
        return true;
    size_t room = flight->room == 0 ? 64 : 2 * flight->room;
    struct trk_flight_block **blocks = calloc(room, sizeof(void *));
    if (blocks == NULL)
        return false;
    for (size_t i = 0; i < flight->held; ++i)
        blocks[i] = trk_flight_block_at(flight, i);
    free(flight->blocks);
    flight->blocks = blocks;
    flight->oldest = 0;
    flight->room = room;
    return true;
}

static struct trk_flight_block *pack(struct trk_flight *flight, const struct trk_flight_open *open)
{
    const uint8_t *payload;
    size_t raw = trk_columns_encode(flight->columns, open->records, open->count,
                                    flight->clock_shift, &payload);
    size_t bound = ZSTD_compressBound(raw);
    struct trk_flight_block *block = malloc(sizeof *block + bound);
    if (block == NULL)
        return NULL;
    size_t packed = ZSTD_compress2(flight->zstd, block->packed, bound, payload, raw);
    if (ZSTD_isError(packed)) {
        free(block);
        return NULL;
    }
    struct trk_flight_block *fitting = realloc(block, sizeof *block + packed);
    block = fitting != NULL ? fitting : block;
    atomic_init(&block->users, 1);
    block->spill = NULL;
    block->raw_bytes = raw;
    block->packed_bytes = packed;
    block->count = (uint32_t)open->count;
    block->losses = 0;
    block->lost = 0;
    for (size_t i = 0; i < open->count; ++i) {
        const struct trk_event *event = &open->records[i].event;
        block->losses += event->type == TRK_EVENT_DROP;
        block->lost += event->type == TRK_EVENT_DROP ? event->argument : 0;
    }
    block->first_tsc = open->records[0].tsc >> flight->clock_shift << flight->clock_shift;
    block->last_tsc = open->records[open->count - 1].tsc;
    return block;
}

/* Turn a stream's open chunk into a block, whatever room it takes. */
static enum trk_status close_chunk(struct trk_flight *flight, size_t stream,
                                   struct trk_error *error)
{
    struct trk_flight_open *open = flight->streams[stream].open;
    if (open == NULL || open->count == 0)
        return TRK_OK;
    struct trk_flight_block *block = make_room(flight) ? pack(flight, open) : NULL;
    if (block == NULL)
        return no_memory(error);
    block->stream = (uint32_t)stream;
    block->number = flight->next_number++;
    block->first = flight->streams[stream].records;
    flight->streams[stream].records += block->count;
    for (size_t i = 0; i < flight->pinned_count; ++i) {
        struct trk_flight_pinned *pinned = &flight->pinned[i];
        if (pinned->stream == stream && pinned->block == TRK_FLIGHT_IN_OPEN)
            pinned->block = block->number;
    }
    flight->blocks[(flight->oldest + flight->held) & (flight->room - 1)] = block;
    flight->held += 1;
    flight->bytes += sizeof *block + block->packed_bytes;
    flight->bytes_ever += sizeof *block + block->packed_bytes;
    flight->streams[stream].events += block->count - block->losses + block->lost;
    open->count = 0;
    return TRK_OK;
}

/* Put the oldest one that is in memory into the file. Views may have it: they keep what it was. */
static bool spill_one(struct trk_flight *flight)
{
    size_t at = (flight->oldest + flight->spilled) & (flight->room - 1);
    struct trk_flight_block *block = flight->blocks[at];
    struct trk_flight_block *there = malloc(sizeof *there);
    if (there == NULL || !trk_flight_spill_put(flight->spill, block->packed, block->packed_bytes,
                                               &there->spill_offset)) {
        free(there);
        return false;
    }
    const size_t behind_users = offsetof(struct trk_flight_block, stream);
    uint64_t offset = there->spill_offset;
    memcpy((char *)there + behind_users, (const char *)block + behind_users,
           sizeof *there - behind_users);
    atomic_init(&there->users, 1);
    there->spill = flight->spill;
    there->spill_offset = offset;
    flight->blocks[at] = there;
    flight->bytes -= sizeof *block + block->packed_bytes;
    flight->spilled += 1;
    trk_flight_block_release(block);
    return true;
}

/*
 * Keep to the budget, but for so many of the newest blocks; and to twice the budget and the file
 * where the oldest one is still wanted.
 */
static void forget(struct trk_flight *flight, size_t newest)
{
    while (flight->held > newest) {
        bool kept = trk_flight_block_at(flight, 0)->number >= flight->keep_from;
        bool fits = flight->bytes / (kept ? 2 : 1) <= flight->budget_bytes;
        if (fits && (kept || flight->spilled == 0))
            break;
        if (trk_flight_block_at(flight, 0)->number >= flight->hold_from)
            break;
        bool spillable = kept && flight->spill != NULL && flight->spilled + newest < flight->held;
        if (!spillable || !spill_one(flight))
            forget_oldest(flight);
    }
}

/* Whether the second one says again what the first one said, of the same tracker. */
static bool declares_again(const struct trk_event *first, const struct trk_event *second)
{
    return first->type == second->type && first->page == second->page &&
           (first->type != TRK_EVENT_LOCKS || first->context == second->context);
}

bool trk_flight_is_outdated(const struct trk_flight *flight, size_t i, uint64_t before)
{
    const struct trk_flight_pinned *self = &flight->pinned[i];
    for (size_t k = i + 1; k < flight->pinned_count; ++k) {
        const struct trk_flight_pinned *newer = &flight->pinned[k];
        if (newer->block < before && declares_again(&self->record.event, &newer->record.event))
            return true;
    }
    return false;
}

/* Let go what no view needs: the ring has forgotten a newer one as well. */
static void unpin(struct trk_flight *flight)
{
    uint64_t oldest =
        flight->held > 0 ? trk_flight_block_at(flight, 0)->number : flight->next_number;
    size_t kept = 0;
    for (size_t i = 0; i < flight->pinned_count; ++i) {
        if (!trk_flight_is_outdated(flight, i, oldest))
            flight->pinned[kept++] = flight->pinned[i];
    }
    flight->pinned_count = kept;
}

static enum trk_status pin(struct trk_flight *flight, size_t stream,
                           const struct trk_record *record, struct trk_error *error)
{
    uint8_t type = record->event.type;
    if (type != TRK_EVENT_TRACKER && type != TRK_EVENT_FOREIGN && type != TRK_EVENT_LOCKS)
        return TRK_OK;
    bool full = flight->pinned_count == flight->pinned_room;
    if (full)
        unpin(flight);
    if (full && 2 * flight->pinned_count >= flight->pinned_room) {
        size_t room = flight->pinned_room == 0 ? 64 : 2 * flight->pinned_room;
        struct trk_flight_pinned *pinned = realloc(flight->pinned, room * sizeof *pinned);
        if (pinned == NULL)
            return no_memory(error);
        flight->pinned = pinned;
        flight->pinned_room = room;
    }
    flight->pinned[flight->pinned_count++] =
        (struct trk_flight_pinned){(uint32_t)stream, TRK_FLIGHT_IN_OPEN, *record};
    return TRK_OK;
}

enum trk_status trk_flight_append(struct trk_flight *flight, uint32_t stream_id,
                                  const struct trk_record *records, size_t count,
                                  struct trk_error *error)
{
    struct trk_flight_stream *stream = find_stream(flight, stream_id);
    if (stream == NULL)
        return trk_error_set(error, TRK_E_ARGUMENT, "stream %u has not been named", stream_id);
    if (stream->open == NULL) {
        stream->open = malloc(sizeof *stream->open);
        if (stream->open == NULL)
            return no_memory(error);
        stream->open->count = 0;
    }
    size_t index = (size_t)(stream - flight->streams);
    for (size_t i = 0; i < count; ++i) {
        enum trk_status status = pin(flight, index, &records[i], error);
        stream->open->records[stream->open->count++] = records[i];
        if (status == TRK_OK && stream->open->count == TRK_CHUNK_EVENTS) {
            status = close_chunk(flight, index, error);
            forget(flight, 1);
        }
        if (status != TRK_OK)
            return status;
    }
    return TRK_OK;
}

static enum trk_status end_chunk(struct trk_flight *flight, size_t stream, struct trk_error *error)
{
    enum trk_status status = close_chunk(flight, stream, error);
    if (status != TRK_OK)
        return status;
    free(flight->streams[stream].open); /* a stream that has ended needs none */
    flight->streams[stream].open = NULL;
    return TRK_OK;
}

enum trk_status trk_flight_end(struct trk_flight *flight, uint32_t stream_id,
                               struct trk_error *error)
{
    const struct trk_flight_stream *stream = find_stream(flight, stream_id);
    if (stream == NULL)
        return TRK_OK;
    enum trk_status status = end_chunk(flight, (size_t)(stream - flight->streams), error);
    forget(flight, 1);
    return status;
}

enum trk_status trk_flight_flush(struct trk_flight *flight, struct trk_error *error)
{
    uint64_t first = flight->next_number;
    for (size_t i = 0; i < flight->stream_count; ++i) {
        enum trk_status status = end_chunk(flight, i, error);
        if (status != TRK_OK)
            return status;
    }
    size_t made = (size_t)(flight->next_number - first);
    forget(flight, made > 0 ? made : 1); /* all of these are as new: none makes room for others */
    return TRK_OK;
}

void trk_flight_hold(struct trk_flight *flight, bool hold)
{
    flight->hold_from = hold ? flight->next_number : UINT64_MAX;
}

uint64_t trk_flight_records(struct trk_flight *flight, uint32_t stream_id)
{
    const struct trk_flight_stream *stream = find_stream(flight, stream_id);
    if (stream == NULL)
        return 0;
    return stream->records + (stream->open != NULL ? stream->open->count : 0);
}

void trk_flight_keep_nothing(struct trk_flight *flight)
{
    flight->keep_from = UINT64_MAX;
}

uint64_t trk_flight_bytes_ever(const struct trk_flight *flight)
{
    return flight->bytes_ever;
}

uint64_t trk_flight_next_number(const struct trk_flight *flight)
{
    return flight->next_number;
}

bool trk_flight_has_tracker(const struct trk_flight *flight)
{
    for (size_t i = 0; i < flight->pinned_count; ++i) {
        if (flight->pinned[i].record.event.type == TRK_EVENT_TRACKER)
            return true;
    }
    return false;
}

uint64_t trk_flight_forgotten(const struct trk_flight *flight)
{
    return flight->forgotten;
}
