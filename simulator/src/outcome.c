/*
 * The core did what was recorded: books of holds, and the rules of the model.
 *
 * That live core and re-executed core agree does not make them right. Here the outcome is held
 * against the rules themselves.
 */
#include "run.h"

#include "track/pages.h"

/* Pages looked at after an operation that changes watches or rights without a region's lock. */
#define LOOK_PAGES_MAX 16384u

static struct domain *touch(struct stream *stream, uint32_t number)
{
    struct run *run = stream->run;
    size_t count = run->domains.count;
    struct domain *domain = domains_touch(&run->domains, number);
    if (domain == NULL)
        stream_fail(stream, TRK_E_MEMORY);
    if (run->domains.count == count)
        return domain;
    if (trk_domain_region(number) == TRK_DOMAIN_SHARED ||
        trk_domain_class(number) == TRK_DOMAIN_GENERATIONS)
        return domain;
    /* A region has two domains, its own and its page manager's; it counts once. */
    enum trk_domain_class other =
        trk_domain_class(number) == TRK_DOMAIN_REGION ? TRK_DOMAIN_PAGES : TRK_DOMAIN_REGION;
    uint32_t twin = trk_domain(other, trk_domain_tracker(number), trk_domain_region(number));
    if (domains_find(&run->domains, twin) == NULL) {
        run->report->regions++;
        first_touch_note(run, number);
    }
    return domain;
}

/* Stop with the first rule that a page of [guest_addr, end_addr) breaks. */
static void look(struct stream *stream, uint64_t guest_addr, uint64_t end_addr, bool after)
{
    const struct operation_run *operation = stream->operation;
    for (; guest_addr < end_addr; guest_addr += TRK_HOST_PAGE_BYTES) {
        struct trk_page_view view = core_live->page(operation->machine->tracker, guest_addr);
        struct breach breach = rules_page(&view);
        if (breach.kind == TRK_VERDICT_OK && after)
            breach = rules_after(&operation->asked, &view);
        if (breach.kind == TRK_VERDICT_OK)
            continue;
        verdict_breach(stream, &breach, guest_addr, TRK_HOST_PAGE_BYTES);
        stream_stop(stream);
    }
}

static void broken_locks(struct stream *stream, const char *detail)
{
    struct breach breach = {TRK_VERDICT_ILLEGAL_STATE, detail};
    verdict_breach(stream, &breach, stream->operation->guest_addr, stream->operation->size_bytes);
    stream_stop(stream);
}

static void locked(struct stream *stream, const struct trk_trace_event *event)
{
    struct operation_run *operation = stream->operation;
    struct domain *domain = touch(stream, event->event.domain);
    if (domain->holder != 0)
        broken_locks(stream, "lock taken while held");
    if (operation->holds > 0 && event->event.domain <= operation->last_domain)
        broken_locks(stream, "locks not ascending");
    domain->seq = event->event.seq;
    domain->holder = stream->index + 1;
    domain->event = event->number;
    operation->holds++;
    operation->last_domain = event->event.domain;
}

static void unlocked(struct stream *stream, const struct trk_trace_event *event)
{
    struct operation_run *operation = stream->operation;
    struct domain *domain = touch(stream, event->event.domain);
    if (domain->holder != stream->index + 1)
        broken_locks(stream, "lock released by another thread");
    domain->holder = 0;
    if (operation->asked.op != TRK_OP_UNLOCK)
        operation->holds--;
    if (event->event.pages == 0 || trk_domain_class(event->event.domain) != TRK_DOMAIN_REGION)
        return;
    uint64_t page_bytes = operation->machine->policy.page_size_bytes;
    uint64_t region_addr = trk_region_address(trk_domain_region(event->event.domain));
    uint64_t first = operation->guest_addr & ~(page_bytes - 1);
    uint64_t end = (operation->guest_addr + operation->size_bytes + page_bytes - 1);
    end &= ~(page_bytes - 1);
    if (first < region_addr)
        first = region_addr;
    if (end > region_addr + TRK_REGION_BYTES)
        end = region_addr + TRK_REGION_BYTES;
    look(stream, first, end, !operation->protect_failed);
}

/* Pages whose region nobody holds: what changed them was no hold of the region. */
static void look_unheld(struct stream *stream)
{
    struct operation_run *operation = stream->operation;
    bool mask =
        operation->asked.op == TRK_OP_WATCH_MASK || operation->asked.op == TRK_OP_UNWATCH_MASK;
    uint64_t at = operation->guest_addr & ~(TRK_HOST_PAGE_BYTES - 1);
    uint64_t size_bytes = mask ? TRK_REGION_BYTES : operation->size_bytes;
    if (!trk_range_valid(operation->machine->policy.arena, operation->guest_addr, size_bytes))
        return;
    uint64_t end = operation->guest_addr + size_bytes;
    if (end - at > LOOK_PAGES_MAX * TRK_HOST_PAGE_BYTES)
        end = at + LOOK_PAGES_MAX * TRK_HOST_PAGE_BYTES;
    while (at < end) {
        uint64_t region_end = trk_region_address(trk_region_index(at)) + TRK_REGION_BYTES;
        uint64_t stop = region_end < end ? region_end : end;
        uint32_t number =
            trk_domain(TRK_DOMAIN_REGION, (uint32_t)(operation->machine - stream->run->machines),
                       trk_region_index(at));
        const struct domain *domain = domains_find(&stream->run->domains, number);
        if (domain == NULL || domain->holder == 0)
            look(stream, at, stop, false);
        at = stop;
    }
}

static void faulted(struct stream *stream, const struct trk_trace_event *event)
{
    stream->run->report->faults++;
    stream->run->report->operations++;
    if (event->event.context == TRK_LOOK_UNKNOWN)
        return;
    touch(stream, event->event.domain)->seq = event->event.seq;
}

static void fault_ended(struct stream *stream, const struct trk_trace_event *event)
{
    struct operation_run *operation = stream->operation;
    if (event->event.argument != TRK_FAULT_UNHANDLED)
        return;
    if (stream->run->machine_count > 1) {
        stream->unhandled = true; /* the owner may ask its other trackers */
        stream->unhandled_addr = operation->guest_addr;
        stream->unhandled_event = operation->event;
        return;
    }
    verdict_unhandled(stream->run, stream->index, operation->guest_addr, operation->event,
                      event->number);
    stream_stop(stream);
}

static void ended(struct stream *stream, const struct trk_trace_event *event)
{
    struct operation_run *operation = stream->operation;
    enum trk_op op = operation->asked.op;
    operation->over = true;
    uint32_t may_hold = op == TRK_OP_LOCK && event->event.flags == TRK_OK;
    if (operation->holds != may_hold)
        broken_locks(stream, "lock kept");
    if (op == TRK_OP_FAULT) {
        fault_ended(stream, event);
        return;
    }
    bool pages = op == TRK_OP_WATCH || op == TRK_OP_WATCH_MASK || op == TRK_OP_UNWATCH ||
                 op == TRK_OP_UNWATCH_MASK || op == TRK_OP_GUEST_PROTECT ||
                 op == TRK_OP_GEN_TRACK || op == TRK_OP_GEN_NOTIFY || op == TRK_OP_GEN_MAP;
    if (!pages || event->event.flags != TRK_OK)
        return;
    if (op == TRK_OP_WATCH || op == TRK_OP_WATCH_MASK) {
        operation->machine->last_watch = operation->event;
        operation->machine->last_watch_stream = stream->index;
    }
    look_unheld(stream);
}

static void range_given(struct stream *stream, const struct trk_trace_event *event)
{
    struct operation_run *operation = stream->operation;
    stream->run->report->ranges++;
    operation->callback_event = event->number;
    operation->callback_range = (struct span){
        trk_region_address(trk_domain_region(event->event.domain)) +
            event->event.page * TRK_HOST_PAGE_BYTES,
        event->event.pages * TRK_HOST_PAGE_BYTES,
    };
    operation->callback = 0;
}

/* A page manager's hold: it lasts over several events only when it makes several calls. */
static void managed(struct stream *stream, const struct trk_trace_event *event)
{
    struct domain *domain = touch(stream, event->event.domain);
    domain->seq = event->event.seq;
    domain->event = event->number;
    domain->holder = trk_event_ends_hold(&event->event) ? 0 : stream->index + 1;
}

void outcome_tail(struct stream *stream, const struct trk_event *event)
{
    if (!trk_event_in_hold(event) || event->domain == 0)
        return;
    stream->run->tail_hold = true;
    struct domain *domain = touch(stream, event->domain);
    domain->seq = event->seq;
    domain->holder = trk_event_ends_hold(event) ? 0 : stream->index + 1;
}

/* A fault that no tracker took, once nothing can take it any more. */
static void settle_unhandled(struct stream *stream, const struct trk_trace_event *event)
{
    if (!stream->unhandled)
        return;
    stream->unhandled = false;
    bool asked =
        event->event.type == TRK_EVENT_FAULT && event->event.argument == stream->unhandled_addr;
    if (asked || run_doubtful(stream->run)) /* another tracker's fault may be missing */
        return;
    verdict_unhandled(stream->run, stream->index, stream->unhandled_addr, stream->unhandled_event,
                      event->number);
    stream_stop(stream);
}

void outcome_accept(struct stream *stream, const struct trk_trace_event *event)
{
    struct operation_run *operation = stream->operation;
    settle_unhandled(stream, event);
    switch (event->event.type) {
    case TRK_EVENT_OP_BEGIN:
        stream->run->report->operations++;
        break;
    case TRK_EVENT_LOCK:
        locked(stream, event);
        break;
    case TRK_EVENT_UNLOCK:
        unlocked(stream, event);
        break;
    case TRK_EVENT_RANGE:
        range_given(stream, event);
        break;
    case TRK_EVENT_PROTECT:
        stream->run->report->protect_calls++;
        operation->protect_failed |= (event->event.flags & TRK_EVENT_FAILED) != 0;
        managed(stream, event);
        break;
    case TRK_EVENT_WATCH:
        managed(stream, event);
        break;
    case TRK_EVENT_CALLBACK:
        operation->callback_event = event->number;
        operation->callback = (enum trk_callback)event->event.context;
        break;
    case TRK_EVENT_FAULT:
        faulted(stream, event);
        break;
    case TRK_EVENT_FAIL:
        verdict_fatal(stream, event);
        stream_stop(stream);
        break;
    case TRK_EVENT_OP_END:
        ended(stream, event);
        break;
    default:
        break;
    }
}
