#include "recorder/chunks.h"

#include <assert.h>
#include <stdlib.h>

#include "chunk_events.h"
#include "places.h"
#include "reader.h"
#include "summary.h"

_Static_assert(TRK_TRACE_NO_CHUNK == TRK_INDEX_NONE, "the same number stands for none");

size_t trk_trace_chunk_count(const struct trk_trace *trace)
{
    return trace->index.chunk_count;
}

struct trk_trace_chunk trk_trace_chunk(const struct trk_trace *trace, size_t index)
{
    assert(index < trace->index.chunk_count);
    const struct trk_index_chunk *chunk = &trace->index.chunks[index];
    return (struct trk_trace_chunk){
        .file_offset = chunk->offset,
        .first_ordinal = chunk->first_ordinal,
        .first_tsc = chunk->first_tsc,
        .last_tsc = chunk->last_tsc,
        .stream = chunk->stream,
        .events = chunk->events,
        .next = chunk->next,
    };
}

uint32_t trk_trace_first_chunk(const struct trk_trace *trace, size_t stream)
{
    assert(stream < trace->index.stream_count);
    return trace->index.streams[stream].first_chunk;
}

enum trk_status trk_trace_chunk_read(struct trk_trace *trace, size_t index,
                                     struct trk_record *records, struct trk_error *error)
{
    enum trk_status status =
        trace->index.chunks[index].bad
            ? trk_error_set(error, TRK_E_DAMAGED, "the events of a chunk are not readable")
            : trk_reader_decode(trace, (uint32_t)index, records, error);
    if (trk_unpack_is_damage(status)) {
        trk_reader_lose_chunk(trace, (uint32_t)index);
        return TRK_E_DAMAGED;
    }
    return status;
}

void trk_trace_domains_deinit(struct trk_trace_domains *domains)
{
    free(domains->at);
    *domains = (struct trk_trace_domains){.at = NULL};
}

static bool add_domain(struct trk_trace_domains *out, const struct trk_summary_domain *domain)
{
    if (out->count == out->room) {
        size_t room = out->room == 0 ? 64 : 2 * out->room;
        struct trk_trace_domain *at = realloc(out->at, room * sizeof *at);
        if (at == NULL) {
            return false;
        }
        out->at = at;
        out->room = room;
    }
    out->at[out->count++] = (struct trk_trace_domain){domain->domain, domain->ends};
    return true;
}

enum trk_status trk_trace_chunk_domains(struct trk_trace *trace, size_t index,
                                        struct trk_trace_domains *out, struct trk_error *error)
{
    uint64_t offset = trace->index.chunks[index].offset;
    struct trk_unpack *unpack = &trace->unpack;
    struct trk_format_chunk chunk;
    struct trk_summary_cursor cursor;
    struct trk_summary_domain domain;
    out->count = 0;
    if ((trace->file.optional_features & TRK_FORMAT_FEATURE_SUMMARIES) == 0) {
        return TRK_E_UNSUPPORTED;
    }
    enum trk_status status = trk_unpack_header(unpack, offset, &chunk, error);
    if (status == TRK_OK && chunk.summary_bytes == 0) {
        return TRK_OK; /* it touches none */
    }
    if (status == TRK_OK) {
        status = trk_unpack_summary(unpack, offset, &chunk, error);
    }
    if (trk_unpack_is_damage(status)) {
        return TRK_E_UNSUPPORTED;
    }
    if (status != TRK_OK) {
        return status;
    }
    if (!trk_summary_sealed(unpack->body, chunk.summary_bytes) ||
        !trk_summary_begin(&cursor, unpack->body, chunk.summary_bytes)) {
        return TRK_E_UNSUPPORTED;
    }
    while (trk_summary_next(&cursor, &domain)) {
        if (!add_domain(out, &domain)) {
            return trk_error_set(error, TRK_E_MEMORY, "no memory to read the trace");
        }
    }
    return trk_summary_done(&cursor) ? TRK_OK : TRK_E_UNSUPPORTED;
}

bool trk_trace_chunk_may_have(const struct trk_trace *trace, size_t index, uint64_t guest_addr)
{
    assert(index < trace->index.chunk_count);
    return trk_places_may_have(trace->index.chunks[index].places, guest_addr);
}

uint64_t trk_trace_bytes_read(const struct trk_trace *trace)
{
    return trace->bytes_read;
}
