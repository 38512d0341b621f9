#include "chunk_events.h"

/* [F-26] Whether the decoded events are those that the chunk's header promised. */
static bool keeps_promise(const struct trk_format_chunk *chunk, const struct trk_record *records)
{
    uint64_t dropped = 0;
    for (uint32_t i = 0; i < chunk->events; i++) {
        if (records[i].event.type == TRK_EVENT_DROP) {
            dropped += records[i].event.argument;
        }
    }
    return records[0].tsc == chunk->first_tsc &&
           records[chunk->events - 1].tsc == chunk->last_tsc && dropped == chunk->dropped;
}

enum trk_status trk_chunk_events(struct trk_unpack *unpack, struct trk_columns *columns,
                                 uint64_t offset, const struct trk_format_chunk *chunk,
                                 struct trk_record *out, struct trk_error *error)
{
    enum trk_status status = trk_unpack_payload(unpack, offset, chunk, error);
    if (status != TRK_OK) {
        return status;
    }
    struct trk_columns_input input = {
        .bytes = unpack->raw,
        .size_bytes = chunk->raw_bytes,
        .count = chunk->events,
        .clock_shift = chunk->clock_shift,
        .first_tsc = chunk->first_tsc,
    };
    status = trk_columns_decode(columns, &input, out);
    if (status == TRK_E_MEMORY) {
        return trk_error_set(error, status, "no memory to read the trace");
    }
    if (status == TRK_OK && chunk->events > 0 && !keeps_promise(chunk, out)) {
        status = TRK_E_DAMAGED;
    }
    return status;
}
