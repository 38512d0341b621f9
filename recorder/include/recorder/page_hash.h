/*
 * The 64-bit hash of a page's content that PAGE events carry: equal contents have equal hashes.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: any.
 */
#ifndef RECORDER_PAGE_HASH_H
#define RECORDER_PAGE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "track/macros.h"

TRK_EXTERN_C_BEGIN

/* Of a multiple of 32 bytes: four lanes of 64-bit words, little-endian [F-38]. */
static inline uint64_t trk_page_hash(const void *bytes, size_t size_bytes)
{
    const uint64_t odd = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t lanes[4] = {1, 2, 3, 4};
    const unsigned char *at = (const unsigned char *)bytes;
    for (size_t i = 0; i < size_bytes; i += 32) {
        for (unsigned lane = 0; lane < 4; lane++) {
            uint64_t word;
            memcpy(&word, at + i + 8 * lane, sizeof word);
            lanes[lane] = (lanes[lane] ^ word) * odd;
            lanes[lane] ^= lanes[lane] >> 29;
        }
    }
    uint64_t sum = 0;
    for (unsigned lane = 0; lane < 4; lane++) {
        sum = (sum ^ lanes[lane]) * odd;
        sum ^= sum >> 32;
    }
    return sum;
}

TRK_EXTERN_C_END

#endif
