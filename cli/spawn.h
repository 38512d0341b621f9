/*
 * Running another command, and waiting for it. When this process ends before it, by a signal too,
 * the command gets a SIGTERM.
 */
#ifndef CLI_SPAWN_H
#define CLI_SPAWN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct trk_spawn {
    const char *command;     /* of ours: whose messages it gives */
    const char *const *argv; /* argv[0] is looked for in PATH; ends with NULL */
    /* It is ended at this time (trk_clock_ns()), and what it leaves running; 0: never. */
    uint64_t until_ns;
    const volatile sig_atomic_t *stop; /* likewise, once this is not 0; NULL: never */
    bool quiet; /* what it prints is thrown away; else it goes to standard error */
};

#define TRK_SPAWN_ENDED (-2) /* it was ended, at its time or by stop */

/* Run it; its wait status, TRK_SPAWN_ENDED, or -1: it could not be run, said. */
int trk_spawn_run(const struct trk_spawn *spawn);

#endif
