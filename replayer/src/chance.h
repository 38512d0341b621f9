/* Chance from a seed: splitmix64, for orders of passes and for resampling. Every state will do. */
#ifndef CHANCE_H
#define CHANCE_H

#include <stdint.h>

static inline uint64_t trk_chance_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 to below - 1, evenly enough for numbers that are small against 2^32. */
static inline uint32_t trk_chance_below(uint64_t *state, uint32_t below)
{
    return (uint32_t)(((trk_chance_next(state) >> 32) * below) >> 32);
}

#endif
