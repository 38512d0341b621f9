/*
 * Bisecting the schedules of a scenario: the step behind which nothing helps any more, and the swap
 * of neighbours that lies between a schedule that passes and one that fails.
 */
#ifndef SIMULATOR_BISECT_H
#define SIMULATOR_BISECT_H

#include "simulator/scenario.h"

TRK_EXTERN_C_BEGIN

/* The first step of a failing schedule behind which no order of the rest passes. */
struct trk_scenario_no_return {
    bool whole;     /* every order was tried wherever none passes; false: of some, the first ones */
    uint64_t steps; /* of the schedule */
    uint64_t step;  /* from 1; 0: no order passes at all */
    uint64_t probes;             /* searches behind a beginning of the schedule */
    struct trk_scenario_step at; /* step 0: empty */
    char label[64];              /* of its operation; "" none */
};

/**
 * Find the point of no return of a schedule that a report gave.
 *
 * @return As trk_scenario_replay. The scenario's own core alone.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one call at a time in a process.
 */
TRK_MUST_USE enum trk_status trk_scenario_no_return(const struct trk_scenario *scenario,
                                                    const char *schedule,
                                                    struct trk_scenario_no_return *out,
                                                    struct trk_scenario_fault *fault);

/* Between a schedule that passes and one that fails. */
struct trk_scenario_between {
    bool there;                           /* false: the first does not pass, or the second does */
    uint64_t swaps;                       /* of neighbours that lead from the one to the other */
    uint64_t probes;                      /* schedules that were run */
    struct trk_scenario_step first, then; /* in this order it passes, in the other one it fails */
    char passes[512], fails[512];         /* these two schedules, for trk_scenario_replay */
};

/**
 * Go from one schedule to another by swaps of neighbours, and find the one that lets it fail.
 *
 * @return As trk_scenario_replay, for either line.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one call at a time in a process.
 */
TRK_MUST_USE enum trk_status trk_scenario_between(const struct trk_scenario *scenario,
                                                  const char *passing, const char *failing,
                                                  struct trk_scenario_between *out,
                                                  struct trk_scenario_fault *fault);

TRK_EXTERN_C_END

#endif
