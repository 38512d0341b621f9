/*
 * One instruction with random operands: an encoding, registers, memory, and what was meant by it.
 */
#ifndef CLI_EMU_CASE_H
#define CLI_EMU_CASE_H

#include "emu_native.h"

/* Memory for operands, below 2 GiB: pages that can be read between pages that cannot. */
#define EMU_OPEN_BYTES 8192u
struct emu_memory {
    unsigned char *first; /* of the open bytes; the page before and the page behind are closed */
};

TRK_MUST_USE enum trk_status emu_memory_open(struct emu_memory *memory, struct trk_error *error);
void emu_memory_close(struct emu_memory *memory);

struct emu_case {
    enum trk_instruction instruction;
    unsigned char code[TRK_INSTRUCTION_BYTES_MAX];
    size_t code_bytes;
    uint8_t reg, rm; /* register numbers */
    uint8_t immediate[2];
    bool memory;
    uint64_t host_addr; /* of the memory operand */
    bool unaligned;
    bool stack_segment;                      /* by RSP or RBP */
    struct emu_end fault;                    /* what the operand raises; signal_number 0: nothing */
    unsigned char operand[TRK_VECTOR_BYTES]; /* its bytes */
    struct emu_state before;
};

/* A source of numbers: the same seed gives the same cases. */
struct emu_random {
    uint64_t state;
};

/* What FS or GS adds to an address on this thread. */
uint64_t emu_segment_base(bool gs);

/* Make a case; pc: where the instruction will lie. Writes the operand into the memory. */
void emu_case_make(struct emu_case *out, enum trk_instruction instruction, uint64_t pc,
                   const struct emu_memory *memory, struct emu_random *random);

#endif
