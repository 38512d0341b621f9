/*
 * Verdicts of the tracker's own refusals, told from the log.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cause.h"
#include "story.h"

/* The operations of a stream that have not ended, outermost first. */
static void add_operations(struct run *run, uint32_t stream)
{
    const struct judge_stream *own = &run->judge.streams[stream];
    for (uint32_t i = 0; i < own->depth && i < JUDGE_DEPTH; i++) {
        const struct judge_operation *operation = &own->operations[i];
        if (story_step(run, operation->event) == 0)
            story_add(run, operation->event, stream, "%s " STORY_SPAN, trk_op_name(operation->op),
                      operation->guest_addr, operation->size_bytes);
        if (operation->callback_event != TRK_NOT_KNOWN &&
            story_step(run, operation->callback_event) == 0)
            story_add(run, operation->callback_event, stream, "its %s callback runs",
                      story_callback(operation->callback));
        const struct judge_past *past = &operation->nested;
        if (past->op != 0 && operation->callback_event != TRK_NOT_KNOWN &&
            past->event > operation->callback_event)
            story_add(run, past->event, stream, "in it, %s " STORY_SPAN, trk_op_name(past->op),
                      past->guest_addr, past->size_bytes);
    }
}

/* The page that a flush has left. */
static void add_retained(struct run *run, const struct finding *finding)
{
    struct trk_sim_report *report = run->report;
    const struct shadow_store *store = &finding->store;
    if (!finding->has_said)
        return;
    if (finding->said.event != 0)
        story_add(run, finding->said.event - 1, finding->said.stream,
                  "%s puts page %#" PRIx64 " into the GPU's hands", trk_op_name(finding->said.op),
                  finding->guest_addr);
    snprintf(report->teller, sizeof report->teller,
             "the GPU bit of page %#" PRIx64 ", which is still set after the flush",
             finding->guest_addr);
    if (!(store->flags & SHADOW_STORE_GPU))
        return;
    story_add(run, store->event, store->stream,
              "has the GPU write stamp %" PRIu32 " to page %#" PRIx64, store->stamp,
              finding->guest_addr);
    story_role(run, store->event, ROLE_LAST_WRITER);
    snprintf(report->writer, sizeof report->writer,
             "%s, by the GPU, event %" PRIu64 ": stamp %" PRIu32,
             story_stream(run, store->stream).text, store->event, store->stamp);
    snprintf(report->holder, sizeof report->holder,
             "in the GPU's copy only; no copy home has come after the write");
}

void verdict_refusal(struct run *run, const struct trk_trace_event *event,
                     const struct finding *finding)
{
    struct trk_sim_report *report = run->report;
    const struct cause_words *words = cause_words(finding->cause);
    bool refused = event->event.type == TRK_EVENT_FAIL;
    enum trk_status failure_class = refused ? (enum trk_status)event->event.context : TRK_E_REENTRY;
    const char *op = trk_op_name(refused ? event->event.flags : 0);
    const struct judge_operation *innermost = judge_operation_of(&run->judge, event->stream);
    if (!refused && innermost != NULL)
        op = trk_op_name(innermost->op);
    story_set(run, finding->kind, finding->event_at, event->stream, event->number);
    report->failure_class = failure_class;
    story_range(run, finding->guest_addr, finding->size_bytes);
    story_detail(run, words->detail);
    story_text(run, "%s of " STORY_SPAN " by %s %s: %s", op, finding->check.guest_addr,
               finding->check.size_bytes, story_stream(run, event->stream).text,
               refused ? "failed" : "was not refused", trk_status_name(failure_class));
    if (judge_sure(&run->judge))
        add_operations(run, event->stream);
    if (finding->cause == CAUSE_RETAINED)
        add_retained(run, finding);
    story_add(run, event->number, event->stream,
              refused ? "the tracker refuses: %s" : "the tracker lets it pass: %s",
              trk_status_name(failure_class));
    story_role(run, finding->event_at, ROLE_AT_FAULT);
    if (finding->cause == CAUSE_REENTRY) {
        snprintf(report->missing, sizeof report->missing, "%s",
                 "the call must wait until the upload around it has ended: its callback holds what "
                 "the call needs");
        snprintf(report->passes, sizeof report->passes, "%s",
                 "the call after the upload's end, or from another thread");
    } else {
        snprintf(report->missing, sizeof report->missing, "%s", words->missing);
        snprintf(report->passes, sizeof report->passes, "%s", words->passes);
    }
}
