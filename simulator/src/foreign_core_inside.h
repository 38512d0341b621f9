/*
 * Inside foreign_core.h: the core, and how what it did is held against the log.
 */
#ifndef SIMULATOR_FOREIGN_CORE_INSIDE_H
#define SIMULATOR_FOREIGN_CORE_INSIDE_H

#include "foreign_core.h"
#include "foreign_runs.h"
#include "run.h"

struct foreign_core {
    struct trk_backend *backend;
    struct trk_tracker *tracker;
    uint64_t page_bytes;
    uint32_t fault_bytes; /* that a fault is taken to touch */
    struct foreign_runs runs;
    bool refused; /* the operation under way */
    enum trk_status refusal;
    bool stuck; /* it waits for a lock for ever, and is entered no more */
};

/* The operation came to something else: the verdict. Both texts are of what was done. */
void foreign_core_diverge(struct run *run, const struct foreign_ending *ending,
                          const char *recorded, const char *executed);
/* It never came to its end, and nobody else is inside who could let it: the verdict. */
void foreign_core_deadlock(struct run *run, const struct foreign_ending *ending);
/* A fault's outcome, or a status, in words. */
const char *foreign_core_outcome(enum trk_status status, bool fault);
/* Whether the operation was refused in words, and its status is another; the verdict of that. */
bool foreign_core_belied(const struct foreign_core *core, enum trk_status status, bool fault);
void foreign_core_diverge_belied(struct run *run, const struct foreign_core *core,
                                 const struct foreign_ending *ending, enum trk_status status);
/* Run again, it came to the same end: compare its pages. */
void foreign_core_compare(struct run *run, struct foreign_core *core,
                          const struct foreign_ending *ending, const struct foreign_range *range);

#endif
