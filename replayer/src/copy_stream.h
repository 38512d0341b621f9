/*
 * Copying to memory that this processor does not read again: around its caches, where it can.
 *
 * Staging is read by the device, or not at all by this thread; lines that are written whole need
 * not be fetched first.
 */
#ifndef COPY_STREAM_H
#define COPY_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>

#define COPY_STREAM_BYTES 64u

/* next: where what is copied after this comes from, as many bytes; NULL: not known. Pages lie
 * anywhere, and a processor's own looking ahead ends with the page. */
static inline void copy_stream(uint8_t *to, const uint8_t *from, size_t size_bytes,
                               const uint8_t *next)
{
    if ((uintptr_t)to % sizeof(__m128i) != 0 || size_bytes % COPY_STREAM_BYTES != 0) {
        memcpy(to, from, size_bytes);
        return;
    }
    for (size_t i = 0; i < size_bytes; i += COPY_STREAM_BYTES) {
        const __m128i *source = (const __m128i *)(const void *)(from + i);
        __m128i *target = (__m128i *)(void *)(to + i);
        if (next != NULL) {
            _mm_prefetch((const char *)(next + i), _MM_HINT_T0);
        }
        const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
        const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
        _mm_stream_si128(target, a);
        _mm_stream_si128(target + 1, b);
        _mm_stream_si128(target + 2, c);
        _mm_stream_si128(target + 3, d);
    }
}

/* What was streamed is there before what this thread writes next. */
static inline void copy_stream_end(void)
{
    _mm_sfence();
}
#else
static inline void copy_stream(uint8_t *to, const uint8_t *from, size_t size_bytes,
                               const uint8_t *next)
{
    (void)next;
    memcpy(to, from, size_bytes);
}

static inline void copy_stream_end(void)
{
}
#endif

#endif
