/*
 * Going through a trace's streams: where each event stands in its stream, which place it is about,
 * and where something is missing before it.
 *
 * Glossary
 *   place  a page, to which belongs what begins in it; a timeline; or none of them
 *   torn   what a stream's operations were about is not known: a loss has taken their beginnings
 *   part   a trace of a piece of a run: nothing is said of what was before and behind it
 */
#ifndef CLI_TRACE_WALK_H
#define CLI_TRACE_WALK_H

#include "recorder/trace.h"

#define TRK_PLACE_NONE     UINT64_MAX
#define TRK_PLACE_UNKNOWN  (UINT64_MAX - 1)    /* of an operation whose beginning is lost */
#define TRK_PLACE_TIMELINE (UINT64_C(1) << 40) /* and its number; less: the number of a page */

#define TRK_WALK_NEST 16u

/* So much is missing of a stream, or cannot be judged. Both ends belong to it. */
struct trk_loss {
    uint64_t first, last; /* ordinals; first > last: other copies of this file have the same */
    uint64_t first_tsc, last_tsc;
    bool
        told; /* by events DROP, which stand before the one of ordinal first; last is before that */
};

struct trk_walk_stream {
    uint64_t places[TRK_WALK_NEST]; /* of the operations under way, the newest ones */
    uint32_t depth;
    bool torn;
    bool begun;
    bool inside;    /* of a part: past what only says what there is */
    bool dropped;   /* what the next event stands behind */
    bool tears;     /* that may have been beginnings and ends of operations */
    uint32_t chunk; /* that the last event came from */
    uint32_t index; /* of the next event in it */
    uint64_t next;  /* ordinal expected */
    uint64_t last_tsc;
    uint64_t told; /* events lost of which the place is known */
    uint64_t kept; /* events that are no DROP */
};

struct trk_walk {
    struct trk_trace *trace;
    struct trk_walk_stream *streams;
    size_t count;
    bool asked;    /* only losses of what is asked matter */
    bool part;     /* the trace is one */
    bool sparse;   /* others of the run's events are anywhere between */
    bool unplaced; /* threads may have lost events before they were seen */
};

/* Where an event stands. */
struct trk_walked {
    uint64_t ordinal;
    bool lost; /* something is missing before it, or may be: loss says what */
    struct trk_loss loss;
};

/* The trace has been scanned, and stays. TRK_OK or TRK_E_MEMORY; to be freed in any case. */
TRK_MUST_USE enum trk_status trk_walk_init(struct trk_walk *walk, struct trk_trace *trace);
void trk_walk_free(struct trk_walk *walk);

/* The next event of the trace. */
void trk_walk_event(struct trk_walk *walk, const struct trk_trace_event *event,
                    struct trk_walked *out);

/* The place of that event, whose addresses may have been changed meanwhile. Once for each event. */
uint64_t trk_walk_place(struct trk_walk *walk, uint32_t stream, const struct trk_event *event);

/* Behind the last event: whether a stream may have gone on, and how. */
bool trk_walk_end(const struct trk_walk *walk, uint32_t stream, struct trk_loss *loss);

/* Whether there may have been threads of which the trace has nothing, or not the name. */
bool trk_walk_lacks_threads(const struct trk_walk *walk);

#endif
