/*
 * Exploring a trace: choosing pages, re-executing, window by window.
 */
#include "simulator/explore.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore_choose.h"
#include "explore_judge.h"
#include "explore_reading.h"
#include "explore_search.h"

struct trk_explore_options trk_explore_options_default(void)
{
    return (struct trk_explore_options){
        .size = sizeof(struct trk_explore_options),
        .guest_addr = TRK_NOT_KNOWN,
        .pages = 8,
        .to = UINT64_MAX,
        .steps = 12,
        .seed = 1,
        .schedules = 100000,
        .preemptions = 2,
    };
}

static bool options_valid(const struct trk_explore_options *options)
{
    return options->size == sizeof *options && options->pages >= 1 &&
           options->pages <= TRK_EXPLORE_PAGES_MOST && options->from <= options->to &&
           options->steps >= 1 && options->steps <= TRK_EXPLORE_STEPS_MOST &&
           options->engine <= TRK_EXPLORE_PCT && options->schedules >= 1 &&
           options->preemptions < 63 &&
           (options->guest_addr == TRK_NOT_KNOWN ||
            options->guest_addr < UINT64_MAX - TRK_EXPLORE_PAGES_MOST * TRK_HOST_PAGE_BYTES);
}

/* ---- which pages ----------------------------------------------------------------------------- */

/* The largest page of its foreign trackers that is tried at all; else the host's. */
static enum trk_status find_page(struct trk_trace *trace, const struct trk_sim_report *recorded,
                                 uint64_t *page_bytes, struct trk_error *error)
{
    *page_bytes = TRK_HOST_PAGE_BYTES;
    if (recorded->foreign_trackers == 0 || !core_is_plugin())
        return TRK_OK;
    struct trk_trace_event event;
    enum trk_status status = trk_trace_rewind(trace, error);
    while (status == TRK_OK) {
        status = trk_trace_next(trace, &event, error);
        bool declares = status == TRK_OK && event.event.type == TRK_EVENT_FOREIGN;
        uint64_t its = declares ? trk_event_size(&event.event) : 0;
        if (its > *page_bytes && its <= TRK_EXPLORE_PAGES_MOST * TRK_HOST_PAGE_BYTES)
            *page_bytes = its;
    }
    return status == TRK_E_END ? TRK_OK : status;
}

/* Whole pages of the trackers, each once. */
static void widen_foci(struct foci *foci, uint64_t page_bytes)
{
    uint32_t pages = (uint32_t)(page_bytes / TRK_HOST_PAGE_BYTES), count = 0;
    foci->pages = (foci->pages + pages - 1) / pages * pages;
    if (foci->pages > TRK_EXPLORE_PAGES_MOST)
        foci->pages = TRK_EXPLORE_PAGES_MOST / pages * pages;
    for (uint32_t i = 0; i < foci->count; i++) {
        uint64_t guest_addr = foci->guest_addr[i] & ~(page_bytes - 1);
        bool known = false;
        for (uint32_t k = 0; k < count; k++)
            known |= foci->guest_addr[k] == guest_addr;
        if (!known)
            foci->guest_addr[count++] = guest_addr;
    }
    foci->count = count;
}

static enum trk_status find_foci(struct trk_trace *trace, const struct trk_explore_options *options,
                                 struct trk_explore_report *report, struct foci *foci,
                                 struct trk_error *error)
{
    const struct trk_sim_report *recorded = &report->recorded;
    uint64_t page_bytes;
    enum trk_status status = find_page(trace, recorded, &page_bytes, error);
    report->pages_met = TRK_NOT_KNOWN;
    if (status != TRK_OK)
        return status;
    *foci = (struct foci){.count = 1, .pages = options->pages};
    foci->guest_addr[0] = options->guest_addr & ~(TRK_HOST_PAGE_BYTES - 1);
    if (options->guest_addr != TRK_NOT_KNOWN || foci_of_verdict(recorded, foci)) {
        widen_foci(foci, page_bytes);
        return TRK_OK;
    }
    struct choice choice = {.from = options->from,
                            .to = options->to,
                            .page_bytes = page_bytes,
                            .most = options->pages,
                            .alone = core_is_plugin()};
    status = trk_trace_rewind(trace, error);
    if (status == TRK_OK)
        status = choose_pages(trace, &choice, error);
    foci->pages = (uint32_t)(page_bytes / TRK_HOST_PAGE_BYTES);
    foci->count = choice.count;
    report->pages_met = choice.met;
    for (uint32_t i = 0; i < choice.count; i++)
        foci->guest_addr[i] = choice.pages[i] * page_bytes;
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum trk_status search_projection(struct search_state *state,
                                         const struct projection *projection)
{
    struct cutter cutter;
    const struct trk_explore_options *options = state->options;
    enum trk_status status =
        cutter_init(&cutter, projection, options->from, options->to, options->steps);
    state->whole &= !projection->full;
    state->report->unsettled += projection_foreign(projection) && projection_unsettled(projection);
    while (status == TRK_OK) {
        struct window window;
        if (!search_goes_on(state))
            break;
        status = cutter_next(&cutter, &window);
        if (status == TRK_E_END)
            break;
        if (status == TRK_OK)
            status = search_window(state, &window);
        window_deinit(&window);
    }
    cutter_deinit(&cutter);
    return status == TRK_E_END ? TRK_OK : status;
}

enum trk_status trk_explore_trace(struct trk_trace *trace,
                                  const struct trk_explore_options *options,
                                  struct trk_explore_report *report, struct trk_error *error)
{
    memset(report, 0, sizeof *report);
    if (!options_valid(options))
        return trk_error_set(error, TRK_E_ARGUMENT, "options out of bounds");
    enum trk_status status = trk_trace_rewind(trace, error);
    if (status == TRK_OK)
        status = trk_sim_trace(trace, &report->recorded, error);
    struct foci foci;
    if (status == TRK_OK)
        status = find_foci(trace, options, report, &foci, error);
    if (status != TRK_OK)
        return status;
    struct reading *reading;
    status = reading_open(&reading, trace, &foci, options->to, NULL, error);
    if (status == TRK_OK) {
        struct search_state state;
        report->foci = foci.count;
        search_init(&state, options, report);
        for (uint32_t i = 0; i < reading->count && status == TRK_OK && !state.ended; i++)
            status = search_projection(&state, &reading->projections[i]);
        search_end(&state);
        report->foreign = report->recorded.foreign_trackers != 0 && !core_is_plugin();
        bool part = report->pages_met != TRK_NOT_KNOWN && report->pages_met > report->foci;
        report->complete &= !report->foreign && !part;
        if (status != TRK_OK)
            (void)trk_error_set(error, status, "a window could not be explored: %s",
                                trk_status_name(status));
    }
    reading_close(reading);
    return status;
}

/* ---- one order ------------------------------------------------------------------------------- */

static enum trk_status replay_window(struct reading *reading, const struct line *line,
                                     struct trk_explore_report *report, struct trk_error *error)
{
    struct trk_explore_options options = trk_explore_options_default();
    struct cutter cutter;
    struct window window = {0}; /* it is freed, too, where there is none */
    struct search_state state;
    options.from = line->from;
    options.steps = line->steps;
    search_init(&state, &options, report);
    enum trk_status status =
        cutter_init(&cutter, &reading->projections[0], line->from, UINT64_MAX, line->steps);
    if (status == TRK_OK)
        status = cutter_next(&cutter, &window);
    if (status == TRK_OK) {
        report->windows = report->distinct = 1;
        status = search_replay(&state, &window, line, error);
    } else {
        status = trk_error_set(error, status == TRK_E_END ? TRK_E_ARGUMENT : status,
                               "the trace has no such window");
    }
    window_deinit(&window);
    cutter_deinit(&cutter);
    search_end(&state);
    return status;
}

enum trk_status trk_explore_replay(struct trk_trace *trace, const char *schedule,
                                   struct trk_explore_report *report, struct trk_error *error)
{
    struct line line;
    memset(report, 0, sizeof *report);
    report->pages_met = TRK_NOT_KNOWN;
    if (!line_read(&line, schedule))
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "expected trkw1:PAGE+PAGES:EVENT+STEPS:CORE:SCENARIO:STEPS, as a "
                             "report gives it");
    enum trk_status status = trk_trace_rewind(trace, error);
    if (status == TRK_OK)
        status = trk_sim_trace(trace, &report->recorded, error);
    struct foci foci = {.count = 1, .pages = line.pages, .guest_addr = {line.page_addr}};
    struct reading *reading = NULL;
    if (status == TRK_OK)
        status = reading_open(&reading, trace, &foci, UINT64_MAX, NULL, error);
    if (status == TRK_OK)
        status = replay_window(reading, &line, report, error);
    reading_close(reading);
    return status;
}
