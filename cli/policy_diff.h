/*
 * A trace under two policies of the core: everything that its program did, run under each, and for
 * each region where the two come apart.
 */
#ifndef CLI_POLICY_DIFF_H
#define CLI_POLICY_DIFF_H

#include "policy_log.h"
#include "track/policy.h"

/* A region, and what differs there. */
struct trk_policy_region {
    uint64_t region_addr;
    uint64_t commands,
        differ;        /* operations and accesses there; those that came to something else */
    uint32_t first;    /* of these, in the log; TRK_POLICY_LOG_NONE: none differs */
    uint32_t pages;    /* that are in another state at the end */
    char text[2][120]; /* what the first one came to, under either policy */
};

struct trk_policy_diff {
    struct trk_policy_region *regions; /* by address; those that differ first, by event */
    uint32_t count, capacity;
    uint32_t differ;     /* regions */
    uint64_t operations; /* run under each */
    uint64_t accesses;   /* of the guest */
    uint64_t left_out;   /* operations that cannot be run like this */
    struct trk_policy_log log;
};

/*
 * Read the trace and run it.
 *
 * @return TRK_OK; TRK_E_UNSUPPORTED: too much, or it begins with a snapshot; as trk_trace_next,
 *         TRK_E_MEMORY and TRK_E_SYSTEM. out is to be freed whatever is returned.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: the process has one.
 */
TRK_MUST_USE enum trk_status trk_policy_diff_run(struct trk_policy_diff *out,
                                                 struct trk_trace *trace,
                                                 const struct trk_policy policies[2],
                                                 struct trk_error *error);
void trk_policy_diff_free(struct trk_policy_diff *diff);

#endif
