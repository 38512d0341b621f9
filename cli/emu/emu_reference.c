#include "emu_reference.h"

#include <string.h>

/* ---- vectors as 128 bits ---- */

static unsigned bit(const unsigned char *bytes, unsigned number)
{
    return (unsigned)(bytes[number / 8] >> (number % 8)) & 1u;
}

static void set_bit(unsigned char *bytes, unsigned number, unsigned value)
{
    bytes[number / 8] =
        (unsigned char)((bytes[number / 8] & ~(1u << (number % 8))) | value << (number % 8));
}

/* Word n counted from the highest, as the manuals print them: 0 is bits 127 to 96. */
static uint32_t word(const unsigned char *bytes, unsigned n)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < 32; i++)
        value |= bit(bytes, (3 - n) * 32 + i) << i;
    return value;
}

static void set_word(unsigned char *bytes, unsigned n, uint32_t value)
{
    for (unsigned i = 0; i < 32; i++)
        set_bit(bytes, (3 - n) * 32 + i, (value >> i) & 1u);
}

static uint32_t turned(uint32_t value, unsigned left)
{
    uint64_t twice = (uint64_t)value << 32 | value;
    return (uint32_t)(twice >> (32 - left));
}

/* A function of three words, bit by bit, from its table of eight results. */
static uint32_t by_table(unsigned table, uint32_t x, uint32_t y, uint32_t z)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < 32; i++) {
        unsigned row = ((x >> i) & 1u) << 2 | ((y >> i) & 1u) << 1 | ((z >> i) & 1u);
        value |= (uint32_t)((table >> row) & 1u) << i;
    }
    return value;
}

/* Row xyz of a table is its bit 4x + 2y + z. */
#define TABLE_CHOOSE   0xcau
#define TABLE_MAJORITY 0xe8u
#define TABLE_PARITY   0x96u

/* ---- SHA-1: the schedule is W[t] = turn(W[t-3] ^ W[t-8] ^ W[t-14] ^ W[t-16]) ---- */

/* msg1 gives the part W[t-14] ^ W[t-16] of four words; W[t-16] is first's. */
static void sha1_msg1(unsigned char *to, const unsigned char *first, const unsigned char *second)
{
    uint32_t w[8];
    for (unsigned i = 0; i < 4; i++) {
        w[i] = word(first, i);
        w[4 + i] = word(second, i);
    }
    for (unsigned i = 0; i < 4; i++)
        set_word(to, i, w[i] ^ w[i + 2]);
}

/* msg2 adds W[t-3], of which the last is the first word that it makes, and turns. */
static void sha1_msg2(unsigned char *to, const unsigned char *first, const unsigned char *second)
{
    uint32_t w[7] = {word(second, 1), word(second, 2), word(second, 3)};
    for (unsigned i = 0; i < 4; i++)
        w[3 + i] = turned(word(first, i) ^ w[i], 1);
    for (unsigned i = 0; i < 4; i++)
        set_word(to, i, w[3 + i]);
}

static void sha1_nexte(unsigned char *to, const unsigned char *first, const unsigned char *second)
{
    uint32_t e = turned(word(first, 0), 30) + word(second, 0);
    memmove(to, second, TRK_VECTOR_BYTES);
    set_word(to, 0, e);
}

static void sha1_rnds4(unsigned char *to, const unsigned char *first, const unsigned char *second,
                       unsigned stage)
{
    static const unsigned tables[] = {TABLE_CHOOSE, TABLE_PARITY, TABLE_MAJORITY, TABLE_PARITY};
    static const uint32_t added[] = {1518500249u, 1859775393u, 2400959708u, 3395469782u};
    uint32_t s[5] = {word(first, 0), word(first, 1), word(first, 2), word(first, 3), 0};
    for (unsigned t = 0; t < 4; t++) {
        uint32_t made = turned(s[0], 5) + by_table(tables[stage], s[1], s[2], s[3]) + s[4] +
                        added[stage] + word(second, t);
        uint32_t moved[5] = {made, s[0], turned(s[1], 30), s[2], s[3]};
        memcpy(s, moved, sizeof s);
    }
    for (unsigned i = 0; i < 4; i++)
        set_word(to, i, s[i]);
}

/* ---- SHA-256; here the words of the schedule count from the lowest ---- */

static uint32_t small_sigma(uint32_t value, const unsigned *by)
{
    return turned(value, 32 - by[0]) ^ turned(value, 32 - by[1]) ^ value >> by[2];
}

static void sha256_msg1(unsigned char *to, const unsigned char *first, const unsigned char *second)
{
    static const unsigned by[] = {7, 18, 3};
    uint32_t w[5];
    for (unsigned i = 0; i < 4; i++)
        w[i] = word(first, 3 - i);
    w[4] = word(second, 3);
    for (unsigned i = 0; i < 4; i++)
        set_word(to, 3 - i, w[i] + small_sigma(w[i + 1], by));
}

static void sha256_msg2(unsigned char *to, const unsigned char *first, const unsigned char *second)
{
    static const unsigned by[] = {17, 19, 10};
    uint32_t w[6] = {word(second, 1), word(second, 0)}; /* W[14], W[15] */
    for (unsigned i = 0; i < 4; i++)
        w[2 + i] = word(first, 3 - i) + small_sigma(w[i], by);
    for (unsigned i = 0; i < 4; i++)
        set_word(to, 3 - i, w[2 + i]);
}

static void sha256_rnds2(unsigned char *to, const unsigned char *first, const unsigned char *second,
                         const unsigned char *xmm0)
{
    uint32_t s[8] = {word(second, 0), word(second, 1), word(first, 0), word(first, 1),
                     word(second, 2), word(second, 3), word(first, 2), word(first, 3)};
    for (unsigned t = 0; t < 2; t++) {
        uint32_t one = turned(s[4], 26) ^ turned(s[4], 21) ^ turned(s[4], 7);
        uint32_t nil = turned(s[0], 30) ^ turned(s[0], 19) ^ turned(s[0], 10);
        uint32_t t1 = s[7] + one + by_table(TABLE_CHOOSE, s[4], s[5], s[6]) + word(xmm0, 3 - t);
        uint32_t t2 = nil + by_table(TABLE_MAJORITY, s[0], s[1], s[2]);
        uint32_t moved[8] = {t1 + t2, s[0], s[1], s[2], s[3] + t1, s[4], s[5], s[6]};
        memcpy(s, moved, sizeof s);
    }
    static const unsigned kept[] = {0, 1, 4, 5};
    for (unsigned i = 0; i < 4; i++)
        set_word(to, i, s[kept[i]]);
}

/* ---- SSE4a: bit by bit ---- */

static void take_field(unsigned char *to, unsigned length, unsigned index)
{
    unsigned char from[TRK_VECTOR_BYTES];
    memcpy(from, to, sizeof from);
    memset(to, 0, TRK_VECTOR_BYTES);
    length = length % 64 == 0 ? 64 : length % 64;
    for (unsigned i = 0; i < length && index % 64 + i < 64; i++)
        set_bit(to, i, bit(from, index % 64 + i));
}

static void put_field(unsigned char *to, const unsigned char *source, unsigned length,
                      unsigned index)
{
    unsigned char from[TRK_VECTOR_BYTES];
    memcpy(from, source, sizeof from);
    memset(to + 8, 0, 8);
    length = length % 64 == 0 ? 64 : length % 64;
    for (unsigned i = 0; i < length && index % 64 + i < 64; i++)
        set_bit(to, index % 64 + i, bit(from, i));
}

void emu_reference_run(const struct emu_case *c, uint32_t processor, struct emu_state *state)
{
    unsigned char first[TRK_VECTOR_BYTES], second[TRK_VECTOR_BYTES], xmm0[TRK_VECTOR_BYTES];
    unsigned char *to = state->vector[c->reg];
    memcpy(first, to, sizeof first);
    memcpy(second, c->memory ? c->operand : state->vector[c->rm], sizeof second);
    memcpy(xmm0, state->vector[0], sizeof xmm0);
    switch (c->instruction) {
    case TRK_INSTRUCTION_SHA1NEXTE:
        sha1_nexte(to, first, second);
        break;
    case TRK_INSTRUCTION_SHA1MSG1:
        sha1_msg1(to, first, second);
        break;
    case TRK_INSTRUCTION_SHA1MSG2:
        sha1_msg2(to, first, second);
        break;
    case TRK_INSTRUCTION_SHA1RNDS4:
        sha1_rnds4(to, first, second, c->immediate[0] % 4u);
        break;
    case TRK_INSTRUCTION_SHA256RNDS2:
        sha256_rnds2(to, first, second, xmm0);
        break;
    case TRK_INSTRUCTION_SHA256MSG1:
        sha256_msg1(to, first, second);
        break;
    case TRK_INSTRUCTION_SHA256MSG2:
        sha256_msg2(to, first, second);
        break;
    case TRK_INSTRUCTION_EXTRQ_IMMEDIATE:
        take_field(state->vector[c->rm], c->immediate[0], c->immediate[1]);
        break;
    case TRK_INSTRUCTION_EXTRQ:
        take_field(to, second[0], second[1]);
        break;
    case TRK_INSTRUCTION_INSERTQ_IMMEDIATE:
        put_field(to, second, c->immediate[0], c->immediate[1]);
        break;
    case TRK_INSTRUCTION_INSERTQ:
        put_field(to, second, second[8], second[9]);
        break;
    case TRK_INSTRUCTION_RDPID:
        state->general[c->rm] = processor;
        break;
    default: /* MONITORX, MWAITX, CLWB: nothing to be seen */
        break;
    }
}
