/*
 * Re-executing a trace: from its first event to the report.
 */
#include "simulator/sim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "run.h"
#include "track/pages.h"
#include "untainted.h"

static const char *const verdict_names[] = {
    [TRK_VERDICT_OK] = "ok",
    [TRK_VERDICT_STALE_GPU_READ] = "stale-gpu-read",
    [TRK_VERDICT_STALE_CPU_READ] = "stale-cpu-read",
    [TRK_VERDICT_LOST_CPU_WRITE] = "lost-cpu-write",
    [TRK_VERDICT_LOST_GPU_WRITE] = "lost-gpu-write",
    [TRK_VERDICT_FATAL] = "fatal",
    [TRK_VERDICT_PROTECTION_LOOSE] = "protection-loose",
    [TRK_VERDICT_UNHANDLED_FAULT] = "unhandled-fault",
    [TRK_VERDICT_LIVELOCK] = "livelock",
    [TRK_VERDICT_DEADLOCK] = "deadlock",
    [TRK_VERDICT_WATCH_LEAK] = "watch-leak",
    [TRK_VERDICT_DIVERGENCE] = "divergence",
    [TRK_VERDICT_ILLEGAL_STATE] = "illegal-state",
    [TRK_VERDICT_TRACE_INCOMPLETE] = "trace-incomplete",
    [TRK_VERDICT_UNKNOWN] = "unknown",
};

static const char *const fatal_names[] = {
    [TRK_E_RANGE] = "fatal:range",       [TRK_E_REENTRY] = "fatal:reentry",
    [TRK_E_CONFLICT] = "fatal:conflict", [TRK_E_RETAINED] = "fatal:retained",
    [TRK_E_UNTRACK] = "fatal:untrack",   [TRK_E_LOCK] = "fatal:lock",
    [TRK_E_WATCH] = "fatal:watch",       [TRK_E_PROTECT] = "fatal:protect",
};

const char *trk_verdict_name(const struct trk_sim_report *report)
{
    size_t kind = (size_t)report->verdict, failure_class = (size_t)report->failure_class;
    if (kind >= sizeof verdict_names / sizeof *verdict_names)
        return "unknown";
    if (report->verdict == TRK_VERDICT_FATAL && failure_class != TRK_OK &&
        failure_class < sizeof fatal_names / sizeof *fatal_names)
        return fatal_names[failure_class];
    return verdict_names[kind];
}

/* ---- after the last event -------------------------------------------------------------------- */

static const struct stream *holder_of(const struct run *run, const struct stream *waiter)
{
    const struct domain *domain = domains_find(&run->domains, waiter->wanted);
    if (waiter->wanted == 0 || domain == NULL || domain->holder == 0)
        return NULL;
    return &run->streams[domain->holder - 1];
}

/* The lowest stream of a circle of waiting ones. */
static const struct stream *find_circle(const struct run *run)
{
    for (uint32_t i = 0; i < run->stream_count; i++) {
        const struct stream *at = &run->streams[i];
        for (uint32_t steps = 0; at != NULL && steps <= run->stream_count; steps++) {
            at = holder_of(run, at);
            if (at == &run->streams[i])
                return at;
        }
    }
    return NULL;
}

/* No operation is open in any stream. */
static bool at_rest(const struct run *run)
{
    for (uint32_t i = 0; i < run->stream_count; i++) {
        const struct operation_run *operation = run->streams[i].operation;
        if (operation != NULL && !(operation->over && operation->outer == NULL))
            return false;
    }
    return true;
}

/* The first page of a region with more watches than its state explains; false: none. */
static bool find_leak(const struct machine *machine, uint32_t region, uint64_t *guest_addr)
{
    uint64_t first = trk_region_address(region);
    for (uint64_t at = first; at < first + TRK_REGION_BYTES; at += TRK_HOST_PAGE_BYTES) {
        struct trk_page_view view = trk_pages_view(machine->tracker, at);
        if (rules_watches(&view) > rules_watches_explained(&view)) {
            *guest_addr = at;
            return true;
        }
    }
    return false;
}

static enum trk_status check_watches(struct run *run)
{
    uint32_t *sorted = domains_sorted(&run->domains);
    if (sorted == NULL)
        return run->domains.count == 0 ? TRK_OK : TRK_E_MEMORY;
    bool leak = false;
    for (size_t i = 0; i < run->domains.count && !leak; i++) {
        /* Every change of a watch is a hold of the page manager's. */
        if (trk_domain_class(sorted[i]) != TRK_DOMAIN_PAGES ||
            trk_domain_region(sorted[i]) == TRK_DOMAIN_SHARED)
            continue;
        const struct machine *machine = &run->machines[trk_domain_tracker(sorted[i])];
        uint64_t guest_addr;
        leak = find_leak(machine, trk_domain_region(sorted[i]), &guest_addr);
        if (leak)
            verdict_watch_leak(run, machine, guest_addr);
    }
    free(sorted);
    run->stopped |= leak;
    return TRK_OK;
}

static bool ended_by_signal(const struct trk_trace_state *state)
{
    return state->child_status != -1 && WIFSIGNALED(state->child_status);
}

static void take_counts(struct run *run)
{
    run->report->copies = run->judge.copies;
    run->report->checks = run->judge.checks;
    run->report->unknown = run->judge.unknown;
    run->report->frames = run->judge.frames;
}

static enum trk_status finish(struct run *run)
{
    take_counts(run);
    struct trk_trace_state state = trk_trace_state(run->trace);
    bool complete = state.complete && !run->lossy;
    run->report->complete = complete;
    struct finding finding = {.found = false};
    if (!run_doubtful(run) && !run->windowed)
        judge_end(&run->judge, complete && !ended_by_signal(&state), &finding);
    if (finding.found) {
        verdict_finding(run, &finding);
        return TRK_OK;
    }
    if (run->oracle_only && !run_doubtful(run) && !run->windowed)
        alone_end(run, complete && !ended_by_signal(&state));
    if (run->stopped)
        return TRK_OK;
    if (run->oracle_only || run->core_lost) {
        verdict_end(run, complete);
        return TRK_OK;
    }
    for (uint32_t i = 0; i < run->stream_count; i++) {
        const struct stream *stream = &run->streams[i];
        if (stream->unhandled) {
            verdict_unhandled(run, i, stream->unhandled_addr, stream->unhandled_event,
                              stream->unhandled_event);
            return TRK_OK;
        }
    }
    if (complete && at_rest(run) && !ended_by_signal(&state)) {
        enum trk_status status = check_watches(run);
        if (status != TRK_OK || run->stopped)
            return status;
    }
    if (!run_doubtful(run)) {
        run_probe(run);
        const struct stream *circle = find_circle(run);
        if (circle != NULL) {
            verdict_deadlock(run, circle);
            return TRK_OK;
        }
    }
    verdict_end(run, complete);
    return TRK_OK;
}

/* ---- the run --------------------------------------------------------------------------------- */

static enum trk_status run_all(struct run *run, struct trk_error *error)
{
    for (;;) {
        struct trk_trace_event event;
        enum trk_status status = trk_trace_next(run->trace, &event, error);
        if (status == TRK_E_END)
            return finish(run);
        if (status != TRK_OK)
            return status;
        run_event(run, &event);
        if (run->failure != TRK_OK)
            return trk_error_set(error, run->failure, "re-execution ended at event %llu: %s",
                                 (unsigned long long)event.number, trk_status_name(run->failure));
        if (run->stopped) {
            run->report->complete = trk_trace_state(run->trace).complete && !run->lossy;
            return TRK_OK;
        }
    }
}

struct trk_sim_options trk_sim_options_default(void)
{
    return (struct trk_sim_options){.size = sizeof(struct trk_sim_options)};
}

static bool options_valid(const struct trk_sim_options *options)
{
    uint32_t granule = options->granule_bytes;
    return options->size == sizeof *options && options->mode <= TRK_SIM_ORACLE_ONLY &&
           granule <= SHADOW_PAGE_BYTES && (granule & (granule - 1)) == 0;
}

enum trk_status trk_sim_trace_with(struct trk_trace *trace, const struct trk_sim_options *options,
                                   struct trk_sim_report *report, struct trk_error *error)
{
    memset(report, 0, sizeof *report);
    report->event_at = report->event_visible = report->guest_addr = TRK_NOT_KNOWN;
    if (!options_valid(options))
        return trk_error_set(error, TRK_E_ARGUMENT, "the options of a simulation are not usable");
    enum trk_status status = trk_trace_scan(trace, error);
    if (status == TRK_OK)
        status = trk_trace_rewind(trace, error);
    if (status != TRK_OK)
        return status;
    struct run *run = calloc(1, sizeof *run); /* some KiB */
    if (run == NULL)
        return trk_error_set(error, TRK_E_MEMORY, "no memory for a simulation");
    status = run_init(run, trace, options, report);
    if (status == TRK_OK)
        status = run_all(run, error);
    else
        trk_error_set(error, status,
                      status == TRK_E_DAMAGED ? "the snapshot is not readable (%zu threads)"
                                              : "no simulation of a trace with %zu threads",
                      trk_trace_stream_count(trace));
    take_counts(run);
    bool lost = run->core_lost && report->verdict == TRK_VERDICT_TRACE_INCOMPLETE;
    run_deinit(run);
    free(run);
    return status == TRK_OK && lost ? untainted_run(trace, options, report, error) : status;
}

enum trk_status trk_sim_trace(struct trk_trace *trace, struct trk_sim_report *report,
                              struct trk_error *error)
{
    struct trk_sim_options options = trk_sim_options_default();
    return trk_sim_trace_with(trace, &options, report, error);
}
