/*
 * Re-executing a trace for projections on sets of pages.
 */
#ifndef SIMULATOR_EXPLORE_READING_H
#define SIMULATOR_EXPLORE_READING_H

#include "explore_items.h"
#include "simulator/explore.h"

struct foci {
    uint64_t guest_addr[TRK_EXPLORE_PAGES_MOST];
    uint32_t count;
    uint32_t pages; /* of each */
};

/*
 * The pages of the verdict on the trace as it is: together if they are few; of a long range the
 * first and the last ones, each by itself. False: it names none.
 */
bool foci_of_verdict(const struct trk_sim_report *recorded, struct foci *foci);

struct reading {
    struct run *run;
    struct trk_sim_report report;
    struct projection projections[TRK_EXPLORE_PAGES_MOST];
    uint32_t count;
};

/*
 * Run the trace, which stands at its start, up to an event, or to where its first rule breaks.
 *
 * @param out         To be closed whatever is returned.
 * @param forgetting  What need not be kept; NULL: all is.
 */
TRK_MUST_USE enum trk_status reading_open(struct reading **out, struct trk_trace *trace,
                                          const struct foci *foci, uint64_t to,
                                          const struct forgetting *forgetting,
                                          struct trk_error *error);
void reading_close(struct reading *reading);

#endif
