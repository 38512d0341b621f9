#include "resumed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core.h"
#include "recorder/checkpoint.h"
#include "run.h"

/* Put the trace to the checkpoint. *found false: there is none. */
static enum trk_status find_place(struct trk_trace *trace, uint64_t lost_at,
                                  struct trk_trace_checkpoint *place, bool *found,
                                  struct trk_error *error)
{
    *found = false;
    for (size_t i = 0; i < trk_trace_checkpoint_count(trace) && !*found; i++) {
        enum trk_status status = trk_trace_go_to(trace, i, place, error);
        if (status == TRK_E_DAMAGED)
            continue;
        if (status != TRK_OK)
            return status;
        *found = place->whole_behind && place->event_number > lost_at;
    }
    return TRK_OK;
}

static enum trk_status follow(struct run *run, struct trk_error *error)
{
    size_t count;
    const struct trk_trace_event *prologue = trk_trace_prologue(run->trace, &count);
    enum trk_status status = TRK_OK;
    for (size_t i = 0; i < count && run->failure == TRK_OK && !run->stopped; i++)
        run_prologue(run, &prologue[i]);
    while (run->failure == TRK_OK && !run->stopped && !run->core_lost) {
        struct trk_trace_event event;
        status = trk_trace_next(run->trace, &event, error);
        if (status != TRK_OK)
            break;
        run_event(run, &event);
    }
    if (run->failure != TRK_OK)
        return trk_error_set(error, run->failure, "re-execution ended at event %" PRIu64,
                             run->number);
    if (status != TRK_E_END)
        return status;
    return run_finish(run);
}

/* What broke behind the checkpoint is the verdict; else how far the trace was followed again. */
static void tell(struct trk_sim_report *report, const struct run *run, uint64_t from)
{
    const struct trk_sim_report *second = run->report;
    if (run->stopped && second->verdict != TRK_VERDICT_UNKNOWN) {
        run_take_verdict(report, second);
        return;
    }
    size_t length = strlen(report->text);
    report->operations += second->operations;
    snprintf(report->text + length, sizeof report->text - length,
             "; re-executed again from event %" PRIu64 " on%s", from,
             run->core_lost || run->stopped ? ", not to the end" : "");
}

enum trk_status resumed_run(struct trk_trace *trace, const struct trk_sim_options *options,
                            uint64_t lost_at, struct trk_sim_report *report,
                            struct trk_error *error)
{
    struct trk_trace_checkpoint place;
    struct trk_sim_report second;
    struct run *run;
    bool found;
    if (core_cannot_follow(true) != NULL)
        return TRK_OK;
    enum trk_status status = find_place(trace, lost_at, &place, &found, error);
    if (status != TRK_OK || !found)
        return status;
    status = run_create_here(&run, trace, options, &second, error);
    if (status == TRK_OK)
        status = follow(run, error);
    if (status == TRK_OK)
        tell(report, run, place.event_number);
    run_destroy(run);
    return status;
}
