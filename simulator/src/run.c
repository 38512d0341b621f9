/*
 * One run over one trace: streams, their coroutines, and whose turn it is.
 */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "snapshot.h"

enum trk_status run_init(struct run *run, struct trk_trace *trace, struct trk_sim_report *report)
{
    memset(run, 0, sizeof *run);
    run->trace = trace;
    run->report = report;
    size_t streams = trk_trace_stream_count(trace);
    if (streams > ORDER_STREAMS_MAX)
        return TRK_E_UNSUPPORTED;
    run->streams = calloc(streams + 1, sizeof *run->streams);
    if (run->streams == NULL)
        return TRK_E_MEMORY;
    run->stream_count = (uint32_t)streams;
    for (uint32_t i = 0; i < run->stream_count; i++) {
        run->streams[i].run = run;
        run->streams[i].index = i;
        run->streams[i].thread.id = i + 1;
    }
    if (order_create(&run->order, run->stream_count) != TRK_OK)
        return TRK_E_MEMORY;
    enum trk_status status = versions_create(&run->versions, run->order);
    return status == TRK_OK ? snapshot_begin(run) : status;
}

void run_deinit(struct run *run)
{
    run->closing = true;
    for (uint32_t i = 0; i < run->stream_count; i++)
        coroutine_destroy(run->streams[i].coroutine);
    for (uint32_t i = 0; i < RUN_TRACKERS; i++)
        trk_tracker_destroy(run->machines[i].tracker);
    versions_destroy(run->versions);
    order_destroy(run->order);
    domains_deinit(&run->domains);
    free(run->streams);
}

/* Run a stream until it waits. */
static void resume(struct stream *stream)
{
    struct run *run = stream->run;
    run->current = stream;
    trk_thread_swap(&stream->thread);
    coroutine_resume(stream->coroutine);
    trk_thread_swap(NULL);
    run->current = NULL;
}

/* Whether holds are missing between the newest known of a domain and this event's. */
static bool hold_missing(const struct run *run, const struct trk_event *event)
{
    if (!trk_event_in_hold(event) || event->domain == 0)
        return false;
    const struct domain *domain = domains_find(&run->domains, event->domain);
    uint32_t newest = domain == NULL ? 0 : domain->seq;
    return event->seq > newest + 1;
}

bool stream_exhausted(const struct stream *stream)
{
    const struct trk_trace_stream *in_file = trk_trace_stream(stream->run->trace, stream->index);
    return in_file != NULL && stream->taken >= in_file->events;
}

bool run_doubtful(const struct run *run)
{
    struct trk_trace_state state = trk_trace_state(run->trace);
    if (run->lossy || state.damaged_chunks > 0)
        return true;
    for (uint32_t i = 0; i < run->stream_count && (!state.ended || state.cut); i++) {
        if (stream_exhausted(&run->streams[i]))
            return true;
    }
    return false;
}

/*
 * A program that is killed leaves threads that did a last step and did not write it down: a lock
 * released, a hold made. Let such a stream go on to its next event, which the log does not have.
 */
static void run_tail(struct run *run, struct stream *stream)
{
    run->tail = true;
    run->tail_hold = false;
    resume(stream);
    run->tail = false;
}

/* Find the missing holds in what was not written down at the end of other streams. */
static void find_missing(struct run *run, const struct trk_event *event)
{
    for (uint32_t i = 0; i < run->stream_count && hold_missing(run, event); i++) {
        struct stream *stream = &run->streams[i];
        if (!stream->in_core || stream->dead || !stream_exhausted(stream))
            continue;
        run_tail(run, stream);
        /* What has been tried in vain may have gone too far: no proof rests on it any more. */
        if (run->tail_hold && hold_missing(run, event))
            run->lossy = true;
    }
    if (hold_missing(run, event))
        run->lossy = true;
}

void run_event(struct run *run, const struct trk_trace_event *event)
{
    if (event->stream >= run->stream_count) {
        run->failure = TRK_E_DAMAGED;
        return;
    }
    struct stream *stream = &run->streams[event->stream];
    if (stream->coroutine == NULL) {
        if (coroutine_create(&stream->coroutine, interpreter_body, stream) != TRK_OK) {
            run->failure = TRK_E_MEMORY;
            return;
        }
        run->report->threads++;
    }
    run->number = event->number;
    run->report->events += event->event.type != TRK_EVENT_DROP;
    stream->taken++;
    if (event->event.type == TRK_EVENT_DROP)
        run->lossy = true;
    if (hold_missing(run, &event->event))
        find_missing(run, &event->event);
    if (stream->dead) { /* the file has more of it than it said */
        run->lossy = true;
        return;
    }
    stream->due = *event;
    stream->has_due = true;
    resume(stream);
    while (stream->waits_for_tail && !run->stopped) {
        stream->waits_for_tail = false;
        const struct domain *domain = domains_find(&run->domains, stream->wanted);
        run_tail(run, &run->streams[domain->holder - 1]);
        resume(stream);
    }
}

void run_probe(struct run *run)
{
    run->probing = true;
    for (uint32_t i = 0; i < run->stream_count; i++) {
        struct stream *stream = &run->streams[i];
        stream->wanted = 0;
        if (stream->in_core && !stream->dead)
            resume(stream);
    }
}

void stream_stop(struct stream *stream)
{
    stream->run->stopped = true;
    for (;;)
        coroutine_yield(stream->coroutine);
}

void stream_fail(struct stream *stream, enum trk_status status)
{
    stream->run->failure = status;
    stream_stop(stream);
}

void stream_await(struct stream *stream)
{
    while (!stream->has_due)
        coroutine_yield(stream->coroutine);
}

void stream_consume(struct stream *stream)
{
    stream->has_due = false;
    coroutine_yield(stream->coroutine);
}
