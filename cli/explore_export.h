/*
 * The window that `trk explore --export` writes.
 */
#ifndef CLI_EXPLORE_EXPORT_H
#define CLI_EXPLORE_EXPORT_H

#include "options.h"
#include "simulator/explore.h"

/* Whether it can be written, before the search: an exit code, after a message. */
int trk_explore_export_check(const struct trk_options *options);

/* Write it, if it is asked for. Given the command's exit code, the one to end with. */
int trk_explore_export(const struct trk_options *options, const struct trk_explore_report *report,
                       int code);

#endif
