/*
 * Minimising: from a trace or a scenario in which a rule breaks to the few operations that are
 * needed for it.
 *
 * What a trace did to the pages of its verdict becomes a scenario (simulator/explore.h says how),
 * and of a scenario everything is taken out that is not needed: threads, operations, bytes, pages.
 * What is left ends in the same verdict, at the same operation and for the same cause, in some
 * order of its threads.
 *
 * Deterministic: the same input and options give the same report, byte for byte.
 */
#ifndef SIMULATOR_MINIMISE_H
#define SIMULATOR_MINIMISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/trace.h"
#include "simulator/scenario_story.h"
#include "simulator/sim.h"

TRK_EXTERN_C_BEGIN

#define TRK_MINIMISE_TRAIL 32u /* sizes that a report holds */
#define TRK_MINIMISE_KEEP  16u /* operations that may be named */

struct trk_minimise_size {
    uint32_t threads, operations, pages; /* init, finally, signals and awaits do not count */
};

struct trk_minimise_report;

struct trk_minimise_options {
    size_t size;      /* sizeof(struct trk_minimise_options) */
    uint64_t replays; /* at most, of candidates; at least 1 */
    /* Labels of operations that must stay ("e4711" of event 4711). */
    const char *keep[TRK_MINIMISE_KEEP];
    uint32_t keep_count;
    /* Asked before each replay; false ends it with the best so far. NULL: no. */
    bool (*go_on)(void *context, const struct trk_minimise_report *so_far);
    /* Whether a scenario file holds on a core that is known to be right: every case must. For
     * faults of the core that this program runs on. NULL: there is none to ask. */
    bool (*right)(void *context, const char *script);
    void *context;
};

/* 10,000 replays. */
struct trk_minimise_options trk_minimise_options_default(void);

/* After a pass that took something out. */
struct trk_minimise_step {
    const char *pass; /* a constant */
    struct trk_minimise_size size;
    uint64_t replays; /* until then */
};

struct trk_minimise_report {
    struct trk_sim_report recorded; /* of a trace as it is */
    bool nothing;                   /* no rule breaks: there is nothing to minimise */
    bool not_shown; /* a rule breaks, and no scenario of these pages shows it; why says more */
    char why[160];
    bool whole;       /* no pass was cut short */
    bool same_detail; /* the case breaks the rule the same way as the trace */
    uint64_t replays;
    struct trk_minimise_size from, to;
    uint32_t trail_count;
    struct trk_minimise_step trail[TRK_MINIMISE_TRAIL];
    struct trk_scenario_report verdict; /* of the case, with a line that runs it again */
    struct trk_scenario_story story;    /* likewise */
    /* Scenario files, the caller's to free; NULL: none. The case fails; what the second one has
     * otherwise lets it hold, in words. */
    char *script, *passing;
    char passing_how[192];
};

/**
 * Minimise what breaks the rule of a trace.
 *
 * @return TRK_OK: the report says what came out; its scripts are the caller's whatever is returned.
 *         TRK_E_ARGUMENT: options out of bounds, or a label to keep that is not there (error has
 * the text). TRK_E_DAMAGED, TRK_E_VERSION, TRK_E_MEMORY, TRK_E_SYSTEM, TRK_E_UNSUPPORTED as
 *         trk_sim_trace.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one call at a time in a process.
 */
TRK_MUST_USE enum trk_status trk_minimise_trace(struct trk_trace *trace,
                                                const struct trk_minimise_options *options,
                                                struct trk_minimise_report *report,
                                                struct trk_error *error);

/**
 * Minimise a scenario that ends in a verdict other than "ok".
 *
 * @param json  size_bytes of UTF-8.
 * @return As above; TRK_E_ARGUMENT with fault filled: it is no scenario.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one call at a time in a process.
 */
TRK_MUST_USE enum trk_status trk_minimise_scenario(const char *json, size_t size_bytes,
                                                   const struct trk_minimise_options *options,
                                                   struct trk_minimise_report *report,
                                                   struct trk_scenario_fault *fault);

TRK_EXTERN_C_END

#endif
