/*
 * Inside the core.
 *
 * Glossary
 *   region    4 MiB of guest memory: one lock, one hold counter, the page sets of its 1024 pages
 *   hold      one acquisition of a region's (or its page manager's) lock, numbered under it
 *   page      4 KiB, always; a larger tracker page is a group of them that moves together
 *   window    the part of a range that lies in one region: pages [first, end)
 *   run       neighbouring pages that are treated alike
 *   span      a piece of registered bytes inside a region
 *   operation a public call: trk_op_begin .. trk_op_end, with the events and checks that all share
 *
 * A region of zeros is an untouched one [M-7]: the page sets are stored so that all-zero means CPU,
 * writable, readable. Regions lie in one reservation, one slot each by number; the kernel backs
 * what is touched. A region is `live` once an operation that creates regions has met it, and stays
 * so until the tracker is destroyed.
 */
#ifndef TRACK_INTERNAL_H
#define TRACK_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "env.h"
#include "failure_default.h"
#include "track/address.h"
#include "track/event.h"
#include "track/pages.h"
#include "track/tracker.h"

#define INVALIDATE_ROUNDS 8u
#define FAULT_REPEATS     8u

/* Registered bytes of a region, [first, end), ascending and disjoint. */
struct span {
    uint32_t first, end;
};

/* An invalidate that is between its two looks, seen from one region: pages that became GPU since.
 */
struct flight {
    struct flight *next; /* in the region, or in the tracker's free list */
    const struct operation *owner;
    uint64_t taken[TRK_REGION_WORDS];
};

/*
 * What few regions need: guest rights that are not rw, pages armed for generations, and what other
 * registered views of a page's frame ask for (0 unless the page itself is registered).
 */
struct page_extra {
    uint64_t no_read[TRK_REGION_WORDS];
    uint64_t no_write[TRK_REGION_WORDS];
    uint64_t exec[TRK_REGION_WORDS];
    uint64_t armed[TRK_REGION_WORDS];        /* generations want the next store: no write */
    uint64_t others_watch[TRK_REGION_WORDS]; /* another view is watched for writes, or armed */
    uint64_t others_read[TRK_REGION_WORDS];  /* another view has the read watch */
};

/*
 * The model's sets `writable` and `readable` are not stored: a page is writable while it is CPU,
 * and readable while it is not GPU.
 */
struct region {
    struct env_lock lock; /* a pair: the short way takes both at once */
    struct env_lock pages_lock;
    /* Under lock. */
    uint32_t seq;           /* number of the newest hold */
    uint32_t hold_changed;  /* pages that changed state in this hold */
    struct flight *flights; /* invalidates between their two looks */
    /* Page manager, under pages_lock; with `shared` set, under the tracker's views.lock instead. */
    uint32_t pages_seq;
    uint32_t pages_changes;     /* advanced with every change of a watch or of guest rights */
    uint8_t *counts;            /* write watches above the first, a byte a page; NULL: none yet */
    struct page_extra *extra;   /* NULL: the guest's rights are rw everywhere, nothing is shared */
    struct region_views *views; /* not NULL once shared */
    bool shared;                /* a page has had other views; set once, under all three locks */
    /* Under lock. */
    uint64_t not_cpu[TRK_REGION_WORDS] __attribute__((aligned(64)));
    uint64_t gpu[TRK_REGION_WORDS];
    /* Page manager. */
    uint64_t watched[TRK_REGION_WORDS]; /* at least one write watch */
    uint64_t many[TRK_REGION_WORDS];    /* at least two: counts says how many more */
    uint64_t read[TRK_REGION_WORDS];    /* the read watch */
    /* Under lock: registered bytes, ascending, disjoint; NULL: none. */
    struct span *spans;
    uint32_t span_count, span_capacity;
} __attribute__((aligned(64)));

_Static_assert(offsetof(struct region, lock) % 8 == 0 &&
                   offsetof(struct region, pages_lock) ==
                       offsetof(struct region, lock) + sizeof(struct env_lock),
               "env_lock_try_pair");

/* Memory handed out in pieces and given back as a whole when the tracker goes. */
struct arena_block {
    struct arena_block *next;
    uint64_t size_bytes, used_bytes;
    uint64_t former_bytes; /* used before a restore, in the simulated build */
};

struct arena {
    struct env_lock lock;
    struct arena_block *blocks;
};

/* Views of one frame: what regions with shared pages have in common (views.h). */
struct view_table {
    struct env_lock lock;
    uint32_t seq;
    struct view_group *free_groups;
    struct view_scratch *scratch; /* NULL: no page has ever been shared */
};

struct trk_tracker {
    struct trk_policy policy;
    /* For the short way (quick.h): sizes of the bands that it takes, 0 for none. */
    uint64_t quick_low_bytes, quick_arena_bytes;
    uint32_t quick_page_mask; /* bits of a page's number inside a tracker page */
    struct trk_backend *backend;
    struct trk_observer observer;
    trk_failure_fn *failure;
    void *failure_context;
    uint32_t id;
    uint64_t serial;        /* unlike id, of its own for each tracker that this process ever had */
    struct region *regions; /* TRK_REGION_COUNT slots */
    uint64_t *live;         /* one bit a region; set once, never cleared */
    struct trk_resource_layer layer;
    struct arena arena;
    struct flight *free_flights;     /* under arena.lock */
    struct generations *generations; /* NULL: the policy has none */
    struct view_table views;
};

/* ---- region.c -------------------------------------------------------------------------------- */

enum trk_status trk_region_table_create(struct trk_tracker *tracker);
void trk_region_table_destroy(struct trk_tracker *tracker);
/* Zeroed memory that lives as long as the tracker; NULL when there is none. Signal-safe. */
void *trk_arena_take(struct trk_tracker *tracker, uint64_t size_bytes);
struct flight *trk_flight_take(struct trk_tracker *tracker);
void trk_flight_give(struct trk_tracker *tracker, struct flight *flight);

static inline struct region *region_slot(const struct trk_tracker *tracker, uint32_t index)
{
    return &tracker->regions[index];
}

static inline bool region_live(const struct trk_tracker *tracker, uint32_t index)
{
    return env_peek(&tracker->live[index / 64]) >> (index % 64) & 1;
}

static inline void trk_region_make_live(struct trk_tracker *tracker, uint32_t index)
{
    if (TRK_UNLIKELY(!region_live(tracker, index)))
        env_set_forever(&tracker->live[index / 64], UINT64_C(1) << (index % 64));
}

static inline uint32_t region_index(const struct trk_tracker *tracker, const struct region *region)
{
    return (uint32_t)(region - tracker->regions);
}

/* The first live region with a number in [index, end), or end: skips untouched memory quickly. */
uint32_t trk_region_next_live(const struct trk_tracker *tracker, uint32_t index, uint32_t end);

/* A range, page-rounded [M-11], as the regions see it. */
struct window {
    uint32_t index;      /* region number */
    uint32_t first, end; /* pages, first < end <= 1024 */
};

struct range {
    uint64_t first_addr, end_addr; /* page-rounded */
    uint32_t first_region, end_region;
};

static inline struct range range_pages(uint64_t guest_addr, uint64_t size_bytes, uint64_t page)
{
    struct range range = {
        .first_addr = guest_addr & ~(page - 1),
        .end_addr = (guest_addr + size_bytes + page - 1) & ~(page - 1),
    };
    range.first_region = trk_region_index(range.first_addr);
    range.end_region = trk_region_index(range.end_addr - 1) + 1;
    return range;
}

static inline struct window range_window(const struct range *range, uint32_t index)
{
    uint64_t base = trk_region_address(index);
    struct window window = {.index = index, .first = 0, .end = TRK_REGION_PAGES};
    if (range->first_addr > base)
        window.first = (uint32_t)((range->first_addr - base) / TRK_HOST_PAGE_BYTES);
    if (range->end_addr < base + TRK_REGION_BYTES)
        window.end = (uint32_t)((range->end_addr - base) / TRK_HOST_PAGE_BYTES);
    return window;
}

/* Bits [first, end) of word `word`. The window touches the word. */
static inline uint64_t window_mask(const struct window *window, uint32_t word)
{
    uint64_t mask = ~UINT64_C(0);
    if (word == window->first / 64)
        mask &= ~UINT64_C(0) << (window->first % 64);
    if (word == (window->end - 1) / 64)
        mask &= ~UINT64_C(0) >> (63 - (window->end - 1) % 64);
    return mask;
}

#define FOR_WINDOW_WORDS(word, window)                                                             \
    for (uint32_t word = (window)->first / 64; word <= ((window)->end - 1) / 64; word++)

/*
 * Looking without the lock: begin gives a hold's number when none is under way; what was loaded
 * since is one consistent state if no hold has begun, which valid tells.
 */
static inline bool region_peek_begin(const struct region *region, uint32_t *seq)
{
    *seq = __atomic_load_n(&region->seq, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&region->lock.word, __ATOMIC_ACQUIRE) == 0;
}

static inline bool region_peek_valid(const struct region *region, uint32_t seq)
{
    return __atomic_load_n(&region->seq, __ATOMIC_RELAXED) == seq;
}

static inline bool window_one_word(const struct window *window)
{
    return window->first / 64 == (window->end - 1) / 64;
}

/* The same for windows of many words: region.c. */
bool trk_window_any_long(const uint64_t *set, uint32_t first, uint32_t end, uint64_t inverted);

/* Whether any page of the window is in the set, or (inverted sets) is not. */
static inline bool window_any(const struct window *window, const uint64_t *set)
{
    uint32_t word = window->first / 64;
    if (TRK_LIKELY(window_one_word(window)))
        return (env_load(&set[word]) & window_mask(window, word)) != 0;
    return trk_window_any_long(set, window->first, window->end, 0);
}

static inline bool window_any_not(const struct window *window, const uint64_t *set)
{
    uint32_t word = window->first / 64;
    if (TRK_LIKELY(window_one_word(window)))
        return (~env_load(&set[word]) & window_mask(window, word)) != 0;
    return trk_window_any_long(set, window->first, window->end, ~UINT64_C(0));
}

/* An upload in progress, on its thread's stack: its tracker takes no operation from that thread. */
struct trk_upload_frame {
    const struct trk_tracker *tracker;
    const struct trk_upload_frame *outer;
};

/* ---- operation.c ----------------------------------------------------------------------------- */

struct operation {
    struct trk_tracker *tracker;
    struct trk_thread *self;
    enum trk_op op;
    uint64_t guest_addr, size_bytes;
    struct range range;
};

/* Begin: the event, then re-entrancy, then the range. Not TRK_OK: trk_op_end(that) and return. */
enum trk_status trk_op_begin(struct operation *operation, unsigned flags, unsigned rights);
/* Begin without the range's check, and range not set: for operations that need no region's lock. */
enum trk_status trk_op_begin_any_range(struct operation *operation);
/* The checks alone, for the fault handler, whose event is another. */
enum trk_status trk_op_check(struct operation *operation);
/* End with a status and a result; gives the status back. */
enum trk_status trk_op_end(const struct operation *operation, enum trk_status status,
                           uint64_t result);
/* Report a failure: the event, then the owner's handler. Holds no locks. */
/* A read-back under way in a fault of a tracker, and whether the host has refused it something. */
struct trk_read_back_frame {
    const struct trk_tracker *tracker;
    struct trk_read_back_frame *outer;
    bool refused;
};

enum trk_status trk_op_fail(const struct operation *operation, enum trk_status failure_class,
                            const char *text);

static inline void emit(const struct trk_tracker *tracker, const struct trk_event *event)
{
    tracker->observer.emit(tracker->observer.context, event);
}

static inline bool observed(const struct trk_tracker *tracker)
{
    return TRK_UNLIKELY(tracker->observer.emit != NULL);
}

/* The line for a failure that comes out of a change of pages or an invalidate. */
const char *trk_op_refusal_text(enum trk_status failure_class);

/*
 * Take a region's lock for an operation, counting the hold; the caller knows that this thread does
 * not have it (trk_op_begin has looked).
 */
struct region *trk_region_lock(const struct operation *operation, uint32_t index);
void trk_region_unlock(const struct operation *operation, struct region *region);

/*
 * All regions of the range, ascending; `create` makes them live, otherwise only live ones count.
 * trk_regions_next gives the first of those held with a number at or after index, or NULL.
 */
void trk_regions_lock(const struct operation *operation, bool create);
void trk_regions_unlock(const struct operation *operation);
struct region *trk_regions_next(const struct operation *operation, uint32_t index);

#define FOR_HELD_REGIONS(region, operation)                                                        \
    for (struct region *region = trk_regions_next(operation, (operation)->range.first_region);     \
         region != NULL;                                                                           \
         region = trk_regions_next(operation, region_index((operation)->tracker, region) + 1))

/* ---- pages_change.c -------------------------------------------------------------------------- */

enum watch_change {
    WATCH_WRITE_ADD,
    WATCH_WRITE_DROP,
    WATCH_DIRTY, /* a write watch of pages that become CPU: may be refused for want of mappings */
    WATCH_READ_ADD,
    WATCH_READ_DROP,
    WATCH_ARM,       /* generations: pages that are not armed */
    WATCH_DISARM,    /* generations: pages that are */
    WATCH_BOTH_DROP, /* one read and one write watch at once: GPU to CPU in one host call */
};

/*
 * Change the watches of the window's pages that are in the mask, with the host calls that follow.
 * Nothing has changed unless TRK_OK: TRK_E_WATCH, TRK_E_PROTECT. Reports nothing.
 */
enum trk_status trk_pages_change(const struct operation *operation, const struct window *window,
                                 const uint64_t *mask, enum watch_change change);
/* A glance whether a write watch more or less is possible on all pages: no hold, no event. */
bool trk_pages_may_change(const struct operation *operation, const struct window *window, bool add);
/* The same for the guest's own rights of all pages of the window. */
enum trk_status trk_pages_set_rights(const struct operation *operation, const struct window *window,
                                     unsigned rights);

/* Rights of the 64 pages of a word, one word a right. */
struct rights_word {
    uint64_t read, write, exec;
};

/* What the guest asked for, and what the host is asked for: less what the watches take.
 * [M-38] [M-39] */
static inline struct rights_word rights_guest(const struct region *region, uint32_t word)
{
    const struct page_extra *extra = region->extra;
    if (TRK_LIKELY(extra == NULL))
        return (struct rights_word){~UINT64_C(0), ~UINT64_C(0), 0};
    return (struct rights_word){~extra->no_read[word], ~extra->no_write[word], extra->exec[word]};
}

static inline struct rights_word rights_host(const struct region *region, uint32_t word)
{
    struct rights_word rights = rights_guest(region, word);
    const struct page_extra *extra = region->extra;
    uint64_t open = ~region->read[word];
    uint64_t watched = region->watched[word];
    if (TRK_UNLIKELY(extra != NULL)) {
        open &= ~extra->others_read[word];
        watched |= extra->armed[word] | extra->others_watch[word];
    }
    rights.read &= open;
    rights.write &= open & ~watched;
    rights.exec &= open;
    return rights;
}

static inline unsigned rights_of_page(struct rights_word rights, uint32_t page)
{
    uint32_t bit = page % 64;
    return (rights.read >> bit & 1 ? TRK_RIGHT_READ : 0u) |
           (rights.write >> bit & 1 ? TRK_RIGHT_WRITE : 0u) |
           (rights.exec >> bit & 1 ? TRK_RIGHT_EXEC : 0u);
}

/* Write watches of a page. */
static inline unsigned page_write_watches(const struct region *region, uint32_t page)
{
    uint64_t bit = UINT64_C(1) << (page % 64);
    if (!(region->watched[page / 64] & bit))
        return 0;
    return region->many[page / 64] & bit ? region->counts[page] + 1u : 1u;
}

/* ---- states.c -------------------------------------------------------------------------------- */

/*
 * Move pages of the window, in a hold of its region. Each changes sets, watches and protection
 * together, or on failure (TRK_E_PROTECT) nothing in this region.
 */
enum trk_status trk_states_to_cpu(const struct operation *operation, const struct window *window);
enum trk_status trk_states_cpu_to_clean(const struct operation *operation,
                                        const struct window *window, uint64_t *were_cpu);
enum trk_status trk_states_to_gpu(const struct operation *operation, const struct window *window);
/* GPU pages become CLEAN, or (a drain) CPU. */
enum trk_status trk_states_leave_gpu(const struct operation *operation, const struct window *window,
                                     bool to_cpu);

/* ---- registration.c -------------------------------------------------------------------------- */

/* Whether all bytes [first, end) of the region are registered; in a hold. */
bool trk_region_registered(const struct region *region, uint32_t first, uint32_t end);

/* Whether every byte of the operation's range is registered; the regions concerned are held. */
bool trk_bytes_registered(const struct operation *operation);

/* ---- invalidate.c ---------------------------------------------------------------------------- */

/*
 * The body of an invalidate, between its events. result: times the flush ran. `registered_only`
 * is the fault handler's: gives TRK_E_END, with nothing changed, when a byte is not registered.
 */
enum trk_status trk_invalidate_run(const struct operation *operation, trk_flush_fn *flush,
                                   void *context, bool registered_only, uint64_t *result);

#endif
