/*
 * Trying the orders of windows.
 */
#include "explore_search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/core.h"

void search_init(struct search_state *state, const struct trk_explore_options *options,
                 struct trk_explore_report *report)
{
    *state = (struct search_state){
        .options = options, .report = report, .orders_known = true, .whole = true};
}

bool search_goes_on(void *context)
{
    struct search_state *state = context;
    const struct trk_explore_options *options = state->options;
    if (options->go_on != NULL && !options->go_on(options->context, state->report)) {
        state->whole = false;
        state->ended = true;
    }
    return !state->ended;
}

static bool breaks(enum trk_verdict_kind verdict)
{
    return verdict != TRK_VERDICT_OK && verdict != TRK_VERDICT_TRACE_INCOMPLETE &&
           verdict != TRK_VERDICT_UNKNOWN;
}

void search_end(struct search_state *state)
{
    struct trk_explore_report *report = state->report;
    report->not_shown = breaks(report->recorded.verdict) && !state->shown;
    const struct trk_explore_options *options = state->options;
    bool asked = options->guest_addr != TRK_NOT_KNOWN || options->from > 0 ||
                 options->to < report->recorded.events;
    report->ended = state->ended;
    report->nothing = asked && report->windows == 0 && !state->ended;
    report->complete = !report->nothing && state->whole && report->recorded.complete &&
                       report->left_out == 0 && report->unsettled == 0 && report->unfaithful == 0 &&
                       report->stopped == 0 && !report->not_shown;
    report->orders[0] = '\0';
    if (state->orders_known && state->whole) {
        char digits[48];
        size_t at = sizeof digits;
        order_count count = state->orders;
        digits[--at] = '\0';
        do {
            digits[--at] = (char)('0' + (int)(count % 10));
            count /= 10;
        } while (count != 0);
        snprintf(report->orders, sizeof report->orders, "%s", digits + at);
    }
    free(state->shapes.slots);
}

/* ---- windows that do the same ---------------------------------------------------------------- */

static uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    hash ^= hash >> 29;
    return hash + (hash == 0);
}

static bool shapes_grow(struct shapes *shapes)
{
    size_t capacity = shapes->capacity == 0 ? 256 : shapes->capacity * 2;
    uint64_t *slots = calloc(capacity, sizeof *slots);
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < shapes->capacity; i++) {
        size_t at = shapes->slots[i] & (capacity - 1);
        while (shapes->slots[i] != 0 && slots[at] != 0)
            at = (at + 1) & (capacity - 1);
        if (shapes->slots[i] != 0)
            slots[at] = shapes->slots[i];
    }
    free(shapes->slots);
    shapes->slots = slots;
    shapes->capacity = capacity;
    return true;
}

/* Whether a window of this shape was explored before; it counts as explored from now on. */
static enum trk_status met_before(struct shapes *shapes, const char *shape, bool *known)
{
    if (shapes->count * 2 >= shapes->capacity && !shapes_grow(shapes))
        return TRK_E_MEMORY;
    uint64_t hash = hash_text(shape);
    size_t at = hash & (shapes->capacity - 1);
    while (shapes->slots[at] != 0 && shapes->slots[at] != hash)
        at = (at + 1) & (shapes->capacity - 1);
    *known = shapes->slots[at] != 0;
    shapes->count += !*known;
    shapes->slots[at] = hash;
    return TRK_OK;
}

/* ---- one window ------------------------------------------------------------------------------ */

static struct script_request request_of(const struct trk_explore_options *options,
                                        enum script_kind kind)
{
    static const enum scenario_schedule_kind kinds[] = {SCHEDULE_EXPLORE, SCHEDULE_RANDOM,
                                                        SCHEDULE_PCT};
    return (struct script_request){
        .kind = kind,
        .schedule = kinds[options->engine],
        .seed = options->seed,
        .runs = options->schedules,
        .depth = options->preemptions + 1,
    };
}

/* The window's own script is the one that tries every order, whatever is tried now. */
static char *own_script(const struct window *window, enum script_kind kind)
{
    struct trk_explore_options every = trk_explore_options_default();
    struct script_request request = request_of(&every, kind);
    return window_script(window, &request);
}

/* Whether the window holds the last that happened before the trace itself broke a rule. */
static bool broke_in(const struct trk_sim_report *recorded, const struct window *window)
{
    const struct projection *projection = window->projection;
    bool last = window->end == projection->count && projection->run->stopped;
    bool visible = recorded->event_visible != TRK_NOT_KNOWN &&
                   projection->items[window->end - 1].last >= recorded->event_visible;
    return breaks(recorded->verdict) && (last || visible);
}

/* The event behind a label of ours; TRK_NOT_KNOWN: none. */
static uint64_t event_of(const char *label)
{
    return label[0] == 'e' ? strtoull(label + 1, NULL, 10) : TRK_NOT_KNOWN;
}

static uint64_t last_event(const struct window *window)
{
    uint64_t last = 0;
    for (uint32_t i = window->first; i < window->end; i++) {
        uint64_t at = window->projection->items[i].last;
        last = at != UINT64_MAX && at > last ? at : last;
    }
    return last;
}

static void describe(struct trk_explore_finding *finding, const struct window *window,
                     const struct trk_scenario_report *report)
{
    const struct projection *projection = window->projection;
    memcpy(finding->verdict, report->verdict, sizeof finding->verdict);
    memcpy(finding->text, report->text, sizeof finding->text);
    memcpy(finding->thread, report->thread, sizeof finding->thread);
    memcpy(finding->operation, report->operation_text, sizeof finding->operation);
    finding->event_at = event_of(report->label);
    finding->guest_addr = report->guest_addr;
    finding->page_addr = projection->first_addr;
    finding->pages = projection->page_count;
    finding->from = projection->items[window->first].event;
    finding->to = last_event(window);
    finding->speculative_at = TRK_NOT_KNOWN;
    finding->schedules = report->schedules;
    memcpy(finding->orders, report->interleavings, sizeof finding->orders);
    memcpy(finding->failing, report->failing, sizeof finding->failing);
    finding->preemptions = report->preemptions;
}

/* Run the order once more with each read held against the recording. */
static enum trk_status look_back(struct trk_explore_finding *finding, const struct window *window,
                                 const char *schedule)
{
    struct trk_scenario_report checked = {.verdict = ""};
    struct trk_scenario_fault fault;
    char *script = own_script(window, SCRIPT_CHECKED);
    if (script == NULL)
        return TRK_E_MEMORY;
    enum trk_status status = judge_replay(script, schedule, &checked, &fault);
    free(script);
    if (status == TRK_OK && strcmp(checked.verdict, "mismatch") == 0)
        finding->speculative_at = event_of(checked.label);
    return status == TRK_E_ARGUMENT ? TRK_OK : status;
}

/* ---- what was found -------------------------------------------------------------------------- */

/* A script that holds: it asks for what it was seen to come to. */
static enum trk_status keep_script(struct search_state *state, const struct window *window,
                                   const struct judged *judged)
{
    bool bad = state->report->finding_count == 1 && (judged->seen & ~UINT32_C(1)) != 0;
    bool first =
        state->report->finding_count == 0 &&
        (state->report->script == NULL || judged->report.schedules > state->script_schedules);
    if (!state->options->want_script || (!bad && !first))
        return TRK_OK;
    struct script_request request = request_of(state->options, SCRIPT_EXPLORE);
    request.seen = judged->seen;
    free(state->report->script);
    state->report->script = window_script(window, &request);
    state->script_schedules = judged->report.schedules;
    return state->report->script == NULL ? TRK_E_MEMORY : TRK_OK;
}

static enum trk_status found(struct search_state *state, const struct window *window,
                             const struct judged *judged, bool recorded, const char *tried)
{
    struct trk_explore_report *report = state->report;
    const struct trk_scenario_report *from = &judged->report;
    state->shown |= recorded;
    if (report->finding_count++ >= TRK_EXPLORE_FINDINGS_MOST)
        return TRK_OK;
    struct trk_explore_finding *finding = &report->findings[report->finding_count - 1];
    describe(finding, window, from);
    finding->recorded = recorded;
    enum trk_status status = judge_tell(tried, from, &finding->story);
    if (status != TRK_OK)
        return status;
    char *script = own_script(window, SCRIPT_EXPLORE);
    char hash[9];
    status = script == NULL ? TRK_E_MEMORY : judge_hash(script, hash);
    free(script);
    if (status != TRK_OK || from->schedule[0] == '\0')
        return status;
    line_write(finding->schedule, sizeof finding->schedule, window, from->schedule, hash);
    return look_back(finding, window, from->schedule);
}

/* ---- trying ---------------------------------------------------------------------------------- */

static void add_orders(struct search_state *state, const char *digits)
{
    order_count count = 0;
    for (; *digits != '\0'; digits++)
        count = count * 10 + (unsigned)(*digits - '0');
    state->orders += count;
    if (state->orders < count)
        state->orders = ~(order_count)0;
}

/* A window's recorded order. */
struct recorded_order {
    char *script;
    struct judged judged;
    bool bad;        /* it, too, ends otherwise than it should */
    bool unfaithful; /* than it did */
};

/*
 * Of a plug-in whether it is faithful is what libtrack's own core makes of it: who was recorded is
 * somebody else. The script is the caller's.
 */
static enum trk_status run_recorded(const struct search_state *state, const struct window *window,
                                    struct recorded_order *out)
{
    struct script_request request = request_of(state->options, SCRIPT_RECORDED);
    *out = (struct recorded_order){.script = window_script(window, &request)};
    if (out->script == NULL)
        return TRK_E_MEMORY;
    core_put_aside(true);
    enum trk_status status = judge_run(out->script, 1, &out->judged);
    core_put_aside(false);
    out->bad = strcmp(out->judged.report.verdict, "ok") != 0;
    /* What only the end of the window shows was not looked at in the trace. */
    bool at_end = strcmp(out->judged.report.thread, "finally") == 0 && !core_is_plugin();
    out->unfaithful = out->bad && !at_end && !broke_in(&state->report->recorded, window);
    if (status == TRK_OK && !out->unfaithful && core_is_plugin()) {
        status = judge_run(out->script, 1, &out->judged);
        out->bad = strcmp(out->judged.report.verdict, "ok") != 0;
    }
    return status;
}

static void count_orders(struct search_state *state, const struct trk_scenario_report *tried)
{
    bool all = tried->interleavings[0] != '\0';
    state->report->distinct++;
    state->report->schedules += tried->schedules;
    state->report->stopped += !all;
    state->orders_known &= all;
    add_orders(state, tried->interleavings);
}

#define BROKEN (~UINT32_C(1)) /* of verdicts that were seen */

/* Whether an order breaks: one that was tried, or the recorded one, where the tries ran out before
 * it came. */
static enum trk_status tell_found(struct search_state *state, const struct window *window,
                                  const struct recorded_order *recorded, const char *script,
                                  struct judged *tried)
{
    if ((tried->seen & BROKEN) != 0)
        return found(state, window, tried, recorded->bad, script);
    if (!recorded->bad)
        return TRK_OK;
    struct judged judged = recorded->judged;
    judged.report.schedules = tried->report.schedules;
    tried->seen |= judged.seen;
    return found(state, window, &judged, true, recorded->script);
}

static enum trk_status explore_orders(struct search_state *state, const struct window *window,
                                      const struct recorded_order *recorded)
{
    struct script_request request = request_of(state->options, SCRIPT_EXPLORE);
    const struct engine_leave leave = {.go_on = search_goes_on, .context = state};
    struct judged judged = {.seen = 0};
    char *script = window_script(window, &request);
    enum trk_status status =
        script == NULL ? TRK_E_MEMORY
                       : judge_run_while(script, state->options->schedules, &leave, &judged);
    if (status == TRK_OK)
        count_orders(state, &judged.report);
    if (status == TRK_OK)
        status = tell_found(state, window, recorded, script, &judged);
    free(script);
    return status == TRK_OK ? keep_script(state, window, &judged) : status;
}

static enum trk_status try_orders(struct search_state *state, const struct window *window)
{
    if (!search_goes_on(state))
        return TRK_OK;
    struct trk_explore_report *report = state->report;
    struct recorded_order recorded;
    enum trk_status status = run_recorded(state, window, &recorded);
    const char *lacks = judge_lacks();
    bool complained = core_is_plugin() && lacks == NULL && trk_core_complaint() != NULL;
    if (status == TRK_E_UNSUPPORTED && !complained) {
        report->left_out++;
        if (report->lacks[0] == '\0' && lacks != NULL)
            snprintf(report->lacks, sizeof report->lacks, "%s", lacks);
        status = TRK_OK;
    } else if (status != TRK_OK || recorded.unfaithful) {
        report->unfaithful += recorded.unfaithful;
    } else {
        status = explore_orders(state, window, &recorded);
    }
    free(recorded.script);
    return status;
}

/* With the window in the report meanwhile: a plug-in may never come back. */
static enum trk_status try_shown(struct search_state *state, const struct window *window)
{
    struct script_request request = request_of(state->options, SCRIPT_EXPLORE);
    if (!state->options->want_script)
        return try_orders(state, window);
    char *script = window_script(window, &request);
    if (script == NULL)
        return TRK_E_MEMORY;
    state->report->trying = script;
    enum trk_status status = try_orders(state, window);
    state->report->trying = NULL;
    free(script);
    return status;
}

enum trk_status search_window(struct search_state *state, const struct window *window)
{
    struct script_request request = request_of(state->options, SCRIPT_SHAPE);
    bool known = false;
    state->report->windows++;
    if (window->unsayable) {
        state->report->left_out++;
        return TRK_OK;
    }
    char *shape = window_script(window, &request);
    enum trk_status status =
        shape == NULL ? TRK_E_MEMORY : met_before(&state->shapes, shape, &known);
    free(shape);
    if (status != TRK_OK || known)
        return status;
    return try_shown(state, window);
}

/* ---- one order ------------------------------------------------------------------------------- */

enum trk_status search_replay(struct search_state *state, const struct window *window,
                              const struct line *line, struct trk_error *error)
{
    struct trk_scenario_report out = {.verdict = ""};
    struct trk_scenario_fault fault = {.text = ""};
    char hash[9];
    char *script = own_script(window, SCRIPT_EXPLORE);
    if (script == NULL)
        return trk_error_set(error, TRK_E_MEMORY, "no memory");
    enum trk_status status = judge_hash(script, hash);
    bool ours = status == TRK_OK && memcmp(line->schedule + 14, hash, 8) == 0;
    struct trk_explore_finding *finding = &state->report->findings[0];
    if (ours)
        status = judge_replay(script, line->schedule, &out, &fault);
    if (ours && status == TRK_OK && strcmp(out.verdict, "ok") != 0)
        status = judge_tell(script, &out, &finding->story);
    free(script);
    if (status == TRK_OK && !ours)
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "it was made for another trace, or another state of this one");
    if (status == TRK_E_ARGUMENT) /* a line that is none at all, or one that leads elsewhere */
        return trk_error_set(error,
                             strncmp(fault.text, "diverged", 8) == 0 ? TRK_E_CONFLICT : status,
                             "%s", fault.text);
    if (status != TRK_OK)
        return trk_error_set(error, status, "the window cannot be run: %s",
                             trk_status_name(status));
    state->report->schedules = 1;
    if (strcmp(out.verdict, "ok") == 0)
        return TRK_OK;
    state->report->finding_count = 1;
    describe(finding, window, &out);
    line_write(finding->schedule, sizeof finding->schedule, window, line->schedule, hash);
    return look_back(finding, window, line->schedule);
}
