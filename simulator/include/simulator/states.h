/*
 * What the core in force makes of a trace or of a scenario, step by step: the states of the pages
 * that a step may have changed. For holding two builds of a core against each other.
 *
 * A core is loaded once a process (simulator/core.h), so each build has a process of its own, and
 * what is compared are numbers: digests of the states behind each step.
 */
#ifndef SIMULATOR_STATES_H
#define SIMULATOR_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/trace.h"
#include "simulator/scenario.h"
#include "simulator/sim.h"
#include "track/pages.h"

TRK_EXTERN_C_BEGIN

/* Whole pages. */
struct trk_states_span {
    uint64_t first_addr, end_addr;
};

/* The core stands behind one event, or behind one operation of a scenario. */
struct trk_states_step {
    uint64_t number; /* of the event; of a scenario how many operations had ended before it */
    /* Of a scenario; else NULL and 0. */
    const char *thread, *operation_text;
    uint32_t operation;
    struct trk_tracker *tracker; /* whose pages may be others now */
    const struct trk_states_span *spans;
    size_t span_count; /* 0: no page may have changed, or a thread is in the midst of changing it */
    bool scenario;
};

/* Told of each step; false ends the run. */
typedef bool trk_states_fn(void *context, const struct trk_states_step *step);

struct trk_states_listener {
    trk_states_fn *fn;
    void *context;
};

typedef void trk_states_page_fn(void *context, uint64_t guest_addr,
                                const struct trk_page_view *page);

/* The pages of a step, inside of the call that tells of it. */
void trk_states_pages(const struct trk_states_step *step, trk_states_page_fn *page, void *context);

/* A digest of their states; never 0 where there is a span. */
uint64_t trk_states_digest(const struct trk_states_step *step);

/**
 * Re-execute a trace and tell of each event that the core has followed.
 *
 * Behind an event that gives a region free all of its pages are told; of a foreign tracker's
 * operation, which a plug-in does again, the pages of its range. The oracle's findings end nothing:
 * what ends it is the core going another way than the trace, a rule of the core's states, or the
 * trace's end.
 *
 * @param report  The verdict that ended it; TRK_VERDICT_OK: it was followed to its end.
 * @return TRK_OK; what trk_sim_trace_with gives.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one call at a time in a process.
 */
TRK_MUST_USE enum trk_status trk_states_trace(struct trk_trace *trace,
                                              const struct trk_states_listener *listener,
                                              struct trk_sim_report *report,
                                              struct trk_error *error);

/**
 * Run one schedule of a scenario and tell of each operation of a thread's list that has ended, with
 * all pages of its memory.
 *
 * @param schedule  As a report gave it; NULL: the one that the file gives, which must be one.
 * @return As trk_scenario_replay.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one call at a time in a process.
 */
TRK_MUST_USE enum trk_status trk_states_scenario(const struct trk_scenario *scenario,
                                                 const char *schedule,
                                                 const struct trk_states_listener *listener,
                                                 struct trk_scenario_report *report,
                                                 struct trk_scenario_fault *fault);

TRK_EXTERN_C_END

#endif
