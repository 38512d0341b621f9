/*
 * Generations: has this range changed since I copied it?
 *
 * A second tracker beside the page states, on guest pages of 16 KiB, for any mapped memory, known
 * to the GPU or not. A page that is tracked gets a generation, a number that no page had before,
 * and is armed: the next store to it faults, moves the generation on and lets the page go. Owners
 * keep the sum of a range beside what they made of its bytes, and ask again later.
 *
 * The owner's protocol is read, copy, read again, and the first read is trk_generations_track: a
 * copy is good under the sum of a page that was armed before the copy began. trk_generations_copy
 * does it. A sum that has moved meanwhile says that the copy may be used once and not kept.
 *
 * Generations are a policy of the tracker (struct trk_policy); when they are off, nothing is armed
 * and every sum is 0. What the guest does to its mappings reaches them through
 * trk_tracker_set_guest_protection (rights changed, or none: unmapped) and trk_generations_map.
 * Memory of which the tracker was told nothing counts as mapped, readable and writable.
 *
 * Not here: comparing bytes, keeping copies, page states. Stores through mappings that the tracker
 * does not know, and of the kernel, are the owner's to notify.
 *
 * Rules: [M-64] to [M-71].
 */
#ifndef TRACK_GENERATIONS_H
#define TRACK_GENERATIONS_H

#include "track/tracker.h"

TRK_EXTERN_C_BEGIN

/**
 * Register and arm the guest pages that a range touches, and give their sum.
 *
 * Pages that are not registered yet get a fresh generation; registered ones keep theirs. Pages that
 * the guest may write are made read-only at the host, the execute right kept; read-only memory is
 * registered without being armed.
 *
 * @param out  The sum: a 64-bit hash over pages and generations, never 0. 0 when size_bytes is 0,
 *             when generations are off, and with every status but TRK_OK.
 * @return TRK_OK, or
 *         TRK_E_ARGUMENT  a byte is unmapped, unreadable or outside the address bands,
 *         TRK_E_REENTRY   called from inside this tracker's upload callback,
 *         TRK_E_MEMORY    no memory for the table. Nothing is armed in any of the three.
 *         TRK_E_PROTECT   the host refused a call; regions before that one stay armed.
 *
 * Allocates: the tracker's own memory, 2 KiB for each 4 MiB first tracked in. Blocks: on the
 * generations' lock. Signal-safe: yes. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_generations_track(struct trk_tracker *tracker, uint64_t guest_addr,
                                                   uint64_t size_bytes, uint64_t *out);

/**
 * Give the sum of a range without arming anything.
 *
 * @param out  As above; 0 also when any page of the range is not registered.
 * @return TRK_OK or TRK_E_REENTRY.
 *
 * Allocates: no. Blocks: on the generations' lock. Signal-safe: yes. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_generations_query(struct trk_tracker *tracker, uint64_t guest_addr,
                                                   uint64_t size_bytes, uint64_t *out);

/**
 * Say, before it is done, that the emulator itself writes a range past the guest's protection.
 *
 * Every registered page that the range touches lets go of its protection and moves on, armed or
 * not.
 *
 * @return TRK_OK (also for an empty range and with generations off), TRK_E_REENTRY, or
 * TRK_E_PROTECT (regions done before stay done; the write must not be made).
 *
 * Allocates: no. Blocks: on the generations' lock. Signal-safe: yes. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_generations_notify(struct trk_tracker *tracker,
                                                    uint64_t guest_addr, uint64_t size_bytes);

/* What makes a guest mapping the same as another: all of it. Page-aligned. */
struct trk_generations_view {
    uint64_t guest_addr, size_bytes;
    uint64_t physical_offset; /* of its first byte, in the memory that is mapped */
    unsigned rights;          /* TRK_RIGHT_* */
};

/**
 * Say that the guest mapped a view, for the first time or again.
 *
 * The same view mapped again is kept: nothing changes and generations survive. A view that differs
 * in anything is a new one: generations of its pages and whatever views it lies over are forgotten,
 * and its rights are the guest's from now on, as with trk_tracker_set_guest_protection.
 *
 * @param kept  Set on TRK_OK; may be NULL.
 * @return TRK_OK, TRK_E_ARGUMENT (not page-aligned, unknown rights), TRK_E_RANGE, TRK_E_REENTRY,
 *         TRK_E_LOCK, TRK_E_MEMORY, TRK_E_PROTECT.
 *
 * Allocates: the tracker's own memory. Blocks: on the generations' lock. Signal-safe: yes.
 * Threads: any.
 */
TRK_MUST_USE enum trk_status trk_generations_map(struct trk_tracker *tracker,
                                                 const struct trk_generations_view *view,
                                                 bool *kept);

/* One copy by the owner's protocol. */
struct trk_generations_copy {
    size_t size; /* sizeof(struct trk_generations_copy) */
    uint64_t guest_addr, size_bytes;
    trk_range_fn *copy; /* called once, with the range as given, no lock held */
    void *context;
    uint64_t generation; /* out: the sum under which the copy may be kept */
    bool cacheable;      /* out: false: use it once, do not keep it */
};

/**
 * Track a range, copy it, and say whether it held still meanwhile.
 *
 * @return As trk_generations_track; unless TRK_OK, nothing was copied.
 *
 * Blocks: in the copy. Signal-safe: as far as the copy is. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_generations_copy(struct trk_tracker *tracker,
                                                  struct trk_generations_copy *copy);

TRK_EXTERN_C_END

#endif
