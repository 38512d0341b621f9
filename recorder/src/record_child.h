/* The recorded command as a child process. */
#ifndef RECORDER_RECORD_CHILD_H
#define RECORDER_RECORD_CHILD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record_signals.h"
#include "track/status.h"

struct trk_record_child {
    pid_t pid;
    int pidfd; /* -1 where the kernel has none */
    bool ended;
    int32_t wait_status; /* -1: not known */
};

struct trk_record_child_start {
    char *const *argv;
    int session_fd;
    bool output_to_stderr;                    /* its standard output goes to standard error */
    const struct trk_record_signals *signals; /* the child gets the saved actions */
    /* In shared memory: the child puts its id there before it executes the command, and 0 if it
       cannot. NULL: nobody wants to know. */
    _Atomic int32_t *command;
};

/*
 * Start the command with the session's descriptor.
 *
 * Returns when the program has been executed or could not be: TRK_E_SYSTEM with os_errno, and
 * nothing is left of it. After TRK_OK trk_record_child_deinit must be called.
 */
TRK_MUST_USE enum trk_status trk_record_child_init(struct trk_record_child *out,
                                                   const struct trk_record_child_start *start,
                                                   struct trk_error *error);

/* Wait until the child has ended, a signal comes, or at most so long; true when it has ended. */
bool trk_record_child_wait(struct trk_record_child *child, int timeout_ms);

/* Hand on the signals that were sent to this process alone. */
void trk_record_child_forward(struct trk_record_child *child);

void trk_record_child_deinit(struct trk_record_child *child);

#endif
