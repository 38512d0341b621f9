/*
 * The instructions that a console's processor has and a host may lack, carried out in software.
 *
 * A function of code bytes, registers and memory: SHA1NEXTE, SHA1MSG1, SHA1MSG2, SHA1RNDS4,
 * SHA256RNDS2, SHA256MSG1, SHA256MSG2; EXTRQ and INSERTQ, both forms; MONITORX (no effect), MWAITX
 * (yields); RDPID; CLWB. All legal encodings in 64-bit mode are known: every addressing mode,
 * RIP-relative, segment overrides, 32-bit addresses, prefixes without meaning. None of them changes
 * a flag or the upper part of a vector register, so neither is here. The fault handler uses this
 * for SIGILL; it does not disassemble, and knows no other instruction.
 *
 * Rules: [M-54]. Behaviour: tracker-spec 7.
 */
#ifndef TRACK_EMULATE_H
#define TRACK_EMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/macros.h"

TRK_EXTERN_C_BEGIN

/* In the order of `--json` and of the tests; TRK_INSTRUCTION_NONE: another instruction. */
enum trk_instruction {
    TRK_INSTRUCTION_NONE = 0,
    TRK_INSTRUCTION_SHA1NEXTE,
    TRK_INSTRUCTION_SHA1MSG1,
    TRK_INSTRUCTION_SHA1MSG2,
    TRK_INSTRUCTION_SHA1RNDS4,
    TRK_INSTRUCTION_SHA256RNDS2,
    TRK_INSTRUCTION_SHA256MSG1,
    TRK_INSTRUCTION_SHA256MSG2,
    TRK_INSTRUCTION_EXTRQ_IMMEDIATE,
    TRK_INSTRUCTION_EXTRQ,
    TRK_INSTRUCTION_INSERTQ_IMMEDIATE,
    TRK_INSTRUCTION_INSERTQ,
    TRK_INSTRUCTION_MONITORX,
    TRK_INSTRUCTION_MWAITX,
    TRK_INSTRUCTION_RDPID,
    TRK_INSTRUCTION_CLWB,
    TRK_INSTRUCTION_COUNT,
};

/* No instruction is longer. */
#define TRK_INSTRUCTION_BYTES_MAX 15u
#define TRK_GENERAL_REGISTERS     16u
#define TRK_VECTOR_REGISTERS      16u
#define TRK_VECTOR_BYTES          16u

/* General registers stand in the order of their encoding: rax rcx rdx rbx rsp rbp rsi rdi r8 ... */
struct trk_registers {
    uint64_t general[TRK_GENERAL_REGISTERS];
    uint64_t pc;
    unsigned char vector[TRK_VECTOR_REGISTERS][TRK_VECTOR_BYTES]; /* xmm0 to xmm15 */
};

/* What an instruction may ask of the world. Every member but context must be there. */
struct trk_emulate_world {
    void *context;
    /* Copy from memory. On false, *fault_addr is the lowest byte that could not be read. */
    bool (*load)(void *context, uint64_t host_addr, void *into, size_t size_bytes,
                 uint64_t *fault_addr);
    /* Write the cache line of a readable byte back. */
    void (*write_back)(void *context, uint64_t host_addr);
    /* The base of FS (false) or GS. */
    uint64_t (*segment_base)(void *context, bool gs);
    /* What RDPID gives: on Linux the processor, and its node shifted left by 12. */
    uint32_t (*processor)(void *context);
    void (*yield)(void *context);
};

enum trk_emulate_result {
    TRK_EMULATE_DECLINED = 0, /* not one of the list, or not whole in the bytes given */
    TRK_EMULATE_DONE,         /* carried out; pc stands behind it */
    TRK_EMULATE_FAULT,        /* its memory operand faults; nothing has changed */
};

/* The vectors of the processor that a memory operand can raise. */
#define TRK_VECTOR_STACK      12u /* not canonical, by RSP or RBP */
#define TRK_VECTOR_PROTECTION 13u /* not canonical otherwise */
#define TRK_VECTOR_PAGE       14u /* not readable */

struct trk_emulate_fault {
    uint32_t vector;
    uint64_t host_addr; /* TRK_VECTOR_PAGE: the byte; else 0 */
};

/**
 * Say which of the instructions the bytes begin with.
 *
 * @param length_bytes  Its length, 1 to TRK_INSTRUCTION_BYTES_MAX; may be NULL. Untouched for NONE.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: any.
 */
enum trk_instruction trk_emulate_identify(const unsigned char *code, size_t code_bytes,
                                          size_t *length_bytes);

/* The mnemonic in lower case; the immediate forms have "-imm" behind it. "none" for others. */
const char *trk_emulate_name(enum trk_instruction instruction);

/**
 * Carry out the one instruction that the bytes begin with.
 *
 * @param code        From registers->pc on.
 * @param code_bytes  How many of them are there; an instruction that is cut off is declined.
 * @param registers   Read and, for TRK_EMULATE_DONE only, changed: the destination and pc.
 * @param fault       Filled for TRK_EMULATE_FAULT.
 *
 * Allocates: no. Blocks: as world's functions do. Signal-safe: as they are. Threads: any.
 */
TRK_MUST_USE enum trk_emulate_result trk_emulate(const unsigned char *code, size_t code_bytes,
                                                 struct trk_registers *registers,
                                                 const struct trk_emulate_world *world,
                                                 struct trk_emulate_fault *fault);

TRK_EXTERN_C_END

#endif
