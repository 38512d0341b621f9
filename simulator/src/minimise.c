/*
 * Minimising a scenario: what it breaks, the passes, the file.
 */
#include "simulator/minimise.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore_judge.h"
#include "minimise_run.h"

/* Rounds of all passes; the last one takes nothing out. */
#define ROUNDS_MOST 8u

struct trk_minimise_options trk_minimise_options_default(void)
{
    return (struct trk_minimise_options){.size = sizeof(struct trk_minimise_options),
                                         .replays = 10000};
}

/* All passes, until none takes anything out. */
static void run_passes(struct minimiser *minimiser)
{
    for (unsigned round = 0; round < ROUNDS_MOST && !minimiser->ended; round++) {
        uint32_t before = 0, after = 0;
        for (uint32_t i = 0; i < minimiser->best.count; i++)
            before += case_live(&minimiser->best, i);
        mini_cut(minimiser);
        mini_shrink(minimiser);
        for (uint32_t i = 0; i < minimiser->best.count; i++)
            after += case_live(&minimiser->best, i);
        if (after == before)
            break;
    }
}

static void deinit(struct minimiser *minimiser)
{
    case_destroy(&minimiser->best);
    case_destroy(&minimiser->trial);
}

/* ---- what comes out -------------------------------------------------------------------------- */

/* Run the file as it is written, for the line that runs it again, and the story. */
static enum trk_status run_script(struct trk_minimise_report *report)
{
    struct judged judged;
    enum trk_status status = judge_run(report->script, MINIMISE_ORDERS_MOST, &judged);
    if (status != TRK_OK)
        return status;
    report->verdict = judged.report;
    return judge_tell(report->script, &report->verdict, &report->story);
}

/*
 * Write the file, run it, and write it again with the line of the schedule that fails. What `about`
 * says is no part of the scenario that a line is made for, so the line fits the file it stands in.
 */
static enum trk_status tell(struct minimiser *minimiser, const char *name, const char *sentence)
{
    struct trk_minimise_report *report = minimiser->report;
    char whole[1536];
    struct case_writing writing = {.final = true, .name = name, .sentence = whole};
    snprintf(whole, sizeof whole, "%s.", sentence);
    report->script = case_write(&minimiser->best, &writing);
    enum trk_status status = report->script == NULL ? TRK_E_MEMORY : run_script(report);
    if (status != TRK_OK || report->verdict.schedule[0] == '\0')
        return status;
    snprintf(whole, sizeof whole, "%s; fails with --schedule %s", sentence,
             report->verdict.schedule);
    char *script = case_write(&minimiser->best, &writing);
    if (script == NULL)
        return TRK_E_MEMORY;
    free(report->script);
    report->script = script;
    return TRK_OK;
}

void mini_start(struct minimiser *minimiser)
{
    struct case_size size = case_size_of(&minimiser->best);
    minimiser->report->from = minimiser->report->to =
        (struct trk_minimise_size){size.threads, size.operations, size.pages};
}

enum trk_status mini_finish(struct minimiser *minimiser, const char *sentence)
{
    run_passes(minimiser);
    /* On a core that is wrong no change of the case is the mending. */
    if (minimiser->status == TRK_OK && minimiser->options->right == NULL)
        mini_mend(minimiser);
    if (minimiser->status != TRK_OK)
        return minimiser->status;
    char name[64];
    snprintf(name, sizeof name, "%s", minimiser->target.verdict);
    for (char *at = name; *at != '\0'; at++)
        if (*at == ':')
            *at = '-';
    return tell(minimiser, name, sentence);
}

/* ---- a scenario ------------------------------------------------------------------------------ */

static bool options_valid(const struct trk_minimise_options *options)
{
    return options->size == sizeof *options && options->replays >= 1 &&
           options->keep_count <= TRK_MINIMISE_KEEP;
}

static bool keep_known(const struct minimiser *minimiser, struct trk_scenario_fault *fault)
{
    for (uint32_t i = 0; i < minimiser->options->keep_count; i++) {
        const char *label = minimiser->options->keep[i];
        if (case_find(&minimiser->best, label) != SCENARIO_NONE)
            continue;
        snprintf(fault->text, sizeof fault->text, "no operation has the label '%.60s'", label);
        return false;
    }
    return true;
}

static enum trk_status minimise(struct minimiser *minimiser, struct trk_scenario_fault *fault)
{
    struct trk_minimise_report *report = minimiser->report;
    struct mini_outcome outcome;
    minimiser->guest_addr = TRK_NOT_KNOWN;
    if (!keep_known(minimiser, fault))
        return TRK_E_ARGUMENT;
    report->whole = true;
    if (!mini_run(minimiser, &minimiser->best, &outcome))
        return minimiser->status;
    report->nothing = strcmp(outcome.report.verdict, "ok") == 0;
    report->not_shown = !outcome.usable;
    if (!outcome.usable)
        snprintf(report->why, sizeof report->why, "it cannot be run");
    if (!report->nothing && !report->not_shown && !mini_is_right(minimiser, &minimiser->best)) {
        report->not_shown = true;
        snprintf(report->why, sizeof report->why, "it does not hold on the right core either");
    }
    if (report->nothing || report->not_shown)
        return TRK_OK;
    struct mini_target *target = &minimiser->target;
    memcpy(target->verdict, outcome.report.verdict, sizeof target->verdict);
    snprintf(target->label, sizeof target->label, "%.47s", outcome.report.label);
    memcpy(target->detail, outcome.story.detail, sizeof target->detail);
    minimiser->guest_addr = outcome.report.guest_addr;
    report->same_detail = true;
    char sentence[256];
    snprintf(sentence, sizeof sentence, "Minimised from the scenario %.120s",
             minimiser->best.scenario->name);
    mini_start(minimiser);
    return mini_finish(minimiser, sentence);
}

enum trk_status trk_minimise_scenario(const char *json, size_t size_bytes,
                                      const struct trk_minimise_options *options,
                                      struct trk_minimise_report *report,
                                      struct trk_scenario_fault *fault)
{
    struct trk_scenario *scenario;
    struct minimiser minimiser = {.options = options, .report = report};
    memset(report, 0, sizeof *report);
    *fault = (struct trk_scenario_fault){.where = ""};
    if (!options_valid(options)) {
        snprintf(fault->text, sizeof fault->text, "options out of bounds");
        return TRK_E_ARGUMENT;
    }
    enum trk_status status = trk_scenario_parse(&scenario, json, size_bytes, fault);
    if (status != TRK_OK)
        return status;
    cJSON *root = cJSON_ParseWithLength(json, size_bytes);
    status = root == NULL ? TRK_E_MEMORY : case_create(&minimiser.best, scenario, root, false);
    if (status == TRK_OK)
        status = minimise(&minimiser, fault);
    deinit(&minimiser);
    cJSON_Delete(root);
    trk_scenario_destroy(scenario);
    return status;
}
