/*
 * What an event says, field by field.
 *
 * The layout of an event's fields differs by type (track/event.h); here each becomes a list of
 * named values, which programs print and ask for by name.
 */
#ifndef RECORDER_EVENT_TEXT_H
#define RECORDER_EVENT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/event.h"

TRK_EXTERN_C_BEGIN

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

/*
 * The bytes that an event is about, from its argument on: 1 where its type has an address alone.
 * False, and 0: the argument of its type is no guest address.
 */
bool trk_event_range(const struct trk_event *event, uint64_t *size_bytes);

/* Fill out and give the number of fields. An event of unknown type gives its raw fields. */
size_t trk_event_text_fields(const struct trk_event *event,
                             struct trk_event_field out[TRK_EVENT_FIELDS_MOST]);

struct trk_trace;

/*
 * Likewise, and of a type that is newer than this version what the file says of it; after the scan.
 */
size_t trk_trace_event_fields(const struct trk_trace *trace, const struct trk_event *event,
                              struct trk_event_field out[TRK_EVENT_FIELDS_MOST]);
bool trk_trace_event_range(const struct trk_trace *trace, const struct trk_event *event,
                           uint64_t *size_bytes);
/* Whether domain and seq are a hold of a lock. */
bool trk_trace_event_in_hold(const struct trk_trace *trace, const struct trk_event *event);
/* Whether the type is known or described, and nothing is in fields that it does not use. */
bool trk_trace_event_fits(const struct trk_trace *trace, const struct trk_event *event);

/* Make 0 what is in fields that the type does not use, of a type that this version knows. */
void trk_event_clear_unused(struct trk_event *event);

/* The fields of struct trk_event by their names, those that are not 0. */
size_t trk_event_text_raw(const struct trk_event *event,
                          struct trk_event_field out[TRK_EVENT_FIELDS_MOST]);

TRK_EXTERN_C_END

#endif
