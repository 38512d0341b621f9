/*
 * The fields of an event (recorder/event_text.h) as text for people and as JSON for programs.
 */
#ifndef CLI_EVENT_PRINT_H
#define CLI_EVENT_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "recorder/event_text.h"

/* What a thread is called, as valid UTF-8; one without a name ("" or NULL) by its stream's number.
 */
void trk_event_text_thread(const char *name, uint32_t stream, char *out, size_t size);

/* The rest of an event's line behind its time: thread, type, fields, a newline. */
void trk_event_text_line(FILE *out, const char *thread, const char *type,
                         const struct trk_event_field *fields, size_t count);

/* Print fields as " key=value", or as members of a JSON object, each with a comma before it. */
void trk_event_text_print(FILE *out, const struct trk_event_field *fields, size_t count);
void trk_event_text_print_json(FILE *out, const struct trk_event_field *fields, size_t count);

/* Whether the event is about bytes of [first, first + size). trace: that describes newer types,
 * after the scan; NULL: none. at: where those that it is about begin; TRK_NOT_KNOWN: it is about
 * none. */
bool trk_event_text_touches(const struct trk_trace *trace, const struct trk_event *event,
                            uint64_t first, uint64_t size_bytes, uint64_t *at);

#endif
