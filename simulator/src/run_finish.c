/*
 * After the last event: what only shows when nothing follows, and the verdict.
 */
#include <stdlib.h>

#include "circle.h"
#include "ending.h"
#include "track/pages.h"

bool run_ends_early(const struct run *run)
{
    if (run->damaged)
        return true;
    for (uint32_t i = 0; i < run->stream_count && run->cut; i++) {
        if (stream_exhausted(&run->streams[i]))
            return true;
    }
    return false;
}

bool run_doubtful(const struct run *run)
{
    struct trk_trace_state state = trk_trace_state(run->trace);
    bool inside = !run->resumed && state.first_damage_offset <= state.last_events_offset;
    return run->lossy || !judge_sure(&run->judge) || run->ended_early || run_ends_early(run) ||
           (state.damaged_chunks > 0 && inside && !trk_trace_gapless(run->trace));
}

bool run_whole(const struct run *run)
{
    struct trk_trace_state state = trk_trace_state(run->trace);
    bool in_file = state.whole || (state.dropped == 0 && trk_trace_gapless(run->trace));
    return in_file && !run->lossy && run->guesses == 0;
}

/* As the core's re-execution says, behind run_probe. */
static struct waiting waiting_of(const struct run *run, uint32_t index)
{
    const struct stream *stream = &run->streams[index];
    const struct domain *domain = domains_find(&run->domains, stream->wanted);
    if (stream->wanted == 0 || domain == NULL || domain->holder == 0)
        return (struct waiting){.lock = NULL};
    return (struct waiting){domain, stream->operation->event,
                            (uint16_t)stream->operation->asked.op};
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
        struct trk_page_view view = core_live->page(machine->tracker, at);
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
            verdict_watch_leak(run, machine->last_watch, machine->last_watch_stream, guest_addr);
    }
    free(sorted);
    run->stopped |= leak;
    return TRK_OK;
}

/* A fault that no tracker took until the end; false: none. */
static bool tell_unhandled(struct run *run)
{
    for (uint32_t i = 0; i < run->stream_count; i++) {
        const struct stream *stream = &run->streams[i];
        if (!stream->unhandled)
            continue;
        verdict_unhandled(run, i, stream->unhandled_addr, stream->unhandled_event,
                          stream->unhandled_event);
        return true;
    }
    return false;
}

void run_take_counts(struct run *run)
{
    run->report->copies = run->judge.copies;
    run->report->checks = run->judge.checks;
    run->report->unknown = run->judge.unknown;
    run->report->frames = run->judge.frames;
}

enum trk_status run_finish(struct run *run)
{
    run_take_counts(run);
    struct trk_trace_state state = trk_trace_state(run->trace);
    const bool whole = run_whole(run);
    const enum ending ending = ending_of(run->trace);
    run->report->complete = state.whole && whole;
    struct finding finding = {.found = false};
    if (ending == ENDING_OWN && !run_doubtful(run) && !run->windowed && !run->deaf)
        judge_end(&run->judge, whole, &finding);
    if (finding.found) {
        verdict_finding(run, &finding);
        return TRK_OK;
    }
    bool alone = run->oracle_only || (run->foreign.declared != 0 && run->machine_count == 0);
    if (alone && !run_doubtful(run) && !run->windowed)
        alone_end(run, whole && ending == ENDING_OWN);
    if (run->stopped)
        return TRK_OK;
    if (run->oracle_only || run->core_lost) {
        verdict_end(run);
        return TRK_OK;
    }
    if (ending != ENDING_OPEN && !run_doubtful(run) && tell_unhandled(run))
        return TRK_OK;
    if (whole && at_rest(run) && ending == ENDING_OWN) {
        enum trk_status status = check_watches(run);
        if (status != TRK_OK || run->stopped)
            return status;
    }
    if (!run_doubtful(run)) {
        run_probe(run);
        if (circle_tell(run, waiting_of))
            return TRK_OK;
    }
    verdict_end(run);
    return TRK_OK;
}

void run_take_verdict(struct trk_sim_report *report, const struct trk_sim_report *part)
{
    const uint64_t checks = report->checks, unknown = report->unknown, events = report->events;
    *report = *part;
    report->checks = checks;
    report->unknown = unknown;
    report->events = events;
    report->complete = false;
}
