/*
 * What can be said of a trace's copies before any is run, and what a policy should cost.
 */
#ifndef REPLAYER_ADVICE_H
#define REPLAYER_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "replayer/plan.h"
#include "replayer/policy.h"
#include "replayer/replay.h"
#include "track/status.h"

TRK_EXTERN_C_BEGIN

/* Class 0: neighbours that touch or overlap; class n: 2^(n-1) up to 2^n - 1 bytes; the last: more.
 */
#define TRK_ADVICE_CLASSES 34u

struct trk_advice_way {
    uint64_t ranges, groups; /* ranges that nothing between them orders are one group */
    uint64_t moved_bytes;
    /* Bytes of them that could differ on the two sides: stored to or written by the GPU since they
     * were last copied, or not copied before. TRK_NOT_KNOWN: the trace has no witnessed stores. */
    uint64_t changed_bytes;
    uint64_t gaps[TRK_ADVICE_CLASSES];      /* between neighbours of a group, by place */
    uint64_t gap_bytes[TRK_ADVICE_CLASSES]; /* what bridging them would copy along */
    uint64_t sizes[TRK_ADVICE_CLASSES];     /* of ranges, class 0 is empty */
};

struct trk_advice {
    struct trk_advice_way up, down;
};

/**
 * Count.
 *
 * @return TRK_OK; TRK_E_MEMORY.
 *
 * Allocates: a bit for each byte of the mirror, as far as it is touched. Blocks: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_advice_make(struct trk_advice *out, const struct trk_plan *plan,
                                             struct trk_error *error);

/* The class that so many bytes are in, and the least number of bytes in a class. */
uint32_t trk_advice_class(uint64_t bytes);
uint64_t trk_advice_class_least(uint32_t class_number);

/**
 * The device time of a pass by two numbers of the device: a fixed cost for each region, and a slope
 * for each byte.
 *
 * A shader that puts pieces in place is not in it: scatter counts as one region a submit.
 *
 * @return ns; below 0: the model has nothing to say of the policy, whose copies the host makes.
 */
double trk_advice_predict_ns(const struct trk_gpu_cost *cost,
                             const struct trk_transfer_policy *policy,
                             const struct trk_replay_pass *pass);

TRK_EXTERN_C_END

#endif
