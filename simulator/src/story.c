/*
 * Verdicts of the core's re-execution: the report's words.
 */
#include "story.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define EVENT_TEXT_BYTES 112

struct story_name story_stream(const struct run *run, uint32_t index)
{
    struct story_name name = {""};
    const struct trk_trace_stream *stream = trk_trace_stream(run->trace, index);
    if (stream != NULL && stream->name[0] != '\0')
        memcpy(name.text, stream->name, sizeof name.text);
    else
        snprintf(name.text, sizeof name.text, "thread %u", index);
    name.text[sizeof name.text - 1] = '\0';
    return name;
}

const char *story_callback(unsigned callback)
{
    switch (callback) {
    case 0:
        return "range";
    case TRK_CALLBACK_FLUSH:
        return "flush";
    case TRK_CALLBACK_READ_BACK:
        return "read-back";
    default:
        return "completion";
    }
}

void story_add(struct run *run, uint64_t event, uint32_t stream, const char *format, ...)
{
    struct trk_sim_report *report = run->report;
    if (report->story_count == TRK_STORY_LINES || event == TRK_NOT_KNOWN)
        return;
    size_t at = report->story_count++;
    while (at > 0 && report->story[at - 1].event > event) {
        report->story[at] = report->story[at - 1];
        at--;
    }
    struct trk_story_line *line = &report->story[at];
    memset(line, 0, sizeof *line);
    line->event = event;
    memcpy(line->thread, story_stream(run, stream).text, sizeof line->thread);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line->text, sizeof line->text, format, arguments);
    va_end(arguments);
}

size_t story_step(const struct run *run, uint64_t event)
{
    for (size_t i = 0; i < run->report->story_count; i++) {
        if (run->report->story[i].event == event)
            return i + 1;
    }
    return 0;
}

void story_role(struct run *run, uint64_t event, const char *role)
{
    size_t step = story_step(run, event);
    if (step == 0)
        return;
    char *text = run->report->story[step - 1].role;
    size_t used = strlen(text), room = sizeof run->report->story[step - 1].role;
    snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "", role);
}

void story_set(struct run *run, enum trk_verdict_kind kind, uint64_t event_at, uint32_t stream_at,
               uint64_t event_visible)
{
    run->report->verdict = kind;
    run->report->event_at = event_at;
    run->report->stream_at = stream_at;
    run->report->event_visible = event_visible;
}

void story_range(struct run *run, uint64_t guest_addr, uint64_t size_bytes)
{
    run->report->guest_addr = guest_addr;
    run->report->size_bytes = size_bytes;
}

void story_text(struct run *run, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(run->report->text, sizeof run->report->text, format, arguments);
    va_end(arguments);
}

void story_detail(struct run *run, const char *detail)
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

/* ", by code at PC" of a fault; "" of what else begins an operation. */
static struct story_name story_pc(const struct run *run, uint64_t event, uint32_t stream)
{
    struct story_name text = {""};
    uint64_t pc = judge_fault_pc(&run->judge, stream, event);
    if (pc != 0)
        snprintf(text.text, sizeof text.text, ", by code at %#" PRIx64, pc);
    return text;
}

/* ---- the operation that is running ----------------------------------------------------------- */

static void story_operations(struct stream *stream, const struct operation_run *operation)
{
    struct run *run = stream->run;
    if (operation == NULL)
        return;
    story_operations(stream, operation->outer);
    const struct story_name pc = story_pc(run, operation->event, stream->index);
    story_add(run, operation->event, stream->index, "%s " STORY_SPAN "%s",
              trk_op_name((uint16_t)operation->asked.op), operation->guest_addr,
              operation->size_bytes, pc.text);
    if (operation->callback_event == TRK_NOT_KNOWN)
        return;
    if (operation->callback == 0)
        story_add(run, operation->callback_event, stream->index,
                  "its range callback gets " STORY_SPAN, operation->callback_range.guest_addr,
                  operation->callback_range.size_bytes);
    else
        story_add(run, operation->callback_event, stream->index, "its %s callback runs",
                  story_callback(operation->callback));
    for (uint32_t i = 0; i < operation->nested_count; i++) {
        const struct past *past = &operation->nested[i];
        if (past->event > operation->callback_event)
            story_add(run, past->event, stream->index, "in it, %s " STORY_SPAN,
                      trk_op_name((uint16_t)past->op), past->guest_addr, past->size_bytes);
    }
}

void verdict_divergence(struct stream *stream, const struct trk_trace_event *due,
                        const struct trk_event *done)
{
    struct run *run = stream->run;
    char recorded[EVENT_TEXT_BYTES], executed[EVENT_TEXT_BYTES];
    if (run_doubtful(run)) {
        run_lose_core(run, due->number);
        return;
    }
    story_set(run, TRK_VERDICT_DIVERGENCE, due->number, stream->index, due->number);
    run->report->divergences = 1;
    event_text(&due->event, recorded);
    event_text(done, executed);
    story_text(run, "recorded %s; the core did %s", recorded, executed);
    story_operations(stream, stream->operation);
    story_add(run, due->number, stream->index, "recorded: %s", recorded);
    story_add(run, due->number, stream->index, "executed: %s", executed);
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
    story_set(run, TRK_VERDICT_DIVERGENCE, stream->due.number, stream->index, stream->due.number);
    run->report->divergences = 1;
    story_range(run, trk_region_address(trk_domain_region(domain)), TRK_REGION_BYTES);
    story_text(run,
               "the core would wait for the %s lock of region %u, which was free when recorded",
               lock, trk_domain_region(domain));
    story_operations(stream, stream->operation);
    if (held != NULL && held->holder != 0)
        story_add(run, held->event, held->holder - 1, "takes the lock");
}

void verdict_fatal(struct stream *stream, const struct trk_trace_event *event)
{
    struct finding finding;
    judge_refusal(&stream->run->judge, event, &finding);
    verdict_refusal(stream->run, event, &finding);
}

void verdict_breach(struct stream *stream, const struct breach *breach, uint64_t guest_addr,
                    uint64_t size_bytes)
{
    struct run *run = stream->run;
    const struct operation_run *operation = stream->operation;
    story_set(run, breach->kind, operation->event, stream->index, run->number);
    story_range(run, guest_addr, size_bytes);
    story_detail(run, breach->detail);
    story_text(run, "after %s by %s, page %#" PRIx64 ": %s",
               trk_op_name((uint16_t)operation->asked.op), story_stream(run, stream->index).text,
               guest_addr, breach->detail);
    story_operations(stream, operation);
}

void verdict_unknown(struct stream *stream, const char *text)
{
    struct run *run = stream->run;
    if (run_doubtful(run)) {
        run_lose_core(run, run->number);
        return;
    }
    story_set(run, TRK_VERDICT_UNKNOWN, run->number, stream->index, run->number);
    story_text(run, "cannot be judged: %s", text);
}

/* ---- faults, locks, watches ------------------------------------------------------------------ */

void verdict_unhandled(struct run *run, uint32_t stream, uint64_t guest_addr, uint64_t event,
                       uint64_t visible)
{
    story_set(run, TRK_VERDICT_UNHANDLED_FAULT, event, stream, visible);
    story_range(run, guest_addr, 1);
    const struct story_name pc = story_pc(run, event, stream);
    story_text(run, "nobody owned the fault of %s at %#" PRIx64 "%s",
               story_stream(run, stream).text, guest_addr, pc.text);
    story_add(run, event, stream, "faults at %#" PRIx64 "%s", guest_addr, pc.text);
}

void verdict_watch_leak(struct run *run, uint64_t event, uint32_t stream, uint64_t guest_addr)
{
    story_set(run, TRK_VERDICT_WATCH_LEAK, event, stream, run->number);
    story_range(run, guest_addr, TRK_HOST_PAGE_BYTES);
    story_text(run, "page %#" PRIx64 " has watches that no page state explains", guest_addr);
    story_add(run, event, stream, "the newest watch that was taken directly");
}

/* Whether anything of foreign trackers was judged beside bytes and locks. */
static bool judged_foreign(const struct run *run)
{
    return run->foreign.states.judged > 0 || run->foreign.rights.judged > 0 ||
           run->foreign.core.judged > 0;
}

/* How far the checks went, for the last words of a report. */
static void end_oracle(struct run *run)
{
    struct trk_sim_report *report = run->report;
    const bool complete = report->complete;
    if (report->checks == report->unknown && !judged_foreign(run)) {
        report->verdict = complete ? TRK_VERDICT_UNKNOWN : TRK_VERDICT_TRACE_INCOMPLETE;
        story_text(run, "the oracle could judge nothing: %s",
                   report->checks == 0 ? "the trace has no checks of bytes"
                   : complete          ? "too little is known of the bytes that were checked"
                                       : "events are missing that the bytes may depend on");
        return;
    }
    if (complete && !run->oracle_only && core_is_trackers_own() && run->foreign.core.judged == 0) {
        report->verdict = TRK_VERDICT_UNKNOWN;
        story_text(run, "nothing broke, but no operation was run again on the plug-in: %s",
                   foreign_core_why(run));
        return;
    }
    if (!complete)
        report->verdict = TRK_VERDICT_TRACE_INCOMPLETE;
    story_text(run, "nothing broke in %" PRIu64 " checks%s; %" PRIu64 " more could not be judged",
               report->checks - report->unknown,
               complete         ? ""
               : run_whole(run) ? ", and the file is damaged where it has no events"
                                : ", others are missing",
               report->unknown);
}

void verdict_end(struct run *run)
{
    struct trk_sim_report *report = run->report;
    if (run->core_lost) {
        report->verdict = TRK_VERDICT_TRACE_INCOMPLETE;
        report->event_at = report->event_visible = run->core_lost_at;
        report->stream_at = run->core_lost_stream;
        story_text(run,
                   "events are missing before event %" PRIu64 ": from there on only the oracle "
                   "judges, and nothing broke in %" PRIu64 " checks; %" PRIu64
                   " more could not be judged",
                   run->core_lost_at, report->checks - report->unknown, report->unknown);
    } else if (versions_limited(run->judge.versions) && report->unknown > 0) {
        report->verdict = TRK_VERDICT_UNKNOWN;
        story_text(run,
                   "nothing broke, but there is no room to remember all bytes: %" PRIu64
                   " of %" PRIu64 " checks could not be judged",
                   report->unknown, report->checks);
    } else if (run->judge.latents.limited) {
        report->verdict = TRK_VERDICT_UNKNOWN;
        story_text(run,
                   "nothing broke, but there is no room to remember all pages with stores that "
                   "nobody was told of");
    } else if (run->oracle_only || (run->foreign.declared != 0 && run->machine_count == 0)) {
        end_oracle(run);
    } else if (run->machine_count == 0) {
        report->verdict = report->complete ? TRK_VERDICT_UNKNOWN : TRK_VERDICT_TRACE_INCOMPLETE;
        story_text(run, "the trace declares no tracker: nothing to re-execute%s",
                   report->complete || run_whole(run) ? "" : "; one may be among what is missing");
    } else if (run->guesses > 0) {
        report->verdict = TRK_VERDICT_TRACE_INCOMPLETE;
        story_text(run,
                   "nothing broke, but the order of %" PRIu64
                   " events is a guess: what must come before them is missing",
                   run->guesses);
    } else if (!report->complete && run_whole(run)) {
        report->verdict = TRK_VERDICT_TRACE_INCOMPLETE;
        story_text(run,
                   "nothing broke in the %" PRIu64
                   " events, and none is missing; but the file is damaged: %s",
                   report->events, trk_trace_state(run->trace).damage);
    } else if (!report->complete) {
        report->verdict = TRK_VERDICT_TRACE_INCOMPLETE;
        story_text(run,
                   "nothing broke in the %" PRIu64 " events that are there; others are missing",
                   report->events);
    } else {
        story_text(run, "%" PRIu64 " operations re-executed, nothing broke", report->operations);
    }
}
