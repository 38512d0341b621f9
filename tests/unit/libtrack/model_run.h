/*
 * The two sides of the random test: what is done, to the core and to the model alike.
 */
#ifndef TESTS_MODEL_RUN_H
#define TESTS_MODEL_RUN_H

#include "model.h"

#define WINDOW_PAGES 64u /* hot pages of an episode; anything else is touched now and then */

struct run {
    uint64_t random;
    struct fixture fixture;
    struct model model;
    struct model_log log; /* the core's */
    uint32_t window;      /* first hot page */
    uint64_t plan;        /* seed of what the flushes of this operation do */
    unsigned core_flushes, model_flushes;
    char problem[400];
};

uint64_t random_next(uint64_t *state);
uint32_t random_below(uint64_t *state, uint32_t limit);
bool random_chance(uint64_t *state, uint32_t one_in);

/* A random operation on the hot pages. */
struct model_step run_pick(struct run *run);
/* Take away all watches of others in one region, once; false when there is none. */
bool run_pick_unwatch(const struct run *run, uint32_t region, bool read, struct model_step *out);
/* The client's mistake that no test makes, and what the specification leaves open. */
bool run_takes_from_tracker(const struct run *run, const struct model_step *step);
bool run_leaves_open(const struct run *run, const struct model_step *step);

/* Do a step on the core, with its reports in run->log. */
void run_core_step(struct run *run, const struct model_step *step);
/* The flush callbacks of the core and of the model: the same operations by the same plan. */
void run_core_flush(void *context, uint64_t guest_addr, uint64_t size_bytes);
void run_model_flush(void *context, uint64_t first, uint64_t size);

#endif
