/*
 * Copying one page while the next one comes into the cache: pages lie anywhere, and what a
 * processor looks ahead by itself ends with the page.
 *
 * The copy is left in the cache, where a device that reads over it finds it; stores around the
 * caches cost a tenth more there, and slowed the device's own reads (docs/performance.md).
 */
#ifndef COPY_AHEAD_H
#define COPY_AHEAD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define COPY_LINE_BYTES 64u

/* next: where as many bytes lie that are copied after these; NULL: not known. */
static inline void copy_ahead(uint8_t *to, const uint8_t *from, size_t size_bytes,
                              const uint8_t *next)
{
    size_t done = 0;
    while (next != NULL && size_bytes - done >= COPY_LINE_BYTES) {
        __builtin_prefetch(next + done);
        memcpy(to + done, from + done, COPY_LINE_BYTES);
        done += COPY_LINE_BYTES;
    }
    memcpy(to + done, from + done, size_bytes - done);
}

#endif
