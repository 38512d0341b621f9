/*
 * What the core remembers of each thread: its number, whose upload callback it is in, its last
 * faults.
 *
 * A thread gets a state of its own on first use, in thread-local storage that needs no allocation.
 * A simulator that runs many threads of a log on one host thread swaps states instead.
 */
#ifndef TRACK_THREAD_H
#define TRACK_THREAD_H

#include <stdint.h>

#include "track/macros.h"

TRK_EXTERN_C_BEGIN

struct trk_upload_frame;
struct trk_read_back_frame;

struct trk_thread {
    uint32_t id; /* owner id of locks; never 0 once in use */
    /* Uploads whose callbacks run on this thread now, innermost first; NULL: none. */
    const struct trk_upload_frame *uploads;
    uint32_t locks_held;                    /* region locks of any tracker */
    struct trk_read_back_frame *read_backs; /* of faults that run on this thread, innermost first */
    /* Livelock: the last fault that a tracker served, and how often in a row without a change. */
    uint64_t fault_tracker; /* the tracker's serial number, 0 before the first */
    uint64_t fault_page;
    uint32_t fault_access;
    uint32_t fault_repeats;
    uint32_t fault_changes; /* the region's counter of changes then */
};

/**
 * Give the calling thread's state; on first use it gets the kernel's thread id as its number.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: any.
 */
struct trk_thread *trk_thread_current(void);

/**
 * Let the calling host thread act as another thread from now on; NULL goes back to its own state.
 *
 * @param thread  Its id must be set and not 0; must stay valid until it is swapped out.
 * @return The state that was in force.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: any, each for itself.
 */
struct trk_thread *trk_thread_swap(struct trk_thread *thread);

TRK_EXTERN_C_END

#endif
