/*
 * Running random scenarios one after the other, and keeping what failed.
 */
#ifndef CLI_FUZZ_CASE_H
#define CLI_FUZZ_CASE_H

#include <stdbool.h>

#include "simulator/generate.h"
#include "simulator/scenario.h"

struct trk_fuzz_failure {
    uint64_t seed;
    struct trk_scenario_report report;
    char path[256]; /* of its file; "" when none was asked for */
};

struct trk_fuzz {
    /* What is asked. */
    struct trk_generate_options program; /* its seed goes up */
    bool walk;                           /* schedules of a uniform walk */
    enum trk_scenario_engine engine;     /* of what is explored */
    uint64_t first_seed, runs;
    uint64_t steps;     /* stop after so many; 0: no bound */
    const char *folder; /* for programs that fail; NULL: none */
    bool overwrite;
    struct trk_fuzz_failure *failures; /* room for failures_most */
    size_t failures_most;
    /* What came out. */
    size_t failure_count; /* of failed, those that found room */
    uint64_t whole;       /* programs of which every schedule was run */
    uint64_t done, failed, schedules, steps_done, operations, faults, host_calls;
    uint64_t digest; /* of all programs and what they ended in */
};

/**
 * Make and run programs until there were as many as asked, or as many steps.
 *
 * @return TRK_OK, whatever failed; TRK_E_EXISTS, TRK_E_SYSTEM: a file could not be written;
 *         TRK_E_MEMORY. What was counted up to then stays.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one at a time.
 */
TRK_MUST_USE enum trk_status trk_fuzz_run(struct trk_fuzz *fuzz, struct trk_error *error);

/* Whether failures can be written to the folder, which is not made yet; TRK_E_SYSTEM: they cannot.
 */
TRK_MUST_USE enum trk_status trk_fuzz_folder_check(const struct trk_fuzz *fuzz,
                                                   struct trk_error *error);

#endif
