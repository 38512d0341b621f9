/*
 * One instruction run by the processor itself, with every register chosen.
 *
 * The code is copied into a page of its own, all general registers (RSP too), the flags and the
 * vector registers are loaded, it runs, and all are read back. A signal that it raises ends the run
 * and is told. Not for several threads: one place holds the registers.
 */
#ifndef CLI_EMU_NATIVE_H
#define CLI_EMU_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/emulate.h"
#include "track/status.h"

#define EMU_VECTOR_BYTES                                                                           \
    32u /* of each register; the upper half only where the processor has AVX                       \
         */

struct emu_state {
    uint64_t general[TRK_GENERAL_REGISTERS];
    uint64_t flags;
    unsigned char vector[TRK_VECTOR_REGISTERS][EMU_VECTOR_BYTES];
};

/* How a run ended. Without a signal the others are 0. */
struct emu_end {
    int signal_number;
    int code;            /* si_code */
    uint64_t trap;       /* the processor's vector */
    uint64_t fault_addr; /* of a page fault */
    uint64_t pc_offset;  /* of the interrupted instruction from the first byte of the code */
};

enum emu_way {
    EMU_BY_PROCESSOR, /* SIGILL when it has not got the instruction */
    /* An instruction that no processor has stands before it, and the handler goes on behind that:
     * so the fault handler gets to emulate what this processor could do itself. */
    EMU_BY_HANDLER,
};

/**
 * Prepare: the page for code, handlers for the three signals, the fault handler on top of them.
 *
 * The page lies below 2 GiB, so that RIP-relative operands reach the caller's memory.
 *
 * @return TRK_OK, TRK_E_UNSUPPORTED (not this kind of processor), TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status emu_native_open(struct trk_error *error);
void emu_native_close(void);

/* Where the instruction will lie, for RIP-relative operands. */
uint64_t emu_native_pc(enum emu_way way);

struct emu_end emu_native_run(enum emu_way way, const unsigned char *code, size_t code_bytes,
                              struct emu_state *state);

#endif
