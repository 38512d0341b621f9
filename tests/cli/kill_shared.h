/* What the kill test's driver and target share through a file: it outlives a killed process. */
#ifndef TESTS_KILL_SHARED_H
#define TESTS_KILL_SHARED_H

#include <stdatomic.h>
#include <stdint.h>

#define KILL_THREADS 4

struct kill_counter {
    _Alignas(64) _Atomic uint64_t counted; /* marks that the thread has been told are recorded */
};

struct kill_shared {
    _Atomic uint32_t pid;
    _Atomic uint32_t stop;
    struct kill_counter threads[KILL_THREADS];
};

/* A mark's number: which thread, and its how many-eth. */
static inline uint64_t kill_mark(uint64_t thread, uint64_t number)
{
    return thread << 48 | number;
}

#endif
