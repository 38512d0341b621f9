/*
 * Bisecting a running program: which of its decisions to believe that a page is clean was wrong.
 *
 * A decision is: this page is clean, so it is not copied to the GPU. Each has a key: the frame in
 * which it is made, the page, and how many of that page were made in that frame before. A limit in
 * the environment (TRK_TRUST_LIMIT) trusts those before it alone; for all later ones the page is
 * copied as if it were dirty. `trk bisect live` looks for the limit at which the picture breaks.
 *
 * TRK_TRUST_LIMIT is `N`: the first N decisions in the order in which they are made are trusted; or
 * `FRAME:PAGE:ORDINAL`, with PAGE an address: those with a smaller key. Without it, or in a program
 * that is not recorded, every decision is trusted, nothing is counted, and asking is one branch.
 *
 * Included by recorder/capture.h. Allocates: no. Blocks: on a spin lock. Signal-safe: no. Threads:
 * any.
 */
#ifndef RECORDER_TRUST_H
#define RECORDER_TRUST_H

#include <stdbool.h>
#include <stdint.h>

#include "track/macros.h"

TRK_EXTERN_C_BEGIN

struct trk_tracker;

/* Whether a limit is set. */
extern TRK_HIDDEN uint32_t trk_capture_trusts_less;

TRK_SELDOM_CALLED bool trk_capture_trust_asked(uint32_t tracker_id, uint64_t guest_addr);

/*
 * Whether to believe that a page is clean, asked where that is about to be believed; false: treat
 * it as dirty. For trackers of one's own. The answer is noted (DECISION).
 */
static inline bool trk_capture_trust(uint32_t tracker_id, uint64_t guest_addr)
{
    return TRK_LOAD_RELAXED(&trk_capture_trusts_less) == 0 ||
           trk_capture_trust_asked(tracker_id, guest_addr);
}

TRK_SELDOM_CALLED void trk_capture_distrust_asked(struct trk_tracker *tracker, uint32_t tracker_id,
                                                  uint64_t guest_addr, uint64_t size_bytes);

/*
 * The same for a tracker of the core's, before an upload of a range: pages that are CLEAN and are
 * not trusted become the CPU's, so that the upload takes them. The range must be one that an upload
 * takes.
 */
static inline void trk_capture_distrust(struct trk_tracker *tracker, uint32_t tracker_id,
                                        uint64_t guest_addr, uint64_t size_bytes)
{
    if (TRK_LOAD_RELAXED(&trk_capture_trusts_less) != 0)
        trk_capture_distrust_asked(tracker, tracker_id, guest_addr, size_bytes);
}

/* trk_capture_frame() tells it. */
TRK_SELDOM_CALLED void trk_capture_trust_frame(uint64_t frame);

TRK_EXTERN_C_END

#endif
