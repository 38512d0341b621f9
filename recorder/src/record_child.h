/* The recorded command as a child process. */
#ifndef RECORDER_RECORD_CHILD_H
#define RECORDER_RECORD_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "track/status.h"

#define TRK_RECORD_CHILD_SIGNALS 6

struct trk_record_child {
    pid_t pid;
    int pidfd; /* -1 where the kernel has none */
    bool ended;
    int32_t wait_status; /* -1: not known */
    /* What this process did with the signals that it leaves to the child meanwhile. */
    struct sigaction saved_actions[TRK_RECORD_CHILD_SIGNALS];
};

/*
 * Start the command with the session's descriptor, and leave SIGINT, SIGTERM, SIGQUIT and SIGHUP to
 * it from now on. output_to_stderr: its standard output goes to standard error.
 *
 * Returns when the program has been executed or could not be: TRK_E_SYSTEM with os_errno, and
 * nothing is left of it. After TRK_OK trk_record_child_deinit must be called.
 */
TRK_MUST_USE enum trk_status trk_record_child_init(struct trk_record_child *out, char *const *argv,
                                                   int session_fd, bool output_to_stderr,
                                                   struct trk_error *error);

/* Wait until the child has ended, at most so long; true when it has. */
bool trk_record_child_wait(struct trk_record_child *child, int timeout_ms);

/* Give the signals back their former actions. */
void trk_record_child_deinit(struct trk_record_child *child);

#endif
