/*
 * The page manager: watch counts a page, and the host protection that follows from them.
 *
 * Each page has a count of write watches (0..127) and one read watch. The protection asked of the
 * host is what the guest's own rights allow, less what the watches take: a read watch takes
 * everything, a write watch takes write. A host call is made only where that changes.
 *
 * These functions are for further clients beside the tracker's own page states. They share the
 * tracker's object: one page manager a tracker.
 *
 * Rules: tracker-spec 6.
 */
#ifndef TRACK_PAGES_H
#define TRACK_PAGES_H

#include "track/tracker.h"

TRK_EXTERN_C_BEGIN

/* One more, or one less, write watch on each page that the range touches. */
TRK_MUST_USE enum trk_status trk_pages_watch(struct trk_tracker *tracker, uint64_t guest_addr,
                                             uint64_t size_bytes);
TRK_MUST_USE enum trk_status trk_pages_unwatch(struct trk_tracker *tracker, uint64_t guest_addr,
                                               uint64_t size_bytes);

/*
 * The same for the pages of a 1024-bit mask (TRK_REGION_WORDS words, bit 0 = first page) of one
 * region. base must be a region's first address; an empty mask fails `watch`.
 */
TRK_MUST_USE enum trk_status trk_pages_watch_mask(struct trk_tracker *tracker, uint64_t base,
                                                  const uint64_t *mask, bool read);
TRK_MUST_USE enum trk_status trk_pages_unwatch_mask(struct trk_tracker *tracker, uint64_t base,
                                                    const uint64_t *mask, bool read);

/* Everything the tracker and its page manager hold about one page, for tests and checkers. */
struct trk_page_view {
    bool cpu_dirty, gpu_dirty, writable, readable;
    bool registered; /* every byte of the page */
    uint8_t write_watches;
    bool read_watch;
    uint8_t guest_rights;
    uint8_t host_rights; /* what the host was last told */
};

/*
 * Look without locks and without creating a region; an untouched page shows the initial state. No
 * other thread may be inside an operation on the page's region.
 */
struct trk_page_view trk_pages_view(struct trk_tracker *tracker, uint64_t guest_addr);

/* How many write and read watches are alive in all regions. No other thread may be active. */
uint64_t trk_pages_live_watches(const struct trk_tracker *tracker);

TRK_EXTERN_C_END

#endif
