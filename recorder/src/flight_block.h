/* Inside the flight ring: its chunks, shared with the views that were taken of it. */
#ifndef RECORDER_FLIGHT_BLOCK_H
#define RECORDER_FLIGHT_BLOCK_H

#include <stdatomic.h>

#include "columns.h"
#include "flight.h"
#include "flight_spill.h"

struct trk_flight_block {
    _Atomic uint32_t users; /* freed with the last */
    uint32_t stream;        /* index in the ring */
    uint32_t count;
    uint32_t losses; /* of these, DROP events */
    uint64_t lost;   /* what those say was lost */
    uint64_t first;  /* records of the stream before */
    uint64_t first_tsc;
    uint64_t last_tsc;
    uint64_t number; /* of the ring's chunks, growing */
    size_t raw_bytes;
    size_t packed_bytes;
    struct trk_flight_spill *spill; /* has what is packed; NULL: it is here */
    uint64_t spill_offset;
    uint8_t packed[];
};

struct trk_flight_view {
    struct trk_flight_block **blocks; /* oldest first */
    size_t block_count;
    uint64_t begin_ticks; /* of the earliest block; 0: no block */
    uint64_t end_ticks;   /* what is later is left out */
    struct trk_trace_stream *streams;
    uint64_t *missing; /* a stream: events, and known losses, that no block has */
    size_t stream_count;
    unsigned clock_shift;
    struct trk_record *pinned; /* TRACKER events that no block has */
    uint32_t *pinned_streams;
    size_t pinned_count;
    struct trk_flight_state *state; /* what it begins with; NULL: no state is known there */
};

void trk_flight_block_release(struct trk_flight_block *block);

#endif
