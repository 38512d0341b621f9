/*
 * Verdicts: the report's words.
 */
#include "run.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define EVENT_TEXT_BYTES 112

struct name {
    char text[32];
};

static struct name stream_name(const struct run *run, uint32_t index)
{
    struct name name = {""};
    const struct trk_trace_stream *stream = trk_trace_stream(run->trace, index);
    if (stream != NULL && stream->name[0] != '\0')
        memcpy(name.text, stream->name, sizeof name.text);
    else
        snprintf(name.text, sizeof name.text, "thread %u", index);
    name.text[sizeof name.text - 1] = '\0';
    return name;
}

static void story_add(struct run *run, uint64_t event, const char *format, ...) TRK_PRINTF(3, 4);

/* Keeps the lines ascending by event. */
static void story_add(struct run *run, uint64_t event, const char *format, ...)
{
    struct trk_sim_report *report = run->report;
    if (report->story_count == TRK_STORY_LINES || event == TRK_NOT_KNOWN)
        return;
    size_t at = report->story_count++;
    while (at > 0 && report->story[at - 1].event > event) {
        report->story[at] = report->story[at - 1];
        at--;
    }
    memset(&report->story[at], 0, sizeof report->story[at]);
    report->story[at].event = event;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(report->story[at].text, sizeof report->story[at].text, format, arguments);
    va_end(arguments);
}

static void set(struct run *run, enum trk_verdict_kind kind, uint64_t event_at, uint32_t stream_at,
                uint64_t event_visible)
{
    run->report->verdict = kind;
    run->report->event_at = event_at;
    run->report->stream_at = stream_at;
    run->report->event_visible = event_visible;
}

static void set_range(struct run *run, uint64_t guest_addr, uint64_t size_bytes)
{
    run->report->guest_addr = guest_addr;
    run->report->size_bytes = size_bytes;
}

static void set_text(struct run *run, const char *format, ...) TRK_PRINTF(2, 3);

static void set_text(struct run *run, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(run->report->text, sizeof run->report->text, format, arguments);
    va_end(arguments);
}

static void set_detail(struct run *run, const char *detail)
{
    snprintf(run->report->detail, sizeof run->report->detail, "%s", detail);
}

/* An event in a few words, every compared field among them. */
static void event_text(const struct trk_event *event, char text[EVENT_TEXT_BYTES])
{
    if (event == NULL) {
        snprintf(text, EVENT_TEXT_BYTES, "nothing");
        return;
    }
    bool has_op = event->type == TRK_EVENT_OP_BEGIN || event->type == TRK_EVENT_OP_END;
    snprintf(text, EVENT_TEXT_BYTES, "%s%s%s %#" PRIx64 " %x:%u p%u+%u f%x c%u",
             trk_event_type_name(event->type), has_op ? " " : "",
             has_op ? trk_op_name(event->context) : "", event->argument, event->domain, event->seq,
             event->page, event->pages, event->flags, event->context);
}

/* ---- the operation that is running ----------------------------------------------------------- */

static void story_operations(struct stream *stream, const struct operation_run *operation)
{
    struct run *run = stream->run;
    struct name name = stream_name(run, stream->index);
    if (operation == NULL)
        return;
    story_operations(stream, operation->outer);
    story_add(run, operation->event, "%s: %s %#" PRIx64 " +%#" PRIx64, name.text,
              trk_op_name((uint16_t)operation->asked.op), operation->guest_addr,
              operation->size_bytes);
    if (operation->callback_event == TRK_NOT_KNOWN)
        return;
    if (operation->callback == 0)
        story_add(run, operation->callback_event,
                  "%s: its range callback gets %#" PRIx64 " +%#" PRIx64, name.text,
                  operation->callback_range.guest_addr, operation->callback_range.size_bytes);
    else
        story_add(run, operation->callback_event, "%s: its %s callback runs", name.text,
                  operation->callback == TRK_CALLBACK_FLUSH       ? "flush"
                  : operation->callback == TRK_CALLBACK_READ_BACK ? "read-back"
                                                                  : "completion");
    for (uint32_t i = 0; i < operation->nested_count; i++) {
        const struct past *past = &operation->nested[i];
        if (past->event > operation->callback_event)
            story_add(run, past->event, "%s: in it, %s %#" PRIx64 " +%#" PRIx64, name.text,
                      trk_op_name((uint16_t)past->op), past->guest_addr, past->size_bytes);
    }
}

void verdict_divergence(struct stream *stream, const struct trk_trace_event *due,
                        const struct trk_event *done)
{
    struct run *run = stream->run;
    char recorded[EVENT_TEXT_BYTES], executed[EVENT_TEXT_BYTES];
    bool lossy = run_doubtful(run);
    set(run, lossy ? TRK_VERDICT_TRACE_INCOMPLETE : TRK_VERDICT_DIVERGENCE, due->number,
        stream->index, due->number);
    if (lossy) {
        run->report->complete = false;
        set_text(run, "events are missing before event %" PRIu64 ": not judged from there on",
                 due->number);
        return;
    }
    run->report->divergences = 1;
    event_text(&due->event, recorded);
    event_text(done, executed);
    set_text(run, "recorded %s; the core did %s", recorded, executed);
    story_operations(stream, stream->operation);
    story_add(run, due->number, "recorded: %s", recorded);
    story_add(run, due->number, "executed: %s", executed);
}

void verdict_wait(struct stream *stream, uint32_t domain)
{
    struct run *run = stream->run;
    const struct domain *held = domains_find(&run->domains, domain);
    enum trk_domain_class domain_class = trk_domain_class(domain);
    const char *lock = domain_class == TRK_DOMAIN_REGION        ? "region"
                       : domain_class == TRK_DOMAIN_GENERATIONS ? "generations'"
                                                                : "page manager's";
    if (run_doubtful(run)) {
        verdict_divergence(stream, &stream->due, NULL);
        return;
    }
    set(run, TRK_VERDICT_DIVERGENCE, stream->due.number, stream->index, stream->due.number);
    run->report->divergences = 1;
    set_range(run, trk_region_address(trk_domain_region(domain)), TRK_REGION_BYTES);
    set_text(run, "the core would wait for the %s lock of region %u, which was free when recorded",
             lock, trk_domain_region(domain));
    story_operations(stream, stream->operation);
    if (held != NULL && held->holder != 0)
        story_add(run, held->event, "%s took the lock", stream_name(run, held->holder - 1).text);
}

void verdict_fatal(struct stream *stream, const struct trk_trace_event *event)
{
    struct run *run = stream->run;
    enum trk_status failure_class = (enum trk_status)event->event.context;
    bool livelock = failure_class == TRK_E_LIVELOCK;
    set(run, livelock ? TRK_VERDICT_LIVELOCK : TRK_VERDICT_FATAL, event->number, stream->index,
        event->number);
    run->report->failure_class = failure_class;
    set_range(run, event->event.argument, trk_event_size(&event->event));
    set_text(run, "%s of %#" PRIx64 " +%#" PRIx64 " by %s failed: %s",
             trk_op_name(event->event.flags), event->event.argument, trk_event_size(&event->event),
             stream_name(run, stream->index).text, trk_status_name(failure_class));
    story_operations(stream, stream->operation);
    story_add(run, event->number, "the core refuses: %s", trk_status_name(failure_class));
}

void verdict_breach(struct stream *stream, const struct breach *breach, uint64_t guest_addr,
                    uint64_t size_bytes)
{
    struct run *run = stream->run;
    const struct operation_run *operation = stream->operation;
    set(run, breach->kind, operation->event, stream->index, run->number);
    set_range(run, guest_addr, size_bytes);
    set_detail(run, breach->detail);
    set_text(run, "after %s by %s, page %#" PRIx64 ": %s",
             trk_op_name((uint16_t)operation->asked.op), stream_name(run, stream->index).text,
             guest_addr, breach->detail);
    story_operations(stream, operation);
}

void verdict_unknown(struct stream *stream, const char *text)
{
    struct run *run = stream->run;
    set(run, run_doubtful(run) ? TRK_VERDICT_TRACE_INCOMPLETE : TRK_VERDICT_UNKNOWN, run->number,
        stream->index, run->number);
    set_text(run, "cannot be judged: %s", text);
}

/* ---- stale reads ----------------------------------------------------------------------------- */

static void story_stale(struct run *run, const struct finding *finding)
{
    const struct shadow_store *store = &finding->store;
    if (finding->has_copy)
        story_add(run, finding->copy.begin, "%s copies %s %#" PRIx64 " +%#" PRIx64,
                  stream_name(run, finding->copy.stream).text,
                  finding->agent == TRK_AGENT_GPU ? "up" : "down", finding->copy.guest_addr,
                  finding->copy.size_bytes);
    if (store->flags & SHADOW_STORE_GPU)
        story_add(run, store->event, "%s has the GPU write stamp %u there",
                  stream_name(run, store->stream).text, store->stamp);
    else
        story_add(run, store->event, "%s stores stamp %u there, %s",
                  stream_name(run, store->stream).text, store->stamp,
                  store->flags & SHADOW_STORE_UNTRACKED ? "through an untracked view"
                  : store->flags & SHADOW_STORE_FAULTED ? "after a fault"
                                                        : "no fault");
    if (finding->has_clean)
        story_add(run, finding->clean.event,
                  "%s: an upload takes %#" PRIx64 " +%#" PRIx64 ", clean from here on",
                  stream_name(run, finding->clean.stream).text, finding->clean.guest_addr,
                  finding->clean.size_bytes);
    if (finding->stamped)
        story_add(run, finding->check.event, "%s reads on the %s: sees stamp %u, needs %u",
                  stream_name(run, finding->check.stream).text,
                  finding->agent == TRK_AGENT_GPU ? "GPU" : "CPU", finding->seen, store->stamp);
    else
        story_add(run, finding->check.event, "%s has the GPU read: the copy is older than stamp %u",
                  stream_name(run, finding->check.stream).text, store->stamp);
}

void verdict_stale(struct run *run, const struct finding *finding)
{
    bool gpu = finding->agent == TRK_AGENT_GPU;
    set(run, gpu ? TRK_VERDICT_STALE_GPU_READ : TRK_VERDICT_STALE_CPU_READ, finding->event_at,
        finding->stream_at, finding->check.event);
    set_range(run, finding->guest_addr, finding->size_bytes);
    set_detail(run, finding->detail);
    set_text(run, "%s read of %#" PRIx64 " +%#" PRIx64 " by %s is older than stamp %u of %s: %s",
             gpu ? "GPU" : "CPU", finding->guest_addr, finding->size_bytes,
             stream_name(run, finding->check.stream).text, finding->store.stamp,
             stream_name(run, finding->store.stream).text, finding->detail);
    story_stale(run, finding);
}

/* ---- faults, locks, watches ------------------------------------------------------------------ */

void verdict_unhandled(struct run *run, uint32_t stream, uint64_t guest_addr, uint64_t event,
                       uint64_t visible)
{
    set(run, TRK_VERDICT_UNHANDLED_FAULT, event, stream, visible);
    set_range(run, guest_addr, 1);
    set_text(run, "nobody owned the fault of %s at %#" PRIx64, stream_name(run, stream).text,
             guest_addr);
    story_add(run, event, "%s faults at %#" PRIx64, stream_name(run, stream).text, guest_addr);
}

void verdict_deadlock(struct run *run, const struct stream *first)
{
    set(run, TRK_VERDICT_DEADLOCK, first->operation->event, first->index, run->number);
    set_range(run, trk_region_address(trk_domain_region(first->wanted)), TRK_REGION_BYTES);
    set_text(run, "%s waits for the lock of region %u in a circle",
             stream_name(run, first->index).text, trk_domain_region(first->wanted));
    const struct stream *stream = first;
    do {
        const struct domain *held = domains_find(&run->domains, stream->wanted);
        const struct stream *holder = &run->streams[held->holder - 1];
        story_add(run, held->event, "%s takes the lock of region %u",
                  stream_name(run, holder->index).text, trk_domain_region(stream->wanted));
        story_add(run, stream->operation->event, "%s: %s waits for region %u, held by %s",
                  stream_name(run, stream->index).text,
                  trk_op_name((uint16_t)stream->operation->asked.op),
                  trk_domain_region(stream->wanted), stream_name(run, holder->index).text);
        stream = holder;
    } while (stream != first);
}

void verdict_watch_leak(struct run *run, const struct machine *machine, uint64_t guest_addr)
{
    set(run, TRK_VERDICT_WATCH_LEAK, machine->last_watch, 0, run->number);
    set_range(run, guest_addr, TRK_HOST_PAGE_BYTES);
    set_text(run, "page %#" PRIx64 " has watches that no page state explains", guest_addr);
    story_add(run, machine->last_watch, "the newest watch that was taken directly");
}

void verdict_end(struct run *run, bool complete)
{
    struct trk_sim_report *report = run->report;
    if (run->machine_count == 0) {
        report->verdict = TRK_VERDICT_UNKNOWN;
        set_text(run, "the trace declares no tracker: nothing to re-execute");
    } else if (!complete) {
        report->verdict = TRK_VERDICT_TRACE_INCOMPLETE;
        set_text(run, "nothing broke in the %" PRIu64 " events that are there; others are missing",
                 report->events);
    } else {
        set_text(run, "%" PRIu64 " operations re-executed, nothing broke", report->operations);
    }
}
