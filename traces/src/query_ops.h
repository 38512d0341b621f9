/*
 * Operations with their ends: an event that begins one waits until its thread's OP_END comes.
 *
 * Operations nest, in callbacks and faults. Where events are missing nothing is known of the ends
 * of what was open there.
 */
#ifndef TRACES_QUERY_OPS_H
#define TRACES_QUERY_OPS_H

#include "query_columns.h"
#include "track/status.h"

struct trk_query_op {
    struct trk_query_row row;
    bool wanted; /* it is given when it has ended; else it only has its place */
};

/* What is open in a stream, outermost first. */
struct trk_query_op_stack {
    struct trk_query_op *at;
    size_t count, room, wanted;
    uint64_t next_ordinal;
};

struct trk_query_ops {
    struct trk_query_op_stack *streams;
    size_t stream_count, wanted;
    struct trk_query_row *ready; /* from next_ready on: to be given */
    size_t ready_count, ready_room, next_ready;
};

TRK_MUST_USE enum trk_status trk_query_ops_begin(struct trk_query_ops *ops, size_t streams,
                                                 struct trk_error *error);
void trk_query_ops_deinit(struct trk_query_ops *ops);

/* Take the next event of its stream. TRK_OK, TRK_E_MEMORY. */
TRK_MUST_USE enum trk_status trk_query_ops_take(struct trk_query_ops *ops,
                                                const struct trk_query_row *row, bool wanted,
                                                struct trk_error *error);

/* No more events: what is open has no end. TRK_OK, TRK_E_MEMORY. */
TRK_MUST_USE enum trk_status trk_query_ops_end(struct trk_query_ops *ops, struct trk_error *error);

/* Give an operation; false: none has ended that was not given. */
bool trk_query_ops_give(struct trk_query_ops *ops, struct trk_query_row *out);

#endif
