/* A small trace with something of everything: chunks of several streams, holds, awaits, sizes,
 * contents of pages. */
#ifndef TESTS_SMALL_TRACE_H
#define TESTS_SMALL_TRACE_H

#include "recorder/blobs.h"
#include "trace_support.h"

#define SMALL_TRACE_PAGES   3u
#define SMALL_TRACE_DETAILS 4u /* events at its end, of types that are new in 1.2 */

/* What its first stream says of the clocks. */
extern const struct trk_trace_anchor small_trace_clocks;

/* The content of one of its pages. */
void small_trace_page(unsigned number, uint8_t page[TRK_BLOB_BYTES]);

/* Finished; the caller frees it. */
void small_trace_make(struct trace_file *file);

#endif
