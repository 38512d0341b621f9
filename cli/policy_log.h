/*
 * What a trace's program did to the core's trackers, in the trace's order: their operations, and
 * the guest's accesses, which may or may not fault.
 *
 * Glossary
 *   nested  an operation of a flush or a read-back: it belongs to the operation that asked for that
 *   round   how many times that one had asked before
 */
#ifndef CLI_POLICY_LOG_H
#define CLI_POLICY_LOG_H

#include "recorder/trace.h"
#include "track/address.h"

#define TRK_POLICY_LOG_NONE UINT32_MAX
#define TRK_POLICY_LOG_MOST (UINT32_C(1) << 22) /* commands of a trace */

struct trk_policy_command {
    struct trk_event event;             /* OP_BEGIN, FAULT, TRACKER, or an annotated access */
    uint32_t number;                    /* of that event */
    uint32_t stream;                    /* of the trace */
    uint32_t extra;                     /* of OPERAND or MASK: index in extras; NONE: it has none */
    uint32_t parent;                    /* nested: in which one's flush; NONE: it is not */
    uint32_t first_nested, last_nested; /* NONE: none */
    uint32_t sister;                    /* nested in the same, behind it; NONE: none */
    uint16_t round;                     /* nested: in which call of the flush */
    uint16_t rounds;                    /* how many times it called its flush */
};

/* What stands before an operation. */
struct trk_policy_extra {
    uint64_t operand;
    uint64_t mask[TRK_REGION_WORDS];
};

struct trk_policy_log {
    struct trk_policy_command *commands;
    uint32_t count, capacity;
    struct trk_policy_extra *extras;
    uint32_t extra_count, extra_capacity;
    uint64_t foreign; /* operations of foreign trackers, which are not in it */
    uint64_t behind;  /* operations and accesses behind the first loss, which are not in it: what
                         they would have met is not known */
    bool complete;
};

/*
 * Read a trace from its start.
 *
 * @return TRK_OK; TRK_E_UNSUPPORTED: more than there is room for; as trk_trace_next and
 * TRK_E_MEMORY. out is to be freed whatever is returned.
 */
TRK_MUST_USE enum trk_status trk_policy_log_read(struct trk_policy_log *out,
                                                 struct trk_trace *trace, struct trk_error *error);
void trk_policy_log_free(struct trk_policy_log *log);

/* Whether an address is one that trackers know. */
static inline bool trk_policy_in_bands(uint64_t guest_addr)
{
    return (guest_addr >= TRK_LOW_FIRST && guest_addr < TRK_LOW_END) ||
           (guest_addr >= TRK_ARENA_FIRST && guest_addr < TRK_ARENA_END);
}

#endif
