/*
 * A sum over the events of a trace that does not depend on the order in which streams are visited.
 *
 * Who writes a trace adds what he writes; trk_trace_verify reads the file again and wants the same.
 * Each event counts with its stream, its place there, its time stamp and all fields.
 */
#ifndef RECORDER_DIGEST_H
#define RECORDER_DIGEST_H

#include "recorder/trace.h"

TRK_EXTERN_C_BEGIN

/* Zero-initialised is of no events. */
struct trk_digest {
    uint64_t records; /* events, marks of losses among them */
    uint64_t sum;
};

/**
 * Add one event.
 *
 * @param stream_id  As in the file.
 * @param ordinal    0-based place among the stream's events.
 *
 * Allocates: no. Threads: any, one digest at a time.
 */
void trk_digest_add(struct trk_digest *digest, uint32_t stream_id, uint64_t ordinal,
                    const struct trk_record *record);

/**
 * Open a finished trace, read all of it and hold it against what was written.
 *
 * @return TRK_OK; TRK_E_DAMAGED: it is damaged, not ended, or holds other events (error says
 * which); what opening and reading give.
 *
 * Allocates: yes. Blocks: reads the file. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_trace_verify(const char *path, const struct trk_digest *expected,
                                              struct trk_error *error);

TRK_EXTERN_C_END

#endif
