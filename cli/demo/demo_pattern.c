#include "demo_pattern.h"

#include <stdbool.h>

#include "simulator/chance.h"

static uint32_t pattern_word(uint32_t stamp, uint32_t index)
{
    uint32_t word = (stamp ^ index * UINT32_C(0x9e3779b9)) * UINT32_C(0x85ebca6b);
    return index == 0 ? stamp : word ^ word >> 15;
}

void demo_pattern_store(volatile uint32_t *words, uint32_t stamp)
{
    for (uint32_t i = 0; i < DEMO_SLOT_WORDS; i++) {
        words[i] = pattern_word(stamp, i);
    }
}

uint32_t demo_pattern_load(const volatile uint32_t *words)
{
    uint32_t stamp = words[0];
    bool stored = true;
    bool filled = true;
    for (uint32_t i = 1; i < DEMO_SLOT_WORDS; i++) {
        uint32_t word = words[i];
        stored = stored && word == pattern_word(stamp, i);
        filled = filled && word == stamp;
    }
    return stored || filled ? stamp : 0;
}

struct demo_dice demo_dice_make(uint64_t seed, uint64_t player)
{
    uint64_t state = seed;
    state = trk_chance_next(&state) ^ player;
    return (struct demo_dice){.state = trk_chance_next(&state)};
}

uint32_t demo_dice_roll(struct demo_dice *dice, uint32_t sides)
{
    return (uint32_t)((trk_chance_next(&dice->state) >> 32) * sides >> 32);
}
