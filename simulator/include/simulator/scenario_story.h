/*
 * The story of a scenario's verdict: what happened to the page concerned, for a reader who knows
 * neither the tracker nor this program.
 */
#ifndef SIMULATOR_SCENARIO_STORY_H
#define SIMULATOR_SCENARIO_STORY_H

#include "simulator/scenario.h"

TRK_EXTERN_C_BEGIN

#define TRK_SCENARIO_STORY_LINES 12

/* A step, counted from 1 in the order in which it happened. */
struct trk_scenario_line {
    char thread[64];
    char text[192];
    char role[48]; /* "last writer", "event at fault" ...; or "" */
};

struct trk_scenario_story {
    size_t count;
    struct trk_scenario_line lines[TRK_SCENARIO_STORY_LINES];
    char detail[64]; /* the finer word of the verdict, as of a trace; or "" */
    /* Each one sentence, or "". */
    char writer[192];  /* who wrote the bytes last */
    char missing[192]; /* the edge that was missing */
    char passes[192];  /* the nearest order that would have passed */
};

/**
 * Run the schedule of a report's verdict again, and tell what it did to the page of that verdict.
 *
 * @param report  Of this scenario. A verdict without an address, or one of a search that gave no
 *                schedule, has a story of sentences alone.
 * @return TRK_OK; as trk_scenario_replay else, with the story empty.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one call at a time in a process.
 */
TRK_MUST_USE enum trk_status trk_scenario_tell(const struct trk_scenario *scenario,
                                               const struct trk_scenario_report *report,
                                               struct trk_scenario_story *story);

TRK_EXTERN_C_END

#endif
