#include "trace_item.h"

/* What the program did. */
static bool is_asked(unsigned type)
{
    switch (type) {
    case TRK_EVENT_OP_BEGIN:
    case TRK_EVENT_MASK:
    case TRK_EVENT_OPERAND:
    case TRK_EVENT_TRACKER:
    case TRK_EVENT_FOREIGN:
    case TRK_EVENT_GPU_WRITE:
    case TRK_EVENT_GPU_READ:
    case TRK_EVENT_GUEST_PROTECT:
    case TRK_EVENT_MAP:
    case TRK_EVENT_UNMAP:
    case TRK_EVENT_INVALIDATE_REQUEST:
    case TRK_EVENT_FRAME:
    case TRK_EVENT_WITNESS_STORE:
    case TRK_EVENT_MARK:
    case TRK_EVENT_ACCESS:
    case TRK_EVENT_OBJECT:
    case TRK_EVENT_DISPATCH:
        return true;
    default:
        return false;
    }
}

static bool came_of_it(unsigned type)
{
    switch (type) {
    case TRK_EVENT_OP_END:
    case TRK_EVENT_FAULT:
    case TRK_EVENT_RANGE:
    case TRK_EVENT_CALLBACK:
    case TRK_EVENT_FAIL:
    case TRK_EVENT_COPY_BEGIN:
    case TRK_EVENT_IMAGE:
    case TRK_EVENT_WITNESS_CHECK:
    case TRK_EVENT_SIGNAL: /* threads ask each other for flushes */
    case TRK_EVENT_AWAIT:
    case TRK_EVENT_HANDED:
    case TRK_EVENT_DECISION:
        return true;
    default:
        return false;
    }
}

bool trk_item_type_counts(unsigned type, bool asked)
{
    return is_asked(type) || (!asked && came_of_it(type));
}

bool trk_item_counts(const struct trk_event *event, bool asked)
{
    /* Flushes and read-backs come of faults, on whatever thread. */
    bool flush = event->type == TRK_EVENT_OP_BEGIN &&
                 (event->context == TRK_OP_DRAIN || event->context == TRK_OP_DOWNLOAD);
    return trk_item_type_counts(event->type, asked) && !(asked && flush);
}

/* The event without what may differ between two runs that do the same. */
static struct trk_event plain(const struct trk_event *event)
{
    struct trk_event out = *event;
    bool ranged = event->type == TRK_EVENT_RANGE;
    if (ranged || event->type == TRK_EVENT_FAULT) { /* the hold's number */
        out.seq = 0;
        out.domain = ranged ? event->domain & UINT32_C(0xfffffff) : 0; /* tracker and region */
    }
    if (event->type == TRK_EVENT_FAULT) {
        out.page = 0;
        out.pages = 0;
    }
    if (event->type == TRK_EVENT_GPU_WRITE || event->type == TRK_EVENT_GPU_READ ||
        event->type == TRK_EVENT_DISPATCH)
        trk_event_set_number32(&out, 0); /* the tick */
    if (event->type == TRK_EVENT_OP_BEGIN && event->context != TRK_OP_GUEST_PROTECT)
        out.pages = 0;
    return out;
}

uint64_t trk_item_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

uint64_t trk_item_hash(const struct trk_event *event)
{
    const struct trk_event said = plain(event);
    uint64_t hash = trk_item_mix(said.type, said.argument);
    hash = trk_item_mix(hash, (uint64_t)said.domain << 32 | said.seq);
    hash = trk_item_mix(hash, (uint64_t)said.page << 48 | (uint64_t)said.pages << 32 |
                                  (uint64_t)said.context << 16 | said.flags);
    return hash != 0 ? hash : 1;
}
