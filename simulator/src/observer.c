/*
 * What the core calls while it is re-executed: its observer, its host, its failure handler.
 */
#include "run.h"

#include <errno.h>
#include <string.h>

static bool same_event(const struct trk_event *left, const struct trk_event *right)
{
    return left->argument == right->argument && left->seq == right->seq &&
           left->domain == right->domain && left->page == right->page &&
           left->pages == right->pages && left->type == right->type &&
           left->flags == right->flags && left->context == right->context;
}

static bool gives_sum(const struct trk_event *event)
{
    return event->type == TRK_EVENT_OP_END &&
           (event->context == TRK_OP_GEN_TRACK || event->context == TRK_OP_GEN_QUERY);
}

/* Whether the core did what was recorded. */
static bool as_recorded(struct stream *stream, const struct trk_event *due,
                        const struct trk_event *done)
{
    struct trk_event sought = *due;
    if (gives_sum(due) && gives_sum(done)) {
        bool same;
        enum trk_status status = sums_compare(&stream->run->sums, stream->operation->guest_addr,
                                              due->argument, done->argument, &same);
        if (status != TRK_OK)
            stream_fail(stream, status);
        if (same)
            sought.argument = done->argument;
    }
    return same_event(&sought, done);
}

/* The run goes no further on this stream: it stands here until it is destroyed. */
static void stand_still(struct stream *stream)
{
    for (;;)
        coroutine_yield(stream->coroutine);
}

/* The words of a mask were commands and are used up: they must come back as they were given. */
static void emit_mask(struct stream *stream, const struct trk_event *event)
{
    if (event->page < TRK_REGION_WORDS && stream->mask[event->page] == event->argument) {
        stream->mask[event->page] = 0;
        return;
    }
    verdict_divergence(stream, &stream->due, event);
    stream_stop(stream);
}

static void emit_operand(struct stream *stream, const struct trk_event *event)
{
    if (stream->has_operand && stream->operand == event->argument) {
        stream->has_operand = false;
        return;
    }
    verdict_divergence(stream, &stream->due, event);
    stream_stop(stream);
}

void observer_emit(void *context, const struct trk_event *event)
{
    struct run *run = ((struct machine *)context)->run;
    struct stream *stream = run->current;
    if (run->closing)
        return;
    if (run->probing)
        stand_still(stream); /* it could go on: nobody holds it up */
    if (run->tail) {
        outcome_tail(stream, event);
        stream->dead = true;
        stand_still(stream);
    }
    if (event->type == TRK_EVENT_MASK) {
        emit_mask(stream, event);
        return;
    }
    if (event->type == TRK_EVENT_OPERAND) {
        emit_operand(stream, event);
        return;
    }
    if (event->type == TRK_EVENT_FAULT)
        ((struct machine *)context)->mappings.budget = INT64_MAX;
    if (event->type == TRK_EVENT_PROTECT && stream->calls_open > 0)
        stream->calls_open--;
    const struct trk_trace_event *due = stream->has_ahead ? &stream->ahead : &stream->due;
    if (!as_recorded(stream, &due->event, event)) {
        verdict_divergence(stream, due, event);
        stream_stop(stream);
    }
    outcome_accept(stream, due);
    if (stream->has_ahead) {
        stream->has_ahead = false;
        return;
    }
    stream->in_core = true;
    stream_consume(stream);
    stream->in_core = false;
}

void observer_wait(void *context, uint32_t domain)
{
    struct run *run = ((struct machine *)context)->run;
    struct stream *stream = run->current;
    stream->wanted = domain;
    stream->dead |= run->tail;
    if (run->probing || run->tail)
        stand_still(stream);
    const struct domain *held = domains_find(&run->domains, domain);
    const struct stream *holder =
        held != NULL && held->holder != 0 ? &run->streams[held->holder - 1] : NULL;
    if (holder != NULL && holder->in_core && !holder->dead && stream_exhausted(holder)) {
        stream->waits_for_tail = true;
        coroutine_yield(stream->coroutine);
        held = domains_find(&run->domains, domain);
        if (held->holder == 0)
            return;
    }
    verdict_wait(stream, domain);
    stream_stop(stream);
}

/*
 * One protection call of the recorded host: it did what the call's event says. The core holds a
 * call's event back until the next call has been made, so that the next event has to be fetched
 * when there is a next call.
 */
int observer_protect(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes,
                     unsigned rights)
{
    (void)guest_addr;
    (void)size_bytes;
    (void)rights;
    struct run *run = ((struct machine *)backend)->run;
    struct stream *stream = run->current;
    if (run->closing || run->probing || run->tail)
        return 0;
    const struct trk_event *event = &stream->due.event;
    if (stream->calls_open > 0 && !stream->has_ahead && event->type == TRK_EVENT_PROTECT &&
        !(event->flags & TRK_EVENT_HOLD_END)) {
        stream->ahead = stream->due;
        stream->has_ahead = true;
        stream_consume(stream);
    }
    stream->calls_open++;
    bool failed = event->type == TRK_EVENT_PROTECT && (event->flags & TRK_EVENT_FAILED);
    return failed ? ENOMEM : 0;
}

/* The verdict was given when the failure's event was accepted. */
void observer_failure(void *context, const struct trk_failure *failure)
{
    (void)context;
    (void)failure;
}
