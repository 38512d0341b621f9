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
#include "explore_search.h"

/* Pages of a verdict that are looked at together. */
#define VERDICT_PAGES_MOST 4u

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

struct foci {
    uint64_t guest_addr[TRK_EXPLORE_PAGES_MOST];
    uint32_t count;
    uint32_t pages; /* of each */
};

/*
 * The pages of the verdict on the trace as it is: together if they are few; of a long range the
 * first and the last ones, each by itself. False: it names none.
 */
static bool foci_of_verdict(const struct trk_sim_report *recorded, struct foci *foci)
{
    if (recorded->verdict == TRK_VERDICT_OK || recorded->guest_addr == TRK_NOT_KNOWN)
        return false;
    uint64_t first = recorded->guest_addr / TRK_HOST_PAGE_BYTES;
    uint64_t size_bytes = recorded->size_bytes == 0 ? 1 : recorded->size_bytes;
    uint64_t pages = (recorded->guest_addr + size_bytes - 1) / TRK_HOST_PAGE_BYTES - first + 1;
    bool together = pages <= VERDICT_PAGES_MOST;
    foci->pages = together ? (uint32_t)pages : 1;
    foci->count = together                          ? 1
                  : pages <= TRK_EXPLORE_PAGES_MOST ? (uint32_t)pages
                                                    : TRK_EXPLORE_PAGES_MOST;
    for (uint32_t i = 0; i < foci->count; i++) {
        uint64_t skipped = i < foci->count / 2 || together ? 0 : pages - foci->count;
        foci->guest_addr[i] = (first + i + skipped) * TRK_HOST_PAGE_BYTES;
    }
    return true;
}

static enum trk_status find_foci(struct trk_trace *trace, const struct trk_explore_options *options,
                                 const struct trk_sim_report *recorded, struct foci *foci,
                                 struct trk_error *error)
{
    *foci = (struct foci){.count = 1, .pages = options->pages};
    foci->guest_addr[0] = options->guest_addr & ~(TRK_HOST_PAGE_BYTES - 1);
    if (options->guest_addr != TRK_NOT_KNOWN || foci_of_verdict(recorded, foci))
        return TRK_OK;
    struct choice choice = {.from = options->from, .to = options->to, .most = options->pages};
    enum trk_status status = trk_trace_rewind(trace, error);
    if (status == TRK_OK)
        status = choose_pages(trace, &choice, error);
    foci->pages = 1;
    foci->count = choice.count;
    for (uint32_t i = 0; i < choice.count; i++)
        foci->guest_addr[i] = choice.pages[i] * TRK_HOST_PAGE_BYTES;
    return status;
}

/* ---- re-execution ---------------------------------------------------------------------------- */

struct reading {
    struct run *run;
    struct trk_sim_report report;
    struct projection projections[TRK_EXPLORE_PAGES_MOST];
    uint32_t count;
};

/* Run the trace again up to an event, or to where its first rule breaks, for all projections. */
static enum trk_status read_trace(struct reading *reading, struct trk_trace *trace, uint64_t to,
                                  struct trk_error *error)
{
    struct run *run = reading->run;
    for (;;) {
        struct trk_trace_event event;
        enum trk_status status = trk_trace_next(trace, &event, error);
        if (status == TRK_E_END)
            break;
        if (status != TRK_OK)
            return status;
        run_event(run, &event);
        if (run->failure != TRK_OK)
            return trk_error_set(error, run->failure, "re-execution ended at event %llu",
                                 (unsigned long long)event.number);
        bool quiet = event.number > to;
        for (uint32_t i = 0; i < reading->count; i++) {
            projection_take(&reading->projections[i], &event);
            quiet &= reading->projections[i].open == 0;
        }
        if (run->stopped || run->core_lost || quiet)
            break;
    }
    enum trk_status status = TRK_OK;
    for (uint32_t i = 0; i < reading->count; i++) {
        projection_end(&reading->projections[i]);
        if (reading->projections[i].no_memory)
            status = TRK_E_MEMORY;
    }
    return status == TRK_OK ? TRK_OK : trk_error_set(error, status, "no memory for the windows");
}

static enum trk_status reading_open(struct reading **out, struct trk_trace *trace,
                                    const struct foci *foci, uint64_t to, struct trk_error *error)
{
    struct reading *reading = calloc(1, sizeof *reading);
    *out = reading;
    if (reading == NULL)
        return trk_error_set(error, TRK_E_MEMORY, "no memory");
    struct trk_sim_options options = trk_sim_options_default();
    enum trk_status status = run_create(&reading->run, trace, &options, &reading->report, error);
    if (status != TRK_OK)
        return status;
    for (uint32_t i = 0; i < foci->count && status == TRK_OK; i++) {
        status = projection_init(&reading->projections[i], reading->run, foci->guest_addr[i],
                                 foci->pages);
        reading->count++;
    }
    if (status != TRK_OK)
        return trk_error_set(error, status, "no memory");
    return read_trace(reading, trace, to, error);
}

static void reading_close(struct reading *reading)
{
    if (reading == NULL)
        return;
    for (uint32_t i = 0; i < reading->count; i++)
        projection_deinit(&reading->projections[i]);
    run_destroy(reading->run);
    free(reading);
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
    while (status == TRK_OK) {
        struct window window;
        if (options->go_on != NULL && !options->go_on(options->context, state->report)) {
            state->whole = false;
            state->ended = true;
            break;
        }
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
        status = find_foci(trace, options, &report->recorded, &foci, error);
    if (status != TRK_OK)
        return status;
    struct reading *reading;
    status = reading_open(&reading, trace, &foci, options->to, error);
    if (status == TRK_OK) {
        struct search_state state;
        report->foci = foci.count;
        search_init(&state, options, report);
        for (uint32_t i = 0; i < reading->count && status == TRK_OK && !state.ended; i++)
            status = search_projection(&state, &reading->projections[i]);
        search_end(&state);
        report->foreign = report->recorded.foreign_trackers != 0;
        report->complete &= !report->foreign;
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
        status = reading_open(&reading, trace, &foci, UINT64_MAX, error);
    if (status == TRK_OK)
        status = replay_window(reading, &line, report, error);
    reading_close(reading);
    return status;
}
