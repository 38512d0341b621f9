/*
 * A folder for what a command needs meanwhile. It goes with the command, however that ends.
 *
 * A process of its own, the keeper, sleeps until the command lets it go, or has ended without doing
 * so, by a signal too; then it takes away the folder with all that is in it.
 */
#ifndef CLI_SCRATCH_H
#define CLI_SCRATCH_H

#include <limits.h>
#include <sys/types.h>

struct trk_scratch {
    char path[PATH_MAX / 2]; /* "": none */
    int hold_fd;             /* the keeper waits for its end */
    pid_t keeper;
};

/*
 * Make the folder and its keeper.
 *
 * @param command  Whose messages it gives.
 * @param beside   Make it in the folder of this path, so that it can become what the path names;
 * NULL: where temporary files go (TMPDIR).
 * @return An exit code: TRK_EXIT_OK; TRK_EXIT_USAGE, where `beside` is in no folder, or
 *         TRK_EXIT_ENVIRONMENT: said.
 *
 * Allocates: no. Blocks: no. Signal-safe: no. Threads: the process has one.
 */
int trk_scratch_open(struct trk_scratch *scratch, const char *command, const char *beside);

/*
 * A file instead of a folder: its path is `folder`, which ends in a slash or is "", and a name of
 * its own. Its descriptor, or -1: errno.
 */
int trk_scratch_file_open(struct trk_scratch *scratch, const char *folder);

/* The path of a file in it. */
void trk_scratch_file(const struct trk_scratch *scratch, const char *name, char out[PATH_MAX]);

/* Give the folder this name, which must be free, and keep it. 0, or an errno value: then all is as
 * it was. */
int trk_scratch_keep(struct trk_scratch *scratch, const char *path);

/* Take it away, and all that is in it. After trk_scratch_keep it does nothing; nor where all bytes
 * of scratch are 0. */
void trk_scratch_close(struct trk_scratch *scratch);

#endif
