/* The JSON of a NOTE chunk: what is known of a stream besides its events [F-15]. */
#ifndef RECORDER_NOTE_H
#define RECORDER_NOTE_H

#include <stdbool.h>
#include <stddef.h>

#include "recorder/trace.h"

/* Give the text, which the caller frees with trk_note_free; NULL without memory. */
char *trk_note_print(const struct trk_trace_stream *stream);
void trk_note_free(char *text);

/* Whether two say the same. */
bool trk_note_same(const struct trk_trace_stream *a, const struct trk_trace_stream *b);

/* Take name, role, thread id and clocks from a text; what is missing or odd stays as it is. */
bool trk_note_parse(const char *text, size_t size_bytes, struct trk_trace_stream *stream);

#endif
