/*
 * What a trace says of locks, watches and refusals where no core is followed.
 *
 * The words are those of the re-execution. Less can be said: what a stream waits for is known of an
 * operation in one region only, and of a hold by hand; watches only as far as they were taken
 * directly.
 */
#include "circle.h"
#include "story.h"
#include "track/address.h"

/* ---- locks ----------------------------------------------------------------------------------- */

static void broken(struct run *run, const struct trk_trace_event *event, const char *detail)
{
    const struct judge_operation *operation = judge_operation_of(&run->judge, event->stream);
    bool owner = trk_domain_class(event->event.domain) == TRK_DOMAIN_OWNER;
    uint32_t number = trk_domain_region(event->event.domain);
    const char *lock = owner ? "lock" : "the lock of region";
    story_set(run, TRK_VERDICT_ILLEGAL_STATE, operation != NULL ? operation->event : event->number,
              event->stream, event->number);
    if (!owner)
        story_range(run, trk_region_address(number), TRK_REGION_BYTES);
    story_detail(run, detail);
    story_text(run, "by %s, %s %u: %s", story_stream(run, event->stream).text,
               owner ? "lock" : "region", number, detail);
    if (operation != NULL)
        story_add(run, operation->event, event->stream, "%s " STORY_SPAN,
                  trk_op_name(operation->op), operation->guest_addr, operation->size_bytes);
    story_add(run, event->number, event->stream, "%s %u is %s", lock, number,
              event->event.type == TRK_EVENT_LOCK ? "taken" : "given back");
    run->foreign.broken_locks |= owner;
    run->stopped = true;
}

/* A hold of a region begins, or ends; where events may be missing it proves nothing. */
static void take_hold(struct run *run, const struct trk_trace_event *event)
{
    uint32_t number = event->event.domain;
    struct domain *domain = domains_find(&run->domains, number);
    struct judge_operation *operation = judge_operation_of(&run->judge, event->stream);
    bool owner = trk_domain_class(number) == TRK_DOMAIN_OWNER;
    if (domain == NULL || (!owner && trk_domain_class(number) != TRK_DOMAIN_REGION))
        return;
    bool taken = event->event.type == TRK_EVENT_LOCK, sure = !run_doubtful(run) && !run->windowed;
    uint32_t holder = domain->holder;
    domain->holder = taken ? event->stream + 1 : 0;
    if (taken)
        domain->event = event->number;
    if (sure && taken && holder != 0) {
        story_add(run, domain->event, holder - 1, "takes the lock");
        broken(run, event, "lock taken while held");
    } else if (sure && !taken && holder != event->stream + 1) {
        broken(run, event, "lock released by another thread");
    } else if (owner) {
        return; /* in which order its locks are taken is its own affair */
    } else if (sure && taken && operation != NULL && operation->holds > 0 &&
               number <= operation->last_domain) {
        broken(run, event, "locks not ascending");
    }
    if (operation == NULL || operation->op == TRK_OP_LOCK || operation->op == TRK_OP_UNLOCK)
        return;
    if (taken)
        operation->last_domain = number;
    operation->holds += taken ? 1 : 0;
    operation->holds -= !taken && operation->holds > 0 ? 1 : 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

void alone_take(struct run *run, const struct trk_trace_event *event)
{
    struct trk_sim_report *report = run->report;
    switch (event->event.type) {
    case TRK_EVENT_FAIL: {
        struct finding finding;
        judge_refusal(&run->judge, event, &finding);
        verdict_refusal(run, event, &finding);
        run->stopped = true;
        break;
    }
    case TRK_EVENT_LOCK:
    case TRK_EVENT_UNLOCK:
        take_hold(run, event);
        break;
    case TRK_EVENT_FAULT:
        report->faults++;
        break;
    case TRK_EVENT_RANGE:
        report->ranges++;
        break;
    case TRK_EVENT_PROTECT:
        report->protect_calls++;
        break;
    default:
        break;
    }
}

/* ---- after the last event -------------------------------------------------------------------- */

/* Whether an operation's next step is to take the lock of a region in its range. */
static bool takes_locks(const struct judge_operation *operation)
{
    switch (operation->op) {
    case TRK_OP_IS_CPU:
    case TRK_OP_IS_GPU:
    case TRK_OP_MARK_CPU:
    case TRK_OP_MARK_GPU:
    case TRK_OP_UNMARK_GPU:
    case TRK_OP_UNTRACK:
    case TRK_OP_UPLOAD:
    case TRK_OP_DOWNLOAD:
    case TRK_OP_DRAIN:
    case TRK_OP_INVALIDATE:
    case TRK_OP_REGISTER:
    case TRK_OP_UNREGISTER:
    case TRK_OP_LOCK:
        return !operation->in_callback && operation->last_domain == 0;
    default:
        return false;
    }
}

/* As far as the log says it. */
static struct waiting waiting_of(const struct run *run, uint32_t stream)
{
    const struct judge_operation *operation = judge_operation_of(&run->judge, stream);
    const struct waiting none = {.lock = NULL};
    if (operation == NULL || !takes_locks(operation) || operation->size_bytes == 0)
        return none;
    uint64_t mask = run->judge.policies[operation->tracker].page_size_bytes - 1;
    uint32_t region = trk_region_index(operation->guest_addr & ~mask);
    if (trk_region_index((operation->guest_addr + operation->size_bytes - 1) | mask) != region)
        return none;
    const struct domain *domain =
        domains_find(&run->domains, trk_domain(TRK_DOMAIN_REGION, operation->tracker, region));
    if (domain == NULL || domain->holder == 0)
        return none;
    return (struct waiting){domain, operation->event, operation->op};
}

static bool at_rest(const struct run *run)
{
    for (uint32_t i = 0; i < run->stream_count; i++)
        if (run->judge.streams[i].depth > 0)
            return false;
    return true;
}

void alone_end(struct run *run, bool at_end)
{
    uint64_t guest_addr;
    run->stopped = circle_tell(run, waiting_of);
    if (run->stopped)
        return;
    const struct judge *judge = &run->judge;
    if (!at_end || !at_rest(run) || judge->last_watch == 0 || judge->watch_masks ||
        !said_watched(&judge->said, &guest_addr))
        return;
    verdict_watch_leak(run, judge->last_watch - 1, judge->last_watch_stream, guest_addr);
    run->stopped = true;
}
