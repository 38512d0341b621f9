/* Draws for orders of passes and for resampling. */
#ifndef REPLAYER_SRC_DRAW_H
#define REPLAYER_SRC_DRAW_H

#include "simulator/chance.h"

/* 0 to below - 1, evenly enough for numbers that are small against 2^32. */
static inline uint32_t trk_chance_below(uint64_t *state, uint32_t below)
{
    return (uint32_t)(((trk_chance_next(state) >> 32) * below) >> 32);
}

#endif
