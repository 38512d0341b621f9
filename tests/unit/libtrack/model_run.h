/*
 * The two sides of the random test: what is done, to the core and to the model alike.
 *
 * A run has two trackers, so that one may be used inside the other's callbacks; each is compared
 * with a model of its own.
 */
#ifndef TESTS_MODEL_RUN_H
#define TESTS_MODEL_RUN_H

#include "model.h"

#define WINDOW_PAGES  64u /* hot pages of an episode, in two places; others now and then */
#define RUN_TRACKERS  2u
#define RUN_DEPTH_MAX 3u
#define RUN_SUMS_MAX  4096u

struct run;

/* What callbacks of an operation have been through, in the core or in the model. */
struct tally {
    unsigned flushes, callbacks;
};

struct side {
    struct run *run;
    struct fixture fixture;
    struct model model;
    struct model_log log; /* the core's */
    struct tally core, plain;
    /* Sums over generations that go together: the model's and the core's. */
    uint64_t sums[RUN_SUMS_MAX][2];
    uint32_t sum_count;
};

struct run {
    uint64_t random;
    struct side sides[RUN_TRACKERS];
    uint32_t windows[2]; /* first hot page each */
    bool short_ways;     /* nothing that takes regions off the core's short ways for good */
    bool sparse;         /* wide operations are such as touch no region for the first time */
    uint64_t plan;       /* seed of what the callbacks of this operation do */
    unsigned core_depth, plain_depth; /* of operations inside callbacks */
    char problem[400];
};

uint64_t random_next(uint64_t *state);
uint32_t random_below(uint64_t *state, uint32_t limit);
bool random_chance(uint64_t *state, uint32_t one_in);

/* Whether a verb leaves regions on the short ways. */
bool run_keeps_short_ways(enum model_verb verb);
/* A random operation on the hot pages. */
struct model_step run_pick(struct run *run);
/* Take away all watches of others in one region, once; false when there is none. */
bool run_pick_unwatch(const struct model *model, uint32_t region, bool read,
                      struct model_step *out);
/* The client's mistake that no test makes, and what the model leaves open. */
bool run_takes_from_tracker(const struct run *run, const struct model *model,
                            const struct model_step *step);
bool run_leaves_open(const struct run *run, const struct model *model,
                     const struct model_step *step);

/* Do a step on the core, with its reports in side->log. */
void run_core_step(struct side *side, const struct model_step *step);

/* ---- model_plan.c: the same operations by the same plan, on both ---- */

void run_core_flush(void *context, uint64_t guest_addr, uint64_t size_bytes);
void run_core_callback(struct side *side);
void run_plain_flush(void *context, uint64_t first, uint64_t size);
void run_plain_callback(void *context);

/* ---- model_compare.c ---- */

/* All of one side after a step; `all`: every page. Fills run->problem. */
bool run_compare(struct run *run, struct side *side, bool all);

#endif
