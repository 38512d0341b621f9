/*
 * How far a command that runs policies has come, on standard error: a line that changes where that
 * is a terminal, else a line every ten seconds.
 */
#ifndef CLI_POLICY_PROGRESS_H
#define CLI_POLICY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct trk_policy_progress {
    const char *command; /* NULL: nothing is shown */
    bool terminal, shown;
    uint64_t next_ns;
};

void trk_policy_progress_open(struct trk_policy_progress *progress, const char *command);

/* "checking policy 3 of 44", if it is time for it. */
void trk_policy_progress_show(struct trk_policy_progress *progress, const char *what, uint64_t at,
                              uint64_t of);

/* Take the line away, before anything else is said. */
void trk_policy_progress_clear(const struct trk_policy_progress *progress);

#endif
