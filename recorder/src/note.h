/* The JSON of a NOTE chunk: what is known of a stream besides its events [F-15]. */
#ifndef RECORDER_NOTE_H
#define RECORDER_NOTE_H

#include <stdbool.h>
#include <stddef.h>

#include "recorder/trace.h"

/* Give the text, stream->more included, which the caller frees with trk_note_free; NULL without
 * memory. */
char *trk_note_print(const struct trk_trace_stream *stream);
void trk_note_free(char *text);

/*
 * Take name, role and thread id from a text; what is missing or odd stays as it is. Other keys go
 * to stream->more, which is freed with trk_note_free_more. False: it is no note.
 */
bool trk_note_parse(const char *text, size_t size_bytes, struct trk_trace_stream *stream);
void trk_note_free_more(struct trk_trace_stream *stream);

/* Take over what a note says; stream->more is freed likewise. False without memory. */
bool trk_note_copy(struct trk_trace_stream *stream, const struct trk_trace_stream *from);
bool trk_note_same(const struct trk_trace_stream *a, const struct trk_trace_stream *b);

#endif
