/* Waiting for room in a ring: only where the session asks for it, never in a fault handler. */
#ifndef RECORDER_CAPTURE_WAIT_H
#define RECORDER_CAPTURE_WAIT_H

#include "capture_session.h"
#include "ring.h"

/* A thread's memory of waits. Zeros to begin with. */
struct trk_capture_wait {
    uint64_t given_up_at; /* tail + 1 at which a wait was in vain; 0: none was */
};

/*
 * Wait until an event of this type finds room, at most the session's block_ms. Returns at once when
 * there is room, inside an append that was interrupted, and wherever SIGSEGV or SIGBUS are blocked
 * or the alternate stack is in use: that is a handler. After a wait in vain the thread waits no
 * more until the drain has taken something, so that a dead parent costs one wait. errno is kept.
 */
void trk_capture_wait_for_room(struct trk_capture_wait *wait, const struct trk_ring *ring,
                               uint8_t type, const struct trk_capture_session *session);

#endif
