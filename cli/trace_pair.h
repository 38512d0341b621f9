/*
 * Two traces that are to be compared: whether they are of one recording, which threads are the
 * same, and what of these cannot be judged.
 *
 * Of one recording are a trace and what became of it: damaged, recovered, packed, trimmed, merged.
 * There an event of one has its place in the other: by its ordinal in its stream, or, where the
 * chunks are others, by its time.
 */
#ifndef CLI_TRACE_PAIR_H
#define CLI_TRACE_PAIR_H

#include "trace_look.h"

struct trk_span {
    uint64_t first, last;
};

/* A thread of either trace or both. */
struct trk_pair_thread {
    uint32_t stream_id;     /* of one recording */
    char name[32];          /* "" until it is known */
    struct trk_span *spans; /* that are not judged, ascending; by ordinal or by time */
    uint32_t count, capacity;
};

struct trk_pair {
    bool kin;   /* of one recording */
    bool hides; /* what cannot be judged is known by its place */
    bool time;  /* spans are times */
    struct trk_pair_thread *threads;
    uint32_t thread_count;
    uint32_t *thread_of[2]; /* of each stream of either side */
};

/* What the headers say. */
enum trk_look_part trk_pair_part(const struct trk_trace *const traces[2], int side);

/* Of two that were looked at. TRK_OK or TRK_E_MEMORY; to be freed in any case. */
TRK_MUST_USE enum trk_status trk_pair_make(struct trk_pair *out,
                                           const struct trk_trace *const traces[2],
                                           const struct trk_look looks[2]);
void trk_pair_free(struct trk_pair *pair);

/* Whether what stands there of a thread is not judged. */
bool trk_pair_hides(const struct trk_pair *pair, uint32_t thread, uint64_t ordinal, uint64_t tsc);

#endif
