/*
 * Pieces of work done by several processes at once.
 *
 * A run of the simulator has its process to itself, so there is one process a job. Which process
 * takes which item is chance; what comes out stands in the order of the items and is the same for
 * any number of them.
 */
#ifndef CLI_JOBS_H
#define CLI_JOBS_H

#include <stddef.h>

#include "command.h"
#include "track/status.h"

/* More processes than anybody has processors. */
#define TRK_JOBS_MOST 256u

/* The option -j of commands that run jobs. TEXT: its sentence up to "at once". */
#define TRK_JOBS_OPTION(TEXT)                                                                      \
    {                                                                                              \
        .name = "jobs", .letter = 'j', .kind = TRK_OPTION_NUMBER, .value = "N", .fallback = "1",   \
        .least = 1, .most = TRK_JOBS_MOST, .about = TEXT " at once; the report is the same."       \
    }

/* Do one item's work and fill in what became of it. Pointers in it stay as they were before. */
typedef enum trk_status trk_job_fn(void *item, const void *context, struct trk_error *error);

struct trk_jobs {
    void *items; /* count of item_bytes each; filled in */
    size_t item_bytes, count;
    unsigned jobs; /* 1 to TRK_JOBS_MOST; 1: in this process */
    trk_job_fn *job;
    const void *context;
    const char *(*name)(const void *item); /* for messages */
    const char *unit;                      /* items, for trk_progress */
};

/**
 * Do them all.
 *
 * @return TRK_OK, or what the first item in order gave that could not be done. TRK_E_MEMORY and
 *         TRK_E_SYSTEM when processes cannot be had, or one was killed.
 *
 * Allocates: yes. Blocks: until all have ended. Signal-safe: no. Threads: the process has one.
 */
TRK_MUST_USE enum trk_status trk_jobs_run(const struct trk_jobs *jobs, struct trk_error *error);

#endif
