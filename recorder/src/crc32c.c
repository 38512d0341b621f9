#include "crc32c.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

/*
 * Four bits at a time: 16 constants that can be checked by eye, no start-up code. Machines with the
 * instruction do not come here.
 */
static const uint32_t nibble_table[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t trk_crc32c_update_table(uint32_t crc, const void *bytes, size_t size_bytes)
{
    const uint8_t *at = bytes;
    crc = ~crc;
    for (size_t i = 0; i < size_bytes; i++) {
        crc ^= at[i];
        crc = crc >> 4 ^ nibble_table[crc & 15];
        crc = crc >> 4 ^ nibble_table[crc & 15];
    }
    return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t update_sse42(uint32_t crc, const void *bytes,
                                                               size_t size_bytes)
{
    const uint8_t *at = bytes;
    uint64_t sum = (uint32_t)~crc;
    for (; size_bytes >= 8; size_bytes -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        sum = _mm_crc32_u64(sum, word);
    }
    uint32_t rest = (uint32_t)sum;
    for (; size_bytes > 0; size_bytes--, at++) {
        rest = _mm_crc32_u8(rest, *at);
    }
    return ~rest;
}
#endif

uint32_t trk_crc32c_update(uint32_t crc, const void *bytes, size_t size_bytes)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) {
        return update_sse42(crc, bytes, size_bytes);
    }
#endif
    return trk_crc32c_update_table(crc, bytes, size_bytes);
}
