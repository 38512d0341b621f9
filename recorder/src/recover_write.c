/* The writing half of recovery. */
#include "recover.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "places.h"
#include "recorder/packing.h"
#include "summary.h"
#include "text_form.h"

static const char short_header[] = "{\"schema\":\"trk.header\",\"schema_version\":1,"
                                   "\"recovered\":true}";

void trk_recover_lose(struct trk_recover *recover, const struct trk_format_chunk *chunk,
                      const char *why)
{
    recover->result->chunks_lost++;
    recover->result->more_lost = recover->result->more_lost ||
                                 (chunk->kind != TRK_FORMAT_EVENTS &&
                                  chunk->kind != TRK_FORMAT_INDEX && chunk->kind != TRK_FORMAT_END);
    if (recover->text != NULL) {
        fprintf(recover->text, "# chunk %" PRIu32 " at byte %" PRIu64 " %s\n", chunk->file_chunk,
                recover->offset, why);
    }
}

enum trk_status trk_recover_copy(struct trk_recover *recover, struct trk_format_chunk *chunk)
{
    recover->result->chunks++;
    if (recover->text != NULL) {
        return trk_text_chunk(recover->text, chunk, recover->decoder.unpack.raw,
                              recover->decoder.records);
    }
    return trk_output_copy(recover->output, chunk, recover->decoder.unpack.packed, recover->error);
}

/* A chunk that was not in the source like that. */
static enum trk_status write_made(struct trk_recover *recover, struct trk_format_chunk *chunk,
                                  const void *payload, size_t size_bytes)
{
    if (recover->text != NULL) {
        chunk->raw_bytes = (uint32_t)size_bytes;
        return trk_text_chunk(recover->text, chunk, payload, NULL);
    }
    return trk_output_chunk(recover->output, chunk, payload, size_bytes, recover->error);
}

/* [F-15] Whom a stream is of from here on is not known. */
enum trk_status trk_recover_nameless(struct trk_recover *recover, struct trk_format_chunk *chunk)
{
    static const char nobody[] = "{\"tid\":0,\"name\":\"\"}";
    return write_made(recover, chunk, nobody, strlen(nobody));
}

/* [F-41] It may speak of places in the file: it stays as long as all chunks stay where they are. */
enum trk_status trk_recover_unknown(struct trk_recover *recover, struct trk_format_chunk *chunk)
{
    if (!recover->leaves) {
        recover->unknown = true;
        return trk_recover_copy(recover, chunk);
    }
    return trk_recover_left_out(recover, chunk);
}

enum trk_status trk_recover_left_out(struct trk_recover *recover,
                                     const struct trk_format_chunk *chunk)
{
    if (recover->result->unknown_left_out++ == 0) {
        recover->result->unknown_kind = chunk->kind;
    }
    if (recover->text != NULL) {
        fprintf(recover->text, "# chunk %" PRIu32 " at byte %" PRIu64 " is of kind %u: left out\n",
                chunk->file_chunk, recover->offset, chunk->kind);
    }
    return TRK_OK;
}

enum trk_status trk_recover_header(struct trk_recover *recover)
{
    recover->result->header_lost = true;
    struct trk_format_chunk chunk = {
        .kind = TRK_FORMAT_HEADER,
        .flags = TRK_FORMAT_FLAG_REQUIRED,
        .stream = TRK_FORMAT_NO_STREAM,
    };
    return write_made(recover, &chunk, short_header, strlen(short_header));
}

static void count(struct trk_recover *recover, size_t stream, const struct trk_record *records,
                  size_t events)
{
    struct trk_recover_stream *to = &recover->streams[stream];
    for (size_t i = 0; i < events; i++) {
        if (records[i].event.type == TRK_EVENT_DROP) {
            recover->result->dropped += records[i].event.argument;
        } else {
            recover->result->events++;
        }
        trk_digest_add(&recover->result->digest, recover->index.streams[stream].note.stream_id,
                       to->ordinal++, &records[i]);
    }
    to->last_tsc = records[events - 1].tsc;
}

/*
 * [F-32] What is missing of a stream before its chunk `next`, or at its end, as one event in a
 * chunk of its own. When it was the headers of its chunks say; where there are none it has the time
 * of its neighbour.
 */
static enum trk_status write_loss(struct trk_recover *recover, size_t stream,
                                  const struct trk_format_chunk *next)
{
    struct trk_recover_stream *to = &recover->streams[stream];
    unsigned clock_shift = next != NULL ? next->clock_shift : 0;
    uint64_t end_tsc = next != NULL ? next->first_tsc : UINT64_MAX;
    struct trk_record drop = {
        .tsc = (next != NULL ? next->first_tsc : to->last_tsc) >> clock_shift << clock_shift,
        .event = {.type = TRK_EVENT_DROP, .argument = to->lost},
    };
    /* At the time of the event before it a loss may have been earlier still: the recorder moves it.
     */
    if (!to->lost_anytime && to->lost_first_tsc > to->last_tsc &&
        to->lost_last_tsc >= to->lost_first_tsc && to->lost_last_tsc <= end_tsc) {
        clock_shift = 0; /* the lost chunks may have had another */
        drop.tsc = to->lost_first_tsc;
        trk_event_set_size(&drop.event, to->lost_last_tsc - to->lost_first_tsc);
    }
    to->lost = 0;
    to->lost_anytime = false;
    struct trk_format_chunk chunk = {
        .kind = TRK_FORMAT_EVENTS,
        .flags = TRK_FORMAT_FLAG_REQUIRED,
        .clock_shift = (uint8_t)clock_shift,
        .stream = recover->index.streams[stream].note.stream_id,
        .events = 1,
        .first_tsc = drop.tsc,
        .last_tsc = drop.tsc,
        .dropped = drop.event.argument,
        .places = trk_places_of(&drop, 1),
    };
    const uint8_t *payload;
    count(recover, stream, &drop, 1);
    recover->lost_any = true;
    if (recover->text != NULL) {
        return trk_text_chunk(recover->text, &chunk, NULL, &drop);
    }
    size_t size_bytes = trk_columns_encode(recover->encoder, &drop, 1, clock_shift, &payload);
    trk_output_summary(recover->output, NULL, 0);
    return trk_output_chunk(recover->output, &chunk, payload, size_bytes, recover->error);
}

/* [F-34] Made anew: the one in the file may be damaged. */
static enum trk_status give_summary(struct trk_recover *recover, struct trk_columns *columns)
{
    const uint8_t *frame;
    size_t size_bytes;
    enum trk_status status = trk_summary_make(columns, &frame, &size_bytes);
    if (status != TRK_OK) {
        return trk_error_set(recover->error, status, "no memory to recover the trace");
    }
    trk_output_summary(recover->output, frame, size_bytes);
    return TRK_OK;
}

enum trk_status trk_recover_events(struct trk_recover *recover, size_t stream,
                                   struct trk_format_chunk *chunk)
{
    enum trk_status status = TRK_OK;
    if (recover->streams[stream].lost > 0) {
        status = write_loss(recover, stream, chunk);
    }
    if (status == TRK_OK) {
        count(recover, stream, recover->decoder.records, chunk->events);
        chunk->places = trk_places_of(recover->decoder.records, chunk->events);
        status = recover->text != NULL ? TRK_OK : give_summary(recover, recover->decoder.columns);
    }
    if (status == TRK_OK) {
        status = trk_recover_copy(recover, chunk);
    }
    return status;
}

static enum trk_status write_losses(struct trk_recover *recover)
{
    enum trk_status status = TRK_OK;
    for (size_t i = 0; i < recover->index.stream_count && status == TRK_OK; i++) {
        if (recover->streams[i].lost > 0) {
            status = write_loss(recover, i, NULL);
        }
    }
    return status;
}

/* Chunks that nothing else tells of had the events up to where the streams are at a checkpoint. */
static void lose_before(struct trk_recover *recover, struct trk_unpacking in, uint64_t chunks)
{
    (void)trk_unpacking_number(&in, UINT64_MAX);
    uint64_t streams = trk_unpacking_number(&in, TRK_FORMAT_STREAMS_MAX);
    for (uint64_t i = 0; i < streams && !in.failed && chunks > 0; i++) {
        uint32_t id = (uint32_t)trk_unpacking_number(&in, UINT32_MAX);
        uint64_t ordinal = trk_unpacking_number(&in, UINT64_MAX);
        struct trk_index_stream *stream = trk_index_find(&recover->index, id);
        if (stream == NULL || ordinal <= stream->next_ordinal ||
            (ordinal - stream->next_ordinal) / TRK_FORMAT_EVENTS_MAX >= chunks) {
            continue;
        }
        trk_recover_lose_unseen(&recover->streams[stream - recover->index.streams],
                                ordinal - stream->next_ordinal);
        stream->next_ordinal = ordinal;
        chunks--;
    }
}

/* The streams' places in the output. False: those in the source are others than the checkpoint's.
 */
static bool move_streams(struct trk_recover *recover, struct trk_unpacking *in,
                         struct trk_packing *out, uint64_t *event_number)
{
    trk_packing_number(out, trk_unpacking_number(in, UINT64_MAX));
    uint64_t streams = trk_unpacking_number(in, TRK_FORMAT_STREAMS_MAX);
    trk_packing_number(out, streams);
    *event_number = 0;
    for (uint64_t i = 0; i < streams && !in->failed; i++) {
        uint32_t id = (uint32_t)trk_unpacking_number(in, UINT32_MAX);
        uint64_t ordinal = trk_unpacking_number(in, UINT64_MAX);
        const struct trk_index_stream *stream = trk_index_find(&recover->index, id);
        if (stream != NULL && stream->next_ordinal == ordinal) {
            ordinal = recover->streams[stream - recover->index.streams].ordinal;
        } else if (ordinal != 0) {
            return false; /* its chunks before are lost */
        }
        *event_number += ordinal;
        trk_packing_number(out, id);
        trk_packing_number(out, ordinal);
    }
    trk_packing_bytes(out, in->at, (size_t)(in->end - in->at));
    return !in->failed;
}

/* [F-40] What is lost before it became one event a stream, which stands before it, too. */
enum trk_status trk_recover_checkpoint(struct trk_recover *recover, struct trk_format_chunk *chunk)
{
    const uint8_t *raw = recover->decoder.unpack.raw;
    struct trk_unpacking in = {.at = raw, .end = raw + chunk->raw_bytes};
    struct trk_packing out = {.bytes = NULL};
    uint64_t unseen = recover->chain.unseen;
    enum trk_status status =
        trk_checkpoint_chain_take(&recover->chain, &recover->index, raw, chunk->raw_bytes);
    if (status == TRK_E_DAMAGED || status == TRK_E_END) {
        trk_recover_lose(recover, chunk,
                         status == TRK_E_END ? "rests on a lost one" : "is damaged");
        return TRK_OK;
    }
    lose_before(recover, in, unseen);
    status = status == TRK_OK ? write_losses(recover) : trk_recover_no_memory(recover);
    if (status != TRK_OK) {
        return status;
    }
    if (!move_streams(recover, &in, &out, &chunk->first_ordinal)) {
        trk_recover_lose(recover, chunk, "is damaged");
        recover->chain.sound = false;
    } else if (out.failed) {
        status = trk_recover_no_memory(recover);
    } else if (out.size_bytes == chunk->raw_bytes && memcmp(out.bytes, raw, out.size_bytes) == 0) {
        status = trk_recover_copy(recover, chunk);
    } else {
        recover->result->chunks++;
        status = write_made(recover, chunk, out.bytes, out.size_bytes);
    }
    free(out.bytes);
    return status;
}

/*
 * A text has an end where the trace has one. One that is of less than the trace was says so: nobody
 * shall take what is made of it for all there was.
 */
static void write_text_end(struct trk_recover *recover, struct trk_format_end *end)
{
    end->cut = end->cut || !recover->has_mark || recover->lost_any || recover->lost_list ||
               recover->result->chunks_lost > 0;
    if (recover->has_totals) {
        trk_text_end(recover->text, end);
    }
}

enum trk_status trk_recover_end(struct trk_recover *recover)
{
    if (recover->owes_state && recover->index.stream_count > 0) {
        recover->streams[0].lost += 1;
        recover->streams[0].lost_anytime = true;
    }
    enum trk_status status = write_losses(recover);
    struct trk_format_end end = {
        .child_status = recover->result->child_status,
        .cut = recover->result->cut,
    };
    if (status != TRK_OK) {
        return status;
    }
    if (recover->text != NULL) {
        write_text_end(recover, &end);
        return TRK_OK;
    }
    status = trk_output_end(recover->output, &end, recover->error);
    recover->result->bytes = trk_output_bytes(recover->output);
    return status;
}
