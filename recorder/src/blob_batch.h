/* The contents of pages on their way into a file: each hash once, a chunk when there are enough. */
#ifndef RECORDER_BLOB_BATCH_H
#define RECORDER_BLOB_BATCH_H

#include "output.h"

#define TRK_BLOB_BATCH_PAGES 64u /* in one chunk */

struct trk_blob_batch;

/* NULL without memory. */
struct trk_blob_batch *trk_blob_batch_create(void);
void trk_blob_batch_destroy(struct trk_blob_batch *batch);

/* Take a content, TRK_FORMAT_BLOB_BYTES; write a chunk if that makes one. */
TRK_MUST_USE enum trk_status trk_blob_batch_add(struct trk_blob_batch *batch,
                                                struct trk_output *output, const void *bytes,
                                                struct trk_error *error);
/* Write what is gathered. */
TRK_MUST_USE enum trk_status trk_blob_batch_flush(struct trk_blob_batch *batch,
                                                  struct trk_output *output,
                                                  struct trk_error *error);

/* Contents taken so far. */
uint64_t trk_blob_batch_count(const struct trk_blob_batch *batch);

#endif
