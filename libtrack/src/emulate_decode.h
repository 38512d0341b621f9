/* One instruction of the emulator's list, taken apart. Internal to libtrack. */
#ifndef TRACK_EMULATE_DECODE_H
#define TRACK_EMULATE_DECODE_H

#include "track/emulate.h"

enum emulate_segment { EMULATE_SEGMENT_FLAT = 0, EMULATE_SEGMENT_FS, EMULATE_SEGMENT_GS };

#define EMULATE_NO_REGISTER 0xffu

struct emulate_instruction {
    enum trk_instruction kind;
    uint8_t length_bytes;
    uint8_t reg; /* from ModRM.reg, with REX.R */
    uint8_t rm;  /* a register, with REX.B, where there is no memory operand */
    uint8_t immediate[2];
    bool memory;
    /* The memory operand: [base + index * scale + displacement], cut to 32 bits where asked. */
    uint8_t base, index; /* EMULATE_NO_REGISTER: none */
    uint8_t scale_shift;
    bool pc_relative;
    bool address_32;
    bool stack_segment; /* by RSP or RBP, and no segment was named that is kept in 64-bit mode */
    enum emulate_segment segment;
    int32_t displacement;
};

/*
 * False when the bytes do not begin with a whole instruction of the list. Signal-safe, touches
 * nothing but its arguments.
 */
bool trk_emulate_decode(const unsigned char *code, size_t code_bytes,
                        struct emulate_instruction *out);

#endif
