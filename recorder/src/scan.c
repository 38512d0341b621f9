#include "scan.h"

#include <stdlib.h>

#include "blob_chunk.h"
#include "checkpoint_chain.h"
#include "index_chunk.h"
#include "note.h"
#include "summary.h"
#include "totals.h"

struct scan {
    struct trk_unpack *unpack;
    struct trk_index *index;
    struct trk_schema schema;
    struct trk_error *error;
    uint64_t offset;
    uint64_t next_file_chunk; /* number that the next chunk of the file should have */
    bool lost_place;          /* the last place was damaged, and its chunks are not counted yet */
    uint64_t totals_offset;   /* of the END chunk */
    uint64_t last_index;      /* of the newest INDEX chunk; 0: none yet */
    uint32_t indexed;         /* EVENTS chunks that an INDEX has named */
    struct trk_index_entry *expected; /* what the next INDEX has to say */
    size_t expected_count, expected_room;
};

static enum trk_status no_memory(struct scan *scan)
{
    return trk_error_set(scan->error, TRK_E_MEMORY, "no memory to read the trace");
}

/* [F-34] A damaged summary is damage, but no event of the chunk is in doubt. */
static enum trk_status take_summary(struct scan *scan, const struct trk_format_chunk *chunk)
{
    struct trk_index *index = scan->index;
    if (chunk->summary_bytes == 0) {
        return TRK_OK;
    }
    struct trk_summary_cursor cursor;
    struct trk_summary_domain domain;
    bool good = scan->unpack->summary_good &&
                trk_summary_begin(&cursor, scan->unpack->body, chunk->summary_bytes);
    while (good && trk_summary_next(&cursor, &domain)) {
        if (trk_holds_add(&index->holds, &domain) != TRK_OK) {
            return no_memory(scan);
        }
    }
    if (!good || !trk_summary_done(&cursor)) {
        index->all_summarised = false;
        index->state.damaged_chunks++;
        trk_index_damage(index, scan->offset, "the summary of chunk %u is damaged",
                         chunk->file_chunk);
    }
    return TRK_OK;
}

/* [F-13] The payload is good or bad; either way its stream goes on behind its events. */
static enum trk_status take_events(struct scan *scan, const struct trk_format_chunk *chunk,
                                   enum trk_status payload)
{
    struct trk_index *index = scan->index;
    struct trk_index_stream *stream;
    enum trk_status status = trk_index_stream(index, chunk->stream, &stream);
    if (status == TRK_E_MEMORY) {
        return no_memory(scan);
    }
    if (status != TRK_OK) {
        index->state.damaged_chunks++;
        trk_index_damage(index, scan->offset, "stream %u is one too many", chunk->stream);
        return TRK_OK;
    }
    if (chunk->first_ordinal < stream->next_ordinal) {
        index->state.damaged_chunks++;
        trk_index_damage(index, scan->offset, "a chunk of stream %u is out of order",
                         chunk->stream);
        return TRK_OK;
    }
    uint64_t missing = chunk->first_ordinal - stream->next_ordinal;
    if (missing > 0) {
        trk_checkpoint_chain_gap(&index->checkpoints.chain, stream, chunk->first_ordinal);
        trk_index_lose(index, stream, missing);
        trk_index_damage(index, scan->offset, "%llu events of stream %u are missing here",
                         (unsigned long long)missing, chunk->stream);
    }
    stream->next_ordinal = chunk->first_ordinal + chunk->events;
    trk_index_lose(index, stream, chunk->dropped);
    if (payload != TRK_OK) {
        trk_index_lose(index, stream, chunk->events);
        return TRK_OK;
    }
    status = take_summary(scan, chunk);
    if (status != TRK_OK || chunk->events == 0) {
        return status;
    }
    status = trk_index_add(index, stream, scan->offset, chunk);
    if (status == TRK_E_DAMAGED) {
        trk_index_lose(index, stream, chunk->events);
        trk_index_damage(index, scan->offset, "the file has more than %u chunks",
                         TRK_FORMAT_CHUNKS_MAX);
        status = TRK_OK;
    }
    return status == TRK_E_MEMORY ? no_memory(scan) : status;
}

static enum trk_status take_note(struct scan *scan, const struct trk_format_chunk *chunk)
{
    struct trk_index_stream *stream;
    enum trk_status status = trk_index_stream(scan->index, chunk->stream, &stream);
    if (status == TRK_E_MEMORY) {
        return no_memory(scan);
    }
    if (status != TRK_OK ||
        !trk_note_parse((const char *)scan->unpack->raw, chunk->raw_bytes, &stream->note)) {
        scan->index->state.damaged_chunks++;
        trk_index_lose_note(scan->index, chunk->stream);
        trk_index_damage(scan->index, scan->offset, "the note of stream %u is not readable",
                         chunk->stream);
    }
    return TRK_OK;
}

/* [F-16] What the streams should have had, but for what a later version has behind it [F-41]. */
static enum trk_status take_totals(struct scan *scan, const struct trk_format_chunk *chunk)
{
    struct trk_index *index = scan->index;
    struct trk_totals_head head;
    if (!trk_totals_head(scan->unpack->raw, chunk->raw_bytes, &head) ||
        (head.tail_bytes != 0 && head.tail_bytes < TRK_FORMAT_TOTALS_TAIL_BYTES) ||
        head.chunks != (uint64_t)chunk->file_chunk + 1) {
        index->state.damaged_chunks++;
        trk_index_damage(index, scan->offset, "the totals at the end are not readable");
        return TRK_OK;
    }
    index->state.child_status = head.child_status;
    index->state.cut = head.cut;
    index->state.counted = true;
    scan->totals_offset = scan->offset;
    for (uint32_t i = 0; i < head.count; i++) {
        struct trk_totals_stream total = trk_totals_entry(scan->unpack->raw, i);
        struct trk_index_stream *stream;
        enum trk_status status = trk_index_stream(index, total.stream_id, &stream);
        if (status == TRK_E_MEMORY) {
            return no_memory(scan);
        }
        uint64_t events = total.events;
        if (status != TRK_OK) {
            continue;
        }
        stream->total = events;
        if (events == stream->next_ordinal) {
            continue;
        }
        if (events > stream->next_ordinal) {
            trk_index_lose(index, stream, events - stream->next_ordinal);
        }
        trk_index_damage(index, scan->offset, "stream %u has not the %llu events it should have",
                         stream->note.stream_id, (unsigned long long)events);
    }
    return TRK_OK;
}

/* [F-12] Finds chunks whose header is lost by the numbering. False: this one is not to be used. */
static bool check_number(struct scan *scan, const struct trk_format_chunk *chunk)
{
    struct trk_index *index = scan->index;
    if (chunk->file_chunk < scan->next_file_chunk) {
        index->state.damaged_chunks++;
        trk_index_damage(index, scan->offset, "chunk %u is out of order", chunk->file_chunk);
        return false;
    }
    uint64_t missing = chunk->file_chunk - scan->next_file_chunk;
    if (missing > 0) {
        trk_checkpoint_chain_missing(&index->checkpoints.chain, missing);
        index->state.damaged_chunks += missing;
        trk_index_damage(index, scan->offset, "%llu chunks are missing here",
                         (unsigned long long)missing);
    }
    scan->next_file_chunk = (uint64_t)chunk->file_chunk + 1;
    scan->lost_place = false;
    return true;
}

/* [F-35] Keep what the next INDEX has to say of a chunk, as long as it can be held against it. */
static enum trk_status expect_entry(struct scan *scan, const struct trk_format_chunk *chunk)
{
    if (!trk_format_kind_indexed(chunk->kind) || scan->index->state.damaged_chunks > 0) {
        return TRK_OK;
    }
    if (scan->expected_count == scan->expected_room) {
        size_t room = scan->expected_room == 0 ? TRK_FORMAT_INDEX_ENTRIES : 2 * scan->expected_room;
        struct trk_index_entry *all = realloc(scan->expected, room * sizeof *all);
        if (all == NULL) {
            return no_memory(scan);
        }
        scan->expected = all;
        scan->expected_room = room;
    }
    scan->expected[scan->expected_count++] = (struct trk_index_entry){scan->offset, *chunk};
    return TRK_OK;
}

/* [F-35] Whether an entry says of a chunk what its header says. */
static bool is_entry_of(const struct trk_index_entry *expected, const struct trk_index_entry *entry)
{
    const struct trk_format_chunk *chunk = &expected->chunk;
    const struct trk_format_chunk *said = &entry->chunk;
    return expected->offset == entry->offset && chunk->kind == said->kind &&
           chunk->stream == said->stream && chunk->events == said->events &&
           chunk->file_chunk == said->file_chunk && chunk->first_ordinal == said->first_ordinal &&
           chunk->first_tsc == said->first_tsc && chunk->last_tsc == said->last_tsc &&
           chunk->dropped == said->dropped;
}

/*
 * [F-35] An index that leads elsewhere than the chunks are, or past some of them, would be believed
 * by who trusts it. What it says of places is held against the events when they are read [F-42]. Of
 * kinds that are not known it may say what it likes.
 */
static void take_index(struct scan *scan, const struct trk_format_chunk *chunk)
{
    struct trk_index *index = scan->index;
    const uint8_t *from = scan->unpack->raw;
    struct trk_index_chunk_head head;
    size_t at = 0;
    bool comparable = index->state.damaged_chunks == 0;
    bool good = trk_index_chunk_head(from, chunk->raw_bytes, &head) &&
                (head.previous == scan->last_index || !comparable);
    for (uint32_t i = 0; good && comparable && i < head.count; i++) {
        struct trk_index_entry entry = trk_index_chunk_entry(from, i);
        if (!trk_format_kind_known(entry.chunk.kind)) {
            continue;
        }
        good = at < scan->expected_count && is_entry_of(&scan->expected[at++], &entry);
        if (good && entry.chunk.kind == TRK_FORMAT_EVENTS && scan->indexed < index->chunk_count) {
            index->chunks[scan->indexed++].places = entry.chunk.places;
        }
    }
    good = good && (!comparable || at == scan->expected_count);
    scan->expected_count = 0;
    scan->last_index = scan->offset;
    if (!good) {
        index->state.damaged_chunks++;
        trk_index_damage(index, scan->offset, "an index does not lead to the chunks before it");
    }
}

/* [F-36] */
static enum trk_status take_schema(struct scan *scan, const struct trk_format_chunk *chunk)
{
    enum trk_status status =
        trk_schema_parse((const char *)scan->unpack->raw, chunk->raw_bytes, &scan->schema);
    if (status == TRK_E_DAMAGED) {
        scan->index->state.damaged_chunks++;
        trk_index_damage(scan->index, scan->offset, "the types of events are not readable");
        return TRK_OK;
    }
    if (status == TRK_E_VERSION) {
        trk_error_set(scan->error, status, "the types of events need a newer reader");
        if (scan->error != NULL) {
            scan->error->file_offset = scan->offset;
        }
    }
    return status == TRK_E_MEMORY ? no_memory(scan) : status;
}

/* [F-39] A damaged list of hashes is damage, but the pages are whole, and their hashes known. */
static enum trk_status take_blob(struct scan *scan, const struct trk_format_chunk *chunk)
{
    struct trk_index *index = scan->index;
    uint32_t pages = trk_blob_chunk_pages(chunk);
    const uint8_t *frame = scan->unpack->body;
    bool listed =
        scan->unpack->summary_good && trk_blob_chunk_sealed(frame, chunk->summary_bytes, pages);
    bool good = pages > 0 && (!listed || trk_blob_chunk_match(frame, scan->unpack->raw, pages));
    if (!listed || !good) {
        index->state.damaged_chunks++;
        trk_index_damage(index, scan->offset,
                         good ? "the list of pages of chunk %u is damaged"
                              : "the pages of chunk %u are not those that it lists",
                         chunk->file_chunk);
    }
    enum trk_status status = good ? trk_blob_list_add(&index->blobs, scan->offset) : TRK_OK;
    return status == TRK_E_MEMORY ? no_memory(scan) : TRK_OK;
}

/* [F-40] Without its payload, which is damaged, those behind it may be of no use. */
static enum trk_status take_checkpoint(struct scan *scan, const struct trk_format_chunk *chunk,
                                       const uint8_t *payload)
{
    enum trk_status status = trk_index_checkpoint(scan->index, scan->offset, chunk, payload);
    return status == TRK_OK ? TRK_OK : no_memory(scan);
}

/* A chunk of a kind that is read whole, whose payload is good. */
static enum trk_status take_payload(struct scan *scan, const struct trk_format_chunk *chunk)
{
    switch (chunk->kind) {
    case TRK_FORMAT_NOTE:
        return take_note(scan, chunk);
    case TRK_FORMAT_END:
        return take_totals(scan, chunk);
    case TRK_FORMAT_INDEX:
        take_index(scan, chunk);
        return TRK_OK;
    case TRK_FORMAT_SNAPSHOT:
        return trk_index_snapshot(scan->index, scan->offset, chunk, scan->unpack->raw) == TRK_OK
                   ? TRK_OK
                   : no_memory(scan);
    case TRK_FORMAT_SCHEMA:
        return take_schema(scan, chunk);
    case TRK_FORMAT_BLOB:
        return take_blob(scan, chunk);
    case TRK_FORMAT_CHECKPOINT:
        return take_checkpoint(scan, chunk, scan->unpack->raw);
    default:
        return TRK_OK;
    }
}

/* Take in the chunk at scan->offset. A bad payload is damage; other statuses end the pass. */
static enum trk_status take_chunk(struct scan *scan, const struct trk_format_chunk *chunk)
{
    scan->index->at_chunk = chunk->file_chunk;
    scan->index->state.chunks++;
    enum trk_status status = trk_unpack_refuse(scan->offset, chunk, scan->error);
    if (status == TRK_OK && !trk_format_kind_known(chunk->kind)) {
        trk_index_pass_over(scan->index, chunk->kind);
    }
    if (status != TRK_OK || !check_number(scan, chunk)) {
        return status;
    }
    enum trk_status payload;
    if (chunk->kind != TRK_FORMAT_EVENTS && trk_format_kind_known(chunk->kind)) {
        payload = trk_unpack_payload(scan->unpack, scan->offset, chunk, scan->error);
    } else {
        payload = trk_unpack_check(scan->unpack, scan->offset, chunk, scan->error);
    }
    if (payload == TRK_E_MEMORY || payload == TRK_E_SYSTEM) {
        return payload;
    }
    if (payload != TRK_OK) {
        scan->index->state.damaged_chunks++;
        trk_index_damage(scan->index, scan->offset,
                         payload == TRK_E_INCOMPLETE ? "the file ends inside chunk %u"
                                                     : "the contents of chunk %u are damaged",
                         chunk->file_chunk);
    }
    status = expect_entry(scan, chunk);
    if (status != TRK_OK) {
        return status;
    }
    if (chunk->kind == TRK_FORMAT_EVENTS) {
        return take_events(scan, chunk, payload);
    }
    if (payload != TRK_OK && chunk->kind == TRK_FORMAT_NOTE) {
        trk_index_lose_note(scan->index, chunk->stream);
    }
    if (payload != TRK_OK) {
        return chunk->kind == TRK_FORMAT_CHECKPOINT ? take_checkpoint(scan, chunk, NULL) : TRK_OK;
    }
    return take_payload(scan, chunk);
}

/* [F-17] The end mark is the last thing in the file and points to the END chunk. */
static void take_end(struct scan *scan, const struct trk_format_end *end)
{
    struct trk_index *index = scan->index;
    index->at_chunk = (uint32_t)scan->next_file_chunk;
    index->state.ended = true;
    index->state.child_status = end->child_status;
    if (end->chunk_offset != scan->totals_offset) {
        trk_index_damage(index, scan->offset, "the end mark stands not behind the totals");
    }
    if (scan->offset + TRK_FORMAT_END_BYTES != scan->unpack->source->size_bytes) {
        trk_index_damage(index, scan->offset + TRK_FORMAT_END_BYTES,
                         "bytes follow behind the end mark");
    }
}

/* The header at scan->offset is damaged or cut off: go to the next one. TRK_E_END: none. */
static enum trk_status find_place(struct scan *scan)
{
    scan->index->at_chunk = (uint32_t)scan->next_file_chunk;
    trk_index_damage(scan->index, scan->offset, "a chunk header is damaged");
    scan->lost_place = true;
    return trk_unpack_find(scan->unpack, scan->offset + 1, &scan->offset, scan->error);
}

static void finish(struct scan *scan)
{
    struct trk_trace_state *state = &scan->index->state;
    scan->index->at_chunk = (uint32_t)scan->next_file_chunk;
    if (!state->ended) {
        trk_index_damage(scan->index, scan->unpack->source->size_bytes,
                         "the file ends without its end mark");
    }
    state->damaged_chunks += scan->lost_place;
}

enum trk_status trk_scan_run(const struct trk_scan_target *target, const struct trk_scan_from *from,
                             struct trk_error *error)
{
    struct trk_unpack *unpack = target->unpack;
    struct scan scan = {
        .unpack = unpack,
        .index = target->index,
        .schema = target->schema,
        .error = error,
        .offset = from->offset,
        .next_file_chunk = from->file_chunk,
        .last_index = from->last_index,
        .indexed = (uint32_t)target->index->chunk_count,
        .totals_offset = TRK_NOT_KNOWN,
    };
    enum trk_status status = TRK_OK;
    while (status == TRK_OK && scan.offset < unpack->source->size_bytes) {
        struct trk_format_chunk chunk;
        struct trk_format_end end;
        status = trk_unpack_header(unpack, scan.offset, &chunk, error);
        if (status == TRK_OK) {
            status = take_chunk(&scan, &chunk);
            scan.offset += trk_format_chunk_span(&chunk);
            trk_scan_tell(&target->watch, true, scan.offset, unpack->source->size_bytes);
            continue;
        }
        if (status == TRK_E_SYSTEM) {
            break;
        }
        status = trk_unpack_end(unpack, scan.offset, &end, error);
        if (status == TRK_OK) {
            take_end(&scan, &end);
            break;
        }
        if (status == TRK_E_END) {
            status = find_place(&scan);
        }
    }
    free(scan.expected);
    if (status != TRK_OK && status != TRK_E_END) {
        return status;
    }
    finish(&scan);
    trk_scan_tell(&target->watch, true, unpack->source->size_bytes, unpack->source->size_bytes);
    return TRK_OK;
}
