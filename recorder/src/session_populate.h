/*
 * Making pages of the session present before events are written into them.
 *
 * A thread's first event may come in the fault handler, with nobody to prepare its ring. So the
 * parent takes memory for what that touches before the program starts, and the program maps it when
 * it joins: the headers, the counts of losses, and the first page of each ring.
 */
#ifndef RECORDER_SESSION_POPULATE_H
#define RECORDER_SESSION_POPULATE_H

#include <errno.h>
#include <sys/mman.h>

#include "session_layout.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Where the kernel is too old to be told, by touching them. */
static inline void trk_session_populate(void *first, size_t size_bytes)
{
    int saved = errno;
    if (madvise(first, size_bytes, MADV_POPULATE_WRITE) != 0 && errno == EINVAL) {
        const volatile unsigned char *bytes = first;
        for (size_t at = 0; at < size_bytes; at += TRK_SESSION_PAGE_BYTES)
            (void)bytes[at];
    }
    errno = saved;
}

/* `map` is the session's, of rings with so many records. */
static inline void trk_session_populate_beginnings(void *map, uint32_t ring_count,
                                                   uint32_t ring_records)
{
    const uint64_t headers_bytes = trk_session_records_offset(ring_count);
    const uint64_t ring_bytes = ring_records * sizeof(struct trk_record);
    unsigned char *records = (unsigned char *)map + headers_bytes;
    trk_session_populate(map, headers_bytes);
    for (uint32_t i = 0; i < ring_count; ++i)
        trk_session_populate(records + i * ring_bytes, TRK_SESSION_PAGE_BYTES);
}

#endif
