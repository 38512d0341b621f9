/*
 * What cannot be read twice, or from the middle, as a file: a pipe is copied to a temporary one
 * that has no name any more.
 */
#ifndef CLI_SPOOL_H
#define CLI_SPOOL_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "recorder/trace.h"

/* The most that is copied. A longer trace has to be given as a file. */
#define TRK_SPOOL_BYTES (UINT64_C(64) << 30)

/* An empty temporary file, in TMPDIR, to be closed; -1 with an error. */
int trk_spool_open(struct trk_error *error);

/* Read until the buffer has so many bytes, or there are no more. TRK_E_SYSTEM. */
TRK_MUST_USE enum trk_status trk_spool_read(int fd, char *buffer, size_t size, size_t *length,
                                            struct trk_error *error);

/*
 * Write bytes behind the others; *written counts them all. TRK_E_SYSTEM; TRK_E_ARGUMENT: they are
 * too many.
 */
TRK_MUST_USE enum trk_status trk_spool_write(int fd, const char *bytes, size_t size,
                                             uint64_t *written, struct trk_error *error);

/* A copy that goes on while the file is read. */
struct trk_spool {
    char path[40];         /* of what was copied so far */
    char source[PATH_MAX]; /* opened by the thread: a pipe that nobody writes yet waits there */
    int from, to;
    bool running;
    pthread_t thread;
    _Atomic bool ended; /* all has been copied, or could not be */
    /* Valid once ended. */
    enum trk_status status;
    struct trk_error error;
};

/*
 * Begin to copy what a path gives, if that is no regular file; spool->path is what is to be read
 * instead, "" where the path itself is. Nothing is awaited, not even that somebody opens the pipe
 * for writing. A path that leads to a socket among the process's own descriptors is that one. The
 * spool must stay where it is until the process ends. TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status trk_spool_begin(struct trk_spool *spool, const char *path,
                                             struct trk_error *error);

/* Wait until all has been copied. The copy's status. */
TRK_MUST_USE enum trk_status trk_spool_wait(struct trk_spool *spool, struct trk_error *error);

#endif
