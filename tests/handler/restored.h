/* A store whose whole surroundings are known, to see what a fault leaves of them. */
#ifndef TESTS_HANDLER_RESTORED_H
#define TESTS_HANDLER_RESTORED_H

#include <stdbool.h>
#include <stdint.h>

#define RESTORED_RED_ZONE_WORDS 16
#define RESTORED_REGISTERS      14 /* without the stack pointer and the one with the address */
#define RESTORED_VECTORS        16

struct restored_state {
    uint64_t red_zone[RESTORED_RED_ZONE_WORDS];
    uint64_t registers[RESTORED_REGISTERS];
    uint64_t flags;
    uint64_t vectors[RESTORED_VECTORS][2];
    uint32_t vector_control;
    uint16_t x87_control;
};

/* Whether this machine has such a store. */
bool restored_is_here(void);

/* Fill registers, flags and red zone from `before`, store one byte, and tell what there is after.
 */
void restored_store(volatile unsigned char *where, const struct restored_state *before,
                    struct restored_state *after);

#endif
