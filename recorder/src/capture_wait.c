/*
 * Waiting for room.
 *
 * The drain is another process that never knows of us, so a wait is a row of short sleeps. It goes
 * on until a quarter of the ring is free: a thread that went on with the first free slot would
 * sleep again with the next event.
 */
#include "capture_wait.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#define NAP_NS         100000
#define LONGEST_NAP_NS 6400000 /* many who wait for a ring must not starve who frees one */

/* Whether no signal handler is running on this thread, as far as the kernel can tell. */
static bool is_normal_context(void)
{
    sigset_t blocked;
    stack_t stack;
    return pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 && sigismember(&blocked, SIGSEGV) == 0 &&
           sigaltstack(NULL, &stack) == 0 && !(stack.ss_flags & SS_ONSTACK);
}

static uint64_t now_ns(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static uint64_t tail_of(const struct trk_ring *ring)
{
    return atomic_load_explicit(&ring->shared->tail, memory_order_acquire);
}

/* The fault handler leaves SIGSEGV open and may run on the thread's own stack: its events tell. */
static bool serves_fault(struct trk_capture_wait *wait, const struct trk_event *event)
{
    if (event->type == TRK_EVENT_FAULT)
        wait->faults += 1;
    bool serves = wait->faults > 0 || event->type == TRK_EVENT_FAULT_AT;
    if (serves && event->type == TRK_EVENT_OP_END && event->context == TRK_OP_FAULT)
        wait->faults -= 1;
    return serves;
}

void trk_capture_wait_for_room(struct trk_capture_wait *wait, const struct trk_ring *ring,
                               const struct trk_event *event,
                               const struct trk_capture_session *session)
{
    uint64_t room = trk_ring_room(ring, event->type);
    if (serves_fault(wait, event) || TRK_LIKELY(ring->reserved - ring->tail_seen < room))
        return;
    uint64_t tail = tail_of(ring);
    if (ring->reserved - tail < room || ring->depth > 0 || wait->given_up_at == tail + 1)
        return;
    int saved = errno;
    if (is_normal_context()) {
        uint64_t enough = room - ring->capacity / 4;
        uint64_t end_ns = now_ns() + (uint64_t)session->block_ms * 1000000;
        struct timespec nap = {.tv_nsec = NAP_NS};
        atomic_fetch_add_explicit(&session->control->waits, 1, memory_order_relaxed);
        do {
            (void)nanosleep(&nap, NULL);
            tail = tail_of(ring);
        } while (ring->reserved - tail > enough && now_ns() < end_ns);
        wait->given_up_at = ring->reserved - tail < room ? 0 : tail + 1;
    }
    errno = saved;
}

bool trk_capture_wait_until(bool (*tries)(void *context), void *context,
                            const struct trk_capture_session *session)
{
    int saved = errno;
    bool done = false;
    if (is_normal_context()) {
        uint64_t end_ns = now_ns() + (uint64_t)session->block_ms * 1000000;
        struct timespec nap = {.tv_nsec = NAP_NS};
        atomic_fetch_add_explicit(&session->control->waits, 1, memory_order_relaxed);
        do {
            (void)nanosleep(&nap, NULL);
            done = tries(context);
            nap.tv_nsec *= nap.tv_nsec < LONGEST_NAP_NS ? 2 : 1;
        } while (!done && now_ns() < end_ns);
    }
    errno = saved;
    return done;
}
