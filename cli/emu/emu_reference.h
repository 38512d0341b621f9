/*
 * What the instructions compute, written a second time and in another way: bit by bit, and as the
 * standard has the message and the rounds. Shares no line with the emulator.
 */
#ifndef CLI_EMU_REFERENCE_H
#define CLI_EMU_REFERENCE_H

#include "emu_case.h"

/*
 * Change `state` as the case's instruction would; the case says which operands are meant.
 *
 * @param processor  What RDPID gives.
 */
void emu_reference_run(const struct emu_case *c, uint32_t processor, struct emu_state *state);

#endif
