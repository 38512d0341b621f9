/*
 * The rules that every tracker must keep, whatever its design.
 */
#ifndef SIMULATOR_FOREIGN_RULES_H
#define SIMULATOR_FOREIGN_RULES_H

#include "foreign.h"

/* Pages of a tracker, by number. */
struct foreign_range {
    uint32_t tracker;
    uint64_t first, end;
};

/* An operation, and the event that ends it. */
struct foreign_ending {
    const struct foreign_operation *operation;
    const struct trk_trace_event *event;
    struct foreign_runs *handed;       /* as noted */
    const struct foreign_runs *joined; /* the same, joined */
};

/*
 * What an operation that has ended leaves of a page, and whether it could have come to that.
 * alone: no other was under way on the page. run->stopped may be set.
 */
void foreign_rules_page(struct run *run, const struct foreign_ending *ending, uint64_t number,
                        struct foreign_page *page, bool alone);

/* Whether what differs from the log proves something. */
bool foreign_rules_sure(const struct run *run);

/* Whether an operation may leave its pages in another state. */
bool foreign_rules_change(const struct foreign_operation *operation);

#endif
