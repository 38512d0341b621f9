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

/*
 * The names of all fields, with what each is in most events; a new one comes last, since columns
 * of queries stand in this order. Another kind: of a domain or a policy that is not known, its
 * number; of a region that trackers share, a word; of no policy, a word; of a newer type's flags,
 * an address.
 */
/* clang-format off */
#define TRK_EVENT_KEYS(KEY) \
    KEY(OP, "op", WORD)\
    KEY(GUEST_ADDR, "guest_addr", ADDRESS)\
    KEY(SIZE, "size", NUMBER)\
    KEY(PAGES, "pages", NUMBER)\
    KEY(TRACKER, "tracker", NUMBER)\
    KEY(DOMAIN, "domain", WORD)\
    KEY(HOLD, "hold", NUMBER)\
    KEY(RIGHTS, "rights", WORD)\
    KEY(ACCESS, "access", WORD)\
    KEY(LOOK, "look", WORD)\
    KEY(AGENT, "agent", WORD)\
    KEY(DIRECTION, "direction", WORD)\
    KEY(MOMENT, "moment", WORD)\
    KEY(HASH, "hash", ADDRESS)\
    KEY(STAMP, "stamp", NUMBER)\
    KEY(TICK, "tick", NUMBER)\
    KEY(TIMELINE, "timeline", NUMBER)\
    KEY(VALUE, "value", NUMBER)\
    KEY(NUMBER, "number", NUMBER)\
    KEY(CALLBACK, "callback", WORD)\
    KEY(CHANGED, "changed", NUMBER)\
    KEY(RESOURCE, "resource", NUMBER)\
    KEY(OBJECT, "object", NUMBER)\
    KEY(ORIGIN, "origin", WORD)\
    KEY(DECISION, "decision", WORD)\
    KEY(FAILED, "failed", FLAG)\
    KEY(STATUS, "status", WORD)\
    KEY(OUTCOME, "outcome", WORD)\
    KEY(RESULT, "result", NUMBER)\
    KEY(WRITTEN, "written", FLAG)\
    KEY(CLEAR, "clear", FLAG)\
    KEY(READ, "read", FLAG)\
    KEY(FLUSH, "flush", FLAG)\
    KEY(READ_BACK, "read_back", FLAG)\
    KEY(LOCK, "lock", NUMBER)\
    KEY(HOLD_END, "hold_end", FLAG)\
    KEY(ERRNO, "errno", NUMBER)\
    KEY(CHANGE, "change", WORD)\
    KEY(CLASS, "class", WORD)\
    KEY(ALIAS, "alias", FLAG)\
    KEY(UNTRACKED, "untracked", FLAG)\
    KEY(REGION, "region", ADDRESS)\
    KEY(PC, "pc", ADDRESS)\
    KEY(SP, "sp", ADDRESS)\
    KEY(TID, "tid", NUMBER)\
    KEY(ACCESS_FROM, "access_from", WORD)\
    KEY(RELEASED, "released", FLAG)\
    KEY(OF, "of", WORD)\
    KEY(ASKED, "asked", NUMBER)\
    KEY(SERIAL, "serial", NUMBER)\
    KEY(REASON, "reason", WORD)\
    KEY(FORMER, "former", WORD)\
    KEY(TICKS, "ticks", NUMBER)\
    KEY(BACKEND, "backend", WORD)\
    KEY(POLICY, "policy", ADDRESS)\
    KEY(INVALIDATE, "invalidate", WORD)\
    KEY(DOWNLOAD, "download", WORD)\
    KEY(ARENA, "arena", WORD)\
    KEY(FAULT_WIDTH, "fault_width", NUMBER)\
    KEY(PAGE_SIZE, "page_size", NUMBER)\
    KEY(GENERATIONS, "generations", FLAG)\
    KEY(NOTES_LOCKS, "notes_locks", FLAG)\
    KEY(NOTES_PROTECTION, "notes_protection", FLAG)\
    KEY(NOTES_HANDED, "notes_handed", FLAG)\
    KEY(CLOSES_LOADS, "closes_loads", FLAG)\
    KEY(EACH, "each", WORD)\
    KEY(PIECE, "piece", NUMBER)\
    KEY(LAST, "last", FLAG)\
    KEY(TEXT, "text", TEXT)\
    KEY(WIDTH, "width", NUMBER)\
    KEY(HEIGHT, "height", NUMBER)\
    KEY(TEXEL, "texel", NUMBER)\
    KEY(ACCESSES, "accesses", NUMBER)\
    KEY(SHADER, "shader", NUMBER)\
    KEY(FRAME, "frame", NUMBER)\
    KEY(WORD, "word", NUMBER)\
    KEY(BITS, "bits", ADDRESS)\
    KEY(OPERAND, "operand", ADDRESS)\
    KEY(ID, "id", NUMBER)\
    KEY(ARGUMENT, "argument", ADDRESS)\
    KEY(SEQ, "seq", NUMBER)\
    KEY(RAW_DOMAIN, "raw_domain", ADDRESS)\
    KEY(PAGE, "page", NUMBER)\
    KEY(COUNT, "count", NUMBER)\
    KEY(NUMBER32, "number32", NUMBER)\
    KEY(FLAGS, "flags", NUMBER)\
    KEY(CONTEXT, "context", NUMBER)
/* clang-format on */

#define TRK_EVENT_KEY(id, name, kind) TRK_KEY_##id,
enum trk_event_key { TRK_EVENT_KEYS(TRK_EVENT_KEY) TRK_EVENT_KEY_COUNT };
#undef TRK_EVENT_KEY

const char *trk_event_key_name(enum trk_event_key id);
enum trk_event_field_kind trk_event_key_kind(enum trk_event_key id);

struct trk_event_field {
    enum trk_event_key id;
    const char *key; /* its name */
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
