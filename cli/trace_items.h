/*
 * A trace as what its threads did to its pages: one list for each thread and page.
 *
 * Locks, host calls and times are left out: between threads that nothing orders they may come in
 * any order. Addresses are those of the redacted trace, so that two recordings of one program in
 * other places are the same.
 *
 * Glossary
 *   lane   a thread and a place (trace_walk.h): what a thread does at two places may come in any
 *          order
 *   item   an event of a lane, as a hash of what it says
 *   gap    between two items, where the lane may have lost some
 *   asked  what the program did; else what came of it: faults, flushes, ranges, results, copies
 */
#ifndef CLI_TRACE_ITEMS_H
#define CLI_TRACE_ITEMS_H

#include "trace_pair.h"

#define TRK_ITEMS_MOST  (UINT32_C(1) << 24) /* of a trace */
#define TRK_ITEMS_LANES (UINT32_C(1) << 20)

#define TRK_ITEM_GAP 0u /* a hash that no item has */

struct trk_item {
    uint64_t hash;
    uint32_t event;
    uint32_t next; /* of its lane; UINT32_MAX: none */
};

struct trk_item_lane {
    char thread[32];
    uint64_t place; /* the number of a page is that after redaction */
    uint32_t first, last;
    uint32_t count; /* without gaps */
    bool torn;      /* has gaps */
};

struct trk_items {
    struct trk_item *items;
    uint32_t count, capacity;
    struct trk_item_lane *lanes; /* ascending by thread and place when all is read */
    uint32_t lane_count, lane_capacity;
    uint64_t hidden; /* items that are not here, since they cannot be judged */
    struct trk_item_thread {
        char name[32];
        bool torn; /* has lost events: a lane that it has not may be one of which all is lost */
    } * threads;
    size_t thread_count;
    bool lacks_threads;
};

/* Which trace of a pair is read, and how. */
struct trk_items_options {
    const struct trk_pair *pair;
    int side;
    const struct trk_look *look;     /* at this side */
    const struct trk_redact *redact; /* decided */
    bool asked;
};

/*
 * Read a trace from its start.
 *
 * @return TRK_OK; TRK_E_UNSUPPORTED: more items or lanes than there is room for; as trk_trace_next
 *         and TRK_E_MEMORY. items is to be freed whatever is returned.
 */
TRK_MUST_USE enum trk_status trk_items_read(struct trk_items *out, struct trk_trace *trace,
                                            const struct trk_items_options *options,
                                            struct trk_error *error);
void trk_items_free(struct trk_items *items);

/* By thread, then place. */
int trk_items_compare(const struct trk_item_lane *one, const struct trk_item_lane *other);

#endif
