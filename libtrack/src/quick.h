/*
 * The short way of the operations that emulators make all day.
 *
 * It is taken when nobody listens, this thread is in no other operation, the range lies in one
 * region, and nothing about the pages concerned is out of the ordinary: rights of the guest's own,
 * generations, other views, a second write watch, a budget of mappings. Then the region's lock and
 * its page manager's are taken by one instruction, no event is put together, and what the host is
 * told follows from the watches alone. Anything else goes the long way, from the beginning and with
 * nothing changed. What an operation does to pages, and its host calls, are the same on both ways;
 * the tests run the same steps on both.
 *
 * The order of work on a page: the sets, then the watches, then the host.
 */
#ifndef TRACK_QUICK_H
#define TRACK_QUICK_H

#include <stddef.h>

#include "internal.h"

#define QUICK_INLINE inline __attribute__((always_inline))
#define TRK_COLD     __attribute__((noinline))

/* How an attempt ended. */
enum quick_end {
    QUICK_DONE,
    QUICK_NOTHING,  /* done, and no page was concerned */
    QUICK_LONG_WAY, /* nothing has changed */
    QUICK_REFUSED,  /* the host refused a call: all has been taken back */
    QUICK_WATCH,    /* a watch count would have left its bounds, at a second step */
};

static QUICK_INLINE bool quick_ended(enum quick_end end)
{
    return end == QUICK_DONE || end == QUICK_NOTHING;
}

/*
 * A range in one region: pages [first, last], of which the bits above a page's place in its region
 * mean nothing. one_word says that they lie in one word of the sets; it is a constant for the
 * compiler where that matters.
 */
struct quick {
    struct trk_tracker *tracker;
    struct trk_thread *self;
    struct region *region;
    uint64_t base_addr; /* of the region */
    uint32_t index;     /* of the region */
    uint32_t first, last;
    bool one_word;
};

/* Fill in what the short way asks of a tracker, at its creation. */
void trk_quick_prepare(struct trk_tracker *tracker);

/* Whether this thread is inside no operation of any tracker. */
static QUICK_INLINE bool quick_self(struct quick *quick, struct trk_tracker *tracker)
{
    struct trk_thread *self = trk_thread_in_force;
    quick->tracker = tracker;
    quick->self = self;
    /* One that has not been used yet holds a lock, as it were. */
    return TRK_LIKELY(((uintptr_t)self->uploads | self->locks_held) == 0);
}

/* The region and pages of a range that lies in one region, if the tracker has a short way there. */
static QUICK_INLINE bool quick_place(struct quick *quick, uint64_t guest_addr, uint64_t last_addr)
{
    const struct trk_tracker *tracker = quick->tracker;
    uint64_t packed = guest_addr;
    if (TRK_UNLIKELY(guest_addr - TRK_LOW_FIRST >= tracker->quick_low_bytes)) {
        if (guest_addr - TRK_ARENA_FIRST >= tracker->quick_arena_bytes)
            return false;
        packed = guest_addr - TRK_ARENA_FIRST + TRK_LOW_END;
    }
    quick->index = (uint32_t)(packed / TRK_REGION_BYTES);
    quick->region = region_slot(tracker, quick->index);
    quick->base_addr = guest_addr & ~(TRK_REGION_BYTES - 1);
    quick->first = (uint32_t)(guest_addr / TRK_HOST_PAGE_BYTES) & ~tracker->quick_page_mask;
    quick->last = (uint32_t)(last_addr / TRK_HOST_PAGE_BYTES) | tracker->quick_page_mask;
    return true;
}

#define QUICK_WORD_BYTES (64 * TRK_HOST_PAGE_BYTES)

/* For a range that one word of the sets describes; larger pages of a tracker never leave it. */
static QUICK_INLINE bool quick_begin_word(struct quick *quick, struct trk_tracker *tracker,
                                          uint64_t guest_addr, uint64_t size_bytes)
{
    uint64_t last_addr = guest_addr + size_bytes - 1;
    quick->one_word = true;
    /* A size of 0 has wrapped to more than a word. */
    return TRK_LIKELY(((guest_addr ^ last_addr) | (size_bytes - 1)) < QUICK_WORD_BYTES) &&
           quick_self(quick, tracker) && quick_place(quick, guest_addr, last_addr);
}

/* For any range in one region. */
static QUICK_INLINE bool quick_begin(struct quick *quick, struct trk_tracker *tracker,
                                     uint64_t guest_addr, uint64_t size_bytes)
{
    uint64_t last_addr = guest_addr + size_bytes - 1;
    quick->one_word = false;
    return ((guest_addr ^ last_addr) | (size_bytes - 1)) < TRK_REGION_BYTES &&
           quick_self(quick, tracker) && quick_place(quick, guest_addr, last_addr);
}

/* One region of a longer operation that has made its checks. */
static QUICK_INLINE void quick_part(struct quick *quick, const struct operation *operation,
                                    const struct window *window)
{
    *quick = (struct quick){.tracker = operation->tracker,
                            .self = operation->self,
                            .region = region_slot(operation->tracker, window->index),
                            .base_addr = trk_region_address(window->index),
                            .index = window->index,
                            .first = window->first,
                            .last = window->end - 1};
}

static QUICK_INLINE uint32_t quick_first(const struct quick *quick)
{
    return quick->first % TRK_REGION_PAGES;
}

static QUICK_INLINE uint32_t quick_last(const struct quick *quick)
{
    return quick->last % TRK_REGION_PAGES;
}

static QUICK_INLINE struct window quick_window(const struct quick *quick)
{
    return (struct window){quick->index, quick_first(quick), quick_last(quick) + 1};
}

/* Words of the sets that the pages lie in; the compiler sees when there is one. */
struct quick_words {
    uint32_t first, last;
};

#define FOR_QUICK_WORDS(word, words)                                                               \
    for (uint32_t word = (words).first; word <= (words).last; word++)

static QUICK_INLINE struct quick_words quick_words(const struct quick *quick)
{
    uint32_t first = quick_first(quick) / 64;
    return (struct quick_words){first, quick->one_word ? first : quick_last(quick) / 64};
}

/* Where a word's pages stand in an array of masks: one word needs no array. */
static QUICK_INLINE uint32_t quick_at(const struct quick *quick, uint32_t word)
{
    return quick->one_word ? 0 : word;
}

/* Bits of a word that lie in the range. */
static QUICK_INLINE uint64_t quick_inside(const struct quick *quick, uint32_t word)
{
    uint64_t mask = ~UINT64_C(0);
    if (quick->one_word || word == quick_first(quick) / 64)
        mask <<= quick->first % 64;
    if (quick->one_word || word == quick_last(quick) / 64)
        mask &= ~UINT64_C(0) >> (~quick->last % 64);
    return mask;
}

/* Whether some page of the range is in the set, or (inverted) is not. */
static QUICK_INLINE bool quick_any(const struct quick *quick, const uint64_t *set, bool inverted)
{
    uint64_t flip = inverted ? ~UINT64_C(0) : 0;
    if (!quick->one_word)
        return trk_window_any_long(set, quick_first(quick), quick_last(quick) + 1, flip);
    /* The word's other pages are shifted out on both sides. */
    uint64_t pages = (env_load(&set[quick_first(quick) / 64]) ^ flip) >> quick->first % 64;
    return pages << (~(quick->last - quick->first) % 64) != 0;
}

/* The same without the lock: 1, 0, or -1 when a hold is under way. */
static QUICK_INLINE int quick_look(const struct quick *quick, const uint64_t *set, bool inverted)
{
    uint32_t seq;
    if (TRK_UNLIKELY(!region_peek_begin(quick->region, &seq)))
        return -1;
    bool any = quick_any(quick, set, inverted);
    return TRK_LIKELY(region_peek_valid(quick->region, seq)) ? any : -1;
}

/*
 * Whether there is nothing to do, which takes a look at the lock; where there is, one at the set is
 * enough: the lock is taken next, and its line moves between processors once.
 */
static QUICK_INLINE bool quick_nothing(const struct quick *quick, const uint64_t *set,
                                       bool inverted)
{
    if (quick->one_word && quick_any(quick, set, inverted))
        return false;
    return quick_look(quick, set, inverted) == 0;
}

/* Both locks, where the region and the host are plain. */
static QUICK_INLINE bool quick_lock(const struct quick *quick)
{
    struct region *region = quick->region;
    if (TRK_UNLIKELY(quick->tracker->backend->mappings != NULL))
        return false;
    if (TRK_UNLIKELY(!env_lock_try_pair(&region->lock, quick->self->id)) &&
        !env_lock_pair_spin(&region->lock, quick->self->id))
        return false;
    if (TRK_UNLIKELY(region->extra != NULL)) {
        env_unlock_pair(&region->lock);
        return false;
    }
    __atomic_store_n(&region->seq, region->seq + 1, __ATOMIC_RELAXED);
    return true;
}

static QUICK_INLINE void quick_unlock(const struct quick *quick)
{
    env_unlock_pair(&quick->region->lock);
}

/* The region's lock alone, for a hold in which the owner is called. */
static QUICK_INLINE bool quick_lock_region(const struct quick *quick)
{
    struct region *region = quick->region;
    if (TRK_UNLIKELY(quick->tracker->backend->mappings != NULL ||
                     !env_lock_try(&region->lock, quick->self->id)))
        return false;
    __atomic_store_n(&region->seq, region->seq + 1, __ATOMIC_RELAXED);
    return true;
}

static QUICK_INLINE void quick_lock_pages(const struct quick *quick)
{
    struct env_lock *lock = &quick->region->pages_lock;
    if (TRK_UNLIKELY(!env_lock_try(lock, quick->self->id)))
        env_lock_slow(lock, quick->self->id);
}

#endif
