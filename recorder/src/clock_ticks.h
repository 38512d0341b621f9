/* The processor's constant-rate counter: what time stamps are made of. */
#ifndef RECORDER_CLOCK_TICKS_H
#define RECORDER_CLOCK_TICKS_H

#include <stdint.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#define TRK_CLOCK_SOURCE "tsc"
static inline uint64_t trk_clock_ticks(void)
{
    return __rdtsc();
}
#elif defined(__aarch64__)
#define TRK_CLOCK_SOURCE "cntvct"
static inline uint64_t trk_clock_ticks(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
#else
#error "no counter known for this processor"
#endif

#endif
