/*
 * One run over one trace: streams, their coroutines, and whose turn it is.
 */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "recorder/checkpoint.h"
#include "snapshot.h"

/* From so many events on the oracle keeps lines together, unless told otherwise. */
#define LARGE_TRACE_EVENTS  (UINT64_C(16) << 20)
#define LARGE_TRACE_GRANULE 64u

static uint32_t granule_of(const struct trk_trace *trace, const struct trk_sim_options *options)
{
    uint64_t events = 0;
    for (size_t i = 0; i < trk_trace_stream_count(trace); i++)
        events += trk_trace_stream(trace, i)->events;
    if (options->granule_bytes != 0)
        return options->granule_bytes;
    return events > LARGE_TRACE_EVENTS ? LARGE_TRACE_GRANULE : 1;
}

/* A thread says late what it has lost: until then what others did looks whole. */
static enum trk_status find_losses(struct run *run, bool dropped)
{
    struct losses *losses = &run->losses;
    enum trk_status status = TRK_OK;
    if (run->damaged)
        status = losses_find_all(losses, run->trace);
    else if (dropped)
        status = losses_find(losses, run->trace);
    if (status == TRK_OK && run->cut && !run->damaged)
        status = losses_find_views(losses, run->trace);
    if (run->damaged || run->cut || dropped)
        judge_disorder(&run->judge, &losses->disorder);
    return status;
}

enum trk_status run_init(struct run *run, struct trk_trace *trace,
                         const struct trk_sim_options *options, struct trk_sim_report *report)
{
    *run = (struct run){.resumed = run->resumed, .trace = trace};
    run->report = report;
    run->oracle_only = options->mode == TRK_SIM_ORACLE_ONLY;
    size_t streams = trk_trace_stream_count(trace);
    if (streams > ORDER_STREAMS_MAX)
        return TRK_E_UNSUPPORTED;
    run->streams = calloc(streams + 1, sizeof *run->streams);
    if (run->streams == NULL)
        return TRK_E_MEMORY;
    struct trk_trace_state state = trk_trace_state(trace);
    /* Damage behind all events that there are costs what a cut there costs. */
    bool behind = state.first_damage_offset > state.last_events_offset;
    bool gapless = trk_trace_gapless(trace);
    if (!run->resumed && !gapless) {
        run->cut = !state.ended || state.cut || (state.damaged_chunks > 0 && behind);
        run->damaged = state.damaged_chunks > 0 && !behind;
    }
    run->whole = state.whole || (gapless && state.dropped == 0);
    run->stream_count = (uint32_t)streams;
    sums_init(&run->sums, trk_trace_header_json(trace));
    for (uint32_t i = 0; i < run->stream_count; i++) {
        run->streams[i].run = run;
        run->streams[i].index = i;
        run->streams[i].thread.thread.id = i + 1;
        run->streams[i].taken = trk_trace_before(trace, i);
    }
    enum trk_status status = judge_init(&run->judge, run->stream_count, granule_of(trace, options));
    if (status == TRK_OK && !run->resumed)
        status = find_losses(run, state.dropped > 0);
    if (status == TRK_OK && run->resumed)
        judge_lose_views(&run->judge, 1);
    if (run->damaged)
        judge_holes(&run->judge);
    return status == TRK_OK ? snapshot_begin(run) : status;
}

void run_deinit(struct run *run)
{
    run->closing = true;
    for (uint32_t i = 0; i < run->stream_count; i++)
        coroutine_destroy(run->streams[i].coroutine);
    coroutine_destroy(run->aside.coroutine);
    for (uint32_t i = 0; i < RUN_TRACKERS; i++)
        core_live->destroy(run->machines[i].tracker);
    judge_deinit(&run->judge);
    domains_deinit(&run->domains);
    sums_deinit(&run->sums);
    losses_deinit(&run->losses);
    first_touch_deinit(run);
    foreign_deinit(&run->foreign);
    free(run->streams);
}

static bool options_valid(const struct trk_sim_options *options)
{
    uint32_t granule = options->granule_bytes;
    return options->size == sizeof *options && options->mode <= TRK_SIM_ORACLE_ONLY &&
           granule <= SHADOW_PAGE_BYTES && (granule & (granule - 1)) == 0;
}

static enum trk_status create(struct run **out, struct trk_trace *trace,
                              const struct trk_sim_options *options, struct trk_sim_report *report,
                              bool resumed)
{
    struct run *run = calloc(1, sizeof *run); /* some KiB */
    if (run == NULL)
        return TRK_E_MEMORY;
    run->resumed = resumed;
    enum trk_status status = run_init(run, trace, options, report);
    if (status != TRK_OK) {
        run_destroy(run);
        run = NULL;
    }
    *out = run;
    return status;
}

enum trk_status run_create_here(struct run **out, struct trk_trace *trace,
                                const struct trk_sim_options *options,
                                struct trk_sim_report *report, struct trk_error *error)
{
    *out = NULL;
    memset(report, 0, sizeof *report);
    report->event_at = report->event_visible = report->guest_addr = TRK_NOT_KNOWN;
    enum trk_status status = create(out, trace, options, report, true);
    return status == TRK_OK ? TRK_OK
                            : trk_error_set(error, status, "no simulation from a checkpoint on");
}

enum trk_status run_create(struct run **out, struct trk_trace *trace,
                           const struct trk_sim_options *options, struct trk_sim_report *report,
                           struct trk_error *error)
{
    *out = NULL;
    memset(report, 0, sizeof *report);
    report->event_at = report->event_visible = report->guest_addr = TRK_NOT_KNOWN;
    if (!options_valid(options))
        return trk_error_set(error, TRK_E_ARGUMENT, "the options of a simulation are not usable");
    enum trk_status status = trk_trace_scan(trace, error);
    if (status == TRK_OK)
        status = trk_trace_rewind(trace, error);
    if (status == TRK_OK)
        status = run_core_fits(trace, options, error);
    if (status != TRK_OK)
        return status;
    status = create(out, trace, options, report, false);
    if (status != TRK_OK)
        return trk_error_set(error, status,
                             status == TRK_E_DAMAGED ? "the snapshot is not readable (%zu threads)"
                                                     : "no simulation of a trace with %zu threads",
                             trk_trace_stream_count(trace));
    trk_trace_judge(trace, true);
    return TRK_OK;
}

void run_destroy(struct run *run)
{
    if (run != NULL)
        run_deinit(run);
    free(run);
}

void stream_resume(struct stream *stream)
{
    struct run *run = stream->run;
    run->current = stream;
    core_live->thread_swap(&stream->thread.thread);
    run_in_force(run);
    coroutine_resume(stream->coroutine);
    run_in_force(NULL);
    core_live->thread_swap(NULL);
    run->current = NULL;
}

bool stream_exhausted(const struct stream *stream)
{
    const struct trk_trace_stream *in_file = trk_trace_stream(stream->run->trace, stream->index);
    return in_file != NULL && stream->taken >= in_file->events;
}

void run_lose_core(struct run *run, uint64_t event)
{
    run->core_lost = true;
    run->core_lost_at = event;
    run->core_lost_stream = run->current != NULL ? run->current->index : 0;
}

/* Whether the core has to see an event, or it says of the program what the oracle alone reads. */
static bool for_core(const struct trk_event *event)
{
    return event->type < TRK_EVENT_FIRST_ANNOTATION || event->type == TRK_EVENT_TRACKER;
}

bool stream_make_due(struct stream *stream, const struct trk_trace_event *event)
{
    if (stream->coroutine == NULL &&
        coroutine_create(&stream->coroutine, interpreter_body, stream) != TRK_OK) {
        stream->run->failure = TRK_E_MEMORY;
        return false;
    }
    stream->due = *event;
    stream->has_due = true;
    return true;
}

/* A tracker may be declared by a signal handler, while its thread is inside another's operation. */
static void run_aside(struct run *run, const struct stream *stream,
                      const struct trk_trace_event *event)
{
    struct stream *aside = &run->aside;
    aside->run = run;
    aside->index = stream->index;
    aside->previous = stream->previous;
    if (stream_make_due(aside, event))
        stream_resume(aside);
}

/* Let the core do what was recorded. */
static void run_core(struct run *run, struct stream *stream, const struct trk_trace_event *event)
{
    if (event->event.type == TRK_EVENT_TRACKER) {
        run_aside(run, stream, event);
        return;
    }
    if (!stream_make_due(stream, event))
        return;
    first_touch_begin(run, stream, event);
    stream_resume(stream);
    first_touch_end(run, stream);
    while (stream->waits_for_tail && !run->stopped) {
        stream->waits_for_tail = false;
        const struct domain *domain = domains_find(&run->domains, stream->wanted);
        run_tail(run, &run->streams[domain->holder - 1]);
        stream_resume(stream);
    }
}

/* Let the oracle take the event; false: the run has ended. */
static bool run_judge(struct run *run, const struct trk_trace_event *event)
{
    struct finding finding;
    enum trk_status status = judge_take(&run->judge, event, &finding);
    if (status != TRK_OK) {
        run->failure = status;
        return false;
    }
    if (run->deaf)
        return true;
    if (finding.found && finding.cause == CAUSE_REENTRY)
        verdict_refusal(run, event, &finding);
    else if (finding.found)
        verdict_finding(run, &finding);
    run->stopped |= finding.found;
    return !run->stopped;
}

/* Where the due event stands beside what the recorder lost. */
static void note_lost_span(struct run *run, const struct trk_trace_event *event)
{
    const struct losses *losses = &run->losses;
    if (!losses->any || (losses->bounded && event->tsc < losses->first_tsc && run->lost == 0))
        return;
    run->lossy = true; /* also where the thread says so later */
    bool among = !losses->bounded || event->tsc <= losses->end_tsc;
    if (among)
        run->lost = event->number + 1;
    else if (run->lost == 0) /* no event stands among them: they came before this one */
        run->lost = event->number;
    if (among)
        judge_among_losses(&run->judge);
    else
        judge_behind_losses(&run->judge, run->lost);
}

/* Likewise beside what may have been a change of views. */
static void note_lost_views(struct run *run, const struct trk_trace_event *event)
{
    const struct losses *losses = &run->losses;
    if (losses->views_end_tsc == 0 ||
        (event->tsc < losses->views_first_tsc && run->views_lost == 0))
        return;
    bool among = event->tsc <= losses->views_end_tsc;
    if (among)
        run->views_lost = event->number + 1;
    else if (run->views_lost == 0)
        run->views_lost = event->number;
    judge_lose_views(&run->judge, among ? UINT64_MAX : run->views_lost);
}

/* The books of holds where no core keeps them. */
static bool hold_missing_alone(struct run *run, const struct trk_trace_event *due)
{
    const struct trk_event *event = &due->event;
    if (!trk_event_in_hold(event) || event->domain == 0)
        return false;
    bool known = domains_find(&run->domains, event->domain) != NULL;
    /* What a thread that was killed did not come to note, the reader has explained. */
    bool explained = known && !due->guessed;
    bool missing = !explained && run_hold_missing(run, event) && (known || !run->windowed);
    struct domain *domain = domains_touch(&run->domains, event->domain);
    if (domain == NULL)
        run->failure = TRK_E_MEMORY;
    else if (event->seq > domain->seq)
        domain->seq = event->seq;
    return missing;
}

/* A hold of a foreign tracker's lock. */
static bool of_owner(const struct trk_event *event)
{
    return trk_event_in_hold(event) && trk_domain_class(event->domain) == TRK_DOMAIN_OWNER;
}

/*
 * Whether an event stands where it does by a guess that nothing else tells of: an await of what
 * nobody signalled, since a thread that is not in the file at all may have; or, in a file that says
 * it is whole, a hold that had been before. Of holds that are missing there are other books.
 */
static bool out_of_order(const struct run *run, const struct trk_trace_event *event)
{
    bool told = event->event.type != TRK_EVENT_AWAIT && !run->whole;
    return event->guessed && !told && !run_hold_missing(run, &event->event);
}

/* Books of what is missing. */
static void note_losses(struct run *run, const struct trk_trace_event *event)
{
    bool guess = out_of_order(run, event);
    /* What a hold that comes twice breaks is told; an edge between threads that is missing may
     * excuse anything behind it. */
    bool lost = guess && event->event.type == TRK_EVENT_AWAIT;
    run->guesses += guess;
    run->lossy |= lost || event->event.type == TRK_EVENT_DROP;
    note_lost_span(run, event);
    bool alone = run->oracle_only || run->core_lost || of_owner(&event->event);
    if (alone && hold_missing_alone(run, event))
        run->lossy = lost = true;
    if (!alone && run_hold_missing(run, &event->event)) {
        run_find_missing(run, event);
        lost = run->lossy;
    }
    if (lost) {
        judge_doubt(&run->judge, event->number);
        judge_holes(&run->judge); /* without a mark: there may be more of them */
    }
    if (!run->ended_early && run_ends_early(run)) {
        run->ended_early = true;
        judge_doubt(&run->judge, UINT64_MAX);
    }
    note_lost_views(run, event);
}

static void take_event(struct run *run, struct stream *stream, const struct trk_trace_event *event)
{
    note_losses(run, event);
    bool foreign = foreign_owns(&run->foreign, event);
    if (!run_judge(run, event))
        return;
    if (foreign)
        foreign_take(run, event);
    if (run->stopped || run->failure != TRK_OK)
        return;
    if (foreign || run->oracle_only || run->core_lost) {
        alone_take(run, event);
        return;
    }
    if (!for_core(&event->event))
        return;
    if (stream->dead) { /* the file has more of it than it said */
        run->lossy = true;
        return;
    }
    run_core(run, stream, event);
}

void run_event(struct run *run, const struct trk_trace_event *event)
{
    if (event->stream >= run->stream_count) {
        run->failure = TRK_E_DAMAGED;
        return;
    }
    struct stream *stream = &run->streams[event->stream];
    run->report->threads += stream->taken == 0;
    run->number = event->number;
    run->report->events += event->event.type != TRK_EVENT_DROP;
    stream->taken++;
    take_event(run, stream, event);
    stream->previous = event->number;
}

void run_prologue(struct run *run, const struct trk_trace_event *event)
{
    if (event->stream >= run->stream_count)
        run->failure = TRK_E_DAMAGED;
    else
        take_event(run, &run->streams[event->stream], event);
}

void run_probe(struct run *run)
{
    run->probing = true;
    for (uint32_t i = 0; i < run->stream_count; i++) {
        struct stream *stream = &run->streams[i];
        stream->wanted = 0;
        if (stream->in_core && !stream->dead)
            stream_resume(stream);
    }
}

void stream_stop(struct stream *stream)
{
    stream->run->stopped |= !stream->run->core_lost;
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
