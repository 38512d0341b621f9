/*
 * Help, man pages and completions, all from the commands' own tables.
 */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

#include <stdio.h>

#include "command.h"

/* `trk --help`, and one command's --help. */
void trk_manual_overview(FILE *out);
void trk_manual_help(FILE *out, const struct trk_command *command);

/* The man page of a command, or of trk itself for NULL: roff. */
void trk_manual_page(FILE *out, const struct trk_command *command);

/* Completions for bash. */
void trk_manual_completion(FILE *out);

#endif
