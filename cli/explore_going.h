/*
 * How far `trk explore` goes on: until its time is over, an interrupt, or a plug-in's limit. What
 * it has found so far lies in memory that a plug-in's process shares, so it outlives that.
 */
#ifndef CLI_EXPLORE_GOING_H
#define CLI_EXPLORE_GOING_H

#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "options.h"
#include "simulator/core.h"
#include "simulator/explore.h"

struct trk_explore_kept;

struct trk_explore_going {
    bool limited; /* by --budget */
    struct timespec end;
    struct trk_explore_kept *kept;
};

/* Reads --budget. False: no memory. */
bool trk_explore_going_open(struct trk_explore_going *going, const struct trk_options *options);
void trk_explore_going_close(struct trk_explore_going *going);

/* For trk_explore_options.go_on; the context is the struct. */
bool trk_explore_go_on(void *going, const struct trk_explore_report *so_far);

/* An interrupt ends the exploration with what it has found; a second one ends the program. */
void trk_explore_watch_interrupts(const struct trk_explore_going *going);

/* Why it is to end, an enum trk_contained_stop; for trk_contained and trk_trace_stop_on. */
volatile sig_atomic_t *trk_explore_stop(const struct trk_explore_going *going);

/* What was found so far, from any process, with the plug-in that it was found with; NULL: nothing
 * was tried yet. */
const struct trk_explore_report *trk_explore_so_far(const struct trk_explore_going *going,
                                                    struct trk_core_about *core);

/* Say why it has ended early, and what to do about it. */
void trk_explore_say_ended(const struct trk_explore_going *going, const struct trk_options *options,
                           const struct trk_core_about *core);

#endif
