/*
 * Copying one page while the next one comes into the cache: pages lie anywhere, and what a
 * processor looks ahead by itself ends with the page.
 *
 * Around the caches: lines that are written whole need not be fetched first, which is what a few
 * threads wait for. Many threads wait for memory itself: then what is copied is better left in the
 * cache, where a device that reads over it finds it (docs/performance.md has both).
 */
#ifndef COPY_AHEAD_H
#define COPY_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define COPY_LINE_BYTES 64u
/* What is longer a processor looks ahead in by itself; and the cache has to hold two. */
#define COPY_AHEAD_BYTES (UINT64_C(64) << 10)

/* A line; both ways are of the same size and place. */
static inline void copy_line(uint8_t *to, const uint8_t *from, bool around)
{
#if defined(__SSE2__)
    if (around) {
        const __m128i *source = (const __m128i *)(const void *)from;
        __m128i *target = (__m128i *)(void *)to;
        const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
        const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
        _mm_stream_si128(target, a);
        _mm_stream_si128(target + 1, b);
        _mm_stream_si128(target + 2, c);
        _mm_stream_si128(target + 3, d);
        return;
    }
#endif
    (void)around;
    memcpy(to, from, COPY_LINE_BYTES);
}

/* next: where as many bytes lie that are copied after these; NULL: not known. */
static inline void copy_ahead(uint8_t *to, const uint8_t *from, size_t size_bytes,
                              const uint8_t *next, bool around)
{
    size_t done = 0;
    const bool ahead = next != NULL && size_bytes <= COPY_AHEAD_BYTES;
    around = around && (uintptr_t)to % 16 == 0;
    while ((ahead || around) && size_bytes - done >= COPY_LINE_BYTES) {
        if (ahead) {
            __builtin_prefetch(next + done);
        }
        copy_line(to + done, from + done, around);
        done += COPY_LINE_BYTES;
    }
    memcpy(to + done, from + done, size_bytes - done);
}

/* What was copied around the caches is there before what this thread writes next. */
static inline void copy_ahead_end(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

#endif
