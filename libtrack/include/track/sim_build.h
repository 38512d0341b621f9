/*
 * The simulated build of the core: its hooks, and its state as pieces of memory.
 *
 * The core's sources are compiled a second time with TRK_SIM, under other symbols, into the
 * simulator. Only there do these exist; the live library knows nothing of them. A simulator that
 * tries many orders of one program takes the core's state out as bytes and puts it back.
 */
#ifndef TRACK_SIM_BUILD_H
#define TRACK_SIM_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/macros.h"

TRK_EXTERN_C_BEGIN

struct trk_tracker;

struct region;

/* Given by the simulator: a lock is about to be taken; comes back when the word is 0. */
void trk_hook_lock(const uint32_t *word);
/* The same for one that is about to be given back. */
void trk_hook_unlock(const uint32_t *word);

enum trk_sim_word {
    TRK_SIM_LOAD,
    TRK_SIM_STORE, /* of another value */
    TRK_SIM_PEEK,  /* without a lock */
    TRK_SIM_SET,   /* without a lock */
};

/* A word that threads share is looked at, or about to change. */
void trk_hook_word(const void *word, enum trk_sim_word access);
/* A region's watches and rights are looked at without a lock, or about to change. */
void trk_hook_pages(const struct region *region, bool change);

enum trk_sim_lock {
    TRK_SIM_LOCK_REGION,
    TRK_SIM_LOCK_PAGES,       /* a region's page manager */
    TRK_SIM_LOCK_SHARED,      /* the page manager of all regions with shared pages */
    TRK_SIM_LOCK_GENERATIONS, /* never held by two steps at once, unless a lock inside it waits */
    TRK_SIM_LOCK_MEMORY,      /* never held where another thread may run */
    TRK_SIM_LOCK_OTHER,       /* of a tracker that is none of ours */
};

/**
 * What a lock's word belongs to.
 *
 * @param region  Set to the region's number, or 0.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: any.
 */
enum trk_sim_lock trk_sim_lock_kind(const struct trk_tracker *tracker, const uint32_t *word,
                                    uint32_t *region);

/* Whether somebody is in the page manager of a region: watches and protection may differ there. */
bool trk_sim_pages_held(const struct trk_tracker *tracker, uint32_t region);

/* Whether any of 64 pages of a region may have more watches than its state explains. */
bool trk_sim_watches_over(const struct trk_tracker *tracker, uint32_t region, uint32_t word);

/**
 * A name for a word that a hook was given: the same in every process.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: any.
 */
uint64_t trk_sim_word_name(const struct trk_tracker *tracker, const void *word);

/**
 * Whether a thread has the lock that a word of a region's page sets is under; also of words that
 * are under none.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: any.
 */
bool trk_sim_word_held(const struct trk_tracker *tracker, const void *word, uint32_t thread_id);
/* The same for the lock of a region's page manager. */
bool trk_sim_pages_owned(const struct trk_tracker *tracker, const struct region *region,
                         uint32_t thread_id);

/**
 * What a thread may read while it has a lock, as a number: equal numbers for equal contents.
 *
 * @param regions  Numbers, count of them: all that the lock's holder can look at.
 *
 * Allocates: no. Blocks: no. Signal-safe: no. Threads: one.
 */
uint64_t trk_sim_lock_digest(const struct trk_tracker *tracker, const uint32_t *word,
                             const uint32_t *regions, size_t count);
/* The same for what is read without a lock: which regions are live. */
uint64_t trk_sim_live_digest(const struct trk_tracker *tracker, const uint32_t *regions,
                             size_t count);

/* Have memory at hand, so that it lies in one place in every order of threads. False: none. */
bool trk_sim_ready(struct trk_tracker *tracker);

typedef void trk_sim_piece_fn(void *context, void *memory, size_t size_bytes);

/**
 * Visit all memory that holds the tracker's state, as far as it lies in some regions.
 *
 * @param regions  Numbers, count of them; what is outside must never have been touched.
 *
 * Allocates: no. Blocks: no. Signal-safe: no. Threads: one.
 */
void trk_sim_pieces(struct trk_tracker *tracker, const uint32_t *regions, size_t count,
                    trk_sim_piece_fn *piece, void *context);

/* Put what has no meaning any more, and what only counts, to 0. */
void trk_sim_forget(struct trk_tracker *tracker, const uint32_t *regions, size_t count);

/*
 * Around putting former pieces back: memory that was handed out since then is zeroed, and given
 * back. begin gives what end wants.
 */
void *trk_sim_restore_begin(struct trk_tracker *tracker);
void trk_sim_restore_end(struct trk_tracker *tracker, void *begun);

TRK_EXTERN_C_END

#endif
