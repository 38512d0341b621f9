/*
 * Scenario files run by several processes at once.
 *
 * A run of the simulator has its process to itself, so there is one process a job. Which process
 * takes which file is chance; what comes out stands in the order of the files and is the same for
 * any number of them.
 */
#ifndef CLI_SCENARIO_JOBS_H
#define CLI_SCENARIO_JOBS_H

#include "scenario_files.h"

/* More processes than anybody has processors. */
#define TRK_SCENARIO_JOBS_MOST 256u

/* Run one file and fill in what became of it. */
typedef enum trk_status trk_scenario_job_fn(struct trk_scenario_file *file, const void *context,
                                            struct trk_error *error);

/**
 * Run all files.
 *
 * @param jobs  1 to TRK_SCENARIO_JOBS_MOST; 1: in this process.
 * @return TRK_OK, or what the first file in order gave that could not be run. TRK_E_MEMORY and
 *         TRK_E_SYSTEM when processes cannot be had, or one was killed.
 *
 * Allocates: yes. Blocks: until all have ended. Signal-safe: no. Threads: the process has one.
 */
TRK_MUST_USE enum trk_status trk_scenario_jobs_run(struct trk_scenario_file *files, size_t count,
                                                   unsigned jobs, trk_scenario_job_fn *job,
                                                   const void *context, struct trk_error *error);

#endif
