/*
 * The grammar of the event stream, written from track/event.h.
 */
#include "stream.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "track/address.h"
#include "track/status.h"

static void broken(struct stream *stream, const char *format, ...)
{
    if (stream->broken[0] != '\0')
        return;
    int used = snprintf(stream->broken, sizeof stream->broken, "event %zu: ", stream->events);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(stream->broken + used, sizeof stream->broken - (size_t)used, format, arguments);
    va_end(arguments);
}

void stream_init(struct stream *stream, bool single)
{
    memset(stream, 0, sizeof *stream);
    stream->single = single;
}

static struct stream_operation *top(struct stream *stream)
{
    return stream->depth > 0 ? &stream->operations[stream->depth - 1] : NULL;
}

/* A new hold of a domain: its number is one more than the last. */
static void count_hold(struct stream *stream, uint32_t domain, uint32_t seq)
{
    size_t i = 0;
    while (i < stream->domain_count && stream->domains[i].domain != domain)
        i++;
    if (i == STREAM_DOMAINS_MAX)
        return;
    if (i == stream->domain_count) {
        stream->domains[i].domain = domain;
        stream->domains[i].seq = 0;
        stream->domain_count++;
    }
    uint32_t last = stream->domains[i].seq;
    if (stream->single ? seq != last + 1 : seq <= last)
        broken(stream, "hold %u of domain %x after hold %u", seq, domain, last);
    stream->domains[i].seq = seq;
}

static void push(struct stream *stream, uint16_t op, bool written)
{
    if (op == TRK_OP_NONE || op >= TRK_OP_COUNT)
        broken(stream, "operation %u begins", op);
    if (stream->depth == STREAM_DEPTH_MAX) {
        broken(stream, "operations nested too deep");
        return;
    }
    stream->operations[stream->depth++] =
        (struct stream_operation){.op = op, .held_below = stream->held_count, .written = written};
}

static void on_begin(struct stream *stream, const struct trk_event *event)
{
    bool by_mask = event->context == TRK_OP_WATCH_MASK || event->context == TRK_OP_UNWATCH_MASK;
    if (stream->mask.type != TRK_EVENT_NONE && !by_mask)
        broken(stream, "MASK before an operation without a mask");
    stream->mask.type = TRK_EVENT_NONE;
    bool wants = event->context == TRK_OP_JOIN_VIEWS || event->context == TRK_OP_GEN_MAP;
    if (stream->has_operand != wants)
        broken(stream, "operation %u with %d operands", event->context, stream->has_operand);
    stream->has_operand = false;
    push(stream, event->context,
         event->context == TRK_OP_UPLOAD && (event->flags & TRK_OP_FLAG_WRITTEN));
}

static void on_mask(struct stream *stream, const struct trk_event *event)
{
    if (event->argument == 0 || event->page > 15)
        broken(stream, "MASK word %u is %llx", event->page, (unsigned long long)event->argument);
    if (stream->mask.type != TRK_EVENT_NONE && stream->mask.page >= event->page)
        broken(stream, "MASK words not ascending");
    stream->mask = *event;
}

static void on_end(struct stream *stream, const struct trk_event *event)
{
    struct stream_operation *operation = top(stream);
    if (operation == NULL || operation->op != event->context) {
        broken(stream, "operation %u ends, %u is open", event->context,
               operation != NULL ? operation->op : 0);
        return;
    }
    if (operation->in_protect)
        broken(stream, "a page-manager hold never ended");
    bool fail_fast = event->flags >= TRK_E_RANGE && event->flags <= TRK_E_LIVELOCK;
    if (operation->op != TRK_OP_FAULT && operation->failed != (fail_fast ? event->flags : 0))
        broken(stream, "status %u after failure %u", event->flags, operation->failed);
    bool reports = operation->op == TRK_OP_UPLOAD || operation->op == TRK_OP_DOWNLOAD ||
                   operation->op == TRK_OP_DRAIN;
    if ((reports && event->argument != operation->ranges) ||
        (operation->op == TRK_OP_INVALIDATE && event->argument != operation->flushes))
        broken(stream, "operation %u ends with result %llu", operation->op,
               (unsigned long long)event->argument);
    size_t expected = operation->held_below;
    if (event->flags == TRK_OK && operation->op == TRK_OP_LOCK)
        expected++;
    if (event->flags == TRK_OK && operation->op == TRK_OP_UNLOCK)
        expected--;
    if (stream->held_count != expected)
        broken(stream, "operation %u ends with %zu locks, expected %zu", operation->op,
               stream->held_count, expected);
    stream->depth--;
}

static void on_lock(struct stream *stream, const struct trk_event *event)
{
    struct stream_operation *operation = top(stream);
    if (operation == NULL) {
        broken(stream, "LOCK outside an operation");
        return;
    }
    bool region = trk_domain_class(event->domain) == TRK_DOMAIN_REGION;
    bool shared = trk_domain_class(event->domain) == TRK_DOMAIN_PAGES &&
                  trk_domain_region(event->domain) == TRK_DOMAIN_SHARED;
    if (!region && !shared && trk_domain_class(event->domain) != TRK_DOMAIN_GENERATIONS)
        broken(stream, "LOCK of domain %x", event->domain);
    for (size_t i = operation->held_below; i < stream->held_count; i++) { /* [M-35] */
        if (stream->held[i].domain >= event->domain)
            broken(stream, "LOCK %x while holding %x", event->domain, stream->held[i].domain);
    }
    count_hold(stream, event->domain, event->seq);
    if (stream->held_count == STREAM_HELD_MAX) {
        broken(stream, "too many locks held");
        return;
    }
    stream->held[stream->held_count].domain = event->domain;
    stream->held[stream->held_count].seq = event->seq;
    stream->held[stream->held_count].by_hand = operation->op == TRK_OP_LOCK;
    stream->held_count++;
}

static void on_unlock(struct stream *stream, const struct trk_event *event)
{
    struct stream_operation *operation = top(stream);
    if (operation == NULL) {
        broken(stream, "UNLOCK outside an operation");
        return;
    }
    /* Regions ascending: an operation gives back the first of its own; by hand any. Other locks are
     * innermost: they go first. */
    size_t i = operation->op == TRK_OP_UNLOCK ? 0 : operation->held_below;
    if (trk_domain_class(event->domain) != TRK_DOMAIN_REGION && stream->held_count > i)
        i = stream->held_count - 1;
    while (operation->op == TRK_OP_UNLOCK && i < stream->held_count &&
           (stream->held[i].domain != event->domain || !stream->held[i].by_hand))
        i++;
    if (i >= stream->held_count || stream->held[i].domain != event->domain ||
        stream->held[i].seq != event->seq) {
        broken(stream, "UNLOCK %x hold %u is not the next held", event->domain, event->seq);
        return;
    }
    if (event->pages > 2048) /* a written upload moves a page twice in one hold */
        broken(stream, "UNLOCK counts %u pages", event->pages);
    memmove(&stream->held[i], &stream->held[i + 1],
            (stream->held_count - i - 1) * sizeof stream->held[0]);
    stream->held_count--;
}

static bool holds(const struct stream *stream, uint32_t domain, uint32_t seq)
{
    for (size_t i = 0; i < stream->held_count; i++) {
        if (stream->held[i].domain == domain && stream->held[i].seq == seq)
            return true;
    }
    return false;
}

static void on_range(struct stream *stream, const struct trk_event *event)
{
    struct stream_operation *operation = top(stream);
    if (operation == NULL || !holds(stream, event->domain, event->seq)) {
        broken(stream, "RANGE in hold %u of %x, which is not held", event->seq, event->domain);
        return;
    }
    if (event->pages == 0 || event->page + event->pages > 1024)
        broken(stream, "RANGE of pages %u +%u", event->page, event->pages);
    bool same = operation->range_domain == event->domain && operation->range_seq == event->seq;
    if (same && event->page <= operation->range_end)
        broken(stream, "RANGE at %u touches or precedes the one to %u", event->page,
               operation->range_end);
    if (operation->range_domain > event->domain)
        broken(stream, "RANGE in a lower region than before");
    operation->ranges++;
    operation->range_domain = event->domain;
    operation->range_seq = event->seq;
    operation->range_end = (uint32_t)event->page + event->pages;
}

static void on_protect(struct stream *stream, const struct trk_event *event)
{
    struct stream_operation *operation = top(stream);
    unsigned rights = event->flags & ~(TRK_EVENT_FAILED | TRK_EVENT_HOLD_END);
    if (operation == NULL || trk_domain_class(event->domain) != TRK_DOMAIN_PAGES) {
        broken(stream, "PROTECT in domain %x", event->domain);
        return;
    }
    if (event->pages == 0 || event->page + event->pages > 1024 || rights > 7)
        broken(stream, "PROTECT of pages %u +%u to %x", event->page, event->pages, rights);
    bool shared = trk_domain_region(event->domain) == TRK_DOMAIN_SHARED;
    if (shared != (event->argument != 0) || event->argument % TRK_REGION_BYTES != 0)
        broken(stream, "PROTECT of region %llx", (unsigned long long)event->argument);
    if (holds(stream, event->domain, event->seq)) {
        if (event->flags & TRK_EVENT_HOLD_END)
            broken(stream, "PROTECT ends a hold that LOCK began");
        return;
    }
    if (operation->in_protect) {
        if (event->domain != operation->last_protect.domain ||
            event->seq != operation->last_protect.seq)
            broken(stream, "PROTECT in another hold before the last one ended");
        /* Ascending, until a refusal: then what was done is taken back. Views have an order of
         * their own. */
        if (!operation->refused && !shared &&
            event->page < operation->last_protect.page + operation->last_protect.pages)
            broken(stream, "PROTECT at %u after %u", event->page, operation->last_protect.page);
    } else {
        count_hold(stream, event->domain, event->seq);
        operation->refused = false;
    }
    operation->refused = operation->refused || (event->flags & TRK_EVENT_FAILED);
    operation->in_protect = !(event->flags & TRK_EVENT_HOLD_END);
    operation->last_protect = *event;
}

static void on_watch(struct stream *stream, const struct trk_event *event)
{
    struct stream_operation *operation = top(stream);
    if (operation == NULL || trk_domain_class(event->domain) != TRK_DOMAIN_PAGES ||
        operation->in_protect || event->pages > 1024)
        broken(stream, "WATCH in domain %x with %u pages", event->domain, event->pages);
    count_hold(stream, event->domain, event->seq);
}

static void on_callback(struct stream *stream, const struct trk_event *event)
{
    struct stream_operation *operation = top(stream);
    if (operation == NULL) {
        broken(stream, "CALLBACK outside an operation");
        return;
    }
    size_t own_locks = stream->held_count - operation->held_below;
    bool keeps = event->context == TRK_CALLBACK_COMPLETION && operation->written;
    if (keeps != (own_locks != 0)) /* [M-36] */
        broken(stream, "CALLBACK %u with %zu locks", event->context, own_locks);
    bool fits = (event->context == TRK_CALLBACK_COMPLETION && operation->op == TRK_OP_UPLOAD) ||
                (event->context == TRK_CALLBACK_FLUSH &&
                 (operation->op == TRK_OP_INVALIDATE || operation->op == TRK_OP_FAULT ||
                  operation->op == TRK_OP_HLE_WRITE)) ||
                (event->context == TRK_CALLBACK_WRITE && operation->op == TRK_OP_HLE_WRITE) ||
                (event->context == TRK_CALLBACK_READ_BACK && operation->op == TRK_OP_FAULT);
    operation->flushes += event->context == TRK_CALLBACK_FLUSH;
    if (!fits)
        broken(stream, "CALLBACK %u in operation %u", event->context, operation->op);
}

static void on_fault(struct stream *stream, const struct trk_event *event)
{
    bool known = event->context != TRK_LOOK_UNKNOWN;
    if (event->context > TRK_LOOK_UNKNOWN || event->flags > TRK_ACCESS_EXECUTE)
        broken(stream, "FAULT look %u, access %u", event->context, event->flags);
    if (trk_domain_class(event->domain) != (known ? TRK_DOMAIN_PAGES : 0))
        broken(stream, "FAULT look %u in domain %x", event->context, event->domain);
    if (known)
        count_hold(stream, event->domain, event->seq);
    push(stream, TRK_OP_FAULT, false);
}

static void on_fail(struct stream *stream, const struct trk_event *event)
{
    struct stream_operation *operation = top(stream);
    if (operation == NULL || operation->op != event->flags) {
        broken(stream, "FAIL of operation %u", event->flags);
        return;
    }
    if (event->context < TRK_E_RANGE || event->context > TRK_E_LIVELOCK)
        broken(stream, "FAIL of class %u", event->context);
    if (stream->held_count != operation->held_below)
        broken(stream, "FAIL with locks of its own");
    if (operation->failed != 0)
        broken(stream, "FAIL twice");
    operation->failed = (uint8_t)event->context;
}

/*
 * What says more of the event behind it and follows from nothing here. A refusal is told of with
 * its reason, in the hold and before the call's own event, which comes one call later.
 */
static bool is_detail(struct stream *stream, const struct trk_event *event)
{
    if (event->type == TRK_EVENT_FAULT_AT)
        return true;
    if (event->type != TRK_EVENT_HOST_PROTECT)
        return false;
    if ((event->flags & TRK_EVENT_FAILED) == 0 || event->context == 0)
        broken(stream, "HOST_PROTECT of a call that was not refused");
    return true;
}

void stream_feed(struct stream *stream, const struct trk_event *event)
{
    if (is_detail(stream, event))
        return;
    struct stream_operation *operation = top(stream);
    if (operation != NULL && operation->in_protect && event->type != TRK_EVENT_PROTECT)
        broken(stream, "event type %u inside a page-manager hold", event->type);
    if (stream->mask.type != TRK_EVENT_NONE && event->type != TRK_EVENT_MASK &&
        event->type != TRK_EVENT_OP_BEGIN)
        broken(stream, "event type %u between MASK and OP_BEGIN", event->type);
    if (stream->has_operand && event->type != TRK_EVENT_OP_BEGIN)
        broken(stream, "event type %u between OPERAND and OP_BEGIN", event->type);

    switch (event->type) {
    case TRK_EVENT_OP_BEGIN:
        on_begin(stream, event);
        break;
    case TRK_EVENT_LOCK:
        on_lock(stream, event);
        break;
    case TRK_EVENT_UNLOCK:
        on_unlock(stream, event);
        break;
    case TRK_EVENT_RANGE:
        on_range(stream, event);
        break;
    case TRK_EVENT_PROTECT:
        on_protect(stream, event);
        break;
    case TRK_EVENT_WATCH:
        on_watch(stream, event);
        break;
    case TRK_EVENT_CALLBACK:
        on_callback(stream, event);
        break;
    case TRK_EVENT_OP_END:
        on_end(stream, event);
        break;
    case TRK_EVENT_FAULT:
        on_fault(stream, event);
        break;
    case TRK_EVENT_FAIL:
        on_fail(stream, event);
        break;
    case TRK_EVENT_MASK:
        on_mask(stream, event);
        break;
    case TRK_EVENT_STATE: /* its order is looked at with all others of its hold */
        break;
    case TRK_EVENT_OPERAND:
        stream->has_operand = true;
        break;
    default:
        broken(stream, "event type %u from the core", event->type);
    }
    stream->events++;
}

void stream_finish(struct stream *stream)
{
    if (stream->depth != 0)
        broken(stream, "operation %u never ended", top(stream)->op);
    for (size_t i = 0; i < stream->held_count; i++) {
        if (!stream->held[i].by_hand)
            broken(stream, "lock %x was never released", stream->held[i].domain);
    }
}
