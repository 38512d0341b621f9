/*
 * Which fields an event type uses, and in what role: the table the columns are built from.
 *
 * A field that a type does not use is 0 and costs nothing. An event that does not fit its type's
 * shape, or is of a type that stands not here, is stored whole in the column of others, so that
 * nothing is ever lost. Rules: [F-20] [F-21].
 */
#ifndef RECORDER_SCHEMA_H
#define RECORDER_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "track/event.h"

/* What domain and seq hold. */
enum trk_schema_pair {
    TRK_SCHEMA_PAIR_NONE = 0,
    TRK_SCHEMA_PAIR_HOLD,       /* a lock domain and the number of a hold of it */
    TRK_SCHEMA_PAIR_SIZE,       /* one 64-bit size in bytes */
    TRK_SCHEMA_PAIR_SIZE_STAMP, /* seq a 32-bit size in bytes, domain a stamp */
    TRK_SCHEMA_PAIR_TIMELINE,   /* domain a timeline's number */
    TRK_SCHEMA_PAIR_HASH,       /* one 64-bit hash */
};

/* What page and pages hold. */
enum trk_schema_span {
    TRK_SCHEMA_SPAN_NONE = 0,
    TRK_SCHEMA_SPAN_PAGE,     /* page: in the region */
    TRK_SCHEMA_SPAN_COUNT,    /* pages: how many */
    TRK_SCHEMA_SPAN_RUN,      /* both */
    TRK_SCHEMA_SPAN_ID,       /* page: a small number (tracker, resource, word) */
    TRK_SCHEMA_SPAN_ID_VALUE, /* page: a small number; pages: another (rights) */
    TRK_SCHEMA_SPAN_NUMBER32, /* both halves of one number (tick, frame) */
};

enum trk_schema_argument {
    TRK_SCHEMA_ARGUMENT_NONE = 0,
    TRK_SCHEMA_ARGUMENT_ADDRESS, /* guest_addr */
    TRK_SCHEMA_ARGUMENT_NUMBER,  /* anything else */
};

/* Fields of one group are predicted from each other [F-24]. */
enum trk_schema_group {
    TRK_SCHEMA_GROUP_REGION = 0,
    TRK_SCHEMA_GROUP_PAGES = 1,
    TRK_SCHEMA_GROUP_COUNT = 2,
};

/* Addresses are told as the difference to the last one of the same line [F-23]. */
#define TRK_SCHEMA_LINES 8u

struct trk_schema_type {
    uint8_t known; /* 0: no such type */
    uint8_t pair;
    uint8_t span;
    uint8_t argument;
    uint8_t flags;    /* whether used */
    uint8_t context;  /* whether used */
    uint8_t group;    /* of hold and run */
    uint8_t line;     /* of the address */
    uint8_t required; /* who re-executes or judges a trace must know it [F-36] */
};

extern const struct trk_schema_type trk_schema_table[256];

/* Bytes that an event with an address is about. */
static inline uint64_t trk_schema_size(const struct trk_schema_type *type,
                                       const struct trk_event *event)
{
    return type->pair == TRK_SCHEMA_PAIR_SIZE         ? trk_event_size(event)
           : type->pair == TRK_SCHEMA_PAIR_SIZE_STAMP ? event->seq
                                                      : 1;
}

/* Whether the event has nothing in fields its type does not use, and its type is known. */
bool trk_schema_fits(const struct trk_event *event);
/* Likewise for a type of a file's. */
bool trk_schema_fits_type(const struct trk_schema_type *type, const struct trk_event *event);

/* Whether each field's role tells if it is an address; a number, a hash may be any. */
bool trk_schema_open(const struct trk_schema_type *type);

#endif
