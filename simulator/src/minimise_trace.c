/*
 * Minimising a trace: the window that shows its verdict, and the words that show its cause.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore_reading.h"
#include "explore_window.h"
#include "minimise_run.h"

/* Windows that are tried of one trace: each begins earlier than the last. */
#define WINDOWS_MOST 8u

struct tracing {
    struct minimiser *minimiser;
    const struct projection *projection;
    const struct trk_sim_report *recorded;
    /* Of the window that shows the verdict. */
    struct trk_scenario *scenario;
    cJSON *json;
    struct mini_case other; /* breaks the rule, in another way or place than the trace */
    struct mini_outcome other_outcome;
    bool other_there;
};

/* ---- windows --------------------------------------------------------------------------------- */

/* The first event that the story needs. */
static uint64_t first_event(const struct trk_sim_report *recorded)
{
    uint64_t first = recorded->event_at;
    for (size_t i = 0; i < recorded->story_count; i++)
        first = recorded->story[i].event < first ? recorded->story[i].event : first;
    return first;
}

/* The last item not behind an event at which a window may begin; SCENARIO_NONE: there is none. */
static uint32_t start_before(const struct projection *projection, uint64_t event)
{
    for (uint32_t i = projection->count; i-- > 0;)
        if (projection->items[i].start != SCENARIO_NONE &&
            projection->items[i].kind != ITEM_BARRIER && projection->items[i].event <= event)
            return i;
    return SCENARIO_NONE;
}

/* The window from an item on to the end, as a scenario's text; NULL: it is none. */
static enum trk_status window_text(const struct tracing *tracing, uint32_t start, char **out)
{
    const struct projection *projection = tracing->projection;
    struct cutter cutter;
    struct window window = {0};
    struct script_request request = {.kind = SCRIPT_EXPLORE, .schedule = SCHEDULE_EXPLORE};
    enum trk_status status =
        cutter_init(&cutter, projection, projection->items[start].event, UINT64_MAX, UINT32_MAX);
    *out = NULL;
    if (status == TRK_OK)
        status = cutter_next(&cutter, &window);
    if (status == TRK_OK && window.end == projection->count && !window.unsayable) {
        *out = window_script(&window, &request);
        status = *out == NULL ? TRK_E_MEMORY : TRK_OK;
    }
    window_deinit(&window);
    cutter_deinit(&cutter);
    return status == TRK_E_END ? TRK_OK : status;
}

/* ---- the same cause -------------------------------------------------------------------------- */

/*
 * A projection knows of a store without a fault only that it was one: the view that it went through
 * and the page that was open by mistake are the emulator's. These put one of the two back.
 */
typedef bool wording_fn(struct minimiser *minimiser, const struct trk_sim_report *recorded);

static bool as_it_is(struct minimiser *minimiser, const struct trk_sim_report *recorded)
{
    (void)minimiser;
    (void)recorded;
    return true;
}

/* Stores that nobody saw go through a view that nobody watches. */
static bool by_view(struct minimiser *minimiser, const struct trk_sim_report *recorded)
{
    struct mini_case *trial = &minimiser->trial;
    struct case_entry *view = &trial->entries[trial->entry_count];
    bool any = false;
    (void)recorded;
    if (trial->entry_count != trial->scenario->entry_count || trial->entry_count == 0)
        return false;
    const struct scenario_entry *of = &trial->entries[0].entry;
    *view = (struct case_entry){.entry = *of};
    view->entry.name = "view";
    view->entry.alias_of = 0;
    view->entry.gpu = false;
    const struct scenario_entry *last = &trial->entries[trial->entry_count - 1].entry;
    view->entry.guest_addr = last->guest_addr + last->size_bytes + SCENARIO_PAGE_BYTES;
    for (uint32_t i = 0; i < trial->count; i++) {
        struct case_op *op = &trial->ops[i];
        if (op->verb != VERB_RAW_WRITE || op->thread == 0 ||
            op->guest_addr - of->guest_addr >= of->size_bytes)
            continue;
        op->verb = VERB_STORE;
        op->guest_addr += view->entry.guest_addr - of->guest_addr;
        any = true;
    }
    trial->entry_count += any;
    return any;
}

/* A guest's store that nobody saw went to a page that was open on the host. */
static bool by_open_page(struct minimiser *minimiser, const struct trk_sim_report *recorded)
{
    struct mini_case *trial = &minimiser->trial;
    bool any = false;
    (void)recorded;
    for (uint32_t i = 0; i < trial->count; i++) {
        struct case_op *op = &trial->ops[i];
        if (op->verb != VERB_RAW_WRITE || op->thread == 0)
            continue;
        op->verb = VERB_STORE;
        minimiser->status = case_insert(trial, i++, VERB_INJECT);
        if (minimiser->status != TRK_OK)
            return false;
        trial->ops[i - 1].text = "inject lose-fault";
        any = true;
    }
    return any;
}

/* What read too early reads once more when all has been done. */
static bool by_late_read(struct minimiser *minimiser, const struct trk_sim_report *recorded)
{
    struct mini_case *trial = &minimiser->trial;
    char label[CASE_LABEL_BYTES];
    snprintf(label, sizeof label, "e%" PRIu64, recorded->event_visible);
    uint32_t op = case_find(trial, label);
    if (op == SCENARIO_NONE || trial->ops[op].parent != SCENARIO_NONE ||
        trial->ops[op].verb != VERB_LOAD)
        return false;
    trial->ops[op].thread = trial->scenario->thread_count - 1;
    return true;
}

static enum trk_status keep_other(struct tracing *tracing, const struct mini_outcome *outcome)
{
    const char *detail = tracing->recorded->detail;
    if (tracing->other_there && (strcmp(tracing->other_outcome.story.detail, detail) == 0 ||
                                 strcmp(outcome->story.detail, detail) != 0))
        return TRK_OK;
    tracing->other_there = true;
    tracing->other_outcome = *outcome;
    return case_copy(&tracing->other, &tracing->minimiser->trial);
}

/* Take the trial as what is minimised. */
static void take(struct minimiser *minimiser, const struct mini_outcome *outcome)
{
    struct mini_target *target = &minimiser->target;
    struct mini_case former = minimiser->best;
    minimiser->best = minimiser->trial;
    minimiser->trial = former;
    memcpy(target->verdict, outcome->report.verdict, sizeof target->verdict);
    snprintf(target->label, sizeof target->label, "%.47s", outcome->report.label);
    memcpy(target->detail, outcome->story.detail, sizeof target->detail);
    minimiser->guest_addr = outcome->report.guest_addr;
}

/* Whether a window breaks the trace's rule, in some wording of it, in the trace's way. */
static enum trk_status try_wordings(struct tracing *tracing, bool *found)
{
    static wording_fn *const wordings[] = {as_it_is, by_late_read, by_view, by_open_page};
    struct minimiser *minimiser = tracing->minimiser;
    const char *verdict = trk_verdict_name(tracing->recorded);
    for (size_t i = 0; i < sizeof wordings / sizeof wordings[0] && !*found; i++) {
        struct mini_outcome outcome;
        if (!mini_begin(minimiser) || !wordings[i](minimiser, tracing->recorded))
            continue;
        if (!mini_run(minimiser, &minimiser->trial, &outcome))
            return minimiser->status;
        if (!outcome.usable || strcmp(outcome.report.verdict, verdict) != 0)
            continue;
        /* At the end of all every read finds what is wrong: better one of the trace's own. */
        *found = strcmp(outcome.story.detail, tracing->recorded->detail) == 0 &&
                 outcome.report.label[0] == 'e';
        enum trk_status status = TRK_OK;
        if (*found)
            take(minimiser, &outcome);
        else
            status = keep_other(tracing, &outcome);
        if (status != TRK_OK)
            return status;
    }
    return minimiser->status;
}

static void forget(struct tracing *tracing)
{
    case_destroy(&tracing->minimiser->best);
    case_destroy(&tracing->minimiser->trial);
    case_destroy(&tracing->other);
    tracing->minimiser->best = tracing->minimiser->trial = tracing->other = (struct mini_case){0};
    tracing->other_there = false;
    cJSON_Delete(tracing->json);
    trk_scenario_destroy(tracing->scenario);
    tracing->json = NULL;
    tracing->scenario = NULL;
}

static enum trk_status try_window(struct tracing *tracing, uint32_t start, bool *found)
{
    char *text;
    struct trk_scenario_fault fault;
    forget(tracing);
    enum trk_status status = window_text(tracing, start, &text);
    if (status != TRK_OK || text == NULL)
        return status;
    status = trk_scenario_parse(&tracing->scenario, text, strlen(text), &fault);
    if (status == TRK_OK) {
        tracing->json = cJSON_Parse(text);
        status = tracing->json == NULL ? TRK_E_MEMORY
                                       : case_create(&tracing->minimiser->best, tracing->scenario,
                                                     tracing->json, true);
    }
    free(text);
    if (status == TRK_OK)
        return try_wordings(tracing, found);
    return status == TRK_E_ARGUMENT ? TRK_OK : status; /* no scenario can say it */
}

/* Windows that begin ever earlier. The first one that breaks the rule in the trace's way, or else
 * the last that breaks it at all. */
static enum trk_status find_case(struct tracing *tracing, bool *found)
{
    uint32_t start = start_before(tracing->projection, first_event(tracing->recorded));
    enum trk_status status = TRK_OK;
    if (start == SCENARIO_NONE && tracing->projection->count > 0)
        start = start_before(tracing->projection, UINT64_MAX);
    for (uint32_t i = 0; i < WINDOWS_MOST && start != SCENARIO_NONE && !*found; i++) {
        status = try_window(tracing, start, found);
        if (status != TRK_OK || *found || tracing->minimiser->ended)
            break;
        uint32_t back = UINT32_C(1) << (2 * i);
        uint64_t before = tracing->projection->items[start > back ? start - back : 0].event;
        uint32_t next = start == 0 ? SCENARIO_NONE : start_before(tracing->projection, before);
        if (next == SCENARIO_NONE || next == start)
            break;
        start = next;
    }
    if (status != TRK_OK || *found || !tracing->other_there)
        return status;
    *found = true;
    status = case_copy(&tracing->minimiser->trial, &tracing->other);
    if (status == TRK_OK)
        take(tracing->minimiser, &tracing->other_outcome);
    return status;
}

/* ---- the slice ------------------------------------------------------------------------------- */

/* Whether an operation is one that a step of the story stands in: the newest of its thread. */
static bool told(const struct tracing *tracing, const struct mini_case *mini, uint32_t op)
{
    const struct trk_sim_report *recorded = tracing->recorded;
    for (size_t s = 0; s < recorded->story_count; s++) {
        uint32_t newest = SCENARIO_NONE;
        for (uint32_t i = 0; i < mini->count; i++)
            if (mini->ops[i].thread == mini->ops[op].thread && case_counts(&mini->ops[i]) &&
                mini->ops[i].order <= recorded->story[s].event)
                newest = i;
        for (; newest != SCENARIO_NONE; newest = mini->ops[newest].parent)
            if (newest == op)
                return true;
    }
    return false;
}

/* What the story speaks of may be all that is needed. */
static void slice(struct tracing *tracing)
{
    struct minimiser *minimiser = tracing->minimiser;
    if (!mini_begin(minimiser))
        return;
    struct mini_case *trial = &minimiser->trial;
    uint32_t last = trial->scenario->thread_count - 1;
    for (uint32_t i = 0; i < trial->count; i++) {
        const struct case_op *op = &minimiser->best.ops[i];
        if (op->thread > 0 && op->thread < last && case_counts(op) && op->verb != VERB_INJECT)
            trial->ops[i].gone |= !told(tracing, &minimiser->best, i);
    }
    (void)mini_try(minimiser);
    mini_note(minimiser, "story");
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool breaks(enum trk_verdict_kind verdict)
{
    return verdict != TRK_VERDICT_OK && verdict != TRK_VERDICT_TRACE_INCOMPLETE &&
           verdict != TRK_VERDICT_UNKNOWN;
}

static enum trk_status minimise(struct tracing *tracing, struct trk_error *error)
{
    struct minimiser *minimiser = tracing->minimiser;
    struct trk_minimise_report *report = minimiser->report;
    bool found = false;
    enum trk_status status = find_case(tracing, &found);
    if (status != TRK_OK)
        return status;
    report->not_shown = !found && !minimiser->ended;
    if (!found)
        return TRK_OK;
    if (!mini_is_right(minimiser, &minimiser->best)) {
        report->not_shown = true;
        snprintf(report->why, sizeof report->why, "it does not hold on the right core either");
        return minimiser->status;
    }
    for (uint32_t i = 0; i < minimiser->options->keep_count; i++)
        if (case_find(&minimiser->best, minimiser->options->keep[i]) == SCENARIO_NONE)
            return trk_error_set(error, TRK_E_ARGUMENT,
                                 "no operation on the pages of the verdict has the label '%.60s'",
                                 minimiser->options->keep[i]);
    report->same_detail = strcmp(minimiser->target.detail, tracing->recorded->detail) == 0;
    char sentence[384];
    const struct trk_sim_report *recorded = tracing->recorded;
    uint64_t at =
        recorded->event_at != TRK_NOT_KNOWN ? recorded->event_at : recorded->event_visible;
    snprintf(sentence, sizeof sentence,
             "Minimised from a trace: %s at event %" PRIu64 ", address 0x%" PRIx64
             "; labels are numbers of its events",
             trk_verdict_name(recorded), at, recorded->guest_addr);
    mini_start(minimiser);
    slice(tracing);
    return mini_finish(minimiser, sentence);
}

static enum trk_status with_focus(struct minimiser *minimiser, const struct projection *projection,
                                  struct trk_error *error)
{
    struct tracing tracing = {
        .minimiser = minimiser,
        .projection = projection,
        .recorded = &minimiser->report->recorded,
    };
    enum trk_status status = minimise(&tracing, error);
    forget(&tracing);
    return status;
}

enum trk_status trk_minimise_trace(struct trk_trace *trace,
                                   const struct trk_minimise_options *options,
                                   struct trk_minimise_report *report, struct trk_error *error)
{
    struct minimiser minimiser = {
        .options = options, .report = report, .guest_addr = TRK_NOT_KNOWN};
    struct reading *reading = NULL;
    struct foci foci;
    memset(report, 0, sizeof *report);
    if (options->size != sizeof *options || options->replays < 1 ||
        options->keep_count > TRK_MINIMISE_KEEP)
        return trk_error_set(error, TRK_E_ARGUMENT, "options out of bounds");
    report->whole = true;
    enum trk_status status = trk_trace_rewind(trace, error);
    if (status == TRK_OK)
        status = trk_sim_trace(trace, &report->recorded, error);
    if (status != TRK_OK) {
        report->recorded.verdict = TRK_VERDICT_UNKNOWN;
        return status;
    }
    report->nothing = !breaks(report->recorded.verdict);
    if (report->nothing)
        return TRK_OK;
    if (!foci_of_verdict(&report->recorded, &foci)) {
        report->not_shown = true;
        snprintf(report->why, sizeof report->why, "the verdict is about no address");
        return TRK_OK;
    }
    const struct forgetting forgetting = {.before = first_event(&report->recorded),
                                          .keep = report->recorded.event_visible};
    status = trk_trace_rewind(trace, error);
    if (status == TRK_OK)
        status = reading_open(&reading, trace, &foci, UINT64_MAX, &forgetting, error);
    for (uint32_t i = 0; status == TRK_OK && i < reading->count; i++) {
        status = with_focus(&minimiser, &reading->projections[i], error);
        if (status != TRK_OK || !report->not_shown)
            break;
    }
    reading_close(reading);
    if (status == TRK_OK && report->not_shown && report->why[0] == '\0')
        snprintf(report->why, sizeof report->why,
                 "no window of the verdict's pages ends as the trace did");
    return status;
}
