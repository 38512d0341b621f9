/*
 * A core beside a foreign tracker that follows one of its policies: the operations run again.
 *
 * An operation is run when it has ended, where the state of all its pages was certain: then the
 * core must come to the same end, hand the same pages over, give the same answer and ask the host
 * for the same rights. Where it was not certain the core waits, and gets the pages' states when
 * these are certain again.
 */
#ifndef SIMULATOR_FOREIGN_CORE_H
#define SIMULATOR_FOREIGN_CORE_H

#include "foreign_rules.h"

struct foreign_core;

/* A core with this packed policy; *out is NULL with TRK_OK where no core has it, or another page.
 */
TRK_MUST_USE enum trk_status foreign_core_create(struct foreign_core **out, uint64_t policy,
                                                 uint64_t page_bytes);
void foreign_core_destroy(struct foreign_core *core);
/* The tracker in it. */
struct trk_tracker *foreign_core_tracker(const struct foreign_core *core);

/* Whether it knows how to run an operation. */
bool foreign_core_knows(const struct foreign_operation *operation);

/* Put a page that is not settled into the only state that it may be in. TRK_E_CONFLICT: it is in
 * none. */
TRK_MUST_USE enum trk_status foreign_core_settle(struct foreign_core *core, uint64_t number,
                                                 struct foreign_page *page);

/* Why a plug-in's core cannot be put into a state that was certain. */
const char *foreign_core_lacks(void);

/* Whether it waits for a lock for ever since it was settled; then that is the verdict. */
bool foreign_core_stuck(struct run *run, const struct foreign_core *core,
                        const struct foreign_ending *ending);

/* Run an operation that has ended, and compare; run->stopped may be set. */
void foreign_core_run(struct run *run, struct foreign_core *core,
                      const struct foreign_ending *ending, const struct foreign_range *range);

#endif
