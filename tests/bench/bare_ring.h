/*
 * The least that an append could be: 32 bytes with a time stamp into a buffer as large as a ring,
 * its index published with a release store.
 */
#ifndef TRK_BENCH_BARE_RING_H
#define TRK_BENCH_BARE_RING_H

#include <stdatomic.h>
#include <stdint.h>

#include "recorder/trace.h"

#define BENCH_BARE_RECORDS (128u * 1024u) /* the default ring */

struct bench_bare_ring {
    struct trk_record *records;
    _Atomic uint64_t head;
};

static inline uint64_t bench_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
#error "no time stamp counter known for this processor"
#endif
}

/* Not inlined: the recorder's is a call through a pointer too. */
__attribute__((noinline, unused)) static void bench_bare_append(struct bench_bare_ring *ring,
                                                                const struct trk_event *event)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    struct trk_record *record = &ring->records[head & (BENCH_BARE_RECORDS - 1)];
    record->tsc = bench_ticks();
    record->event = *event;
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
}

#endif
