/*
 * Taking from a trace what is about the machine and not about the tracker.
 *
 * Addresses move so that the lowest region that is used in a band becomes the band's first; all
 * that follows from distances, pages and regions stays. Ranges that run out of a band still do, and
 * where a fault reached to a band's end, what lies there without a gap stays. Other addresses, the
 * host's own, keep their order and what lies together. Of the header only what a simulation and the
 * clock need stays: no command, no paths, no environment, no host.
 *
 * What an event of a type says that this version does not know is taken from the file's SCHEMA
 * [F-36]. A field that may be anything by that cannot be redacted.
 */
#ifndef CLI_REDACT_H
#define CLI_REDACT_H

#include "recorder/trace.h"
#include "redact_other.h"
#include "track/address.h"

struct trk_redact_band {
    uint32_t least;   /* lowest region seen */
    bool edge;        /* a fault reached to the band's end */
    uint64_t regions; /* how far it moves down */
    uint32_t stays;   /* the first region that does not move */
};

struct trk_redact {
    const struct trk_trace *trace; /* whose events they are */
    struct trk_redact_band low, arena;
    struct trk_redact_other other;
    uint64_t used[(TRK_REGION_COUNT + 63) / 64]; /* regions, a bit each: 48 KiB */
};

void trk_redact_init(struct trk_redact *redact, const struct trk_trace *trace);

/* First pass: see an event. begin: the OP_BEGIN that an OPERAND goes with; NULL: there is none. */
void trk_redact_note(struct trk_redact *redact, const struct trk_event *event,
                     const struct trk_event *begin);
/* What another trace of the same memory has noted, too. */
void trk_redact_join(struct trk_redact *redact, const struct trk_redact *other);
/* Whether what both have noted moves equally far, if it moves alone. */
bool trk_redact_alike(const struct trk_redact *a, const struct trk_redact *b);
/* Between the passes. */
void trk_redact_decide(struct trk_redact *redact);
/* Second pass: change it; begin likewise. */
void trk_redact_event(const struct trk_redact *redact, struct trk_event *event,
                      const struct trk_event *begin);

/* Whether nothing is in the event that might be an address or a name, and is not known to be one.
 */
bool trk_redact_certain(const struct trk_redact *redact, const struct trk_event *event);

/* A region's number likewise, in the first pass and in the second. */
void trk_redact_note_region(struct trk_redact *redact, uint32_t region);
uint32_t trk_redact_region(const struct trk_redact *redact, uint32_t region);

/* The header without what is private, when all was decided; to be freed with cJSON_free; NULL
 * without memory. */
char *trk_redact_header(const struct trk_redact *redact, const char *header_json);

/* A thread's name without a path in it; 32 bytes, as in struct trk_trace_stream. */
void trk_redact_name(char *name);

#endif
