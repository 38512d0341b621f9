/*
 * The events of one EVENTS chunk: unpacked, decoded, and held against the chunk's header.
 */
#ifndef RECORDER_CHUNK_EVENTS_H
#define RECORDER_CHUNK_EVENTS_H

#include "columns.h"
#include "unpack.h"

/* What is decoded with what. */
struct trk_chunk_reader {
    struct trk_unpack *unpack;
    struct trk_columns *columns;
    const struct trk_schema_type *types; /* 256; NULL: those of this version */
    uint32_t *met; /* gets where the events are (places.h); NULL: nobody asks */
};

/**
 * Decode the chunk at an offset, whose header this is, into `out` with room for chunk->events.
 *
 * @return TRK_OK; TRK_E_DAMAGED, TRK_E_INCOMPLETE: out is undefined; TRK_E_MEMORY; TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status trk_chunk_events(const struct trk_chunk_reader *reader,
                                              uint64_t offset, const struct trk_format_chunk *chunk,
                                              struct trk_record *out, struct trk_error *error);

#endif
