#include "chunk_events.h"

#include <string.h>

#include "places.h"
#include "summary.h"

/* [F-26] Whether the decoded events are those that the chunk's header promised. */
static bool keeps_promise(const struct trk_chunk_reader *reader,
                          const struct trk_format_chunk *chunk, const struct trk_record *records)
{
    const struct trk_places_met met = trk_places_meet(records, chunk->events);
    if (reader->met != NULL) {
        *reader->met = met.places;
    }
    return records[0].tsc == chunk->first_tsc &&
           records[chunk->events - 1].tsc == chunk->last_tsc && met.dropped == chunk->dropped;
}

/* [F-34] Whether an undamaged summary is that of the events just decoded. */
static enum trk_status check_summary(const struct trk_chunk_reader *reader,
                                     const struct trk_format_chunk *chunk)
{
    const uint8_t *frame;
    size_t size_bytes;
    if (chunk->summary_bytes == 0 || !reader->unpack->summary_good) {
        return TRK_OK;
    }
    if (trk_summary_make(reader->columns, &frame, &size_bytes) != TRK_OK) {
        return TRK_E_MEMORY;
    }
    bool same =
        size_bytes == chunk->summary_bytes && memcmp(frame, reader->unpack->body, size_bytes) == 0;
    return same ? TRK_OK : TRK_E_DAMAGED;
}

enum trk_status trk_chunk_events(const struct trk_chunk_reader *reader, uint64_t offset,
                                 const struct trk_format_chunk *chunk, struct trk_record *out,
                                 struct trk_error *error)
{
    struct trk_unpack *unpack = reader->unpack;
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
        .types = reader->types,
    };
    status = trk_columns_decode(reader->columns, &input, out);
    if (status == TRK_OK) {
        status = check_summary(reader, chunk);
    }
    if (status == TRK_E_MEMORY) {
        return trk_error_set(error, status, "no memory to read the trace");
    }
    if (status == TRK_OK && chunk->events > 0 && !keeps_promise(reader, chunk, out)) {
        status = TRK_E_DAMAGED;
    }
    return status;
}
