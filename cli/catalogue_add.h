/*
 * Storing files in a catalogue, for trk catalogue add.
 */
#ifndef CLI_CATALOGUE_ADD_H
#define CLI_CATALOGUE_ADD_H

#include "options.h"
#include "traces/catalogue.h"

/* Store the operands from the third on, and print their hashes. An exit code. All are looked at
 * before the catalogue is opened, or made where there is none. */
int trk_catalogue_add_operands(const char *folder, const struct trk_options *options);

#endif
