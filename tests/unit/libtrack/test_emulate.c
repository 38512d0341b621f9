/*
 * Goal: the emulated instructions make the published hashes, ask the world for what they need, and
 * change nothing when their operand faults or the bytes are no instruction of theirs.
 * Method: SHA-1 and SHA-256 of known messages, computed by nothing but emulated instructions;
 * tables of single steps. Random operands against the processor are `trk emu-test`.
 *
 * Rules: [M-54].
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "track/emulate.h"

/* ---- a world of 64 bytes ---- */

#define MEMORY_AT UINT64_C(0x200000000)

static struct {
    unsigned char memory[64];
    unsigned yields, write_backs;
    uint64_t write_back_addr;
} world;

static bool load(void *context, uint64_t host_addr, void *into, size_t size_bytes,
                 uint64_t *fault_addr)
{
    (void)context;
    if (host_addr < MEMORY_AT || host_addr + size_bytes > MEMORY_AT + sizeof world.memory) {
        *fault_addr = host_addr < MEMORY_AT ? host_addr : MEMORY_AT + sizeof world.memory;
        return false;
    }
    memcpy(into, &world.memory[host_addr - MEMORY_AT], size_bytes);
    return true;
}

static void write_back(void *context, uint64_t host_addr)
{
    (void)context;
    world.write_backs++;
    world.write_back_addr = host_addr;
}

static uint64_t segment_base(void *context, bool gs)
{
    (void)context;
    return gs ? 0x1000 : MEMORY_AT;
}

static uint32_t processor(void *context)
{
    (void)context;
    return 0x5003;
}

static void yield(void *context)
{
    (void)context;
    world.yields++;
}

static const struct trk_emulate_world ways = {NULL,         load,      write_back,
                                              segment_base, processor, yield};

static enum trk_emulate_result step(struct trk_registers *registers, const unsigned char *code,
                                    size_t size, struct trk_emulate_fault *fault)
{
    return trk_emulate(code, size, registers, &ways, fault);
}

/* An instruction on two of the first eight registers: 0F, two bytes of opcode, and an immediate
 * or -1. */
static void two(struct trk_registers *registers, unsigned opcode, unsigned to, unsigned from,
                int immediate)
{
    unsigned char code[5] = {0x0f, (unsigned char)(opcode >> 8), (unsigned char)opcode,
                             (unsigned char)(0xc0 | to << 3 | from), (unsigned char)immediate};
    struct trk_emulate_fault fault;
    cr_assert_eq(step(registers, code, immediate < 0 ? 4 : 5, &fault), TRK_EMULATE_DONE);
}

static uint32_t *words(struct trk_registers *registers, unsigned number)
{
    return (uint32_t *)(void *)registers->vector[number];
}

static uint32_t big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* ---- whole hashes: one block of a message, padded ---- */

static void pad(unsigned char block[64], const char *message)
{
    size_t length = 0;
    memset(block, 0, 64);
    for (; message[length] != '\0'; length++)
        block[length] = (unsigned char)message[length];
    block[length] = 0x80;
    block[62] = (unsigned char)(length * 8 >> 8);
    block[63] = (unsigned char)(length * 8);
}

/* The schedule lies in rows of four words, the first of a row highest, as the rounds take them. */
static void sha1_block(struct trk_registers *r, const unsigned char *block, uint32_t state[5])
{
    enum { ABCD, E, NEXT, ROW, TEMP };
    uint32_t rows[20][4];
    for (unsigned row = 0; row < 4; row++) {
        for (unsigned i = 0; i < 4; i++)
            rows[row][3 - i] = big_endian(block + 16 * row + 4 * i);
    }
    for (unsigned row = 4; row < 20; row++) {
        memcpy(words(r, TEMP), rows[row - 4], 16);
        memcpy(words(r, ROW), rows[row - 3], 16);
        two(r, 0x38c9, TEMP, ROW, -1); /* sha1msg1 */
        for (unsigned i = 0; i < 4; i++)
            words(r, TEMP)[i] ^= rows[row - 2][i];
        memcpy(words(r, ROW), rows[row - 1], 16);
        two(r, 0x38ca, TEMP, ROW, -1); /* sha1msg2 */
        memcpy(rows[row], words(r, TEMP), 16);
    }
    for (unsigned i = 0; i < 4; i++)
        words(r, ABCD)[3 - i] = state[i];
    memset(words(r, E), 0, 16);
    words(r, E)[3] = state[4];
    for (unsigned row = 0; row < 20; row++) {
        memcpy(words(r, ROW), rows[row], 16);
        if (row == 0) {
            for (unsigned i = 0; i < 4; i++)
                words(r, E)[i] += rows[0][i];
        } else {
            two(r, 0x38c8, E, ROW, -1); /* sha1nexte */
        }
        memcpy(words(r, NEXT), words(r, ABCD), 16);
        two(r, 0x3acc, ABCD, E, (int)(row / 5)); /* sha1rnds4 */
        memcpy(words(r, E), words(r, NEXT), 16);
    }
    memset(words(r, ROW), 0, 16);
    two(r, 0x38c8, E, ROW, -1);
    for (unsigned i = 0; i < 4; i++)
        state[i] += words(r, ABCD)[3 - i];
    state[4] += words(r, E)[3];
}

static const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static void sha256_block(struct trk_registers *r, const unsigned char *block, uint32_t state[8])
{
    enum { WK, ABEF, CDGH, TEMP, ROW };
    uint32_t w[64];
    for (unsigned i = 0; i < 16; i++)
        w[i] = big_endian(block + 4 * i);
    for (unsigned t = 16; t < 64; t += 4) {
        memcpy(words(r, TEMP), &w[t - 16], 16);
        memcpy(words(r, ROW), &w[t - 12], 16);
        two(r, 0x38cc, TEMP, ROW, -1); /* sha256msg1 */
        for (unsigned i = 0; i < 4; i++)
            words(r, TEMP)[i] += w[t - 7 + i];
        memcpy(words(r, ROW), &w[t - 4], 16);
        two(r, 0x38cd, TEMP, ROW, -1); /* sha256msg2 */
        memcpy(&w[t], words(r, TEMP), 16);
    }
    static const unsigned abef[] = {5, 4, 1, 0}, cdgh[] = {7, 6, 3, 2};
    for (unsigned i = 0; i < 4; i++) {
        words(r, ABEF)[i] = state[abef[i]];
        words(r, CDGH)[i] = state[cdgh[i]];
    }
    for (unsigned t = 0; t < 64; t += 2) {
        words(r, WK)[0] = w[t] + sha256_constants[t];
        words(r, WK)[1] = w[t + 1] + sha256_constants[t + 1];
        memcpy(words(r, TEMP), words(r, ABEF), 16);
        two(r, 0x38cb, CDGH, ABEF, -1); /* sha256rnds2: the new ABEF; the old one is CDGH */
        memcpy(words(r, ABEF), words(r, CDGH), 16);
        memcpy(words(r, CDGH), words(r, TEMP), 16);
    }
    for (unsigned i = 0; i < 4; i++) {
        state[abef[i]] += words(r, ABEF)[i];
        state[cdgh[i]] += words(r, CDGH)[i];
    }
}

struct hash_case {
    const char *message, *sha1, *sha256;
};

/* FIPS 180-4's examples, and the empty message. */
static const struct hash_case hash_cases[] = {
    {"abc", "a9993e364706816aba3e25717850c26c9cd0d89d",
     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"", "da39a3ee5e6b4b0d3255bfef95601890afd80709",
     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
};

Test(emulate, published_hashes)
{
    for (size_t n = 0; n < sizeof hash_cases / sizeof hash_cases[0]; n++) {
        const struct hash_case *c = &hash_cases[n];
        struct trk_registers registers = {.pc = 0};
        unsigned char block[64];
        uint32_t sha1[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
        uint32_t sha256[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
        char text[80];
        pad(block, c->message);
        sha1_block(&registers, block, sha1);
        for (unsigned i = 0; i < 5; i++)
            snprintf(text + 8 * i, 9, "%08x", sha1[i]);
        cr_expect_str_eq(text, c->sha1);
        sha256_block(&registers, block, sha256);
        for (unsigned i = 0; i < 8; i++)
            snprintf(text + 8 * i, 9, "%08x", sha256[i]);
        cr_expect_str_eq(text, c->sha256);
    }
}

/* ---- single steps ---- */

struct step_case {
    const char *name;
    unsigned char code[TRK_INSTRUCTION_BYTES_MAX];
    size_t size;
    uint64_t rax;
    enum trk_emulate_result result;
    struct trk_emulate_fault fault;
    unsigned yields, write_backs;
    uint64_t write_back_addr;
};

#define CODE(...) {__VA_ARGS__}, sizeof((unsigned char[]){__VA_ARGS__})

static const struct step_case step_cases[] = {
    {"monitorx", CODE(0x0f, 0x01, 0xfa), 1, TRK_EMULATE_DONE, {0}, 0, 0, 0},
    {"mwaitx", CODE(0x0f, 0x01, 0xfb), 1, TRK_EMULATE_DONE, {0}, 1, 0, 0},
    {"clwb [rax]",
     CODE(0x66, 0x0f, 0xae, 0x30),
     MEMORY_AT + 63,
     TRK_EMULATE_DONE,
     {0},
     0,
     1,
     MEMORY_AT + 63},
    {"clwb fs:[rax]",
     CODE(0x64, 0x66, 0x0f, 0xae, 0x30),
     5,
     TRK_EMULATE_DONE,
     {0},
     0,
     1,
     MEMORY_AT + 5},
    {"clwb gs:[rax]",
     CODE(0x65, 0x66, 0x0f, 0xae, 0x30),
     MEMORY_AT - 0xff0,
     TRK_EMULATE_DONE,
     {0},
     0,
     1,
     MEMORY_AT + 0x10},
    {"clwb [eax] is cut to 32 bits",
     CODE(0x67, 0x66, 0x0f, 0xae, 0x30),
     MEMORY_AT,
     TRK_EMULATE_FAULT,
     {TRK_VECTOR_PAGE, 0},
     0,
     0,
     0},
    {"clwb behind the memory",
     CODE(0x66, 0x0f, 0xae, 0x30),
     MEMORY_AT + 64,
     TRK_EMULATE_FAULT,
     {TRK_VECTOR_PAGE, MEMORY_AT + 64},
     0,
     0,
     0},
    {"sha1nexte over its edge",
     CODE(0x0f, 0x38, 0xc8, 0x08),
     MEMORY_AT + 49,
     TRK_EMULATE_FAULT,
     {TRK_VECTOR_PAGE, MEMORY_AT + 64},
     0,
     0,
     0},
    {"sha1nexte, unaligned",
     CODE(0x0f, 0x38, 0xc8, 0x08),
     MEMORY_AT + 7,
     TRK_EMULATE_DONE,
     {0},
     0,
     0,
     0},
    {"no canonical address",
     CODE(0x66, 0x0f, 0xae, 0x30),
     UINT64_C(1) << 47,
     TRK_EMULATE_FAULT,
     {TRK_VECTOR_PROTECTION, 0},
     0,
     0,
     0},
    {"none by its last byte",
     CODE(0x0f, 0x38, 0xc8, 0x08),
     (UINT64_C(1) << 47) - 15,
     TRK_EMULATE_FAULT,
     {TRK_VECTOR_PROTECTION, 0},
     0,
     0,
     0},
    {"none on the stack",
     CODE(0x66, 0x0f, 0xae, 0x34, 0x04),
     UINT64_C(1) << 62,
     TRK_EMULATE_FAULT,
     {TRK_VECTOR_STACK, 0},
     0,
     0,
     0},
    {"rdpid cut off", CODE(0xf3, 0x0f, 0xc7), 1, TRK_EMULATE_DECLINED, {0}, 0, 0, 0},
    {"rdseed is another", CODE(0x0f, 0xc7, 0xf8), 1, TRK_EMULATE_DECLINED, {0}, 0, 0, 0},
    {"mcommit is another", CODE(0xf3, 0x0f, 0x01, 0xfa), 1, TRK_EMULATE_DECLINED, {0}, 0, 0, 0},
    {"lock", CODE(0xf0, 0x66, 0x0f, 0xae, 0x30), MEMORY_AT, TRK_EMULATE_DECLINED, {0}, 0, 0, 0},
    {"extrq with another extension",
     CODE(0x66, 0x0f, 0x78, 0xc8, 1, 1),
     1,
     TRK_EMULATE_DECLINED,
     {0},
     0,
     0,
     0},
    {"ud2", CODE(0x0f, 0x0b), 1, TRK_EMULATE_DECLINED, {0}, 0, 0, 0},
};

Test(emulate, steps)
{
    for (size_t i = 0; i < sizeof step_cases / sizeof step_cases[0]; i++) {
        const struct step_case *c = &step_cases[i];
        struct trk_registers registers, before;
        struct trk_emulate_fault fault = {0};
        memset(&registers, 0x5a, sizeof registers);
        registers.general[0] = registers.general[4] = c->rax;
        before = registers;
        memset(&world, 0, sizeof world);
        cr_expect_eq(step(&registers, c->code, c->size, &fault), c->result, "%s", c->name);
        cr_expect_eq(fault.vector, c->fault.vector, "%s: vector %u", c->name, fault.vector);
        cr_expect_eq(fault.host_addr, c->fault.host_addr, "%s: fault", c->name);
        cr_expect_eq(world.yields, c->yields, "%s: yields", c->name);
        cr_expect_eq(world.write_backs, c->write_backs, "%s: write-backs", c->name);
        cr_expect_eq(world.write_back_addr, c->write_back_addr, "%s: written back", c->name);
        if (c->result != TRK_EMULATE_DONE)
            cr_expect_eq(memcmp(&registers, &before, sizeof before), 0, "%s: changed", c->name);
        else
            cr_expect_eq(registers.pc, before.pc + c->size, "%s: pc", c->name);
    }
}

Test(emulate, rdpid_fills_the_whole_register)
{
    static const unsigned char code[] = {0xf3, 0x41, 0x0f, 0xc7, 0xf9}; /* rdpid r9 */
    struct trk_registers registers;
    struct trk_emulate_fault fault;
    memset(&registers, 0xff, sizeof registers);
    cr_assert_eq(step(&registers, code, sizeof code, &fault), TRK_EMULATE_DONE);
    cr_expect_eq(registers.general[9], 0x5003);
}
