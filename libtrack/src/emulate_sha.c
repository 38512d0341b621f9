/*
 * The SHA instructions, as FIPS 180-4 has the rounds and the processor's manuals the operands.
 *
 * The manuals write vectors from the highest word on; word[3] is that one.
 */
#include "emulate_vector.h"

static uint32_t rotate_left(uint32_t value, unsigned count)
{
    return value << count | value >> (32 - count);
}

static uint32_t rotate_right(uint32_t value, unsigned count)
{
    return value >> count | value << (32 - count);
}

static uint32_t choose(uint32_t x, uint32_t y, uint32_t z)
{
    return (x & y) ^ (~x & z);
}

static uint32_t parity(uint32_t x, uint32_t y, uint32_t z)
{
    return x ^ y ^ z;
}

static uint32_t majority(uint32_t x, uint32_t y, uint32_t z)
{
    return (x & y) ^ (x & z) ^ (y & z);
}

static struct emulate_words sha1_next(struct emulate_words first, struct emulate_words second)
{
    second.word[3] += rotate_left(first.word[3], 30);
    return second;
}

static struct emulate_words sha1_message_1(struct emulate_words first, struct emulate_words second)
{
    return (struct emulate_words){{
        first.word[0] ^ second.word[2],
        first.word[1] ^ second.word[3],
        first.word[2] ^ first.word[0],
        first.word[3] ^ first.word[1],
    }};
}

static struct emulate_words sha1_message_2(struct emulate_words first, struct emulate_words second)
{
    struct emulate_words out;
    out.word[3] = rotate_left(first.word[3] ^ second.word[2], 1);
    out.word[2] = rotate_left(first.word[2] ^ second.word[1], 1);
    out.word[1] = rotate_left(first.word[1] ^ second.word[0], 1);
    out.word[0] = rotate_left(first.word[0] ^ out.word[3], 1);
    return out;
}

/* Four rounds; E comes in added to the first word of the message. */
static struct emulate_words sha1_rounds(struct emulate_words first, struct emulate_words second,
                                        uint8_t immediate)
{
    static const uint32_t constants[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    static uint32_t (*const functions[])(uint32_t, uint32_t, uint32_t) = {choose, parity, majority,
                                                                          parity};
    unsigned stage = immediate & 3;
    uint32_t a = first.word[3], b = first.word[2], c = first.word[1], d = first.word[0], e = 0;
    for (int round = 0; round < 4; round++) {
        uint32_t next = functions[stage](b, c, d) + rotate_left(a, 5) + second.word[3 - round] + e +
                        constants[stage];
        e = d;
        d = c;
        c = rotate_left(b, 30);
        b = a;
        a = next;
    }
    return (struct emulate_words){{d, c, b, a}};
}

static uint32_t message_sigma_0(uint32_t value)
{
    return rotate_right(value, 7) ^ rotate_right(value, 18) ^ value >> 3;
}

static uint32_t message_sigma_1(uint32_t value)
{
    return rotate_right(value, 17) ^ rotate_right(value, 19) ^ value >> 10;
}

static struct emulate_words sha256_message_1(struct emulate_words first,
                                             struct emulate_words second)
{
    return (struct emulate_words){{
        first.word[0] + message_sigma_0(first.word[1]),
        first.word[1] + message_sigma_0(first.word[2]),
        first.word[2] + message_sigma_0(first.word[3]),
        first.word[3] + message_sigma_0(second.word[0]),
    }};
}

static struct emulate_words sha256_message_2(struct emulate_words first,
                                             struct emulate_words second)
{
    struct emulate_words out;
    out.word[0] = first.word[0] + message_sigma_1(second.word[2]);
    out.word[1] = first.word[1] + message_sigma_1(second.word[3]);
    out.word[2] = first.word[2] + message_sigma_1(out.word[0]);
    out.word[3] = first.word[3] + message_sigma_1(out.word[1]);
    return out;
}

/* Two rounds: C D G H come in first, A B E F in second, and leave as A B E F. */
static struct emulate_words sha256_rounds(struct emulate_words first, struct emulate_words second,
                                          struct emulate_words implicit)
{
    uint32_t a = second.word[3], b = second.word[2], c = first.word[3], d = first.word[2];
    uint32_t e = second.word[1], f = second.word[0], g = first.word[1], h = first.word[0];
    for (int round = 0; round < 2; round++) {
        uint32_t sum_1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
        uint32_t sum_0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
        uint32_t mixed = h + sum_1 + choose(e, f, g) + implicit.word[round];
        h = g;
        g = f;
        f = e;
        e = d + mixed;
        d = c;
        c = b;
        b = a;
        a = mixed + sum_0 + majority(b, c, d);
    }
    return (struct emulate_words){{f, e, b, a}};
}

struct emulate_words trk_emulate_sha(enum trk_instruction kind, struct emulate_words first,
                                     struct emulate_words second, struct emulate_words implicit,
                                     uint8_t immediate)
{
    switch (kind) {
    case TRK_INSTRUCTION_SHA1NEXTE:
        return sha1_next(first, second);
    case TRK_INSTRUCTION_SHA1MSG1:
        return sha1_message_1(first, second);
    case TRK_INSTRUCTION_SHA1MSG2:
        return sha1_message_2(first, second);
    case TRK_INSTRUCTION_SHA1RNDS4:
        return sha1_rounds(first, second, immediate);
    case TRK_INSTRUCTION_SHA256MSG1:
        return sha256_message_1(first, second);
    case TRK_INSTRUCTION_SHA256MSG2:
        return sha256_message_2(first, second);
    default:
        return sha256_rounds(first, second, implicit);
    }
}
