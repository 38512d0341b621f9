/*
 * Running `trk diff` on two traces.
 */
#ifndef CLI_DIFF_TRACES_H
#define CLI_DIFF_TRACES_H

#include "options.h"

/* Compare the traces of the first two operands, print, and give an exit code. */
int trk_diff_traces(const struct trk_options *options);

#endif
