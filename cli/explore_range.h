/*
 * The RANGE of `trk explore`.
 */
#ifndef CLI_EXPLORE_RANGE_H
#define CLI_EXPLORE_RANGE_H

#include "input.h"
#include "options.h"
#include "simulator/explore.h"

/* Read the second operand, events or the events of frames, into from and to. An exit code, with
 * what is wrong said. */
int trk_explore_read_range(struct trk_input *input, const struct trk_options *options,
                           struct trk_explore_options *explore);

#endif
