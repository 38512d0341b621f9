/*
 * A core with a policy of its own, on which a trace's commands are run, one whole after the other.
 *
 * Its host is simulated: no memory is touched. A guest's access faults where this core has closed
 * the page. A flush does what the recorded one did, where that is in the trace; else it brings home
 * what it is asked for.
 */
#ifndef CLI_POLICY_SIDE_H
#define CLI_POLICY_SIDE_H

#include "policy_log.h"
#include "track/pages.h"
#include "track/policy.h"

#define TRK_POLICY_SIDE_TRACKERS 16u
#define TRK_POLICY_SIDE_RUNS     1024u /* of an operation; further ones are counted */

struct trk_policy_run_of_pages {
    uint64_t guest_addr, size_bytes;
};

/* What a command came to. */
struct trk_policy_came {
    bool left_out;          /* it cannot be run like this */
    enum trk_status status; /* of an operation */
    uint64_t answer;        /* a question's; of an HLE write, whether it was made */
    uint64_t faults;        /* that were served, of an access */
    uint64_t unserved;      /* that nobody served */
    uint64_t flushes;
    uint64_t failures;  /* also of what is nested */
    uint32_t run_count; /* handed over; side->runs has the first ones */
};

struct trk_policy_side {
    struct trk_policy policy;
    const struct trk_policy_log *log;
    struct trk_backend *backend;
    struct trk_tracker *trackers[TRK_POLICY_SIDE_TRACKERS];
    uint8_t *done;    /* of each command: 1, it was run in a flush */
    uint32_t current; /* command */
    uint32_t serving; /* its tracker */
    struct trk_policy_came came;
    struct trk_policy_run_of_pages runs[TRK_POLICY_SIDE_RUNS];
};

/* TRK_OK, TRK_E_MEMORY, TRK_E_SYSTEM. The side is to be closed whatever is returned. */
TRK_MUST_USE enum trk_status trk_policy_side_open(struct trk_policy_side *side,
                                                  const struct trk_policy_log *log,
                                                  const struct trk_policy *policy);
/* Run a command of the log, if it was not run in a flush; came says what of it. TRK_OK, or
 * TRK_E_MEMORY. */
TRK_MUST_USE enum trk_status trk_policy_side_run(struct trk_policy_side *side, uint32_t command);
/* A page, as a tracker has it; one that is not there shows the initial state. */
struct trk_page_view trk_policy_side_page(const struct trk_policy_side *side, uint32_t tracker,
                                          uint64_t guest_addr);
void trk_policy_side_close(struct trk_policy_side *side);

#endif
