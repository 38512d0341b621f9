/*
 * What a process has started and left behind, in sessions of its own too: between begin and end
 * this process takes such orphans over, and so their children when they end.
 */
#ifndef CLI_ORPHANS_H
#define CLI_ORPHANS_H

#include <stddef.h>
#include <sys/types.h>

#define TRK_ORPHANS_MOST 256u

struct trk_orphans {
    pid_t pids[TRK_ORPHANS_MOST]; /* children that were there before */
    size_t count;
};

/* From here on they come to this process. */
void trk_orphans_begin(struct trk_orphans *known);
/* End those that have come, and take no more. */
void trk_orphans_end(const struct trk_orphans *known);

#endif
