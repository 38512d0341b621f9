/* Events that the trace does not have: counted, and made the events that stand for them. */
#ifndef RECORDER_RECORD_LOSSES_H
#define RECORDER_RECORD_LOSSES_H

#include "record_drain.h"

/*
 * The event that stands for losses of one kind, given the count since ever and when they were;
 * false when the trace knows of all of them. The time is anybody's word, so it is kept in order.
 */
bool trk_record_losses_make(struct trk_record_drain *drain, struct trk_record_drain_ring *ring,
                            struct trk_record *loss);

/* Whether there are losses that the trace does not know of. */
bool trk_record_losses_untold(const struct trk_record_drain_ring *ring,
                              const struct trk_session_losses *losses);

/* What is lost so far; what a ring is seen to hold later was not before these losses. */
void trk_record_losses_read(struct trk_session_losses *out,
                            const struct trk_session_losses *losses);

/* A record that makes no sense: one lost event, of a type that nobody knows. */
void trk_record_losses_nonsense(struct trk_record_drain *drain, struct trk_record_drain_ring *ring,
                                struct trk_record *record);

/* A loss that no thread tells of, behind all that an ended thread's ring had: counted, and told. */
struct trk_record trk_record_losses_own(struct trk_record_drain *drain,
                                        struct trk_record_drain_ring *ring, uint8_t type,
                                        uint64_t count);

/* Count an event that comes while recording is disabled; without memory for that it is kept. */
bool trk_record_losses_discard(struct trk_record_drain *drain, struct trk_record_drain_ring *ring,
                               const struct trk_record *record);

#endif
