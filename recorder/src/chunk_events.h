/*
 * The events of one EVENTS chunk: unpacked, decoded, and held against the chunk's header.
 */
#ifndef RECORDER_CHUNK_EVENTS_H
#define RECORDER_CHUNK_EVENTS_H

#include "columns.h"
#include "unpack.h"

/**
 * Decode the chunk at an offset, whose header this is, into `out` with room for chunk->events.
 *
 * @return TRK_OK; TRK_E_DAMAGED, TRK_E_INCOMPLETE: out is undefined; TRK_E_MEMORY; TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status trk_chunk_events(struct trk_unpack *unpack,
                                              struct trk_columns *columns, uint64_t offset,
                                              const struct trk_format_chunk *chunk,
                                              struct trk_record *out, struct trk_error *error);

#endif
