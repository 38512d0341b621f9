/*
 * What `trk explore` prints: its report for people and for programs.
 */
#ifndef CLI_EXPLORE_PRINT_H
#define CLI_EXPLORE_PRINT_H

#include "simulator/core.h"
#include "simulator/explore.h"

#define TRK_EXPLORE_SCHEMA "trk-explore/1"

/* What a report is of. */
struct trk_explore_of {
    const char *path;                  /* the trace's, as given */
    const char *core_path;             /* the plug-in's, as given; NULL: none */
    const struct trk_core_about *core; /* the plug-in; NULL: none */
    bool once;                         /* one order was run again, and nothing else */
};

void trk_explore_print(const struct trk_explore_report *report, const struct trk_explore_of *of);
void trk_explore_print_json(const struct trk_explore_report *report,
                            const struct trk_explore_of *of);

#endif
