/*
 * The settings file: what options are when neither the command line nor the environment says.
 *
 * Lines of `name = value`, as in the long options without dashes; flags are 0 or 1. Behind a line
 * `[COMMAND]` they are that command's, before the first one every command's that has the option.
 * `#` begins a comment, at the start of a line. The file is $TRK_CONFIG, else
 * $XDG_CONFIG_HOME/trk/config, else ~/.config/trk/config; only the first must be there.
 */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "track/status.h"

#define TRK_CONFIG_BYTES_MOST   65536u
#define TRK_CONFIG_ENTRIES_MOST 256u

struct trk_config_entry {
    const char *command; /* NULL: every command's */
    const char *name;
    const char *value;
    unsigned line;
};

struct trk_config {
    char path[PATH_MAX]; /* "" when there is no file */
    struct trk_config_entry entries[TRK_CONFIG_ENTRIES_MOST];
    size_t count;
    char text[TRK_CONFIG_BYTES_MOST + 1]; /* what the entries point into */
};

/*
 * TRK_OK, also without a file; TRK_E_ARGUMENT names file and line; TRK_E_SYSTEM. The entries are
 * those of all lines that can be read, though others cannot: some say what a refusal has to be.
 */
TRK_MUST_USE enum trk_status trk_config_read(struct trk_config *out, struct trk_error *error);

/* The entry for an option of a command: its own before every command's, the last of several. */
const struct trk_config_entry *trk_config_find(const struct trk_config *config, const char *command,
                                               const char *name);

#endif
