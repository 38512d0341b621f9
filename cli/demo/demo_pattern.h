/*
 * What stands in a slot, and the dice.
 *
 * A slot is 1 KiB that one thread owns. Its bytes follow from a stamp, so that whoever reads it can
 * say which store it sees, or that it sees parts of two. A store by a CPU writes a pattern whose
 * words all differ; the GPU fills with the stamp itself. Stamps grow from store to store.
 */
#ifndef DEMO_PATTERN_H
#define DEMO_PATTERN_H

#include <stdint.h>

#define DEMO_SLOT_BYTES 1024u
#define DEMO_SLOT_WORDS (DEMO_SLOT_BYTES / 4u)
#define DEMO_PAGE_SLOTS 4u

/* Write the pattern of a stamp with native stores, first word first. */
void demo_pattern_store(volatile uint32_t *words, uint32_t stamp);

/* Read a slot with native loads: the stamp whose bytes all of it holds, 0 if there is none. */
uint32_t demo_pattern_load(const volatile uint32_t *words);

/* A sequence that follows from its seed alone. */
struct demo_dice {
    uint64_t state;
};

struct demo_dice demo_dice_make(uint64_t seed, uint64_t player);
/* A number below `sides`, which is not 0. */
uint32_t demo_dice_roll(struct demo_dice *dice, uint32_t sides);

#endif
