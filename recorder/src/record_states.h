/*
 * States of a flight recording: what dumps begin with.
 *
 * Each time a quarter of the ring has come in, that moment is marked. What is between the last
 * state and the next mark goes to a thread as a trace of its own, and comes back as a newer state;
 * so if the thread was late, a state for each mark follows. What was not looked at yet is kept in
 * the ring meanwhile, up to twice its size, and then in a file. Only when that does not suffice, or
 * events are lost, there are no further states: nothing tells then what the trackers' state is.
 *
 * Neither program nor drain ever waits for the thread but at the end. It gives way to both, and
 * rests after each state as long as a processor was busy with it, longer where none came of it.
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

/* How many were made, and whether others come of what is in the ring by now; some words. */
void trk_record_states_describe(const struct trk_record_states *states, char *out, size_t size);

/* Wait for the one under way and take it; no further ones are begun. */
void trk_record_states_end(struct trk_record_states *states);

/*
 * The state that a dump begins with, so that it goes back as far as can be, or to *since_ticks if
 * that is not 0. It stays the states'. NULL: none is needed, or none is known, or the whole ring
 * goes back more than twice as far as the oldest one; what is to be said of that is in why, else
 * "". Where the beginning stands in for a state *since_ticks becomes 0.
 */
struct trk_flight_state *trk_record_states_for(const struct trk_record_states *states,
                                               uint64_t *since_ticks, char *why, size_t size);

#endif
