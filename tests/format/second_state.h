/* The second decoder's checkpoints: F-37 and F-40 of docs/format.md. */
#ifndef TESTS_SECOND_STATE_H
#define TESTS_SECOND_STATE_H

#include <stddef.h>
#include <stdint.h>

void second_state_reset(void);
/*
 * Take a CHECKPOINT's payload. Gives the sum of the ordinals; before says how many events of a
 * stream stand in the file before it. Ends the program where F-40 is broken.
 */
uint64_t second_state_take(const uint8_t *raw, size_t size, uint64_t (*before)(uint32_t stream));

#endif
