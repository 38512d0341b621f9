/*
 * What a tracker's plug-in makes of the cases, summed up.
 */
#ifndef CLI_CORE_CHECK_H
#define CLI_CORE_CHECK_H

#include "scenario_files.h"

#define TRK_CORE_CHECK_SCHEMA "trk-core-check/1"

enum trk_core_case {
    TRK_CORE_HOLDS = 0,
    TRK_CORE_DEPARTS,   /* another verdict, or another result */
    TRK_CORE_UNDECIDED, /* nothing was found, but not every schedule was tried, or in time */
    TRK_CORE_CRASHES,   /* it ended its process, never came back, or gave no answer that counts */
    TRK_CORE_LACKS,     /* it has not what the case needs */
    TRK_CORE_BROKEN,    /* the file is no scenario, which is not the tracker's fault */
    TRK_CORE_CASE_COUNT,
};

/* Cases of one policy, or of one value of a policy's key. */
struct trk_core_share {
    const char *key, *value;
    size_t cases[TRK_CORE_CASE_COUNT];
};

#define TRK_CORE_SHARES  16u
#define TRK_CORE_PRESETS 3u /* the first ones are the policies that have names */

struct trk_core_report {
    const struct trk_scenario_files *files;
    const char *path;
    size_t cases[TRK_CORE_CASE_COUNT];
    uint32_t scaled_bytes;   /* pages that the tracker has instead of 4 KiB ones; 0: not needed */
    size_t scaled, unscaled; /* cases that were made such of those, and that could not be */
    struct trk_core_share shares[TRK_CORE_SHARES];
    size_t share_count;
    const struct trk_core_share *best; /* of the presets; NULL: no case of any could be run */
};

/* Both refer to what they are given. */
void trk_core_report_fill(struct trk_core_report *report, const struct trk_scenario_files *files,
                          const char *path);

void trk_core_report_print(const struct trk_core_report *report);
void trk_core_report_print_json(const struct trk_core_report *report);

/* 0: all that it has holds; 2: so it is, but a file is no scenario; 1 else, and when nothing could
 * be run. */
int trk_core_report_exit_code(const struct trk_core_report *report);

#endif
