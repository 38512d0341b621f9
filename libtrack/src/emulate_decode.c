/*
 * The decoder of the emulator: prefixes, opcode, ModRM, SIB, displacement, immediates.
 *
 * Only what the list needs is known. What is not certain to be an instruction of the list is
 * refused, and the fault then takes its usual way. The tests hold this against a whole
 * disassembler, byte string by byte string (decision 0010).
 */
#include "emulate_decode.h"

#include <string.h>

#define REX_W 8u /* without meaning for every instruction here */
#define REX_R 4u
#define REX_X 2u
#define REX_B 1u

/* The prefix that tells instructions of one opcode apart; of F2 and F3 the last one counts. */
enum mandatory { PREFIX_NONE, PREFIX_66, PREFIX_F2, PREFIX_F3 };

enum form {
    FORM_ANY, /* register or memory */
    FORM_REGISTER,
    FORM_MEMORY,
    FORM_WHOLE, /* the ModRM byte is part of the opcode */
};

#define ANY_EXTENSION 0xffu

struct encoding {
    enum trk_instruction kind;
    uint8_t map; /* the byte behind 0F: 38, 3A, or 0 */
    uint8_t opcode;
    enum mandatory mandatory;
    enum form form;
    uint8_t extension; /* ModRM.reg, the whole of ModRM, or ANY_EXTENSION */
    uint8_t immediates;
};

static const struct encoding encodings[] = {
    {TRK_INSTRUCTION_SHA1NEXTE, 0x38, 0xc8, PREFIX_NONE, FORM_ANY, ANY_EXTENSION, 0},
    {TRK_INSTRUCTION_SHA1MSG1, 0x38, 0xc9, PREFIX_NONE, FORM_ANY, ANY_EXTENSION, 0},
    {TRK_INSTRUCTION_SHA1MSG2, 0x38, 0xca, PREFIX_NONE, FORM_ANY, ANY_EXTENSION, 0},
    {TRK_INSTRUCTION_SHA256RNDS2, 0x38, 0xcb, PREFIX_NONE, FORM_ANY, ANY_EXTENSION, 0},
    {TRK_INSTRUCTION_SHA256MSG1, 0x38, 0xcc, PREFIX_NONE, FORM_ANY, ANY_EXTENSION, 0},
    {TRK_INSTRUCTION_SHA256MSG2, 0x38, 0xcd, PREFIX_NONE, FORM_ANY, ANY_EXTENSION, 0},
    {TRK_INSTRUCTION_SHA1RNDS4, 0x3a, 0xcc, PREFIX_NONE, FORM_ANY, ANY_EXTENSION, 1},
    {TRK_INSTRUCTION_EXTRQ_IMMEDIATE, 0, 0x78, PREFIX_66, FORM_REGISTER, 0, 2},
    {TRK_INSTRUCTION_EXTRQ, 0, 0x79, PREFIX_66, FORM_REGISTER, ANY_EXTENSION, 0},
    {TRK_INSTRUCTION_INSERTQ_IMMEDIATE, 0, 0x78, PREFIX_F2, FORM_REGISTER, ANY_EXTENSION, 2},
    {TRK_INSTRUCTION_INSERTQ, 0, 0x79, PREFIX_F2, FORM_REGISTER, ANY_EXTENSION, 0},
    {TRK_INSTRUCTION_MONITORX, 0, 0x01, PREFIX_NONE, FORM_WHOLE, 0xfa, 0},
    {TRK_INSTRUCTION_MWAITX, 0, 0x01, PREFIX_NONE, FORM_WHOLE, 0xfb, 0},
    {TRK_INSTRUCTION_RDPID, 0, 0xc7, PREFIX_F3, FORM_REGISTER, 7, 0},
    {TRK_INSTRUCTION_CLWB, 0, 0xae, PREFIX_66, FORM_MEMORY, 6, 0},
};

struct reader {
    const unsigned char *at, *end;
    bool cut; /* a byte was wanted that is not there */
};

static uint8_t next_byte(struct reader *reader)
{
    if (reader->at == reader->end) {
        reader->cut = true;
        return 0;
    }
    return *reader->at++;
}

struct prefixes {
    enum mandatory mandatory;
    bool operand_66, address_67, lock;
    enum emulate_segment segment;
    uint8_t rex;
};

/* Take one legacy prefix; false: the byte is none. */
static bool take_prefix(struct prefixes *prefixes, uint8_t byte)
{
    switch (byte) {
    case 0x66:
        prefixes->operand_66 = true;
        return true;
    case 0x67:
        prefixes->address_67 = true;
        return true;
    case 0xf0:
        prefixes->lock = true;
        return true;
    case 0xf2:
        prefixes->mandatory = PREFIX_F2;
        return true;
    case 0xf3:
        prefixes->mandatory = PREFIX_F3;
        return true;
    case 0x64:
        prefixes->segment = EMULATE_SEGMENT_FS;
        return true;
    case 0x65:
        prefixes->segment = EMULATE_SEGMENT_GS;
        return true;
    case 0x26: /* ES, CS, SS and DS mean nothing in 64-bit mode, and end no FS or GS before them */
    case 0x2e:
    case 0x36:
    case 0x3e:
        return true;
    default:
        return false;
    }
}

/* All prefixes; the first byte of the opcode is returned. REX counts only right before it. */
static uint8_t take_prefixes(struct reader *reader, struct prefixes *prefixes)
{
    for (;;) {
        uint8_t byte = next_byte(reader);
        if (reader->cut)
            return 0;
        if (take_prefix(prefixes, byte)) {
            prefixes->rex = 0;
            continue;
        }
        if ((byte & 0xf0) != 0x40)
            return byte;
        prefixes->rex = byte & 0x0f;
    }
}

static bool form_fits(const struct encoding *encoding, uint8_t modrm)
{
    bool is_register = modrm >> 6 == 3;
    switch (encoding->form) {
    case FORM_WHOLE:
        return modrm == encoding->extension;
    case FORM_REGISTER:
        if (!is_register)
            return false;
        break;
    case FORM_MEMORY:
        if (is_register)
            return false;
        break;
    case FORM_ANY:
        break;
    }
    return encoding->extension == ANY_EXTENSION || encoding->extension == ((modrm >> 3) & 7);
}

static const struct encoding *find(uint8_t map, uint8_t opcode, const struct prefixes *prefixes,
                                   uint8_t modrm)
{
    enum mandatory mandatory = prefixes->mandatory;
    if (mandatory == PREFIX_NONE && prefixes->operand_66)
        mandatory = PREFIX_66;
    for (size_t i = 0; i < sizeof encodings / sizeof encodings[0]; i++) {
        const struct encoding *encoding = &encodings[i];
        if (encoding->map == map && encoding->opcode == opcode &&
            encoding->mandatory == mandatory && form_fits(encoding, modrm))
            return encoding;
    }
    return NULL;
}

static int32_t take_displacement(struct reader *reader, unsigned size_bytes)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < size_bytes; i++)
        value |= (uint32_t)next_byte(reader) << (8 * i);
    return size_bytes == 1 ? (int8_t)value : (int32_t)value;
}

static void take_memory(struct reader *reader, uint8_t modrm, const struct prefixes *prefixes,
                        struct emulate_instruction *out)
{
    unsigned mode = modrm >> 6, low = modrm & 7;
    unsigned displacement_bytes = mode == 1 ? 1 : mode == 2 ? 4 : 0;
    uint8_t base_extension = (prefixes->rex & REX_B) ? 8 : 0;
    out->memory = true;
    if (low == 4) { /* a SIB byte follows */
        uint8_t sib = next_byte(reader);
        uint8_t index = (uint8_t)(((sib >> 3) & 7) | ((prefixes->rex & REX_X) ? 8 : 0));
        if (index != 4) /* RSP is no index; R12 is one */
            out->index = index;
        out->scale_shift = sib >> 6;
        low = sib & 7;
        if (low == 5 && mode == 0)
            displacement_bytes = 4;
        else
            out->base = (uint8_t)(low | base_extension);
    } else if (low == 5 && mode == 0) {
        out->pc_relative = true;
        displacement_bytes = 4;
    } else {
        out->base = (uint8_t)(low | base_extension);
    }
    out->displacement = take_displacement(reader, displacement_bytes);
    out->stack_segment = out->segment == EMULATE_SEGMENT_FLAT && (out->base == 4 || out->base == 5);
}

bool trk_emulate_decode(const unsigned char *code, size_t code_bytes,
                        struct emulate_instruction *out)
{
    if (code_bytes > TRK_INSTRUCTION_BYTES_MAX)
        code_bytes = TRK_INSTRUCTION_BYTES_MAX;
    struct reader reader = {code, code + code_bytes, false};
    struct prefixes prefixes = {PREFIX_NONE, false, false, false, EMULATE_SEGMENT_FLAT, 0};

    if (take_prefixes(&reader, &prefixes) != 0x0f || prefixes.lock)
        return false;
    uint8_t map = 0, opcode = next_byte(&reader);
    if (opcode == 0x38 || opcode == 0x3a) {
        map = opcode;
        opcode = next_byte(&reader);
    }
    uint8_t modrm = next_byte(&reader);
    const struct encoding *encoding = find(map, opcode, &prefixes, modrm);
    if (encoding == NULL || reader.cut)
        return false;

    memset(out, 0, sizeof *out);
    out->kind = encoding->kind;
    out->base = out->index = EMULATE_NO_REGISTER;
    out->segment = prefixes.segment;
    out->address_32 = prefixes.address_67;
    out->reg = (uint8_t)(((modrm >> 3) & 7) | ((prefixes.rex & REX_R) ? 8 : 0));
    out->rm = (uint8_t)((modrm & 7) | ((prefixes.rex & REX_B) ? 8 : 0));
    if (modrm >> 6 != 3)
        take_memory(&reader, modrm, &prefixes, out);
    for (unsigned i = 0; i < encoding->immediates && i < sizeof out->immediate; i++)
        out->immediate[i] = next_byte(&reader);
    out->length_bytes = (uint8_t)(reader.at - code);
    return !reader.cut;
}
