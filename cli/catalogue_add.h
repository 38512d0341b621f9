/*
 * Storing files in a catalogue, for trk catalogue add.
 */
#ifndef CLI_CATALOGUE_ADD_H
#define CLI_CATALOGUE_ADD_H

#include "options.h"
#include "traces/catalogue.h"

/* Store the operands from the third on, and print their hashes. An exit code; what came before one
 * that cannot be stored stays. */
int trk_catalogue_add_operands(struct trk_catalogue *catalogue, const struct trk_options *options);

#endif
