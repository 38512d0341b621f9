#include "totals.h"

#include <assert.h>
#include <stdlib.h>

#include "bytes.h"

void trk_totals_deinit(struct trk_totals *totals)
{
    free(totals->streams);
    *totals = (struct trk_totals){.streams = NULL};
}

struct trk_totals_stream *trk_totals_stream(struct trk_totals *totals, uint32_t stream_id)
{
    for (size_t i = 0; i < totals->count; i++) {
        size_t at = (totals->last_found + i) % totals->count;
        if (totals->streams[at].stream_id == stream_id) {
            totals->last_found = at;
            return &totals->streams[at];
        }
    }
    if (totals->count == totals->room) {
        size_t room = totals->room == 0 ? 16 : 2 * totals->room;
        struct trk_totals_stream *streams = realloc(totals->streams, room * sizeof *streams);
        if (streams == NULL) {
            return NULL;
        }
        totals->streams = streams;
        totals->room = room;
    }
    totals->last_found = totals->count;
    totals->streams[totals->count] = (struct trk_totals_stream){.stream_id = stream_id};
    return &totals->streams[totals->count++];
}

size_t trk_totals_size(const struct trk_totals *totals)
{
    return TRK_FORMAT_TOTALS_BYTES + totals->count * TRK_FORMAT_TOTALS_STREAM_BYTES +
           TRK_FORMAT_TOTALS_TAIL_BYTES;
}

void trk_totals_put(const struct trk_totals *totals, uint8_t *to, uint32_t chunks,
                    uint64_t last_index, const struct trk_format_end *end)
{
    uint8_t *at = trk_bytes_put32(to, (uint32_t)end->child_status);
    at = trk_bytes_put32(at, chunks);
    at = trk_bytes_put32(at, (uint32_t)totals->count);
    at = trk_bytes_put32(at, end->cut ? TRK_FORMAT_TOTALS_CUT : 0);
    for (size_t i = 0; i < totals->count; i++) {
        const struct trk_totals_stream *stream = &totals->streams[i];
        at = trk_bytes_put32(at, stream->stream_id);
        at = trk_bytes_put32(at, stream->chunks);
        at = trk_bytes_put64(at, stream->events);
        at = trk_bytes_put64(at, stream->dropped);
    }
    at = trk_bytes_put64(at, last_index);
    (void)at;
    assert(at == to + trk_totals_size(totals));
}

bool trk_totals_head(const uint8_t *from, size_t size_bytes, struct trk_totals_head *head)
{
    if (size_bytes < TRK_FORMAT_TOTALS_BYTES) {
        return false;
    }
    *head = (struct trk_totals_head){
        .child_status = (int32_t)trk_bytes_get32(from),
        .chunks = trk_bytes_get32(from + 4),
        .count = trk_bytes_get32(from + 8),
        .cut = (trk_bytes_get32(from + 12) & TRK_FORMAT_TOTALS_CUT) != 0,
    };
    uint64_t fixed =
        TRK_FORMAT_TOTALS_BYTES + (uint64_t)head->count * TRK_FORMAT_TOTALS_STREAM_BYTES;
    if (size_bytes < fixed) {
        return false;
    }
    head->tail_bytes = size_bytes - (size_t)fixed;
    return true;
}

struct trk_totals_stream trk_totals_entry(const uint8_t *from, uint32_t number)
{
    const uint8_t *at =
        from + TRK_FORMAT_TOTALS_BYTES + (size_t)number * TRK_FORMAT_TOTALS_STREAM_BYTES;
    return (struct trk_totals_stream){
        .stream_id = trk_bytes_get32(at),
        .chunks = trk_bytes_get32(at + 4),
        .events = trk_bytes_get64(at + 8),
        .dropped = trk_bytes_get64(at + 16),
    };
}
