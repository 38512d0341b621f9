/*
 * Running a window's script: the exploration's only door to the engines.
 */
#ifndef SIMULATOR_EXPLORE_JUDGE_H
#define SIMULATOR_EXPLORE_JUDGE_H

#include "engine.h"
#include "simulator/scenario_story.h"

/* What the schedules of a script came to. */
struct judged {
    struct trk_scenario_report report; /* the nearest bad schedule, or else the nearest */
    uint32_t seen; /* verdicts, by their place in the format's list; bit 0: ok */
};

/* Run a script with the schedules that it asks for, at most so many. */
TRK_MUST_USE enum trk_status judge_run(const char *script, uint64_t most, struct judged *out);
/* Likewise, until nobody wants more; one schedule at least. */
TRK_MUST_USE enum trk_status judge_run_while(const char *script, uint64_t most,
                                             const struct engine_leave *leave, struct judged *out);

/*
 * Run one schedule of a script's twin: its steps, whatever script the line names.
 *
 * @return TRK_E_ARGUMENT with fault filled: it leads elsewhere, or is no schedule.
 */
TRK_MUST_USE enum trk_status judge_replay(const char *script, const char *schedule,
                                          struct trk_scenario_report *out,
                                          struct trk_scenario_fault *fault);

/* The story of a report that judge_run or judge_replay gave of this script; empty: there is none.
 */
TRK_MUST_USE enum trk_status judge_tell(const char *script,
                                        const struct trk_scenario_report *report,
                                        struct trk_scenario_story *out);

/* What the newest script needs and the plug-in in force lacks; NULL: nothing. */
const char *judge_lacks(void);

/* The script's own hash, as a schedule names it: 8 digits and a NUL. */
TRK_MUST_USE enum trk_status judge_hash(const char *script, char out[9]);

#endif
