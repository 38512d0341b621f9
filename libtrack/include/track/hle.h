/*
 * The emulator's own checked write into guest memory.
 *
 * What a system call or a library function that the emulator implements does to the guest's
 * buffers. The guest's protection is obeyed, the tracker's is not in the way, and both trackers
 * hear of it before a byte changes: a write that bypasses them is found by nobody.
 *
 * Rules: [M-72].
 */
#ifndef TRACK_HLE_H
#define TRACK_HLE_H

#include "track/tracker.h"

TRK_EXTERN_C_BEGIN

struct trk_hle_write {
    size_t size; /* sizeof(struct trk_hle_write) */
    uint64_t guest_addr, size_bytes;
    /* Writes the bytes; called once, with the range as given and no lock held. A store through a
     * watched mapping may still fault, when another thread takes the page: it is served. */
    trk_range_fn *write;
    void *context;
};

/**
 * Write as the emulator, if the guest might.
 *
 * Each run of registered bytes is invalidated once, ascending, with the resource layer's flush;
 * then generations are notified; then the write is made.
 *
 * @param written  Set on TRK_OK; false: the guest's own protection denies it, nothing has changed.
 * @return TRK_OK, TRK_E_ARGUMENT (no write), TRK_E_RANGE, TRK_E_REENTRY, TRK_E_LOCK; or what an
 *         invalidate gives: TRK_E_RETAINED, TRK_E_LIVELOCK, TRK_E_PROTECT. Nothing is written then.
 *
 * Allocates: first touch of a region. Blocks: on region locks, in the flush and the write.
 * Signal-safe: as far as those are. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_tracker_hle_write(struct trk_tracker *tracker,
                                                   const struct trk_hle_write *write,
                                                   bool *written);

TRK_EXTERN_C_END

#endif
