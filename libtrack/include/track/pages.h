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
 * Rules: [M-37] to [M-45].
 */
#ifndef TRACK_PAGES_H
#define TRACK_PAGES_H

#include "track/tracker.h"

TRK_EXTERN_C_BEGIN

/* Of a page: the most there are. */
#define TRK_WRITE_WATCHES_MAX 127u
#define TRK_READ_WATCHES_MAX  1u

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

/* At most so many pages show the bytes of one frame. */
#define TRK_VIEWS_MAX 8u

/**
 * Say that two ranges show the same bytes from now on: further views of the same frames.
 *
 * Between views of which a byte is registered, the watches of each take rights from all, and a
 * fault on one is served for all. A view that is not registered is never closed for another's
 * watches: a store through it is the writer's to report.
 *
 * @param guest_addr, other_addr, size_bytes  Multiples of 4 KiB; the addresses differ.
 * @return TRK_OK;
 *         TRK_E_RANGE, TRK_E_REENTRY, TRK_E_LOCK;
 *         TRK_E_ARGUMENT  not aligned, or a frame would have more than TRK_VIEWS_MAX views: nothing
 *                         has changed;
 *         TRK_E_PROTECT, TRK_E_MEMORY  regions of guest_addr's range done before stay done.
 *
 * Allocates: the tracker's own memory. Blocks: on region locks. Signal-safe: yes. Threads: any.
 * Rules: [M-73] [M-75].
 */
TRK_MUST_USE enum trk_status trk_tracker_join_views(struct trk_tracker *tracker,
                                                    uint64_t guest_addr, uint64_t other_addr,
                                                    uint64_t size_bytes);

/* Say that a range is no view of others any more; pages without others are left alone. */
TRK_MUST_USE enum trk_status trk_tracker_leave_view(struct trk_tracker *tracker,
                                                    uint64_t guest_addr, uint64_t size_bytes);

/*
 * All addresses that show the byte, ascending, its own among them; gives how many. A look without
 * locks: no other thread may be joining or leaving.
 */
uint32_t trk_tracker_views(const struct trk_tracker *tracker, uint64_t guest_addr,
                           uint64_t out[TRK_VIEWS_MAX]);

/* Everything the tracker and its page manager hold about one page, for tests and checkers. */
struct trk_page_view {
    bool cpu_dirty, gpu_dirty, writable, readable;
    bool registered; /* every byte of the page */
    uint8_t write_watches;
    bool read_watch;
    uint8_t guest_rights;
    uint8_t host_rights; /* what the host was last told */
    bool armed;          /* generations wait for the next store */
};

/*
 * Look without locks and without creating a region; an untouched page shows the initial state. No
 * other thread may be inside an operation on the page's region.
 */
struct trk_page_view trk_pages_view(struct trk_tracker *tracker, uint64_t guest_addr);

/* How many write and read watches are alive in all regions. No other thread may be active. */
uint64_t trk_pages_live_watches(const struct trk_tracker *tracker);

/*
 * Whether an operation has met the region of an address, which has to be in the tracker's bands.
 * Operations look at that without the region's lock; so who re-executes a log, and knows from it
 * what one of them saw, says so.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: setting it, none other may use the tracker.
 */
bool trk_pages_met(const struct trk_tracker *tracker, uint64_t guest_addr);
void trk_pages_set_met(struct trk_tracker *tracker, uint64_t guest_addr, bool met);

TRK_EXTERN_C_END

#endif
