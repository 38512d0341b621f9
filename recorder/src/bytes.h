/*
 * Little-endian numbers and variable-length integers in byte buffers.
 *
 * File bytes are read and written through these alone: no struct is laid over them, so that the
 * format knows neither padding nor the machine's byte order. Writers take a position and give the
 * next one; the caller has made room. The variable-length reader checks the end itself.
 */
#ifndef RECORDER_BYTES_H
#define RECORDER_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* A 64-bit number in groups of 7 bits, lowest first, needs at most this many bytes. */
#define TRK_BYTES_LEB_MAX 10u

static inline uint8_t *trk_bytes_put8(uint8_t *at, uint8_t value)
{
    *at = value;
    return at + 1;
}

static inline uint8_t *trk_bytes_put16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
    return at + 2;
}

static inline uint8_t *trk_bytes_put32(uint8_t *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
    return at + 4;
}

static inline uint8_t *trk_bytes_put64(uint8_t *at, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
    return at + 8;
}

static inline uint16_t trk_bytes_get16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t trk_bytes_get32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t trk_bytes_get64(const uint8_t *at)
{
    return (uint64_t)trk_bytes_get32(at + 4) << 32 | trk_bytes_get32(at);
}

/* LEB128, unsigned. */
static inline uint8_t *trk_bytes_put_leb(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* A number of more than two bytes. Not inlined: where numbers are read, most have one or two. */
static __attribute__((noinline, unused)) const uint8_t *
trk_bytes_get_long_leb(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    uint64_t sum = 0;
    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
        uint8_t byte = *at++;
        if (shift == 63 && byte > 1) {
            return NULL;
        }
        sum |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = sum;
            return at;
        }
    }
    return NULL;
}

/*
 * Read one number; *at moves behind it. Gives NULL for a number that leaves the buffer or 64 bits,
 * else the new position, which it also stores.
 */
static inline const uint8_t *trk_bytes_get_leb(const uint8_t *at, const uint8_t *end,
                                               uint64_t *value)
{
    if (at < end && *at < 0x80) { /* one byte: by far the most frequent */
        *value = *at;
        return at + 1;
    }
    if (end - at >= 2 && at[1] < 0x80) {
        *value = (uint64_t)(at[0] & 0x7f) | (uint64_t)at[1] << 7;
        return at + 2;
    }
    return trk_bytes_get_long_leb(at, end, value);
}

/* Small numbers of either sign become small numbers: 0, -1, 1, -2, 2 ... to 0, 1, 2, 3, 4 ... */
static inline uint64_t trk_bytes_zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t trk_bytes_unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1 ^ (~(value & 1) + 1));
}

#endif
