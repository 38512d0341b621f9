/*
 * Trying candidates: the budget, the predicate, the best so far.
 *
 * A pass copies the best into `trial`, changes that, and asks whether it still breaks the same
 * rule; where it does it is the best from then on.
 */
#ifndef SIMULATOR_MINIMISE_RUN_H
#define SIMULATOR_MINIMISE_RUN_H

#include "minimise_case.h"
#include "simulator/minimise.h"

/* Operations up to which every order of a case is tried, and orders tried of one. */
#define MINIMISE_EXPLORED_MOST 24u
#define MINIMISE_ORDERS_MOST   20000u

/* What every candidate must come to; "" of label and detail: any. */
struct mini_target {
    char verdict[32];
    char label[CASE_LABEL_BYTES];
    char detail[64];
};

struct minimiser {
    const struct trk_minimise_options *options;
    struct trk_minimise_report *report;
    struct mini_case best, trial;
    struct mini_target target;
    uint64_t guest_addr;    /* of the best one's verdict; TRK_NOT_KNOWN: none */
    enum trk_status status; /* what ended it, if that is no budget */
    bool ended;             /* no more candidates */
};

/* What a case came to. */
struct mini_outcome {
    struct trk_scenario_report report;
    struct trk_scenario_story story;
    bool usable; /* it is a scenario, and could be run */
};

/* Run a case; false: the budget is used up, or minimiser->status says why. */
bool mini_run(struct minimiser *minimiser, const struct mini_case *mini, struct mini_outcome *out);
/* Begin a candidate: trial is the best. False: no memory. */
bool mini_begin(struct minimiser *minimiser);
/* Whether the candidate breaks the same rule; it is the best then. */
bool mini_try(struct minimiser *minimiser);
/* Whether a case holds on the right core, if there is one to ask. */
bool mini_is_right(struct minimiser *minimiser, const struct mini_case *mini);
/* Note the best one's size in the trail, if it is another than the last. */
void mini_note(struct minimiser *minimiser, const char *pass);

/* One pass. minimise_cut.c: whole threads; operations, in chunks. */
void mini_cut(struct minimiser *minimiser);
/* minimise_ranges.c: bytes, pages, values, addresses, names. */
void mini_shrink(struct minimiser *minimiser);
void mini_move_out(struct minimiser *minimiser);
/* minimise_mend.c: find the change by which the best one passes; fills the report. The best one may
 * get a copy more, without which a right program would not pass either. */
void mini_mend(struct minimiser *minimiser);
/* minimise.c: note the size that the best one has now. */
void mini_start(struct minimiser *minimiser);
/* Minimise the best, which breaks the target, and fill the report. sentence: what the file says of
 * itself, without the full stop. */
enum trk_status mini_finish(struct minimiser *minimiser, const char *sentence);

#endif
