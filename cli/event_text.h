/*
 * What an event says, field by field, for people and for programs.
 *
 * The layout of an event's fields differs by type (track/event.h); here each becomes a list of
 * named values, from which `trk dump` prints text and JSON.
 */
#ifndef CLI_EVENT_TEXT_H
#define CLI_EVENT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "track/event.h"

enum trk_event_field_kind {
    TRK_FIELD_NUMBER = 0,
    TRK_FIELD_ADDRESS, /* a guest address or a bit mask: hexadecimal */
    TRK_FIELD_WORD,    /* a constant word of lower-case letters, digits and dashes */
    TRK_FIELD_FLAG,    /* true; absent otherwise */
    TRK_FIELD_TEXT,    /* any bytes, from the recorded program */
};

struct trk_event_field {
    const char *key;
    enum trk_event_field_kind kind;
    uint64_t number;
    const char *word;
    char text[TRK_LABEL_PIECE_BYTES + 1];
};

/* No event has more fields. */
#define TRK_EVENT_FIELDS_MOST 12

/* Fill out and give the number of fields. An event of unknown type gives its raw fields. */
size_t trk_event_text_fields(const struct trk_event *event,
                             struct trk_event_field out[TRK_EVENT_FIELDS_MOST]);

/* The fields of struct trk_event by their names, those that are not 0. */
size_t trk_event_text_raw(const struct trk_event *event,
                          struct trk_event_field out[TRK_EVENT_FIELDS_MOST]);

/* What a thread is called, as valid UTF-8; one without a name ("" or NULL) by its stream's number.
 */
void trk_event_text_thread(const char *name, uint32_t stream, char *out, size_t size);

/* The rest of an event's line behind its time: thread, type, fields, a newline. */
void trk_event_text_line(FILE *out, const char *thread, const char *type,
                         const struct trk_event_field *fields, size_t count);

/* Print fields as " key=value", or as members of a JSON object, each with a comma before it. */
void trk_event_text_print(FILE *out, const struct trk_event_field *fields, size_t count);
void trk_event_text_print_json(FILE *out, const struct trk_event_field *fields, size_t count);

/* Whether the event is about bytes of [first, first + size). */
bool trk_event_text_touches(const struct trk_event *event, uint64_t first, uint64_t size_bytes);

#endif
