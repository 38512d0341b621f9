/*
 * Comparing what two scenarios come to, or one under two policies.
 */
#ifndef CLI_SCENARIO_DIFF_H
#define CLI_SCENARIO_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "simulator/scenario.h"

#define TRK_SCENARIO_DIFF_ROWS 40u

/* One thing that both say; equal: the same. */
struct trk_scenario_diff_row {
    char key[64];
    char a[160], b[160];
    bool equal;
};

struct trk_scenario_diff {
    size_t count;
    struct trk_scenario_diff_row rows[TRK_SCENARIO_DIFF_ROWS];
    bool differ;
    bool complete; /* every order of both was tried, or one was asked for */
};

/*
 * Run two scenarios out of their texts and compare.
 *
 * @param policies  Presets to run them by, or NULL: as the files say.
 * @return TRK_OK; TRK_E_ARGUMENT with fault filled, whose `where` begins with the side; as
 *         trk_scenario_run.
 */
TRK_MUST_USE enum trk_status trk_scenario_diff_run(const char *const texts[2],
                                                   const char *const policies[2],
                                                   struct trk_scenario_diff *out,
                                                   struct trk_scenario_fault *fault);

#endif
