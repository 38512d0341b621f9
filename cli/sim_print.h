/*
 * What trk sim says of a trace, for people and for programs.
 */
#ifndef TRK_CLI_SIM_PRINT_H
#define TRK_CLI_SIM_PRINT_H

#include "contained.h"
#include "input.h"
#include "simulator/sim.h"

#define TRK_SIM_SCHEMA "trk-sim/1"

/* What was found, as the command's exit code. */
int trk_sim_exit_code(const struct trk_sim_report *report);

/* What was run: with it the report is given again. */
struct trk_sim_printed {
    const struct trk_input *input;
    const struct trk_sim_options *sim;
    struct trk_contained core;
};

void trk_sim_print(const struct trk_sim_printed *run, const struct trk_sim_report *report);
void trk_sim_print_json(const struct trk_sim_printed *run, const struct trk_sim_report *report);

#endif
