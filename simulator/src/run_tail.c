/*
 * What threads did behind the last event that is written down.
 *
 * A program that is killed leaves threads that did a last step and did not write it down: a lock
 * released, a hold made. Let such a stream go on to its next event, which the log does not have.
 */
#include "run.h"

#include "track/address.h"

bool run_hold_missing(const struct run *run, const struct trk_event *event)
{
    if (!trk_event_in_hold(event) || event->domain == 0)
        return false;
    const struct domain *domain = domains_find(&run->domains, event->domain);
    uint32_t newest = domain == NULL ? 0 : domain->seq;
    return event->seq > newest + 1;
}

void run_tail(struct run *run, struct stream *stream)
{
    run->tail = true;
    run->tail_hold = false;
    stream_resume(stream);
    run->tail = false;
}

/*
 * A thread that was killed outside of an operation, or in a callback, has made one hold at most: it
 * had looked at a page, for a fault whose event it had no time for. That changes nothing but the
 * count, so that it does not matter which page of the region it was.
 */
static void look(struct stream *stream, const struct trk_event *event, uint64_t guest_addr)
{
    struct trk_trace_event fault = {
        .number = stream->previous,
        .stream = stream->index,
        .event = {.type = TRK_EVENT_FAULT, .argument = guest_addr, .domain = event->domain},
    };
    struct operation_run *operation = stream->operation;
    if (!stream_make_due(stream, &fault))
        return;
    run_tail(stream->run, stream);
    stream->operation = operation;
}

/*
 * An address whose look is a hold of the due event's domain. Regions with shared pages have one
 * domain together: then the event's own address. Its region was one of them before the missing
 * holds, since what makes a region one notes its hold at the beginning.
 */
static bool find_address(const struct run *run, const struct trk_trace_event *due,
                         uint64_t *guest_addr)
{
    const struct trk_event *event = &due->event;
    const struct operation_run *operation = run->streams[due->stream].operation;
    *guest_addr = trk_region_address(trk_domain_region(event->domain));
    if (trk_domain_region(event->domain) != TRK_DOMAIN_SHARED)
        return true;
    if (event->type == TRK_EVENT_FAULT || event->type == TRK_EVENT_PROTECT)
        *guest_addr = event->argument;
    else if (event->type == TRK_EVENT_WATCH && operation != NULL && operation->holds > 0)
        *guest_addr = trk_region_address(trk_domain_region(operation->last_domain));
    else
        return false;
    return true;
}

/* Find the missing holds among those that only looked. */
static void find_looks(struct run *run, const struct trk_trace_event *due)
{
    const struct trk_event *event = &due->event;
    uint32_t id = trk_domain_tracker(event->domain);
    uint64_t guest_addr;
    if (trk_domain_class(event->domain) != TRK_DOMAIN_PAGES || id >= RUN_TRACKERS ||
        run->machines[id].tracker == NULL || !find_address(run, due, &guest_addr))
        return;
    for (uint32_t i = 0; i < run->stream_count && run_hold_missing(run, event); i++) {
        struct stream *stream = &run->streams[i];
        if (!stream->in_core && !stream->dead && stream_exhausted(stream))
            look(stream, event, guest_addr);
    }
}

void run_find_missing(struct run *run, const struct trk_trace_event *due)
{
    const struct trk_event *event = &due->event;
    for (uint32_t i = 0; i < run->stream_count && run_hold_missing(run, event); i++) {
        struct stream *stream = &run->streams[i];
        if (!stream->in_core || stream->dead || !stream_exhausted(stream))
            continue;
        run_tail(run, stream);
        /* What has been tried in vain may have gone too far: no proof rests on it any more. */
        if (run->tail_hold && run_hold_missing(run, event))
            run->lossy = true;
    }
    if (!due->guessed)
        find_looks(run, due);
    if (run_hold_missing(run, event))
        run->lossy = true;
}
