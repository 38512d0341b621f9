/*
 * Scenario runs as JUnit XML, for continuous integration: a file is a test case, its folder the
 * class; refused ones are skipped, broken ones errors. There are no times in it.
 */
#ifndef CLI_JUNIT_H
#define CLI_JUNIT_H

#include <stdio.h>

#include "scenario_files.h"

/**
 * Write all of it to a file.
 *
 * @param fd  Open for writing; stays open.
 * @return TRK_OK; TRK_E_SYSTEM.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_junit_write(const struct trk_scenario_files *files, int fd,
                                             struct trk_error *error);

/* Text inside an attribute or an element; what XML cannot hold becomes '?'. */
void trk_junit_text(FILE *out, const char *text, size_t length);

#endif
