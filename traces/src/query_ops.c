#include "query_ops.h"

#include <stdlib.h>

#include "track/address.h"

/* Deeper than operations nest in fact: what is outside of so many is given without its end. */
#define DEPTH_MOST 4096u

static enum trk_status no_memory(struct trk_error *error)
{
    return trk_error_set(error, TRK_E_MEMORY, "no memory for the operations of a trace");
}

enum trk_status trk_query_ops_begin(struct trk_query_ops *ops, size_t streams,
                                    struct trk_error *error)
{
    trk_query_ops_deinit(ops);
    ops->streams = calloc(streams + 1, sizeof *ops->streams);
    ops->stream_count = streams;
    return ops->streams != NULL ? TRK_OK : no_memory(error);
}

void trk_query_ops_deinit(struct trk_query_ops *ops)
{
    for (size_t i = 0; ops->streams != NULL && i < ops->stream_count; i++) {
        free(ops->streams[i].at);
    }
    free(ops->streams);
    free(ops->ready);
    *ops = (struct trk_query_ops){.streams = NULL};
}

static enum trk_status make_ready(struct trk_query_ops *ops, const struct trk_query_row *row,
                                  struct trk_error *error)
{
    if (ops->next_ready == ops->ready_count) {
        ops->next_ready = ops->ready_count = 0;
    }
    if (ops->ready_count == ops->ready_room) {
        size_t room = ops->ready_room == 0 ? 16 : 2 * ops->ready_room;
        struct trk_query_row *ready = realloc(ops->ready, room * sizeof *ready);
        if (ready == NULL) {
            return no_memory(error);
        }
        ops->ready = ready;
        ops->ready_room = room;
    }
    ops->ready[ops->ready_count++] = *row;
    return TRK_OK;
}

/* All that is open in a stream stays without an end. */
static enum trk_status give_up(struct trk_query_ops *ops, struct trk_query_op_stack *stack,
                               struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    for (size_t i = 0; i < stack->count && status == TRK_OK; i++) {
        if (stack->at[i].wanted) {
            status = make_ready(ops, &stack->at[i].row, error);
        }
    }
    ops->wanted -= stack->wanted;
    stack->wanted = stack->count = 0;
    return status;
}

static enum trk_status push(struct trk_query_ops *ops, struct trk_query_op_stack *stack,
                            const struct trk_query_op *op, struct trk_error *error)
{
    enum trk_status status = stack->count == DEPTH_MOST ? give_up(ops, stack, error) : TRK_OK;
    if (status == TRK_OK && stack->count == stack->room) {
        size_t room = stack->room == 0 ? 8 : 2 * stack->room;
        struct trk_query_op *at = realloc(stack->at, room * sizeof *at);
        if (at == NULL) {
            return no_memory(error);
        }
        stack->at = at;
        stack->room = room;
    }
    if (status == TRK_OK) {
        stack->at[stack->count++] = *op;
        stack->wanted += op->wanted;
        ops->wanted += op->wanted;
    }
    return status;
}

static uint16_t op_of(const struct trk_event *event)
{
    return event->type == TRK_EVENT_FAULT ? (uint16_t)TRK_OP_FAULT : event->context;
}

/* An OP_END: of the innermost, else the log is not whole here. */
static enum trk_status pop(struct trk_query_ops *ops, struct trk_query_op_stack *stack,
                           const struct trk_query_row *end, struct trk_error *error)
{
    if (stack->count == 0) {
        return TRK_OK; /* it began before what is read */
    }
    struct trk_query_op *op = &stack->at[stack->count - 1];
    if (op_of(&op->row.event) != end->event.context) {
        return give_up(ops, stack, error);
    }
    stack->count--;
    if (!op->wanted) {
        return TRK_OK;
    }
    stack->wanted--;
    ops->wanted--;
    op->row.ended = true;
    op->row.end_tsc = end->tsc;
    op->row.end = end->event;
    return make_ready(ops, &op->row, error);
}

/* A run of pages that the innermost operation hands to its callback. */
static void count_range(struct trk_query_op_stack *stack, const struct trk_event *event)
{
    if (stack->count > 0) {
        struct trk_query_row *row = &stack->at[stack->count - 1].row;
        uint64_t pages = event->pages;
        if (event->type == TRK_EVENT_HANDED) {
            pages = (trk_event_size(event) + TRK_HOST_PAGE_BYTES - 1) / TRK_HOST_PAGE_BYTES;
        }
        row->ranges++;
        row->pages += pages;
    }
}

enum trk_status trk_query_ops_take(struct trk_query_ops *ops, const struct trk_query_row *row,
                                   bool wanted, struct trk_error *error)
{
    struct trk_query_op_stack *stack = &ops->streams[row->stream];
    enum trk_status status = TRK_OK;
    if (row->ordinal != stack->next_ordinal || row->event.type == TRK_EVENT_DROP) {
        status = give_up(ops, stack, error);
    }
    stack->next_ordinal = row->ordinal + 1;
    if (status != TRK_OK) {
        return status;
    }
    switch (row->event.type) {
    case TRK_EVENT_OP_BEGIN:
    case TRK_EVENT_FAULT:
        return push(ops, stack, &(struct trk_query_op){*row, wanted}, error);
    case TRK_EVENT_OP_END:
        return pop(ops, stack, row, error);
    case TRK_EVENT_RANGE:
    case TRK_EVENT_HANDED:
        count_range(stack, &row->event);
        return TRK_OK;
    default:
        return TRK_OK;
    }
}

enum trk_status trk_query_ops_end(struct trk_query_ops *ops, struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    for (size_t i = 0; i < ops->stream_count && status == TRK_OK; i++) {
        status = give_up(ops, &ops->streams[i], error);
    }
    return status;
}

bool trk_query_ops_give(struct trk_query_ops *ops, struct trk_query_row *out)
{
    if (ops->next_ready == ops->ready_count) {
        return false;
    }
    *out = ops->ready[ops->next_ready++];
    return true;
}
