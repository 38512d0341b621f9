/* What the emulated vector instructions compute. Internal to libtrack; pure functions. */
#ifndef TRACK_EMULATE_VECTOR_H
#define TRACK_EMULATE_VECTOR_H

#include <stdint.h>

#include "track/emulate.h"

/* 128 bits as words, word 0 lowest: the order in memory on the machines that have these. */
struct emulate_words {
    uint32_t word[4];
};

/* `first` is the destination's former value, `implicit` xmm0 (SHA256RNDS2 only). */
struct emulate_words trk_emulate_sha(enum trk_instruction kind, struct emulate_words first,
                                     struct emulate_words second, struct emulate_words implicit,
                                     uint8_t immediate);

/* SSE4a: a field of `length` bits (0: 64) at bit `index`; both count by their low six bits. */
struct emulate_words trk_emulate_extract(struct emulate_words from, unsigned length,
                                         unsigned index);
struct emulate_words trk_emulate_insert(struct emulate_words into, struct emulate_words from,
                                        unsigned length, unsigned index);

#endif
