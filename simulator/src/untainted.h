/*
 * Inside the simulator: what a loss of events has not touched.
 */
#ifndef SIMULATOR_UNTAINTED_H
#define SIMULATOR_UNTAINTED_H

#include "simulator/sim.h"

/**
 * After a run that lost the core behind a loss: re-execute, from the beginning to the end, the
 * groups of regions of which nothing is missing. A rule that breaks there becomes the verdict; else
 * the report's text says how much was followed.
 *
 * @return TRK_OK; what reading gives; TRK_E_MEMORY.
 */
TRK_MUST_USE enum trk_status untainted_run(struct trk_trace *trace,
                                           const struct trk_sim_options *options,
                                           struct trk_sim_report *report, struct trk_error *error);

#endif
