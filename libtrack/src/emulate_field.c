/*
 * SSE4a: a field of bits taken out of the low half of a register, or put into it.
 *
 * The manual leaves the result's high half undefined, and fields that reach beyond bit 63 too. The
 * processors that have the instructions clear the half and cut the field at bit 63, and so does
 * this: programs were only ever run there.
 */
#include "emulate_vector.h"

struct field {
    unsigned index;
    uint64_t mask; /* of the field, at bit 0 */
};

static struct field field_of(unsigned length, unsigned index)
{
    length &= 63;
    return (struct field){index & 63, length == 0 ? ~UINT64_C(0) : (UINT64_C(1) << length) - 1};
}

static uint64_t low_half(struct emulate_words words)
{
    return (uint64_t)words.word[1] << 32 | words.word[0];
}

static struct emulate_words from_low_half(uint64_t low)
{
    return (struct emulate_words){{(uint32_t)low, (uint32_t)(low >> 32), 0, 0}};
}

struct emulate_words trk_emulate_extract(struct emulate_words from, unsigned length, unsigned index)
{
    struct field field = field_of(length, index);
    return from_low_half(low_half(from) >> field.index & field.mask);
}

struct emulate_words trk_emulate_insert(struct emulate_words into, struct emulate_words from,
                                        unsigned length, unsigned index)
{
    struct field field = field_of(length, index);
    uint64_t kept = low_half(into) & ~(field.mask << field.index);
    return from_low_half(kept | (low_half(from) & field.mask) << field.index);
}
