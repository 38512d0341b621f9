/*
 * Trying candidates.
 */
#include "minimise_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore_judge.h"

static bool may_go_on(struct minimiser *minimiser)
{
    const struct trk_minimise_options *options = minimiser->options;
    if (minimiser->ended)
        return false;
    minimiser->ended =
        minimiser->report->replays >= options->replays ||
        (options->go_on != NULL && !options->go_on(options->context, minimiser->report));
    minimiser->report->whole &= !minimiser->ended;
    return !minimiser->ended;
}

static bool fail(struct minimiser *minimiser, enum trk_status status)
{
    minimiser->status = status;
    minimiser->ended = true;
    return false;
}

bool mini_run(struct minimiser *minimiser, const struct mini_case *mini, struct mini_outcome *out)
{
    struct judged judged;
    struct case_writing writing = {.final = false};
    memset(out, 0, sizeof *out);
    if (!may_go_on(minimiser))
        return false;
    char *script = case_write(mini, &writing);
    if (script == NULL)
        return fail(minimiser, TRK_E_MEMORY);
    minimiser->report->replays++;
    enum trk_status status = judge_run(script, MINIMISE_ORDERS_MOST, &judged);
    if (status == TRK_OK) {
        out->usable = true;
        out->report = judged.report;
        if (strcmp(judged.report.verdict, "ok") != 0)
            status = judge_tell(script, &judged.report, &out->story);
    }
    free(script);
    /* A candidate may be none that can be run, or more than can be tried. */
    if (status != TRK_OK && status != TRK_E_UNSUPPORTED && status != TRK_E_ARGUMENT)
        return fail(minimiser, status);
    return true;
}

/* Whether an outcome is the target's. */
static bool is_target(const struct minimiser *minimiser, const struct mini_outcome *outcome)
{
    const struct mini_target *target = &minimiser->target;
    return outcome->usable && strcmp(outcome->report.verdict, target->verdict) == 0 &&
           (target->label[0] == '\0' || strcmp(outcome->report.label, target->label) == 0) &&
           (target->detail[0] == '\0' || strcmp(outcome->story.detail, target->detail) == 0);
}

bool mini_begin(struct minimiser *minimiser)
{
    if (minimiser->ended)
        return false;
    enum trk_status status = case_copy(&minimiser->trial, &minimiser->best);
    return status == TRK_OK || fail(minimiser, status);
}

static bool keeps(const struct minimiser *minimiser)
{
    for (uint32_t i = 0; i < minimiser->options->keep_count; i++)
        if (case_find(&minimiser->trial, minimiser->options->keep[i]) == SCENARIO_NONE)
            return false;
    return true;
}

bool mini_is_right(struct minimiser *minimiser, const struct mini_case *mini)
{
    const struct trk_minimise_options *options = minimiser->options;
    struct case_writing writing = {.final = false};
    if (options->right == NULL)
        return true;
    char *script = case_write(mini, &writing);
    bool right = script != NULL && options->right(options->context, script);
    if (script == NULL)
        (void)fail(minimiser, TRK_E_MEMORY);
    free(script);
    return right;
}

bool mini_try(struct minimiser *minimiser)
{
    struct mini_outcome outcome;
    if (!keeps(minimiser) || !mini_run(minimiser, &minimiser->trial, &outcome) ||
        !is_target(minimiser, &outcome) || !mini_is_right(minimiser, &minimiser->trial))
        return false;
    struct mini_case former = minimiser->best;
    minimiser->best = minimiser->trial;
    minimiser->trial = former;
    minimiser->guest_addr = outcome.report.guest_addr;
    return true;
}

void mini_note(struct minimiser *minimiser, const char *pass)
{
    struct trk_minimise_report *report = minimiser->report;
    struct case_size now = case_size_of(&minimiser->best);
    struct trk_minimise_size size = {now.threads, now.operations, now.pages};
    const struct trk_minimise_size *last = &report->to;
    if (memcmp(&size, last, sizeof size) == 0)
        return;
    report->to = size;
    if (report->trail_count < TRK_MINIMISE_TRAIL)
        report->trail[report->trail_count++] =
            (struct trk_minimise_step){pass, size, report->replays};
}
