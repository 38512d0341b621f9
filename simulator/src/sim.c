/*
 * Re-executing a trace: from its first event to the report.
 */
#include "simulator/sim.h"

#include <string.h>

#include "resumed.h"
#include "run.h"
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

static bool is_in(const char *const *names, size_t count, const char *text)
{
    size_t i = 0;
    while (i < count && (names[i] == NULL || strcmp(names[i], text) != 0))
        i++;
    return i < count;
}

bool trk_verdict_is_name(const char *text)
{
    return is_in(verdict_names, sizeof verdict_names / sizeof *verdict_names, text) ||
           is_in(fatal_names, sizeof fatal_names / sizeof *fatal_names, text);
}

const char *trk_sim_judgement_name(enum trk_sim_judgement judgement)
{
    static const char *const names[TRK_SIM_JUDGEMENTS] = {
        [TRK_SIM_JUDGED_BYTES] = "bytes",
        [TRK_SIM_JUDGED_STATES] = "states",
        [TRK_SIM_JUDGED_PROTECTION] = "protection",
        [TRK_SIM_JUDGED_LOCKS] = "locks",
        [TRK_SIM_JUDGED_CORE] = "core",
    };
    return judgement < TRK_SIM_JUDGEMENTS ? names[judgement] : "?";
}

static enum trk_status run_all(struct run *run, struct trk_error *error)
{
    for (;;) {
        struct trk_trace_event event;
        enum trk_status status = trk_trace_next(run->trace, &event, error);
        if (status == TRK_E_END) {
            status = run_finish(run);
            /* [F-14] All events are there, and what is found of them stands. */
            run->report->complete &= !trk_trace_state(run->trace).header_lost;
            return status;
        }
        if (status != TRK_OK)
            return status;
        run_event(run, &event);
        if (run->failure != TRK_OK) {
            (void)trk_error_set(error, run->failure, "re-execution ended: %s",
                                trk_status_name(run->failure));
            if (error != NULL)
                error->event_number = event.number;
            return run->failure;
        }
        if (run->stopped) {
            run->report->complete =
                trk_trace_state(run->trace).complete && !run->lossy && run->guesses == 0;
            return TRK_OK;
        }
    }
}

struct trk_sim_options trk_sim_options_default(void)
{
    return (struct trk_sim_options){.size = sizeof(struct trk_sim_options)};
}

enum trk_status trk_sim_trace_with(struct trk_trace *trace, const struct trk_sim_options *options,
                                   struct trk_sim_report *report, struct trk_error *error)
{
    struct run *run;
    enum trk_status status = run_create(&run, trace, options, report, error);
    if (status != TRK_OK)
        return status;
    status = run_all(run, error);
    run_take_counts(run);
    if (run->foreign.declared != 0)
        foreign_report(run);
    bool lost = run->core_lost && report->verdict == TRK_VERDICT_TRACE_INCOMPLETE;
    uint64_t lost_at = run->core_lost_at;
    run_destroy(run);
    if (status == TRK_OK && lost)
        status = untainted_run(trace, options, report, error);
    if (status == TRK_OK && lost && report->verdict == TRK_VERDICT_TRACE_INCOMPLETE)
        status = resumed_run(trace, options, lost_at, report, error);
    return status;
}

enum trk_status trk_sim_trace(struct trk_trace *trace, struct trk_sim_report *report,
                              struct trk_error *error)
{
    struct trk_sim_options options = trk_sim_options_default();
    return trk_sim_trace_with(trace, &options, report, error);
}
