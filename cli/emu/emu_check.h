/*
 * The self-check of the emulated instructions.
 *
 * Each random case goes several ways that must agree on every register, the flags, the operand's
 * memory and the fault if there is one: the emulator as a function, the reference, the processor
 * where it has the instruction, and the fault handler on a real signal.
 */
#ifndef CLI_EMU_CHECK_H
#define CLI_EMU_CHECK_H

#include "emu_case.h"

struct emu_tally {
    bool processor_has;
    uint64_t cases, memory, faults; /* `memory` and `faults`: the cases with such operands */
    uint64_t by_processor;          /* compared with the processor itself */
    uint64_t by_handler;            /* delivered by a signal */
    uint64_t differences;
    char first[256]; /* the first difference: what, and the bytes; "" for none */
};

/*
 * Check one instruction with `cases` cases from the seed on.
 *
 * emu_native_open must have been called. Threads: one in the process, which stays on a processor.
 */
void emu_check(enum trk_instruction instruction, uint64_t cases, uint64_t seed,
               const struct emu_memory *memory, struct emu_tally *out);

#endif
