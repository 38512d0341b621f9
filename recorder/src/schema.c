#include "schema.h"

#include <string.h>

#include "recorder/event_text.h"

#define PAIR(x)    .pair = TRK_SCHEMA_PAIR_##x
#define SPAN(x)    .span = TRK_SCHEMA_SPAN_##x
#define ADDRESS(n) .argument = TRK_SCHEMA_ARGUMENT_ADDRESS, .line = (n)
#define NUMBER     .argument = TRK_SCHEMA_ARGUMENT_NUMBER
#define FLAGS      .flags = 1
#define CONTEXT    .context = 1
#define PAGES      .group = TRK_SCHEMA_GROUP_PAGES
#define NEEDED     .required = 1
#define TYPE(name) [TRK_EVENT_##name] = {.known = 1,
#define END                                                                                        \
    }                                                                                              \
    ,

/* [F-20] One line a type, in the words of track/event.h. */
/* clang-format off */
const struct trk_schema_type trk_schema_table[256] = {
    TYPE(OP_BEGIN)           ADDRESS(0), PAIR(SIZE), SPAN(ID_VALUE), FLAGS, CONTEXT, NEEDED END
    TYPE(LOCK)               PAIR(HOLD), NEEDED END
    TYPE(UNLOCK)             PAIR(HOLD), SPAN(COUNT), NEEDED END
    TYPE(RANGE)              PAIR(HOLD), SPAN(RUN), NEEDED END
    TYPE(PROTECT)            NUMBER, PAIR(HOLD), SPAN(RUN), FLAGS, PAGES, NEEDED END
    TYPE(WATCH)              PAIR(HOLD), SPAN(COUNT), PAGES, NEEDED END
    TYPE(CALLBACK)           CONTEXT, NEEDED END
    TYPE(OP_END)             NUMBER, FLAGS, CONTEXT, NEEDED END
    TYPE(FAULT)              ADDRESS(1), PAIR(HOLD), SPAN(PAGE), FLAGS, CONTEXT, PAGES, NEEDED END
    TYPE(FAIL)               ADDRESS(2), PAIR(SIZE), FLAGS, CONTEXT, NEEDED END
    TYPE(MASK)               NUMBER, SPAN(ID), NEEDED END
    TYPE(OPERAND)            NUMBER, NEEDED END
    TYPE(STATE)              NUMBER, PAIR(HOLD), NEEDED END
    TYPE(TRACKER)            NUMBER, SPAN(ID), CONTEXT, NEEDED END
    TYPE(COPY_BEGIN)         ADDRESS(3), PAIR(SIZE), SPAN(ID), CONTEXT, NEEDED END
    TYPE(COPY_END)           ADDRESS(3), PAIR(SIZE), SPAN(ID), CONTEXT, NEEDED END
    TYPE(GPU_WRITE)          ADDRESS(4), PAIR(SIZE_STAMP), SPAN(NUMBER32), NEEDED END
    TYPE(GPU_READ)           ADDRESS(4), PAIR(SIZE_STAMP), SPAN(NUMBER32), NEEDED END
    TYPE(GPU_COMPLETE)       NUMBER END
    TYPE(GUEST_PROTECT)      ADDRESS(2), PAIR(SIZE), CONTEXT END
    TYPE(MAP)                ADDRESS(2), PAIR(SIZE), SPAN(NUMBER32), FLAGS, CONTEXT, NEEDED END
    TYPE(UNMAP)              ADDRESS(2), PAIR(SIZE), SPAN(NUMBER32), FLAGS, CONTEXT, NEEDED END
    TYPE(INVALIDATE_REQUEST) ADDRESS(2), PAIR(SIZE), CONTEXT END
    TYPE(FRAME)              NUMBER END
    TYPE(WITNESS_STORE)      ADDRESS(5), PAIR(SIZE_STAMP), FLAGS, NEEDED END
    TYPE(WITNESS_CHECK)      ADDRESS(5), PAIR(SIZE_STAMP), FLAGS, NEEDED END
    TYPE(SIGNAL)             PAIR(TIMELINE), NUMBER, NEEDED END
    TYPE(AWAIT)              PAIR(TIMELINE), NUMBER, NEEDED END
    TYPE(DROP)               NUMBER END
    TYPE(MARK)               NUMBER END
    TYPE(PAGE)               ADDRESS(6), PAIR(HASH), FLAGS END
    TYPE(FOREIGN)            NUMBER, PAIR(SIZE), SPAN(ID), FLAGS, CONTEXT, NEEDED END
    TYPE(LOCKS)              ADDRESS(2), PAIR(SIZE), SPAN(ID), CONTEXT, NEEDED END
    TYPE(HOST_PROTECT)       ADDRESS(7), PAIR(SIZE), SPAN(ID), FLAGS, CONTEXT END
    TYPE(HANDED)             ADDRESS(3), PAIR(SIZE), SPAN(ID), NEEDED END
    TYPE(DECISION)           ADDRESS(1), SPAN(ID), CONTEXT END
    TYPE(ACCESS)             ADDRESS(5), PAIR(SIZE), FLAGS, CONTEXT, NEEDED END
    TYPE(OBJECT)             ADDRESS(2), PAIR(SIZE), SPAN(ID), CONTEXT END
    TYPE(LABEL)              NUMBER, PAIR(HASH), SPAN(NUMBER32), FLAGS, CONTEXT END
    TYPE(IMAGE)              ADDRESS(3), PAIR(SIZE), SPAN(NUMBER32), FLAGS, CONTEXT END
    TYPE(DISPATCH)           NUMBER, SPAN(NUMBER32), CONTEXT END
    TYPE(FAULT_AT)           NUMBER, PAIR(HASH), SPAN(NUMBER32), FLAGS, CONTEXT END
    TYPE(SHARED)             NUMBER, SPAN(NUMBER32), FLAGS, CONTEXT END
    TYPE(RESULT)             NUMBER, PAIR(SIZE), FLAGS, CONTEXT END
    TYPE(OBJECT_DETAIL)      NUMBER, PAIR(SIZE), SPAN(ID), CONTEXT END
};
/* clang-format on */

bool trk_schema_open(const struct trk_schema_type *type)
{
    return type->known && type->argument != TRK_SCHEMA_ARGUMENT_NUMBER &&
           type->pair != TRK_SCHEMA_PAIR_HASH && type->span != TRK_SCHEMA_SPAN_NUMBER32;
}

bool trk_schema_fits(const struct trk_event *event)
{
    return trk_schema_fits_type(&trk_schema_table[event->type], event);
}

static void clear_unused(const struct trk_schema_type *type, struct trk_event *event)
{
    bool no_pair = type->pair == TRK_SCHEMA_PAIR_NONE;
    bool no_span = type->span == TRK_SCHEMA_SPAN_NONE;
    if (!type->flags) {
        event->flags = 0;
    }
    if (!type->context) {
        event->context = 0;
    }
    if (type->argument == TRK_SCHEMA_ARGUMENT_NONE) {
        event->argument = 0;
    }
    if (no_pair) {
        event->domain = 0;
    }
    if (no_pair || type->pair == TRK_SCHEMA_PAIR_TIMELINE) {
        event->seq = 0;
    }
    if (no_span || type->span == TRK_SCHEMA_SPAN_COUNT) {
        event->page = 0;
    }
    if (no_span || type->span == TRK_SCHEMA_SPAN_PAGE || type->span == TRK_SCHEMA_SPAN_ID) {
        event->pages = 0;
    }
}

bool trk_schema_fits_type(const struct trk_schema_type *type, const struct trk_event *event)
{
    struct trk_event used = *event;
    clear_unused(type, &used);
    return type->known && memcmp(&used, event, sizeof used) == 0;
}

void trk_event_clear_unused(struct trk_event *event)
{
    /* [F-32] What was lost, and for how long, stands with the others [F-21]. */
    if (event->type == TRK_EVENT_DROP) {
        event->flags = 0;
        event->page = 0;
        event->pages = 0;
    } else if (trk_schema_table[event->type].known) {
        clear_unused(&trk_schema_table[event->type], event);
    }
}

bool trk_event_range(const struct trk_event *event, uint64_t *size_bytes)
{
    const struct trk_schema_type *type = &trk_schema_table[event->type];
    bool any = type->argument == TRK_SCHEMA_ARGUMENT_ADDRESS;
    *size_bytes = any ? trk_schema_size(type, event) : 0;
    return any;
}
