/*
 * What a loss of events has not touched: a second run over the events of whole regions alone.
 */
#include "untainted.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "run.h"
#include "simulator/selection.h"

/*
 * Rules that are about pages alone, and so hold whatever other regions did. What differs from the
 * log may come from a loss after all, and bytes are the oracle's, which has seen all there is.
 */
static bool proves(const struct trk_sim_report *report)
{
    bool of_pages = report->verdict == TRK_VERDICT_PROTECTION_LOOSE ||
                    report->verdict == TRK_VERDICT_ILLEGAL_STATE;
    return of_pages && strncmp(report->detail, "lock", 4) != 0;
}

static enum trk_status follow(struct run *run, const struct trk_selection *selection,
                              struct trk_error *error)
{
    for (;;) {
        struct trk_trace_event event;
        enum trk_status status = trk_trace_next(run->trace, &event, error);
        if (status != TRK_OK)
            return status == TRK_E_END ? TRK_OK : status;
        if (!trk_selection_has(selection, event.number))
            continue;
        run_event(run, &event);
        if (run->failure != TRK_OK)
            return trk_error_set(error, run->failure, "re-execution ended at event %llu: %s",
                                 (unsigned long long)event.number, trk_status_name(run->failure));
        if (run->stopped || run->core_lost)
            return TRK_OK;
    }
}

/* How much was followed, behind what the report says already. */
static void tell(struct trk_sim_report *report, const struct trk_selection *selection,
                 const struct trk_sim_report *second, bool to_the_end)
{
    size_t length = strlen(report->text);
    if (second->operations > report->operations)
        report->operations = second->operations;
    snprintf(report->text + length, sizeof report->text - length,
             "; %" PRIu32 " of %" PRIu32 " regions lost nothing and were followed%s",
             selection->regions - selection->regions_left, selection->regions,
             to_the_end ? " to the end" : " further");
}

static enum trk_status run_chosen(struct run *run, const struct trk_selection *selection,
                                  struct trk_sim_report *report, struct trk_error *error)
{
    enum trk_status status = follow(run, selection, error);
    if (status != TRK_OK)
        return status;
    if (run->stopped && proves(run->report)) {
        run_take_verdict(report, run->report);
    } else {
        tell(report, selection, run->report, !run->stopped && !run->core_lost);
    }
    return TRK_OK;
}

enum trk_status untainted_run(struct trk_trace *trace, const struct trk_sim_options *options,
                              struct trk_sim_report *report, struct trk_error *error)
{
    struct trk_selection selection;
    enum trk_status status = trk_selection_untainted(&selection, trace, error);
    if (status != TRK_OK || selection.regions == selection.regions_left) {
        trk_selection_deinit(&selection);
        return status;
    }
    struct trk_sim_report second;
    struct run *run;
    status = run_create(&run, trace, options, &second, error);
    if (status == TRK_OK) {
        judge_doubt(&run->judge, UINT64_MAX);
        judge_holes(&run->judge);
        status = run_chosen(run, &selection, report, error);
    }
    run_destroy(run);
    trk_selection_deinit(&selection);
    return status;
}
