/* Chance from a seed: splitmix64. A state is a number, and every one will do. */
#ifndef SIMULATOR_CHANCE_H
#define SIMULATOR_CHANCE_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* A number below a small bound, all alike but for less than one in 2^57. */
static inline uint32_t random_below(uint64_t *state, uint64_t bound)
{
    return (uint32_t)((unsigned __int128)random_next(state) * bound >> 64);
}

#endif
