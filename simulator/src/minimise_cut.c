/*
 * Taking operations out of a case: whole threads, then chunks of what is left.
 *
 * A unit is what goes together: an operation with what is nested in it, or a signal with all awaits
 * of it.
 */
#include <stdlib.h>

#include "minimise_run.h"

/* ---- threads --------------------------------------------------------------------------------- */

/* What a thread waited for before it signalled an event; SCENARIO_NONE: nothing. */
static uint32_t waited_before(const struct mini_case *mini, uint32_t thread, uint32_t name)
{
    uint32_t waited = SCENARIO_NONE;
    for (uint32_t i = 0; i < mini->count; i++) {
        const struct case_op *op = &mini->ops[i];
        if (op->thread != thread || !case_live(mini, i))
            continue;
        if (op->verb == VERB_AWAIT)
            waited = op->name;
        if (op->verb == VERB_SIGNAL && op->name == name)
            return waited;
    }
    return SCENARIO_NONE;
}

static bool signals(const struct mini_case *mini, uint32_t thread, uint32_t name)
{
    for (uint32_t i = 0; i < mini->count; i++)
        if (mini->ops[i].verb == VERB_SIGNAL && mini->ops[i].name == name &&
            mini->ops[i].thread == thread && case_live(mini, i))
            return true;
    return false;
}

/* Take a thread out. Whoever waited for it waits for what it had waited for. */
static void drop_thread(struct mini_case *mini, uint32_t thread)
{
    for (uint32_t i = 0; i < mini->count; i++) {
        struct case_op *op = &mini->ops[i];
        if (op->verb != VERB_AWAIT || op->thread == thread || !signals(mini, thread, op->name))
            continue;
        uint32_t waited = waited_before(mini, thread, op->name);
        op->gone |= waited == SCENARIO_NONE || signals(mini, op->thread, waited);
        op->name = waited == SCENARIO_NONE ? op->name : waited;
    }
    for (uint32_t i = 0; i < mini->count; i++)
        mini->ops[i].gone |= mini->ops[i].thread == thread;
}

/* Signals that nobody awaits any more, and awaits of what nobody signals. */
static void drop_loose_ends(struct mini_case *mini)
{
    for (uint32_t i = 0; i < mini->count; i++) {
        struct case_op *op = &mini->ops[i];
        bool other = false;
        if (case_counts(op) || !case_live(mini, i))
            continue;
        for (uint32_t k = 0; k < mini->count; k++)
            other |= !case_counts(&mini->ops[k]) && mini->ops[k].name == op->name &&
                     mini->ops[k].verb != op->verb && case_live(mini, k);
        op->gone |= !other;
    }
}

static bool thread_lives(const struct mini_case *mini, uint32_t thread)
{
    for (uint32_t i = 0; i < mini->count; i++)
        if (mini->ops[i].thread == thread && case_live(mini, i))
            return true;
    return false;
}

static void cut_threads(struct minimiser *minimiser)
{
    uint32_t last = minimiser->best.scenario->thread_count - 1;
    for (uint32_t t = last + 1; t-- > 0;) {
        if (!thread_lives(&minimiser->best, t) || !mini_begin(minimiser))
            continue;
        drop_thread(&minimiser->trial, t);
        drop_loose_ends(&minimiser->trial);
        (void)mini_try(minimiser);
    }
    mini_note(minimiser, "threads");
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* The units of the best: the place of their first operation, in the order of the list. */
static uint32_t find_units(const struct mini_case *mini, uint32_t *units)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < mini->count; i++)
        if (case_live(mini, i) && mini->ops[i].verb != VERB_AWAIT)
            units[count++] = i;
    return count;
}

static void drop_unit(struct mini_case *mini, uint32_t unit)
{
    struct case_op *op = &mini->ops[unit];
    op->gone = true;
    for (uint32_t i = 0; op->verb == VERB_SIGNAL && i < mini->count; i++)
        if (!case_counts(&mini->ops[i]) && mini->ops[i].name == op->name)
            mini->ops[i].gone = true;
}

/* One round: chunks of a size, from the last one to the first. Whether one could go. */
static bool cut_chunks(struct minimiser *minimiser, uint32_t *units, uint32_t size)
{
    bool any = false;
    uint32_t end = find_units(&minimiser->best, units);
    while (end > 0 && mini_begin(minimiser)) {
        uint32_t first = end > size ? end - size : 0;
        for (uint32_t i = first; i < end; i++)
            drop_unit(&minimiser->trial, units[i]);
        drop_loose_ends(&minimiser->trial);
        any |= mini_try(minimiser);
        end = first;
    }
    return any;
}

static void cut_operations(struct minimiser *minimiser)
{
    uint32_t *units = calloc((size_t)minimiser->best.count + 1, sizeof *units);
    if (units == NULL) {
        minimiser->status = TRK_E_MEMORY;
        minimiser->ended = true;
        return;
    }
    uint32_t count = find_units(&minimiser->best, units);
    uint32_t size = 1;
    while (size * 2 < count)
        size *= 2;
    for (; size > 0; size /= 2) {
        bool any = cut_chunks(minimiser, units, size);
        while (any && size == 1)
            any = cut_chunks(minimiser, units, size);
        mini_note(minimiser, "operations");
    }
    free(units);
}

/* ---- every order ----------------------------------------------------------------------------- */

/* A case that is small enough must break in some order of all, not in one that is given. */
static void try_every_order(struct minimiser *minimiser)
{
    if (minimiser->best.order == CASE_EXPLORED ||
        case_size_of(&minimiser->best).operations > MINIMISE_EXPLORED_MOST ||
        !mini_begin(minimiser))
        return;
    minimiser->trial.order = CASE_EXPLORED;
    (void)mini_try(minimiser);
}

void mini_cut(struct minimiser *minimiser)
{
    try_every_order(minimiser);
    cut_threads(minimiser);
    try_every_order(minimiser);
    cut_operations(minimiser);
    try_every_order(minimiser);
}
