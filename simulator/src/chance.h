/* A number of several, by chance. */
#ifndef SIMULATOR_SRC_CHANCE_H
#define SIMULATOR_SRC_CHANCE_H

#include "simulator/chance.h"

/* A number below a small bound, all alike but for less than one in 2^57. */
static inline uint32_t random_below(uint64_t *state, uint64_t bound)
{
    return (uint32_t)((unsigned __int128)trk_chance_next(state) * bound >> 64);
}

#endif
