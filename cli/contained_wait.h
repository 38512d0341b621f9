/*
 * Waiting for the process of a plug-in, as long as it may take.
 */
#ifndef CLI_CONTAINED_WAIT_H
#define CLI_CONTAINED_WAIT_H

#include <stdint.h>
#include <sys/types.h>

#include "contained.h"

/* How a wait for a process has ended. */
enum trk_wait {
    TRK_WAIT_IN_TIME,
    TRK_WAIT_STUCK, /* it took too long, and came to the end of nothing any more */
    TRK_WAIT_SLOW,  /* it took too long, and was going on */
    TRK_WAIT_DEAF,  /* it did not heed an interrupt */
};

/* A process that is waited for. */
struct trk_wait_for {
    pid_t pid;
    int pipe_fd; /* the other end is its */
    const struct trk_contained *contained;
    const uint64_t *progress; /* what it has come to the end of */
};

/*
 * Wait for a process as long as it may take, and end it then. The time in which a busy machine has
 * no processor for it does not count. One that has come to the end of something before gets as much
 * time again, to be seen going on, or to come to an end of its own where it can. The pipe closed
 * means that it ends, or that it has closed what it had and goes on. Processes of its group end
 * with it; others that it has left behind end after it.
 */
enum trk_wait trk_wait_for(const struct trk_wait_for *watch, int *end);

#endif
