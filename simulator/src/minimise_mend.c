/*
 * The other half of a minimised case: what must be different for it to pass.
 *
 * A fault of an emulator is carried by the case's own operations, so one change of those takes it
 * out: an injected fault less, an invalidate before a store that nobody told of, a step earlier.
 * The first change with which every order passes is the one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "minimise_run.h"

/* Change the trial at an operation; false: there is nothing of that kind to change. */
typedef bool mend_fn(struct minimiser *minimiser, uint32_t op, char *how, size_t size);

static const char *thread_of(const struct mini_case *mini, uint32_t op)
{
    return mini->scenario->threads[mini->ops[op].thread].name;
}

static bool take_out(struct minimiser *minimiser, uint32_t op, char *how, size_t size)
{
    struct case_op *at = &minimiser->trial.ops[op];
    if (at->verb != VERB_INJECT && at->verb != VERB_HOST_PROTECT)
        return false;
    at->gone = true;
    snprintf(how, size, "without \"%s\" of %s",
             at->verb == VERB_INJECT ? at->text : scenario_verb_word(at->verb),
             thread_of(&minimiser->trial, op));
    return true;
}

/* The page of the same bytes that the tracker knows of. */
static uint64_t tracked_page(const struct mini_case *mini, uint64_t guest_addr)
{
    for (uint32_t i = 0; i < mini->entry_count; i++) {
        const struct scenario_entry *entry = &mini->entries[i].entry;
        if (!mini->entries[i].gone && entry->alias_of != SCENARIO_NONE &&
            guest_addr - entry->guest_addr < entry->size_bytes)
            guest_addr += mini->entries[entry->alias_of].entry.guest_addr - entry->guest_addr;
    }
    return guest_addr & ~(SCENARIO_PAGE_BYTES - 1);
}

static bool tell(struct minimiser *minimiser, uint32_t op, char *how, size_t size)
{
    enum scenario_verb verb = minimiser->trial.ops[op].verb;
    if (verb != VERB_RAW_WRITE && verb != VERB_STORE && verb != VERB_SYS_READ)
        return false;
    minimiser->status = case_insert(&minimiser->trial, op, VERB_INVALIDATE);
    minimiser->ended |= minimiser->status != TRK_OK;
    if (minimiser->ended)
        return false;
    struct case_op *added = &minimiser->trial.ops[op];
    uint64_t end = added->guest_addr + added->size_bytes;
    uint64_t first = added->guest_addr & ~(SCENARIO_PAGE_BYTES - 1);
    uint64_t pages = (end - first + SCENARIO_PAGE_BYTES - 1) / SCENARIO_PAGE_BYTES;
    added->guest_addr = tracked_page(&minimiser->trial, added->guest_addr);
    added->size_bytes = pages * SCENARIO_PAGE_BYTES;
    snprintf(how, size, "with an invalidate before the %s of %s", scenario_verb_word(verb),
             thread_of(&minimiser->trial, op + 1));
    return true;
}

/* A store through a view that nobody watches goes through the one that is. */
static bool watched(struct minimiser *minimiser, uint32_t op, char *how, size_t size)
{
    struct case_op *at = &minimiser->trial.ops[op];
    uint64_t page = tracked_page(&minimiser->trial, at->guest_addr);
    if (at->verb != VERB_STORE || page == (at->guest_addr & ~(SCENARIO_PAGE_BYTES - 1)))
        return false;
    at->guest_addr = page + at->guest_addr % SCENARIO_PAGE_BYTES;
    snprintf(how, size, "with the store of %s through the view that is watched",
             thread_of(&minimiser->trial, op));
    return true;
}

/* A store past the tracker becomes the emulator's own, which tells of itself. */
static bool checked(struct minimiser *minimiser, uint32_t op, char *how, size_t size)
{
    struct case_op *at = &minimiser->trial.ops[op];
    if (at->verb != VERB_RAW_WRITE)
        return false;
    at->verb = VERB_HLE_WRITE;
    snprintf(how, size, "with the raw_write of %s as an hle_write",
             thread_of(&minimiser->trial, op));
    return true;
}

/* A flush that did nothing does what a flush does. */
static bool flush(struct minimiser *minimiser, uint32_t op, char *how, size_t size)
{
    struct case_op *at = &minimiser->trial.ops[op];
    if (at->verb != VERB_INVALIDATE || !at->braces)
        return false;
    at->braces = false;
    for (uint32_t i = op + 1; i < minimiser->trial.count; i++)
        minimiser->trial.ops[i].gone |= minimiser->trial.ops[i].parent == op;
    snprintf(how, size, "with a flush of the whole range in the invalidate of %s",
             thread_of(&minimiser->trial, op));
    return true;
}

/* What stood in a callback comes behind the operation around it. */
static bool unnest(struct minimiser *minimiser, uint32_t op, char *how, size_t size)
{
    struct mini_case *trial = &minimiser->trial;
    struct case_op *at = &trial->ops[op];
    uint32_t outer = at->parent;
    if (outer == SCENARIO_NONE || at->verb == VERB_IN_RANGE || at->braces)
        return false;
    while (trial->ops[outer].parent != SCENARIO_NONE)
        outer = trial->ops[outer].parent;
    at->parent = SCENARIO_NONE;
    /* In the list it stands behind the outer one already. */
    for (uint32_t i = outer + 1; i < trial->count; i++) {
        bool nested = false;
        for (uint32_t k = outer + 1; k < trial->count; k++)
            nested |= trial->ops[k].parent == i && case_live(trial, k);
        trial->ops[i].gone |= trial->ops[i].verb == VERB_IN_RANGE && !nested;
    }
    snprintf(how, size, "with the %s of %s behind the %s, not in it", scenario_verb_word(at->verb),
             thread_of(trial, op), scenario_verb_word(trial->ops[outer].verb));
    return true;
}

/* A step less. */
static bool leave_out(struct minimiser *minimiser, uint32_t op, char *how, size_t size)
{
    struct case_op *at = &minimiser->trial.ops[op];
    if (!case_counts(at) || strcmp(at->label, minimiser->target.label) == 0)
        return false;
    at->gone = true;
    snprintf(how, size, "without the %s of %s", scenario_verb_word(at->verb),
             thread_of(&minimiser->trial, op));
    return true;
}

/* The upload or download that is missing, before the verdict's own operation. */
static bool copy(struct minimiser *minimiser, uint32_t op, char *how, size_t size)
{
    struct case_op *at = &minimiser->trial.ops[op];
    enum scenario_verb verb = at->verb == VERB_GPU_READ ? VERB_UPLOAD : VERB_DRAIN;
    if (strcmp(at->label, minimiser->target.label) != 0 || !at->ranged ||
        at->parent != SCENARIO_NONE || minimiser->guest_addr == TRK_NOT_KNOWN)
        return false;
    minimiser->status = case_insert(&minimiser->trial, op, verb);
    minimiser->ended |= minimiser->status != TRK_OK;
    if (minimiser->ended)
        return false;
    struct case_op *added = &minimiser->trial.ops[op];
    added->guest_addr = minimiser->guest_addr & ~(SCENARIO_PAGE_BYTES - 1);
    added->size_bytes = SCENARIO_PAGE_BYTES;
    snprintf(
        how, size, "with %s before the %s of %s", verb == VERB_UPLOAD ? "an upload" : "a drain",
        scenario_verb_word(minimiser->trial.ops[op + 1].verb), thread_of(&minimiser->trial, op));
    return true;
}

/* Whether the trial passes in every order; it is written down then. */
static bool passes(struct minimiser *minimiser)
{
    struct trk_minimise_report *report = minimiser->report;
    struct mini_outcome outcome;
    if (!mini_run(minimiser, &minimiser->trial, &outcome) || !outcome.usable ||
        strcmp(outcome.report.verdict, "ok") != 0)
        return false;
    char sentence[256];
    struct case_writing writing = {.final = true, .name = "passing", .sentence = sentence};
    snprintf(sentence, sizeof sentence, "The minimised case %s.", report->passing_how);
    report->passing = case_write(&minimiser->trial, &writing);
    if (report->passing == NULL)
        minimiser->status = TRK_E_MEMORY;
    return true;
}

/* The first of some changes with which the best one passes; whether there is one. */
static bool mend(struct minimiser *minimiser, mend_fn *const *mends, size_t count)
{
    struct trk_minimise_report *report = minimiser->report;
    for (size_t m = 0; m < count; m++) {
        for (uint32_t i = minimiser->best.count; i-- > 0;) {
            if (!case_live(&minimiser->best, i) || !mini_begin(minimiser))
                continue;
            if (mends[m](minimiser, i, report->passing_how, sizeof report->passing_how) &&
                passes(minimiser))
                return true;
        }
    }
    report->passing_how[0] = '\0';
    return false;
}

/* These take a fault out; the others take out what it is the fault of. */
static mend_fn *const faults[] = {take_out, flush, unnest, tell, watched, checked};
static mend_fn *const others[] = {copy, leave_out};

static bool mend_fault(struct minimiser *minimiser)
{
    return mend(minimiser, faults, sizeof faults / sizeof faults[0]);
}

/* With the copy that would bring the bytes of a store that somebody knows of. Whether it still
 * breaks the rule. */
static bool add_copy(struct minimiser *minimiser)
{
    char how[sizeof minimiser->report->passing_how];
    for (uint32_t i = 0; i < minimiser->best.count; i++)
        if (case_live(&minimiser->best, i) && mini_begin(minimiser) &&
            copy(minimiser, i, how, sizeof how) && mini_try(minimiser))
            return true;
    return false;
}

void mini_mend(struct minimiser *minimiser)
{
    struct mini_case before = {0};
    if (minimiser->best.order != CASE_EXPLORED || mend_fault(minimiser) || minimiser->ended)
        return;
    minimiser->status = case_copy(&before, &minimiser->best);
    if (minimiser->status == TRK_OK && add_copy(minimiser)) {
        mini_move_out(minimiser);
        if (!mend_fault(minimiser) && !minimiser->ended)
            minimiser->status = case_copy(&minimiser->best, &before);
        mini_note(minimiser, "what a right program does");
    }
    case_destroy(&before);
    if (minimiser->report->passing == NULL && minimiser->status == TRK_OK)
        (void)mend(minimiser, others, sizeof others / sizeof others[0]);
}
