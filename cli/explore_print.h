/*
 * What `trk explore` prints: its report for people and for programs.
 */
#ifndef CLI_EXPLORE_PRINT_H
#define CLI_EXPLORE_PRINT_H

#include "simulator/explore.h"

#define TRK_EXPLORE_SCHEMA "trk-explore/1"

/* path: the trace's, as given. once: one order was run again, and nothing else. */
void trk_explore_print(const struct trk_explore_report *report, const char *path, bool once);
void trk_explore_print_json(const struct trk_explore_report *report, const char *path);

#endif
