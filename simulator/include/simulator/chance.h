/*
 * Chance from a seed: splitmix64. A state is a number, and every one will do.
 */
#ifndef SIMULATOR_CHANCE_H
#define SIMULATOR_CHANCE_H

#include <stdint.h>

#include "track/macros.h"

TRK_EXTERN_C_BEGIN

/* Every bit of the number moves every bit of what comes out. */
static inline uint64_t trk_chance_mix(uint64_t number)
{
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

static inline uint64_t trk_chance_next(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return trk_chance_mix(*state);
}

TRK_EXTERN_C_END

#endif
