/* A small trace with something of everything: chunks of several streams, holds, awaits, sizes. */
#ifndef TESTS_SMALL_TRACE_H
#define TESTS_SMALL_TRACE_H

#include "trace_support.h"

/* Finished; the caller frees it. */
void small_trace_make(struct trace_file *file);

#endif
