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
 * When there is no room, the newest event is dropped and counted by its type. Observations leave
 * the last eighth to events that change state. The first records after a loss are DROP records, one
 * a type that was lost: context the type, argument how many of it so far, since ever, time stamp
 * that of the first loss not told before, size the ticks from there to the last one. A handler that
 * loses events in the middle of the telling may widen this span; the counts are exact always.
 *
 * A handler that leaves by longjmp from the middle of an append ends publication for its thread.
 */
#ifndef RECORDER_RING_H
#define RECORDER_RING_H

#include <stdbool.h>

#include "clock_ticks.h"
#include "session_layout.h"
#include "track/macros.h"

#define AHEAD_RECORDS 6

struct trk_ring {
    struct trk_session_ring *shared;
    struct trk_session_losses *losses;
    struct trk_record *records;
    uint64_t capacity;          /* records, a power of two */
    uint64_t tail_seen;         /* of the drain; may lag */
    volatile uint64_t untold;   /* a bit a kind of losses that no DROP record says yet */
    volatile uint64_t reserved; /* first position not reserved */
    volatile uint32_t depth;    /* appends in progress on this thread */
};

/*
 * Types of which the loss leaves a gap in what was observed, but no wrong state behind it. FAULT_AT
 * is none of them though it changes nothing: it comes in the handler, where nobody waits for room.
 */
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
    case TRK_EVENT_ACCESS:
    case TRK_EVENT_DECISION:
    case TRK_EVENT_OBJECT:
    case TRK_EVENT_LABEL:
    case TRK_EVENT_IMAGE:
    case TRK_EVENT_DISPATCH:
    case TRK_EVENT_SHARED:
    case TRK_EVENT_RESULT:
    case TRK_EVENT_OBJECT_DETAIL:
        return true;
    default:
        return false;
    }
}

/* What a thread finds of its ring in the session. */
struct trk_ring_place {
    struct trk_session_ring *shared;
    struct trk_session_losses *losses;
    struct trk_record *records;
    uint64_t capacity; /* records, a power of two */
};

/* Set up for an empty ring that this thread alone may append to. */
static inline void trk_ring_init(struct trk_ring *ring, const struct trk_ring_place *place)
{
    struct trk_session_ring *shared = place->shared;
    ring->shared = shared;
    ring->losses = place->losses;
    ring->records = place->records;
    ring->capacity = place->capacity;
    ring->tail_seen = atomic_load_explicit(&shared->tail, memory_order_acquire);
    ring->untold = 0; /* the drain has settled what the use before lost */
    for (uint32_t i = 0; i < TRK_SESSION_LOSS_KINDS; ++i) {
        struct trk_session_loss *loss = &place->losses->kinds[i];
        uint64_t count = atomic_load_explicit(&loss->count, memory_order_relaxed);
        atomic_store_explicit(&loss->told, count, memory_order_relaxed);
        atomic_store_explicit(&loss->first, 0, memory_order_relaxed);
    }
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

/* Change bits of *word; atomic against signals of this thread only. */
static inline void trk_ring_set(volatile uint64_t *word, uint64_t bits)
{
#if defined(__x86_64__)
    __asm__ volatile("orq %1, %0" : "+m"(*word) : "r"(bits) : "cc", "memory");
#else
    __atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
#endif
}

static inline void trk_ring_clear(volatile uint64_t *word, uint64_t bits)
{
#if defined(__x86_64__)
    __asm__ volatile("andq %1, %0" : "+m"(*word) : "r"(~bits) : "cc", "memory");
#else
    __atomic_fetch_and(word, ~bits, __ATOMIC_RELAXED);
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
 * Reserve one record, with its time stamp, if fewer than `room` are in the ring; else NULL. The
 * tail never passes the position seen here: nothing from it on is published while this append goes
 * on.
 */
static inline struct trk_record *trk_ring_reserve(struct trk_ring *ring, uint64_t room)
{
    uint64_t position;
    uint64_t ticks;
    for (;;) {
        position = ring->reserved;
        if (TRK_UNLIKELY(position - ring->tail_seen >= room)) {
            ring->tail_seen = atomic_load_explicit(&ring->shared->tail, memory_order_acquire);
            if (position - ring->tail_seen >= room)
                return NULL;
        }
        ticks = trk_clock_ticks();
        if (TRK_LIKELY(trk_ring_step(&ring->reserved, position)))
            break;
    }
    struct trk_record *record = &ring->records[position & (ring->capacity - 1)];
    __builtin_prefetch(&ring->records[(position + AHEAD_RECORDS) & (ring->capacity - 1)], 1);
    record->tsc = ticks;
    return record;
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

/* Count an event as lost. */
static __attribute__((noinline, cold, unused)) void trk_ring_lose(struct trk_ring *ring,
                                                                  uint8_t type)
{
    uint32_t kind = trk_session_loss_kind(type);
    struct trk_session_loss *loss = &ring->losses->kinds[kind];
    uint64_t count;
    if (atomic_load_explicit(&loss->first, memory_order_relaxed) == 0)
        atomic_store_explicit(&loss->first, trk_clock_ticks(), memory_order_relaxed);
    do { /* once more when a handler has lost one meanwhile: the last stays the latest */
        count = atomic_load_explicit(&loss->count, memory_order_relaxed);
        atomic_store_explicit(&loss->last, trk_clock_ticks(), memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
    } while (atomic_load_explicit(&loss->count, memory_order_relaxed) != count);
    trk_ring_count(&loss->count);
    trk_ring_count(&ring->shared->dropped);
    trk_ring_set(&ring->untold, UINT64_C(1) << kind);
}

/* Put one type's count of lost events before the next record. */
static inline bool trk_ring_tell(struct trk_ring *ring, uint32_t kind, uint64_t room)
{
    struct trk_session_loss *loss = &ring->losses->kinds[kind];
    uint64_t count = atomic_load_explicit(&loss->count, memory_order_relaxed);
    if (TRK_LIKELY(count == atomic_load_explicit(&loss->told, memory_order_relaxed)))
        return true;
    uint64_t first = atomic_load_explicit(&loss->first, memory_order_relaxed);
    uint64_t last = atomic_load_explicit(&loss->last, memory_order_relaxed);
    struct trk_record *record = trk_ring_reserve(ring, room - 1); /* the event must fit behind it */
    if (!record)
        return false;
    struct trk_event drop = {.argument = count,
                             .type = TRK_EVENT_DROP,
                             .context = (uint16_t)trk_session_loss_type(kind)};
    trk_event_set_size(&drop, last - first);
    record->tsc = first;
    record->event = drop;
    if (atomic_load_explicit(&loss->told, memory_order_relaxed) < count)
        atomic_store_explicit(&loss->told, count, memory_order_relaxed);
    atomic_store_explicit(&loss->first, 0, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    /* A handler has lost more meanwhile: its first is gone, and the last one known is before it. */
    if (atomic_load_explicit(&loss->count, memory_order_relaxed) !=
            atomic_load_explicit(&loss->told, memory_order_relaxed) &&
        atomic_load_explicit(&loss->first, memory_order_relaxed) == 0)
        atomic_store_explicit(&loss->first, last, memory_order_relaxed);
    return true;
}

static __attribute__((noinline, cold, unused)) bool trk_ring_tell_all(struct trk_ring *ring,
                                                                      uint64_t room)
{
    uint64_t untold;
    while ((untold = ring->untold) != 0) {
        uint32_t kind = (uint32_t)__builtin_ctzll(untold);
        trk_ring_clear(&ring->untold, UINT64_C(1) << kind); /* first: a handler may set it again */
        if (!trk_ring_tell(ring, kind, room)) {
            trk_ring_set(&ring->untold, UINT64_C(1) << kind);
            return false;
        }
    }
    return true;
}

/* How many records may be in the ring when an event of this type comes. */
static inline uint64_t trk_ring_room(const struct trk_ring *ring, uint8_t type)
{
    return trk_ring_is_observation(type) ? ring->capacity - ring->capacity / 8 : ring->capacity;
}

/* Append an event, or count it as dropped. */
static inline void trk_ring_append(struct trk_ring *ring, const struct trk_event *event)
{
    uint64_t room = trk_ring_room(ring, event->type);
    ring->depth = ring->depth + 1;
    atomic_signal_fence(memory_order_seq_cst);
    struct trk_record *record = NULL;
    if (TRK_LIKELY(ring->untold == 0) || trk_ring_tell_all(ring, room))
        record = trk_ring_reserve(ring, room);
    if (TRK_LIKELY(record != NULL))
        record->event = *event;
    else
        trk_ring_lose(ring, event->type);
    atomic_signal_fence(memory_order_seq_cst);
    trk_ring_leave(ring);
}

#endif
