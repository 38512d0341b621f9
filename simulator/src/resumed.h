/* Inside the simulator: judging goes on behind a loss. */
#ifndef SIMULATOR_RESUMED_H
#define SIMULATOR_RESUMED_H

#include "simulator/sim.h"

/*
 * Re-execute a trace from the first checkpoint behind which nothing is missing, and which stands
 * behind an event to which it was followed, to its end; what that shows goes into the report.
 * Without such a checkpoint nothing happens.
 */
TRK_MUST_USE enum trk_status resumed_run(struct trk_trace *trace,
                                         const struct trk_sim_options *options, uint64_t lost_at,
                                         struct trk_sim_report *report, struct trk_error *error);

#endif
