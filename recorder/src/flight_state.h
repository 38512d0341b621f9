/*
 * The trackers' state at a place in a flight ring: what a dump can begin with, so that it is
 * re-executed though the ring has forgotten what was before.
 *
 * Made elsewhere, by re-execution (record_states.h); shared by whoever has a use for it.
 */
#ifndef RECORDER_FLIGHT_STATE_H
#define RECORDER_FLIGHT_STATE_H

#include <stdatomic.h>
#include <stddef.h>

#include "recorder/record_entry.h"

/* An event of the time before that is needed still: a tracker's declaration, a mapping. */
struct trk_flight_prologue {
    uint32_t stream; /* index in the ring */
    struct trk_record record;
};

struct trk_flight_state {
    _Atomic uint32_t users; /* freed with the last */
    uint8_t *snapshot;      /* the payload of a SNAPSHOT chunk */
    size_t snapshot_bytes;
    uint64_t ticks;     /* of the events before, the latest */
    uint64_t *ordinals; /* a stream of the ring: its events before */
    size_t stream_count;
    struct trk_flight_prologue *prologue;
    size_t prologue_count;
};

/* NULL is accepted, and given back. */
struct trk_flight_state *trk_flight_state_use(struct trk_flight_state *state);
void trk_flight_state_release(struct trk_flight_state *state);

/* How many events of a stream are before; 0 without a state, or of a stream that came later. */
uint64_t trk_flight_state_before(const struct trk_flight_state *state, size_t stream);
/* How many of these are in the prologue. */
uint64_t trk_flight_state_prologue(const struct trk_flight_state *state, size_t stream);

#endif
