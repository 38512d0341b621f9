/* Waiting for room in a ring, or for a ring: only where the session asks for it, never in a fault
 * handler. */
#ifndef RECORDER_CAPTURE_WAIT_H
#define RECORDER_CAPTURE_WAIT_H

#include "capture_session.h"
#include "ring.h"

/* A thread's memory of waits. Zeros to begin with. */
struct trk_capture_wait {
    uint64_t given_up_at; /* tail + 1 at which a wait was in vain; 0: none was */
    uint32_t faults;      /* that this thread is serving: FAULT came, the OP_END not yet */
};

/*
 * Wait until the event finds room, at most the session's block_ms. Returns at once when there is
 * room, while the thread serves a fault, inside an append that was interrupted, on the alternate
 * stack, and where SIGSEGV is blocked: the last three are other handlers. After a wait in vain the
 * thread waits no more until the drain has taken something, so that a dead parent costs one wait.
 * Call it for each event: it looks for faults. errno is kept.
 */
void trk_capture_wait_for_room(struct trk_capture_wait *wait, const struct trk_ring *ring,
                               const struct trk_event *event,
                               const struct trk_capture_session *session);

/*
 * Try again and again until it says true, at most the session's block_ms; false at once where
 * another handler may be running. tries may be called from a handler that comes meanwhile as well.
 */
bool trk_capture_wait_until(bool (*tries)(void *context), void *context,
                            const struct trk_capture_session *session);

#endif
