/*
 * A thread's end of its ring: append events, never wait.
 *
 * One thread appends, one drain takes. Signal handlers of the appending thread may append in the
 * middle of an append. That is kept in order by three steps: a position is *reserved* by a
 * compare-and-swap that is atomic against signals (and need not be against other processors), the
 * record is *filled*, and on the way out only the outermost append *publishes* the head. Nested
 * appends are over before the one they interrupted goes on, so whatever lies below the reserved
 * position is filled by then. The time stamp is read between the look at the position and the swap:
 * a handler in between makes the swap fail, so stamps of a ring never run backwards.
 *
 * When there is no room, the newest event is dropped and counted. Observations leave the last
 * eighth to events that change state. The first record after a loss is a DROP record with the count
 * so far.
 *
 * A handler that leaves by longjmp from the middle of an append ends publication for its thread.
 */
#ifndef RECORDER_RING_H
#define RECORDER_RING_H

#include <stdbool.h>

#include "clock_ticks.h"
#include "session_layout.h"
#include "track/macros.h"

struct trk_ring {
    struct trk_session_ring *shared;
    struct trk_record *records;
    uint64_t capacity;              /* records, a power of two */
    uint64_t tail_seen;             /* of the drain; may lag */
    volatile uint64_t dropped_told; /* count in the last DROP record */
    volatile uint64_t reserved;     /* first position not reserved */
    volatile uint32_t depth;        /* appends in progress on this thread */
};

/* Types of which the loss leaves a gap in what was observed, but no wrong state behind it. */
static inline bool trk_ring_is_observation(uint8_t type)
{
    switch (type) {
    case TRK_EVENT_COPY_BEGIN:
    case TRK_EVENT_COPY_END:
    case TRK_EVENT_GPU_WRITE:
    case TRK_EVENT_GPU_READ:
    case TRK_EVENT_GPU_COMPLETE:
    case TRK_EVENT_INVALIDATE_REQUEST:
    case TRK_EVENT_FRAME:
    case TRK_EVENT_WITNESS_STORE:
    case TRK_EVENT_WITNESS_CHECK:
    case TRK_EVENT_MARK:
        return true;
    default:
        return false;
    }
}

/* Set up for an empty ring that this thread alone may append to. */
static inline void trk_ring_init(struct trk_ring *ring, struct trk_session_ring *shared,
                                 struct trk_record *records, uint64_t capacity)
{
    ring->shared = shared;
    ring->records = records;
    ring->capacity = capacity;
    ring->tail_seen = atomic_load_explicit(&shared->tail, memory_order_acquire);
    ring->dropped_told = atomic_load_explicit(&shared->dropped, memory_order_relaxed);
    ring->reserved = atomic_load_explicit(&shared->head, memory_order_relaxed);
    ring->depth = 0;
}

/* Move *word from `from` to from + 1; atomic against signals of this thread only. */
static inline bool trk_ring_step(volatile uint64_t *word, uint64_t from)
{
#if defined(__x86_64__)
    bool done;
    uint64_t expected = from;
    __asm__ volatile("cmpxchgq %3, %1"
                     : "=@ccz"(done), "+m"(*word), "+a"(expected)
                     : "r"(from + 1)
                     : "memory");
    return done;
#else
    return __atomic_compare_exchange_n(word, &from, from + 1, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
#endif
}

/* Count one more; only this thread and its handlers write the word, but the drain reads it. */
static inline void trk_ring_count(_Atomic uint64_t *word)
{
#if defined(__x86_64__)
    __asm__ volatile("addq $1, %0" : "+m"(*word) : : "cc", "memory");
#else
    atomic_fetch_add_explicit(word, 1, memory_order_relaxed);
#endif
}

/*
 * Reserve and fill one record if fewer than `room` are in the ring. The tail never passes the
 * position seen here: nothing from it on is published while this append goes on.
 */
static inline bool trk_ring_put(struct trk_ring *ring, const struct trk_event *event, uint64_t room)
{
    uint64_t position;
    uint64_t ticks;
    for (;;) {
        position = ring->reserved;
        if (TRK_UNLIKELY(position - ring->tail_seen >= room)) {
            ring->tail_seen = atomic_load_explicit(&ring->shared->tail, memory_order_acquire);
            if (position - ring->tail_seen >= room)
                return false;
        }
        ticks = trk_clock_ticks();
        if (TRK_LIKELY(trk_ring_step(&ring->reserved, position)))
            break;
    }
    struct trk_record *record = &ring->records[position & (ring->capacity - 1)];
    record->tsc = ticks;
    record->event = *event;
    return true;
}

/* Publish everything reserved, unless this append has interrupted another. */
static inline void trk_ring_leave(struct trk_ring *ring)
{
    if (TRK_UNLIKELY(ring->depth > 1)) {
        ring->depth = ring->depth - 1;
        return;
    }
    for (;;) {
        uint64_t reserved = ring->reserved;
        atomic_store_explicit(&ring->shared->head, reserved, memory_order_release);
        atomic_signal_fence(memory_order_seq_cst);
        ring->depth = 0;
        atomic_signal_fence(memory_order_seq_cst);
        if (TRK_LIKELY(ring->reserved == reserved))
            return;
        ring->depth = 1; /* a handler has appended while we published: once more */
        atomic_signal_fence(memory_order_seq_cst);
    }
}

/* Put the count of lost events before the next record. */
static inline bool trk_ring_tell_drops(struct trk_ring *ring, uint64_t dropped, uint64_t room)
{
    struct trk_event drop = {.argument = dropped, .type = TRK_EVENT_DROP};
    if (!trk_ring_put(ring, &drop, room - 1)) /* the record itself must fit behind it */
        return false;
    ring->dropped_told = dropped;
    return true;
}

/* Append an event, or count it as dropped. */
static inline void trk_ring_append(struct trk_ring *ring, const struct trk_event *event)
{
    uint64_t room = ring->capacity;
    if (trk_ring_is_observation(event->type))
        room -= room / 8;
    ring->depth = ring->depth + 1;
    atomic_signal_fence(memory_order_seq_cst);
    uint64_t dropped = atomic_load_explicit(&ring->shared->dropped, memory_order_relaxed);
    bool told =
        TRK_LIKELY(dropped == ring->dropped_told) || trk_ring_tell_drops(ring, dropped, room);
    if (TRK_UNLIKELY(!told || !trk_ring_put(ring, event, room)))
        trk_ring_count(&ring->shared->dropped);
    atomic_signal_fence(memory_order_seq_cst);
    trk_ring_leave(ring);
}

#endif
