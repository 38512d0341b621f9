/*
 * Taking from a trace what is about the machine and not about the tracker.
 *
 * Addresses move so that the lowest region that is used in a band becomes the band's first; all
 * that follows from distances, pages and regions stays. Ranges that run out of a band still do, and
 * where a fault reached to a band's end, what lies there without a gap stays. Of the header only
 * what a simulation and the clock need stays: no command, no paths, no environment, no host.
 */
#ifndef CLI_REDACT_H
#define CLI_REDACT_H

#include "recorder/trace.h"
#include "track/address.h"

struct trk_redact_band {
    uint32_t least;   /* lowest region seen */
    bool edge;        /* a fault reached to the band's end */
    uint64_t regions; /* how far it moves down */
    uint32_t stays;   /* the first region that does not move */
};

struct trk_redact {
    struct trk_redact_band low, arena;
    uint64_t used[(TRK_REGION_COUNT + 63) / 64]; /* regions, a bit each: 48 KiB */
};

void trk_redact_init(struct trk_redact *redact);

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

/* A region's number likewise, in the first pass and in the second. */
void trk_redact_note_region(struct trk_redact *redact, uint32_t region);
uint32_t trk_redact_region(const struct trk_redact *redact, uint32_t region);

/* The header without what is private, when all was decided; to be freed with cJSON_free; NULL
 * without memory. */
char *trk_redact_header(const struct trk_redact *redact, const char *header_json);

/* A thread's name without a path in it; 32 bytes, as in struct trk_trace_stream. */
void trk_redact_name(char *name);

#endif
