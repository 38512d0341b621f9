/*
 * Running another command, and waiting for it. When this process ends before it, by a signal too,
 * the command gets a SIGTERM.
 */
#ifndef CLI_SPAWN_H
#define CLI_SPAWN_H

#include <stdbool.h>

struct trk_spawn {
    const char *command;     /* of ours: whose messages it gives */
    const char *const *argv; /* argv[0] is looked for in PATH; ends with NULL */
    unsigned seconds;        /* it is ended after so many, and what it leaves running; 0: never */
    bool quiet;              /* what it prints is thrown away; else it goes to standard error */
};

#define TRK_SPAWN_LATE (-2) /* it took longer than it may */

/* Run it; its wait status, TRK_SPAWN_LATE, or -1: it could not be run, said. */
int trk_spawn_run(const struct trk_spawn *spawn);

#endif
