/* Inside the flight ring: what takes events in (flight.c) and what takes views (flight_take.c). */
#ifndef RECORDER_FLIGHT_RING_H
#define RECORDER_FLIGHT_RING_H

#include <zstd.h>

#include "flight_block.h"

/* A stream's chunk while it fills. */
struct trk_flight_open {
    size_t count;
    struct trk_record records[TRK_CHUNK_EVENTS];
};

struct trk_flight_stream {
    struct trk_trace_stream note;
    uint64_t events;  /* ever, with those that were lost on their way here */
    uint64_t records; /* ever, in chunks that were closed */
    uint64_t gone;    /* of these, the first ones: they are forgotten */
    struct trk_flight_open *open;
};

struct trk_flight_pinned {
    uint32_t stream;
    uint64_t block; /* the chunk that holds it too, while that is there; TRK_FLIGHT_IN_OPEN: not
                       closed yet */
    struct trk_record record;
};

#define TRK_FLIGHT_IN_OPEN UINT64_MAX

struct trk_flight {
    uint64_t budget_bytes;
    unsigned clock_shift;
    uint64_t bytes;
    uint64_t bytes_ever;
    uint64_t keep_from; /* number of a chunk: from there on, nothing is forgotten soon */
    uint64_t hold_from; /* likewise, whatever the budget */
    struct trk_flight_spill *spill; /* NULL: there is none */
    size_t spilled;                 /* so many of the oldest are in there; bytes has them not */
    uint64_t forgotten;
    struct trk_columns *columns;
    ZSTD_CCtx *zstd;
    struct trk_flight_block **blocks; /* a ring: `held` from `oldest` on, room a power of two */
    size_t oldest, held, room;
    uint64_t next_number;
    struct trk_flight_stream *streams;
    size_t stream_count, stream_room;
    struct trk_flight_pinned *pinned; /* in the order in which they came */
    size_t pinned_count, pinned_room;
};

static inline struct trk_flight_block *trk_flight_block_at(const struct trk_flight *flight,
                                                           size_t index)
{
    return flight->blocks[(flight->oldest + index) & (flight->room - 1)];
}

/* Whether the ith that is pinned is said again by a newer one in a chunk before the given one. */
bool trk_flight_is_outdated(const struct trk_flight *flight, size_t i, uint64_t before);

#endif
