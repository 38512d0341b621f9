#include "quick.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "index_chunk.h"
#include "note.h"
#include "totals.h"

/*
 * A file without its end is looked through backwards so far for its last INDEX, which comes with
 * each 64 chunks.
 */
#define SEARCH_MAX_BYTES (UINT64_C(256) << 20)
/* The indexes of a file of 10 GB. What is above is read twice. */
#define KEPT_MAX_BYTES (32u << 20)

struct found {
    uint64_t offset;
    uint8_t *payload; /* NULL: it is read again */
    size_t size_bytes;
};

struct quick {
    const struct trk_scan_target *target;
    struct trk_error *error;
    uint8_t *totals; /* END's payload */
    struct trk_totals_head head;
    uint32_t seen;         /* of head.chunks, found by now */
    struct found *indexes; /* the INDEX chunks, last first */
    size_t index_count, index_room;
    size_t kept_bytes;           /* payloads of indexes that are kept */
    struct trk_index_entry last; /* that an index has; its offset 0: none */
};

/* Whatever is not as it should be: the file has to be read as a whole. */
static enum trk_status other_way(enum trk_status status)
{
    return trk_unpack_is_damage(status) ? TRK_E_END : status;
}

/* Read a whole chunk of a kind that stands at an offset. */
static enum trk_status read_chunk(struct quick *quick, uint64_t offset, uint8_t kind,
                                  struct trk_format_chunk *chunk)
{
    struct trk_unpack *unpack = quick->target->unpack;
    enum trk_status status = trk_unpack_header(unpack, offset, chunk, quick->error);
    if (status == TRK_OK && (chunk->kind != kind || chunk->codec != TRK_FORMAT_CODEC_ZSTD)) {
        status = TRK_E_DAMAGED;
    }
    if (status == TRK_OK) {
        status = trk_unpack_payload(unpack, offset, chunk, quick->error);
    }
    quick->seen += status == TRK_OK;
    return other_way(status);
}

/* [F-16] [F-17] */
static enum trk_status read_end(struct quick *quick, uint64_t *last_index)
{
    struct trk_unpack *unpack = quick->target->unpack;
    uint64_t size_bytes = unpack->source->size_bytes;
    struct trk_format_end end;
    struct trk_format_chunk chunk;
    if (size_bytes < TRK_FORMAT_END_BYTES) {
        return TRK_E_END;
    }
    enum trk_status status =
        trk_unpack_end(unpack, size_bytes - TRK_FORMAT_END_BYTES, &end, quick->error);
    if (status == TRK_OK) {
        status = read_chunk(quick, end.chunk_offset, TRK_FORMAT_END, &chunk);
    }
    if (status != TRK_OK) {
        return status;
    }
    if (!trk_totals_head(unpack->raw, chunk.raw_bytes, &quick->head) ||
        quick->head.tail_bytes < TRK_FORMAT_TOTALS_TAIL_BYTES ||
        end.chunk_offset + trk_format_chunk_span(&chunk) + TRK_FORMAT_END_BYTES != size_bytes) {
        return TRK_E_END;
    }
    quick->totals = malloc(chunk.raw_bytes);
    if (quick->totals == NULL) {
        return TRK_E_MEMORY;
    }
    memcpy(quick->totals, unpack->raw, chunk.raw_bytes);
    /* Behind it a later minor version may have more [F-41]. */
    *last_index = trk_bytes_get64(quick->totals + chunk.raw_bytes - quick->head.tail_bytes);
    return *last_index == 0 || quick->head.chunks != chunk.file_chunk + 1 ? TRK_E_END : TRK_OK;
}

/* Keep what was read of an INDEX. False: no memory. */
static bool keep(struct quick *quick, struct found *index)
{
    index->payload = malloc(index->size_bytes + 1);
    if (index->payload == NULL) {
        return false;
    }
    memcpy(index->payload, quick->target->unpack->raw, index->size_bytes);
    quick->kept_bytes += index->size_bytes;
    return true;
}

/* [F-35] The offsets of all INDEX chunks, from the last one back. */
static enum trk_status find_indexes(struct quick *quick, uint64_t offset)
{
    struct trk_unpack *unpack = quick->target->unpack;
    while (offset != 0) {
        struct trk_format_chunk chunk;
        struct trk_index_chunk_head head;
        enum trk_status status = read_chunk(quick, offset, TRK_FORMAT_INDEX, &chunk);
        if (status != TRK_OK) {
            return status;
        }
        if (!trk_index_chunk_head(unpack->raw, chunk.raw_bytes, &head) || head.previous >= offset) {
            return TRK_E_END;
        }
        if (quick->index_count == quick->index_room) {
            size_t room = quick->index_room == 0 ? 64 : 2 * quick->index_room;
            struct found *indexes = realloc(quick->indexes, room * sizeof *indexes);
            if (indexes == NULL) {
                return TRK_E_MEMORY;
            }
            quick->indexes = indexes;
            quick->index_room = room;
        }
        struct found *index = &quick->indexes[quick->index_count++];
        *index = (struct found){.offset = offset, .size_bytes = chunk.raw_bytes};
        if (quick->kept_bytes + chunk.raw_bytes <= KEPT_MAX_BYTES && !keep(quick, index)) {
            return TRK_E_MEMORY;
        }
        offset = head.previous;
    }
    return TRK_OK;
}

static enum trk_status take_note(struct quick *quick, uint64_t offset)
{
    struct trk_format_chunk chunk;
    struct trk_index_stream *stream;
    enum trk_status status = read_chunk(quick, offset, TRK_FORMAT_NOTE, &chunk);
    if (status == TRK_OK) {
        status = other_way(trk_index_stream(quick->target->index, chunk.stream, &stream));
    }
    if (status == TRK_OK &&
        !trk_note_parse((const char *)quick->target->unpack->raw, chunk.raw_bytes, &stream->note)) {
        status = TRK_E_END;
    }
    return status;
}

static enum trk_status take_snapshot(struct quick *quick, uint64_t offset)
{
    struct trk_format_chunk chunk;
    enum trk_status status = read_chunk(quick, offset, TRK_FORMAT_SNAPSHOT, &chunk);
    return status == TRK_OK ? trk_index_snapshot(quick->target->index, offset, &chunk,
                                                 quick->target->unpack->raw)
                            : status;
}

static enum trk_status take_events(struct quick *quick, const struct trk_index_entry *entry)
{
    struct trk_index *index = quick->target->index;
    struct trk_index_stream *stream;
    enum trk_status status = other_way(trk_index_stream(index, entry->chunk.stream, &stream));
    if (status != TRK_OK) {
        return status;
    }
    if (entry->chunk.first_ordinal != stream->next_ordinal || entry->chunk.events == 0 ||
        entry->chunk.events > TRK_FORMAT_EVENTS_MAX) {
        return TRK_E_END;
    }
    quick->seen++;
    stream->next_ordinal += entry->chunk.events;
    trk_index_lose(index, stream, entry->chunk.dropped);
    return other_way(trk_index_add(index, stream, entry->offset, &entry->chunk));
}

/* Entries are copied: reading a NOTE takes the place of the payload that they are in. */
static enum trk_status take_index(struct quick *quick, struct found *index)
{
    struct trk_format_chunk chunk;
    struct trk_index_chunk_head head;
    if (index->payload == NULL) {
        quick->seen--; /* counted when it was found */
        enum trk_status read = read_chunk(quick, index->offset, TRK_FORMAT_INDEX, &chunk);
        if (read != TRK_OK || chunk.raw_bytes != index->size_bytes) {
            return read == TRK_OK ? TRK_E_END : read;
        }
        if (!keep(quick, index)) {
            return TRK_E_MEMORY;
        }
    }
    const uint8_t *payload = index->payload;
    enum trk_status status =
        trk_index_chunk_head(payload, index->size_bytes, &head) ? TRK_OK : TRK_E_END;
    for (uint32_t i = 0; i < head.count && status == TRK_OK; i++) {
        struct trk_index_entry entry = trk_index_chunk_entry(payload, i);
        quick->last = entry;
        if (entry.chunk.kind == TRK_FORMAT_NOTE) {
            status = take_note(quick, entry.offset);
        } else if (entry.chunk.kind == TRK_FORMAT_SNAPSHOT) {
            status = take_snapshot(quick, entry.offset);
        } else if (entry.chunk.kind == TRK_FORMAT_BLOB) {
            quick->seen++; /* what it holds is looked at when somebody asks */
            status = other_way(trk_blob_list_add(&quick->target->index->blobs, entry.offset));
        } else if (entry.chunk.kind == TRK_FORMAT_CHECKPOINT) {
            quick->seen++;
            quick->target->index->checkpoints.chain.sound = true; /* as looked at when it is used */
            status = other_way(trk_checkpoint_list_add(&quick->target->index->checkpoints,
                                                       entry.offset, entry.chunk.first_ordinal));
        } else {
            status = entry.chunk.kind == TRK_FORMAT_EVENTS ? take_events(quick, &entry) : TRK_E_END;
        }
    }
    free(index->payload);
    index->payload = NULL;
    return status;
}

/* [F-36] It stands behind HEADER or is not there. */
static enum trk_status take_schema(struct quick *quick, uint64_t offset)
{
    struct trk_unpack *unpack = quick->target->unpack;
    struct trk_schema schema = quick->target->schema;
    struct trk_format_chunk chunk;
    enum trk_status status = trk_unpack_header(unpack, offset, &chunk, quick->error);
    if (status != TRK_OK || chunk.kind != TRK_FORMAT_SCHEMA) {
        return other_way(status);
    }
    status = read_chunk(quick, offset, TRK_FORMAT_SCHEMA, &chunk);
    if (status == TRK_OK) {
        status = other_way(trk_schema_parse((const char *)unpack->raw, chunk.raw_bytes, &schema));
    }
    return status;
}

/* Whether the totals are what the index has: else something is missing, and where is not known. */
static bool totals_match(const struct quick *quick)
{
    struct trk_index *index = quick->target->index;
    for (uint32_t i = 0; i < quick->head.count; i++) {
        struct trk_totals_stream total = trk_totals_entry(quick->totals, i);
        const struct trk_index_stream *stream = trk_index_find(index, total.stream_id);
        if (stream == NULL || stream->next_ordinal != total.events) {
            return false;
        }
    }
    return quick->head.count == index->stream_count &&
           quick->seen + 1 == quick->head.chunks; /* and HEADER */
}

/* What the indexes name, up to the last of them. */
static enum trk_status take_indexes(struct quick *quick, uint64_t offset, uint64_t last_index)
{
    enum trk_status status = find_indexes(quick, last_index);
    if (status == TRK_OK) {
        status = take_schema(quick, offset);
    }
    for (size_t i = quick->index_count; i > 0 && status == TRK_OK; i--) {
        status = take_index(quick, &quick->indexes[i - 1]);
    }
    return status;
}

static enum trk_status run_ended(struct quick *quick, uint64_t offset)
{
    uint64_t last_index = 0;
    enum trk_status status = read_end(quick, &last_index);
    if (status == TRK_OK) {
        status = take_indexes(quick, offset, last_index);
    }
    if (status != TRK_OK) {
        return status;
    }
    struct trk_trace_state *state = &quick->target->index->state;
    state->ended = true;
    state->chunks = quick->head.chunks - 1;
    state->child_status = quick->head.child_status;
    state->cut = quick->head.cut;
    state->counted = true;
    return totals_match(quick) ? TRK_OK : TRK_E_END;
}

/*
 * [F-35] Only the header of a chunk is right about it. Where bytes are gone (or are too many) all
 * that stands behind them is elsewhere than the indexes say, so the last entry of all is looked at.
 */
static enum trk_status check_places(struct quick *quick, uint64_t index_offset)
{
    const struct trk_index_entry *last = &quick->last;
    struct trk_format_chunk chunk;
    if (last->offset == 0) {
        return TRK_OK;
    }
    enum trk_status status =
        trk_unpack_header(quick->target->unpack, last->offset, &chunk, quick->error);
    if (status == TRK_OK && (chunk.file_chunk != last->chunk.file_chunk ||
                             last->offset + trk_format_chunk_span(&chunk) > index_offset)) {
        status = TRK_E_END;
    }
    return other_way(status);
}

/* [F-35] No end: from the last INDEX that there is, and what stands behind it. HEADER is chunk 0.
 */
static enum trk_status run_unended(struct quick *quick, uint64_t offset)
{
    const struct trk_scan_target *target = quick->target;
    struct trk_format_chunk chunk;
    struct trk_scan_from from = {0};
    enum trk_status status = trk_unpack_find_last(
        target->unpack, TRK_FORMAT_INDEX, SEARCH_MAX_BYTES, &from.last_index, &chunk, quick->error);
    if (status == TRK_OK) {
        status = take_indexes(quick, offset, from.last_index);
    }
    if (status == TRK_OK) {
        status = check_places(quick, from.last_index);
    }
    if (status != TRK_OK || quick->seen != chunk.file_chunk) {
        return status == TRK_OK ? TRK_E_END : status;
    }
    target->index->state.chunks = quick->seen;
    from.offset = from.last_index + trk_format_chunk_span(&chunk);
    from.file_chunk = (uint64_t)chunk.file_chunk + 1;
    return trk_scan_run(target, &from, quick->error);
}

enum trk_status trk_quick_run(const struct trk_scan_target *target, uint64_t offset,
                              struct trk_error *error)
{
    struct quick quick = {.target = target, .error = error};
    struct trk_format_end end;
    uint64_t size_bytes = target->unpack->source->size_bytes;
    enum trk_status status =
        size_bytes < TRK_FORMAT_END_BYTES
            ? TRK_E_END
            : trk_unpack_end(target->unpack, size_bytes - TRK_FORMAT_END_BYTES, &end, error);
    if (status == TRK_OK || status == TRK_E_END) {
        status = status == TRK_OK ? run_ended(&quick, offset) : run_unended(&quick, offset);
    }
    if (status == TRK_OK) {
        target->index->state.quick = true;
        target->index->all_summarised = false;
    }
    for (size_t i = 0; i < quick.index_count; i++) {
        free(quick.indexes[i].payload);
    }
    free(quick.totals);
    free(quick.indexes);
    return status == TRK_E_MEMORY ? trk_error_set(error, status, "no memory to read the trace")
                                  : status;
}
