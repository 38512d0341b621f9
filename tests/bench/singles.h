/*
 * Appends timed one by one: in a signal handler and out of it, after a sleep, where the drain's
 * chunks end, in a ring that is full; and how often they call the system.
 *
 * An append takes a few steps of the processor's counter only. A single reading is therefore wrong
 * by up to a step, but its percentiles over thousands are not, by more than that: the step is told
 * beside them. What two readings with nothing between take, by their median, is taken off.
 */
#ifndef TRK_BENCH_SINGLES_H
#define TRK_BENCH_SINGLES_H

#include "samples.h"

/* ns an append. */
struct bench_single {
    double median, p99, worst;
    uint64_t count;
};

struct bench_singles {
    double step_ns;                            /* the counter's, at most */
    double empty_ns;                           /* taken off all of them */
    struct bench_single called, handler;       /* the first in a function, in a handler */
    struct bench_spread called_ns, handler_ns; /* in groups of 64, which follow the single one */
    struct bench_spread handler_ratio;         /* of the groups */
    struct bench_single woken;                 /* the first after 3 ms of sleep */
    struct bench_single edge, inner;           /* records 8192 n of a ring; all others of it */
    struct bench_single full;                  /* finds no room, and is counted as lost */
    uint64_t full_counted;                     /* how many of those the ring says it lost */
    uint64_t quiet_appends; /* made while calls of the system were counted; 0: they cannot be */
    uint64_t calls;         /* of the system, by those */
};

/* In a recorded process. 0, or 1 after a line on stderr. */
int bench_singles(unsigned rounds, struct bench_singles *out);

#endif
