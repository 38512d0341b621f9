/*
 * The contents of pages that a trace carries (`trk record --payload pages`): found by the hash that
 * PAGE events name (recorder/page_hash.h), each content once a file [F-39].
 *
 * Which contents there are is read with the first question. What is in memory is 16 bytes a page of
 * the file, and a few unpacked chunks.
 */
#ifndef RECORDER_BLOBS_H
#define RECORDER_BLOBS_H

#include "recorder/trace.h"
#include "recorder/writer.h"

TRK_EXTERN_C_BEGIN

#define TRK_BLOB_BYTES 4096u /* of each content */

/**
 * Give the bytes of a page by its hash. Scans the trace if that was not done.
 *
 * @param bytes  TRK_BLOB_BYTES, the trace's, until the next call that takes the trace.
 * @return TRK_OK; TRK_E_END: no such content is in the file; TRK_E_DAMAGED: it was, and its chunk
 *         is damaged; TRK_E_VERSION as for the scan; TRK_E_MEMORY; TRK_E_SYSTEM.
 *
 * Allocates: yes. Signal-safe: no. Threads: one trace, one thread. Between two trk_trace_next, too.
 */
TRK_MUST_USE enum trk_status trk_trace_blob(struct trk_trace *trace, uint64_t hash,
                                            const void **bytes, struct trk_error *error);

/* Whether the file has a content, without reading it. TRK_OK, TRK_E_END, others as above. */
TRK_MUST_USE enum trk_status trk_trace_blob_known(struct trk_trace *trace, uint64_t hash,
                                                  struct trk_error *error);

/* How many contents the file has. Statuses as above, but TRK_E_END. */
TRK_MUST_USE enum trk_status trk_trace_blob_count(struct trk_trace *trace, uint64_t *count,
                                                  struct trk_error *error);

/**
 * Put a page's content into a file, if it has none with that hash yet. The writer gathers them:
 * they are written when there are enough, and with trk_writer_flush before the events.
 *
 * @param bytes  TRK_BLOB_BYTES.
 * @return TRK_OK, also when the file has as many as it may; TRK_E_MEMORY; TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status trk_writer_blob(struct trk_writer *writer, const void *bytes,
                                             struct trk_error *error);

/* Whether a content is wanted; its hash. */
typedef bool trk_blob_wanted_fn(void *context, uint64_t hash);

/**
 * Put the contents of a trace into a file, in their order: those that are wanted, or with NULL all.
 * Damaged ones are left out.
 *
 * @return as trk_writer_blob, and what the scan gives.
 */
TRK_MUST_USE enum trk_status trk_writer_copy_blobs(struct trk_writer *writer,
                                                   struct trk_trace *trace,
                                                   trk_blob_wanted_fn *wanted, void *context,
                                                   struct trk_error *error);

/* How many contents the writer has taken so far. */
uint64_t trk_writer_blobs(const struct trk_writer *writer);

TRK_EXTERN_C_END

#endif
