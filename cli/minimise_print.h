/*
 * What `trk minimise` prints: its report for people and for programs.
 */
#ifndef CLI_MINIMISE_PRINT_H
#define CLI_MINIMISE_PRINT_H

#include "simulator/minimise.h"

#define TRK_MINIMISE_SCHEMA "trk-minimise/1"

/* path: the input's, as given; output: the case's. trace: the input is one, not a scenario. */
struct trk_minimise_printing {
    const char *path, *output;
    bool trace;
    bool lacks; /* events of it are missing */
};

void trk_minimise_print(const struct trk_minimise_report *report,
                        const struct trk_minimise_printing *printing);
void trk_minimise_print_json(const struct trk_minimise_report *report,
                             const struct trk_minimise_printing *printing);

/* How far it has come; shown: what was told last. */
void trk_minimise_show(const struct trk_minimise_report *so_far, struct trk_minimise_size *shown);

#endif
