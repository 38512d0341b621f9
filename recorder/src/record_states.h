/*
 * States of a flight recording: what dumps begin with.
 *
 * Each time a part of the ring has come in, what is behind the last state goes to a thread as a
 * trace of its own, and comes back as a newer state. What was not looked at yet is kept in the ring
 * meanwhile, up to twice its size. When that does not suffice, or events are lost, there are no
 * further states.
 */
#ifndef RECORDER_RECORD_STATES_H
#define RECORDER_RECORD_STATES_H

#include "record_internal.h"

struct trk_record_states;

/* *out NULL: nobody makes states. TRK_E_MEMORY. */
TRK_MUST_USE enum trk_status trk_record_states_create(struct trk_record_states **out,
                                                      struct recording *recording,
                                                      struct trk_flight *ring);
/* Waits for the thread. NULL is accepted, here and below. */
void trk_record_states_destroy(struct trk_record_states *states);

/* Once a turn, after the rings were drained: take a state that is ready, begin the next one. */
void trk_record_states_turn(struct trk_record_states *states);

/* Wait for the one under way and take it; no further ones are begun. */
void trk_record_states_end(struct trk_record_states *states);

/*
 * The state that a dump begins with, so that it goes back as far as can be, or to since_ticks if
 * that is not 0. NULL: none is known, or none is needed. It stays the states'.
 */
struct trk_flight_state *trk_record_states_for(const struct trk_record_states *states,
                                               uint64_t since_ticks);

#endif
