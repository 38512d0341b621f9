#include "schema.h"
#include "trace_support.h"

const uint8_t trace_event_types[] = {
    TRK_EVENT_OP_BEGIN,   TRK_EVENT_LOCK,          TRK_EVENT_UNLOCK,
    TRK_EVENT_RANGE,      TRK_EVENT_PROTECT,       TRK_EVENT_WATCH,
    TRK_EVENT_CALLBACK,   TRK_EVENT_OP_END,        TRK_EVENT_FAULT,
    TRK_EVENT_FAIL,       TRK_EVENT_MASK,          TRK_EVENT_OPERAND,
    TRK_EVENT_STATE,      TRK_EVENT_PAGE,          TRK_EVENT_TRACKER,
    TRK_EVENT_COPY_BEGIN, TRK_EVENT_COPY_END,      TRK_EVENT_GPU_WRITE,
    TRK_EVENT_GPU_READ,   TRK_EVENT_GPU_COMPLETE,  TRK_EVENT_GUEST_PROTECT,
    TRK_EVENT_MAP,        TRK_EVENT_UNMAP,         TRK_EVENT_INVALIDATE_REQUEST,
    TRK_EVENT_FRAME,      TRK_EVENT_WITNESS_STORE, TRK_EVENT_WITNESS_CHECK,
    TRK_EVENT_SIGNAL,     TRK_EVENT_AWAIT,         TRK_EVENT_MARK,
    TRK_EVENT_FOREIGN,    TRK_EVENT_LOCKS,         TRK_EVENT_HOST_PROTECT,
    TRK_EVENT_HANDED,     TRK_EVENT_DECISION,      TRK_EVENT_ACCESS,
    TRK_EVENT_OBJECT,     TRK_EVENT_LABEL,         TRK_EVENT_IMAGE,
    TRK_EVENT_DISPATCH,   TRK_EVENT_FAULT_AT,      TRK_EVENT_SHARED,
    TRK_EVENT_RESULT,     TRK_EVENT_OBJECT_DETAIL,
};
const size_t trace_event_type_count = sizeof trace_event_types / sizeof trace_event_types[0];

uint64_t trace_random_next(struct trace_random *random)
{
    uint64_t mixed = random->state += UINT64_C(0x9E3779B97F4A7C15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ mixed >> 31;
}

uint64_t trace_random_below(struct trace_random *random, uint64_t limit)
{
    return trace_random_next(random) % limit;
}

/* Edges of every width of the encodings more often than anything between. */
static uint64_t random_value(struct trace_random *random)
{
    static const uint64_t edges[] = {
        0,
        1,
        2,
        63,
        64,
        127,
        128,
        255,
        256,
        8191,
        8192,
        16383,
        16384,
        65535,
        65536,
        0x7fffffff,
        0x80000000,
        0xffffffff,
        0x100000000,
        INT64_MAX,
        UINT64_C(1) << 63,
        UINT64_MAX - 1,
        UINT64_MAX,
    };
    switch (trace_random_below(random, 3)) {
    case 0:
        return edges[trace_random_below(random, sizeof edges / sizeof edges[0])];
    case 1:
        return trace_random_next(random) >> trace_random_below(random, 64);
    default:
        return trace_random_below(random, 16);
    }
}

struct trk_event trace_random_any_event(struct trace_random *random)
{
    struct trk_event event = {
        .argument = random_value(random),
        .seq = (uint32_t)random_value(random),
        .domain = (uint32_t)random_value(random),
        .page = (uint16_t)random_value(random),
        .pages = (uint16_t)random_value(random),
        .type = (uint8_t)trace_random_next(random),
        .flags = (uint8_t)random_value(random),
        .context = (uint16_t)random_value(random),
    };
    if (event.type == TRK_EVENT_DROP) { /* the writer's own, and checked against its sums */
        event.type = 200;
    }
    return event;
}

struct trk_event trace_random_event(struct trace_random *random, uint8_t type)
{
    const struct trk_schema_type *shape = &trk_schema_table[type];
    struct trk_event event = trace_random_any_event(random);
    event.type = type;
    event.flags = shape->flags ? event.flags : 0;
    event.context = shape->context ? event.context : 0;
    if (shape->argument == TRK_SCHEMA_ARGUMENT_NONE) {
        event.argument = 0;
    }
    if (shape->pair == TRK_SCHEMA_PAIR_NONE) {
        event.domain = 0;
    }
    if (shape->pair == TRK_SCHEMA_PAIR_NONE || shape->pair == TRK_SCHEMA_PAIR_TIMELINE) {
        event.seq = 0;
    }
    if (shape->span == TRK_SCHEMA_SPAN_NONE || shape->span == TRK_SCHEMA_SPAN_COUNT) {
        event.page = 0;
    }
    if (shape->span == TRK_SCHEMA_SPAN_NONE || shape->span == TRK_SCHEMA_SPAN_PAGE ||
        shape->span == TRK_SCHEMA_SPAN_ID) {
        event.pages = 0;
    }
    return event;
}
