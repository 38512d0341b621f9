/*
 * Scenario runs as JUnit XML, for continuous integration: a file is a test case, its folder the
 * class; refused ones are skipped, broken ones errors. There are no times in it.
 */
#ifndef CLI_JUNIT_H
#define CLI_JUNIT_H

#include "scenario_files.h"

/**
 * Write a new file.
 *
 * @return TRK_OK; TRK_E_EXISTS when there is one; TRK_E_SYSTEM, and no half file is left.
 *
 * Allocates: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_junit_write(const struct trk_scenario_files *files,
                                             const char *path, struct trk_error *error);

#endif
