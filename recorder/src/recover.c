/* The reading half of recovery: it goes over the file as a reader does [F-8] [F-12] [F-13]. */
#include "recover.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blob_chunk.h"
#include "index_chunk.h"
#include "note.h"
#include "recorder/packing.h"
#include "scan.h"
#include "totals.h"

static void lose(struct trk_recover *recover, const struct trk_format_chunk *chunk)
{
    trk_recover_lose(recover, chunk, "is damaged");
}

/* Those of a chunk whose header says when they were. */
static void lose_chunk(struct trk_recover_stream *to, const struct trk_format_chunk *chunk)
{
    uint64_t before = to->lost;
    to->lost += chunk->events;
    to->lost += chunk->dropped > UINT64_MAX - to->lost ? 0 : chunk->dropped;
    if (before == 0) {
        to->lost_first_tsc = chunk->first_tsc;
    }
    to->lost_last_tsc = chunk->last_tsc;
}

static enum trk_status take_events(struct trk_recover *recover, struct trk_format_chunk *chunk,
                                   enum trk_status payload)
{
    struct trk_index_stream *stream;
    enum trk_status status = trk_index_stream(&recover->index, chunk->stream, &stream);
    if (status == TRK_E_MEMORY) {
        return trk_recover_no_memory(recover);
    }
    if (status != TRK_OK || chunk->first_ordinal < stream->next_ordinal) {
        lose(recover, chunk);
        return TRK_OK;
    }
    size_t number = (size_t)(stream - recover->index.streams);
    struct trk_recover_stream *to = &recover->streams[number];
    trk_checkpoint_chain_gap(&recover->chain, stream, chunk->first_ordinal);
    trk_recover_lose_unseen(to, chunk->first_ordinal - stream->next_ordinal);
    trk_recover_lose_unseen(to, recover->owes_state);
    recover->owes_state = false;
    stream->next_ordinal = chunk->first_ordinal + chunk->events;
    if (payload == TRK_OK) {
        payload =
            trk_chunk_decoder_events(&recover->decoder, recover->offset, chunk, recover->error);
    }
    if (trk_unpack_is_damage(payload)) {
        lose(recover, chunk);
        lose_chunk(to, chunk);
        return TRK_OK;
    }
    if (payload != TRK_OK) {
        return payload;
    }
    return chunk->events > 0 ? trk_recover_events(recover, number, chunk) : TRK_OK;
}

static bool is_note(const struct trk_recover *recover, const struct trk_format_chunk *chunk)
{
    struct trk_trace_stream said = {0};
    bool good = trk_note_parse((const char *)recover->decoder.unpack.raw, chunk->raw_bytes, &said);
    trk_note_free_more(&said);
    return good;
}

/* A damaged one may have said that the stream is another thread's from there on. */
static enum trk_status take_note(struct trk_recover *recover, struct trk_format_chunk *chunk,
                                 enum trk_status payload)
{
    struct trk_index_stream *stream;
    enum trk_status status = trk_index_stream(&recover->index, chunk->stream, &stream);
    if (status == TRK_E_MEMORY) {
        return trk_recover_no_memory(recover);
    }
    if (status != TRK_OK) {
        lose(recover, chunk);
        return TRK_OK;
    }
    if (payload == TRK_OK && is_note(recover, chunk)) {
        return trk_recover_copy(recover, chunk);
    }
    lose(recover, chunk);
    return trk_recover_nameless(recover, chunk);
}

/*
 * [F-37] Events of before the part are behind the state that it begins with: without it they are
 * lost, at least one, before what is there.
 */
static void lose_state(struct trk_recover *recover)
{
    if (!recover->has_state && !recover->result->state_lost) {
        recover->result->state_lost = true;
        recover->owes_state = true;
    }
}

/* [F-37] What a reader needs of it: its lists of holds and of timelines. */
static enum trk_status take_snapshot(struct trk_recover *recover, struct trk_format_chunk *chunk)
{
    const uint8_t *raw = recover->decoder.unpack.raw;
    struct trk_unpacking in = {.at = raw, .end = raw + chunk->raw_bytes};
    for (int lists = 0; lists < 2 && chunk->raw_bytes > 0; lists++) {
        uint64_t count = trk_unpacking_number(&in, UINT64_MAX);
        for (uint64_t i = 0; i < count && !in.failed; i++) {
            (void)trk_unpacking_number(&in, UINT32_MAX);
            (void)trk_unpacking_number(&in, UINT64_MAX);
        }
    }
    if (in.failed) {
        lose(recover, chunk);
        lose_state(recover);
        return TRK_OK;
    }
    recover->has_state = true;
    return trk_recover_copy(recover, chunk);
}

/* [F-35] A new one is made; but it may know of a SNAPSHOT of which not even the header is there. */
static void take_index(struct trk_recover *recover, const struct trk_format_chunk *chunk)
{
    struct trk_index_chunk_head head;
    const uint8_t *raw = recover->decoder.unpack.raw;
    bool whole = trk_index_chunk_head(raw, chunk->raw_bytes, &head);
    for (uint32_t i = 0; whole && !recover->result->state_lost && i < head.count; i++) {
        if (trk_index_chunk_entry(raw, i).chunk.kind == TRK_FORMAT_SNAPSHOT &&
            !recover->has_state) {
            lose_state(recover); /* its chunk is counted by its number already */
        }
    }
}

/* [F-16] The only one to know what is missing behind a stream's last chunk. */
static enum trk_status take_totals(struct trk_recover *recover,
                                   const struct trk_format_chunk *chunk)
{
    struct trk_totals_head head;
    if (!trk_totals_head(recover->decoder.unpack.raw, chunk->raw_bytes, &head)) {
        lose(recover, chunk);
        return TRK_OK;
    }
    recover->has_totals = true;
    recover->result->child_status = head.child_status;
    recover->result->cut = head.cut;
    for (uint32_t i = 0; i < head.count; i++) {
        struct trk_totals_stream total = trk_totals_entry(recover->decoder.unpack.raw, i);
        struct trk_index_stream *stream;
        enum trk_status status = trk_index_stream(&recover->index, total.stream_id, &stream);
        if (status == TRK_E_MEMORY) {
            return trk_recover_no_memory(recover);
        }
        if (status == TRK_OK && total.events > stream->next_ordinal) {
            trk_recover_lose_unseen(&recover->streams[stream - recover->index.streams],
                                    total.events - stream->next_ordinal);
            stream->next_ordinal = total.events;
        }
    }
    return TRK_OK;
}

/* [F-36] Types that only the file describes are needed to decode its events. */
static enum trk_status take_schema(struct trk_recover *recover, struct trk_format_chunk *chunk)
{
    enum trk_status status = trk_chunk_decoder_schema(&recover->decoder, chunk);
    if (status == TRK_E_DAMAGED) {
        lose(recover, chunk);
        return TRK_OK;
    }
    return status == TRK_OK ? trk_recover_copy(recover, chunk)
                            : trk_error_set(recover->error, status,
                                            "types of events that need a "
                                            "newer reader");
}

/* [F-39] Pages whose list is damaged get a new one. */
static enum trk_status take_blob(struct trk_recover *recover, struct trk_format_chunk *chunk)
{
    const uint8_t *body = recover->decoder.unpack.body;
    uint32_t pages = trk_blob_chunk_pages(chunk);
    bool listed = trk_blob_chunk_sealed(body, chunk->summary_bytes, pages);
    recover->lost_list = recover->lost_list || !listed;
    if (pages == 0 || (listed && !trk_blob_chunk_match(body, recover->decoder.unpack.raw, pages))) {
        lose(recover, chunk);
        return TRK_OK;
    }
    if (recover->text != NULL) { /* which has the pages only */
        return trk_recover_copy(recover, chunk);
    }
    uint8_t *frame = malloc(TRK_BLOB_FRAME_BYTES(pages));
    if (frame == NULL) {
        return trk_recover_no_memory(recover);
    }
    trk_blob_chunk_frame(frame, recover->decoder.unpack.raw, pages);
    trk_output_summary(recover->output, frame, TRK_BLOB_FRAME_BYTES(pages));
    enum trk_status status = trk_recover_copy(recover, chunk);
    free(frame);
    return status;
}

/* [F-9] [F-41] Of a kind that is not known codec and frame may be anything; a text has neither. */
static enum trk_status take_unknown(struct trk_recover *recover, struct trk_format_chunk *chunk)
{
    struct trk_unpack *unpack = &recover->decoder.unpack;
    if (recover->text == NULL) {
        if (!recover->leaves) {
            trk_output_summary(recover->output, unpack->body, chunk->summary_bytes);
        }
        return trk_recover_unknown(recover, chunk);
    }
    enum trk_status status = TRK_E_DAMAGED;
    if (chunk->codec == TRK_FORMAT_CODEC_ZSTD && chunk->summary_bytes == 0) {
        status = trk_unpack_payload(unpack, recover->offset, chunk, recover->error);
    }
    if (status != TRK_OK && !trk_unpack_is_damage(status)) {
        return status;
    }
    return status == TRK_OK ? trk_recover_copy(recover, chunk)
                            : trk_recover_left_out(recover, chunk);
}

/* A chunk with an undamaged header, of the kinds that stand behind HEADER. */
static enum trk_status take_payload(struct trk_recover *recover, struct trk_format_chunk *chunk)
{
    struct trk_unpack *unpack = &recover->decoder.unpack;
    bool known = trk_format_kind_known(chunk->kind);
    enum trk_status payload =
        known ? trk_unpack_payload(unpack, recover->offset, chunk, recover->error)
              : trk_unpack_check(unpack, recover->offset, chunk, recover->error);
    if (payload != TRK_OK && !trk_unpack_is_damage(payload)) {
        return payload;
    }
    recover->lost_list =
        recover->lost_list || (known && chunk->summary_bytes > 0 && !unpack->summary_good);
    if (chunk->kind == TRK_FORMAT_EVENTS) {
        return take_events(recover, chunk, payload);
    }
    if (chunk->kind == TRK_FORMAT_NOTE) {
        return take_note(recover, chunk, payload);
    }
    if (payload != TRK_OK) {
        lose(recover, chunk);
        if (chunk->kind == TRK_FORMAT_SNAPSHOT) {
            lose_state(recover);
        }
        recover->chain.sound = recover->chain.sound && chunk->kind != TRK_FORMAT_CHECKPOINT;
        return TRK_OK;
    }
    switch (chunk->kind) {
    case TRK_FORMAT_END:
        return take_totals(recover, chunk);
    case TRK_FORMAT_INDEX:
        take_index(recover, chunk);
        return TRK_OK;
    case TRK_FORMAT_SNAPSHOT:
        return take_snapshot(recover, chunk);
    case TRK_FORMAT_SCHEMA:
        return take_schema(recover, chunk);
    case TRK_FORMAT_BLOB:
        return take_blob(recover, chunk);
    case TRK_FORMAT_CHECKPOINT:
        return trk_recover_checkpoint(recover, chunk);
    case TRK_FORMAT_HEADER: /* a second one */
        lose(recover, chunk);
        return TRK_OK;
    default:
        return take_unknown(recover, chunk);
    }
}

/* [F-9] [F-10] [F-12] */
static enum trk_status take_chunk(struct trk_recover *recover, struct trk_format_chunk *chunk)
{
    enum trk_status status = trk_unpack_refuse(recover->offset, chunk, recover->error);
    if (status != TRK_OK) {
        return status;
    }
    if (chunk->file_chunk < recover->next_file_chunk) {
        lose(recover, chunk);
        return TRK_OK;
    }
    uint64_t missing = chunk->file_chunk - recover->next_file_chunk;
    recover->result->chunks_lost += missing;
    recover->result->more_lost = recover->result->more_lost || missing > 0;
    trk_checkpoint_chain_missing(&recover->chain, missing);
    if (missing > 0 && recover->text != NULL) {
        fprintf(recover->text, "# %" PRIu64 " chunks are missing before byte %" PRIu64 "\n",
                missing, recover->offset);
    }
    recover->next_file_chunk = (uint64_t)chunk->file_chunk + 1;
    recover->lost_place = false;
    return take_payload(recover, chunk);
}

static enum trk_status take_all(struct trk_recover *recover)
{
    enum trk_status status = TRK_OK;
    while (status == TRK_OK && recover->offset < recover->source.size_bytes) {
        struct trk_format_chunk chunk;
        struct trk_format_end end;
        status =
            trk_unpack_header(&recover->decoder.unpack, recover->offset, &chunk, recover->error);
        if (status == TRK_OK) {
            uint64_t span = trk_format_chunk_span(&chunk); /* of the output it may be another */
            bool again = chunk.kind == TRK_FORMAT_INDEX || chunk.kind == TRK_FORMAT_END;
            recover->moves =
                recover->moves || (!again && recover->text == NULL &&
                                   trk_output_bytes(recover->output) != recover->offset);
            status = take_chunk(recover, &chunk);
            recover->offset += span;
            trk_scan_tell(&recover->watch, true, recover->offset, recover->source.size_bytes);
            continue;
        }
        if (status == TRK_E_SYSTEM) {
            return status;
        }
        status = trk_unpack_end(&recover->decoder.unpack, recover->offset, &end, recover->error);
        if (status == TRK_OK) {
            recover->result->child_status = end.child_status;
            recover->has_mark = true;
            break;
        }
        if (status == TRK_E_END) {
            recover->lost_place = true;
            if (recover->text != NULL) {
                fprintf(recover->text, "# a chunk header at byte %" PRIu64 " is damaged\n",
                        recover->offset);
            }
            status = trk_unpack_find(&recover->decoder.unpack, recover->offset + 1,
                                     &recover->offset, recover->error);
        }
    }
    recover->result->chunks_lost += recover->lost_place;
    recover->result->more_lost = recover->result->more_lost || recover->lost_place;
    trk_scan_tell(&recover->watch, true, recover->source.size_bytes, recover->source.size_bytes);
    return status == TRK_E_END ? TRK_OK : status;
}

static enum trk_status go_over(struct trk_recover *recover, int fd)
{
    trk_index_init(&recover->index);
    *recover->result = (struct trk_recover_result){.cut = true, .child_status = -1};
    enum trk_status status = trk_recover_begin(recover, fd);
    if (status == TRK_OK) {
        status = take_all(recover);
    }
    if (status == TRK_OK) {
        status = trk_recover_end(recover);
    }
    trk_output_destroy(recover->output);
    trk_columns_destroy(recover->encoder);
    trk_chunk_decoder_deinit(&recover->decoder);
    trk_index_deinit(&recover->index);
    free(recover->streams);
    return status;
}

/* Takes over the source. */
static enum trk_status run(struct trk_recover *recover, int fd)
{
    enum trk_status status = go_over(recover, fd);
    bool moves = recover->moves || recover->result->chunks_lost > recover->lost_place;
    if (status == TRK_OK && recover->unknown && moves) {
        *recover = (struct trk_recover){
            .source = recover->source,
            .result = recover->result,
            .error = recover->error,
            .watch = recover->watch,
            .leaves = true,
        };
        if (ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0) {
            status = go_over(recover, fd);
        } else {
            int os_errno = errno;
            status = trk_error_set(recover->error, TRK_E_SYSTEM, "the output cannot be begun anew");
            if (recover->error != NULL) {
                recover->error->os_errno = os_errno;
            }
        }
    }
    trk_source_close(&recover->source);
    return status;
}

enum trk_status trk_recover_watched(const char *path, int fd, const struct trk_trace_watch *watch,
                                    struct trk_recover_result *result, struct trk_error *error)
{
    struct trk_recover recover = {.result = result, .error = error, .watch = *watch};
    enum trk_status status = trk_source_open(&recover.source, path, error);
    return status == TRK_OK ? run(&recover, fd) : status;
}

enum trk_status trk_recover(const char *path, int fd, struct trk_recover_result *result,
                            struct trk_error *error)
{
    return trk_recover_watched(path, fd, &(struct trk_trace_watch){.fn = NULL}, result, error);
}

enum trk_status trk_recover_bytes(const void *bytes, size_t size_bytes, int fd,
                                  struct trk_recover_result *result, struct trk_error *error)
{
    struct trk_recover recover = {.result = result, .error = error};
    trk_source_open_bytes(&recover.source, bytes, size_bytes);
    return run(&recover, fd);
}

enum trk_status trk_recover_text(const char *path, FILE *text, struct trk_recover_result *result,
                                 struct trk_error *error)
{
    struct trk_recover recover = {.result = result, .error = error, .text = text};
    enum trk_status status = trk_source_open(&recover.source, path, error);
    return status == TRK_OK ? run(&recover, -1) : status;
}
