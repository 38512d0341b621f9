/*
 * Harvest: which pages were written since the last time, found and re-armed in one call.
 *
 * The kernel notes the first store to each armed page itself (userfaultfd's asynchronous
 * write-protection, Linux 6.7) and PAGEMAP_SCAN collects the notes. No store faults, so nothing is
 * told of order, place or thread, and no store can be stopped. Two uses:
 *
 * - an owner that needs no order asks here instead of keeping a tracker;
 * - an audit beside the mprotect backend: a page that changed while the tracker held it CLEAN or
 *   GPU, and that nobody reported, is a hole in the emulator's or the tracker's work.
 *
 * Memory belongs to one userfaultfd only, so it cannot stand beside the userfaultfd backend. Only
 * stores through the attached view are noted; other views of the frame have pages of their own.
 */
#ifndef TRACK_HARVEST_H
#define TRACK_HARVEST_H

#include <stdint.h>

#include "track/status.h"
#include "track/tracker.h"

TRK_EXTERN_C_BEGIN

struct trk_harvest;

/**
 * Create a harvest, after a probe: a page is armed, written and found.
 *
 * @return TRK_OK; TRK_E_MEMORY; TRK_E_UNSUPPORTED with the reason.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_harvest_create(struct trk_harvest **out, int64_t host_bias_bytes,
                                                struct trk_error *error);

/* NULL is accepted. Memory that is still attached is let go. */
void trk_harvest_destroy(struct trk_harvest *harvest);

/**
 * Arm mapped memory: from now on its stores are noted. Page-aligned.
 *
 * @return TRK_OK; TRK_E_ARGUMENT; TRK_E_EXISTS when it belongs to another userfaultfd;
 *         TRK_E_SYSTEM.
 *
 * Allocates: no. Blocks: no. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_harvest_attach(struct trk_harvest *harvest, uint64_t guest_addr,
                                                uint64_t size_bytes, struct trk_error *error);
void trk_harvest_detach(struct trk_harvest *harvest, uint64_t guest_addr, uint64_t size_bytes);

/**
 * Report the pages of attached memory that were written since they were last armed, as ascending
 * maximal runs, and arm them again. A store is in this harvest or in the next, never in none.
 *
 * @param what       The range, the callback and its context; nothing else of it counts. The
 * callback runs between the kernel's calls and may store to the memory.
 * @param out_pages  How many were found; NULL: nobody asks.
 * @return TRK_OK; TRK_E_ARGUMENT; TRK_E_SYSTEM where memory is mapped but not attached (what
 *         was reported before is armed again).
 *
 * Allocates: no. Blocks: no. Signal-safe: no. Threads: one at a time for a harvest.
 */
TRK_MUST_USE enum trk_status trk_harvest_take(struct trk_harvest *harvest,
                                              const struct trk_transfer *what, uint64_t *out_pages);

TRK_EXTERN_C_END

#endif
