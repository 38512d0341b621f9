/*
 * Making what is left of a case plainer: bytes, pages, values, addresses, names; and what only
 * leads to the first state, or looks at the last one, out of the threads.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "minimise_run.h"

/* Operations of a case that needs no more of them in init and finally. */
#define OPERATIONS_ENOUGH 4u
/* Where the memory of a minimised case lies: in the band that every policy has. */
#define PLAIN_ADDRESS UINT64_C(0x200010000)

/* ---- ranges ---------------------------------------------------------------------------------- */

static bool is_access(enum scenario_verb verb)
{
    return verb == VERB_STORE || verb == VERB_LOAD || verb == VERB_HLE_WRITE ||
           verb == VERB_RAW_WRITE || verb == VERB_SYS_READ || verb == VERB_SYS_WRITE ||
           verb == VERB_SPARSE_READ || verb == VERB_GPU_READ || verb == VERB_GPU_WRITE;
}

/* The verdict's byte through the view that an operation uses. */
static uint64_t seen_through(const struct minimiser *minimiser, const struct case_op *op)
{
    const struct mini_case *mini = &minimiser->best;
    uint64_t offset = UINT64_MAX;
    for (uint32_t i = 0; i < mini->entry_count; i++) {
        const struct scenario_entry *entry = &mini->entries[i].entry;
        if (minimiser->guest_addr - entry->guest_addr < entry->size_bytes)
            offset = minimiser->guest_addr - entry->guest_addr;
    }
    for (uint32_t i = 0; i < mini->entry_count; i++) {
        const struct scenario_entry *entry = &mini->entries[i].entry;
        if (op->guest_addr - entry->guest_addr < entry->size_bytes &&
            entry->alias_of != SCENARIO_NONE && offset < entry->size_bytes)
            return entry->guest_addr + offset;
    }
    return minimiser->guest_addr;
}

/* The part of a range that the verdict is about: its byte, or its page; false: none, or all. */
static bool shrink(const struct minimiser *minimiser, struct case_op *op)
{
    uint64_t unit = is_access(op->verb) ? 1 : SCENARIO_PAGE_BYTES;
    uint64_t at = seen_through(minimiser, op);
    uint64_t first = at & ~(unit - 1);
    if (!op->ranged || at - op->guest_addr >= op->size_bytes ||
        (op->guest_addr == first && op->size_bytes <= unit))
        return false;
    op->guest_addr = first;
    op->size_bytes = unit;
    return true;
}

static void shrink_ranges(struct minimiser *minimiser)
{
    if (minimiser->guest_addr == TRK_NOT_KNOWN || !mini_begin(minimiser))
        return;
    bool any = false;
    for (uint32_t i = 0; i < minimiser->trial.count; i++)
        if (case_live(&minimiser->trial, i))
            any |= shrink(minimiser, &minimiser->trial.ops[i]);
    if (!any || mini_try(minimiser))
        return;
    for (uint32_t i = 0; i < minimiser->best.count; i++)
        if (case_live(&minimiser->best, i) && mini_begin(minimiser) &&
            shrink(minimiser, &minimiser->trial.ops[i]))
            (void)mini_try(minimiser);
}

/* ---- plainer operations ---------------------------------------------------------------------- */

static bool writes_value(enum scenario_verb verb)
{
    return verb == VERB_STORE || verb == VERB_HLE_WRITE || verb == VERB_RAW_WRITE ||
           verb == VERB_SYS_READ || verb == VERB_GPU_WRITE;
}

static void drop_results(struct minimiser *minimiser)
{
    bool any = false;
    if (strcmp(minimiser->target.verdict, "mismatch") == 0 || !mini_begin(minimiser))
        return;
    for (uint32_t i = 0; i < minimiser->trial.count; i++) {
        any |= minimiser->trial.ops[i].result != NULL && case_live(&minimiser->trial, i);
        minimiser->trial.ops[i].result = NULL;
    }
    if (any)
        (void)mini_try(minimiser);
}

/* Stores write 1, 2, 3 ... */
static void number_values(struct minimiser *minimiser)
{
    unsigned value = 0;
    bool any = false;
    if (!mini_begin(minimiser))
        return;
    for (uint32_t i = 0; i < minimiser->trial.count; i++) {
        struct case_op *op = &minimiser->trial.ops[i];
        char tail[CASE_TAIL_BYTES];
        if (!op->ranged || !writes_value(op->verb) || !case_live(&minimiser->trial, i))
            continue;
        value = value % 250 + 1;
        snprintf(tail, sizeof tail, " %u", value);
        any |= strcmp(tail, op->tail) != 0;
        memcpy(op->tail, tail, sizeof op->tail);
    }
    if (any)
        (void)mini_try(minimiser);
}

/* Braces in which nothing is left, where they mean nothing: those of an upload or a download. */
static void drop_braces(struct minimiser *minimiser)
{
    for (uint32_t i = 0; i < minimiser->best.count; i++) {
        if (!minimiser->best.ops[i].braces || !case_live(&minimiser->best, i) ||
            !mini_begin(minimiser))
            continue;
        bool nested = false;
        for (uint32_t k = i + 1; k < minimiser->best.count; k++)
            nested |= minimiser->best.ops[k].parent == i && !minimiser->best.ops[k].gone;
        minimiser->trial.ops[i].braces = false;
        if (!nested)
            (void)mini_try(minimiser);
    }
}

/* ---- init and finally ------------------------------------------------------------------------ */

/* The first operation of a thread, or its last; SCENARIO_NONE: it is no such one. */
static uint32_t outermost(const struct mini_case *mini, uint32_t thread, bool last)
{
    uint32_t found = SCENARIO_NONE;
    for (uint32_t i = 0; i < mini->count; i++) {
        const struct case_op *op = &mini->ops[i];
        if (op->thread != thread || op->parent != SCENARIO_NONE || op->gone)
            continue;
        found = i;
        if (!last)
            break;
    }
    return found != SCENARIO_NONE && case_counts(&mini->ops[found]) ? found : SCENARIO_NONE;
}

static bool move(struct minimiser *minimiser, uint32_t thread, bool last)
{
    uint32_t op = outermost(&minimiser->best, thread, last);
    if (op == SCENARIO_NONE || !mini_begin(minimiser))
        return false;
    struct mini_case *trial = &minimiser->trial;
    uint32_t to = last ? trial->scenario->thread_count - 1 : 0;
    trial->ops[op].thread = to;
    for (uint32_t i = op + 1; i < trial->count; i++)
        if (trial->ops[i].parent != SCENARIO_NONE && trial->ops[trial->ops[i].parent].thread == to)
            trial->ops[i].thread = to;
    return mini_try(minimiser);
}

void mini_move_out(struct minimiser *minimiser)
{
    for (unsigned last = 0; last < 2; last++)
        for (uint32_t t = 1; t + 1 < minimiser->best.scenario->thread_count; t++)
            while (case_size_of(&minimiser->best).operations > OPERATIONS_ENOUGH &&
                   move(minimiser, t, last == 1))
                ;
    mini_note(minimiser, "init and finally");
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* The pages of an entry that operations name; false: none does. */
static bool used_pages(const struct mini_case *mini, uint32_t entry, uint64_t *first, uint64_t *end)
{
    const struct scenario_entry *from = &mini->entries[entry].entry;
    *first = UINT64_MAX;
    *end = 0;
    for (uint32_t i = 0; i < mini->count; i++) {
        const struct case_op *op = &mini->ops[i];
        uint64_t op_end = op->guest_addr + (op->ranged && op->size_bytes > 0 ? op->size_bytes : 1);
        if (!case_live(mini, i) || op->guest_addr >= from->guest_addr + from->size_bytes ||
            op_end <= from->guest_addr)
            continue;
        *first = op->guest_addr < *first ? op->guest_addr : *first;
        *end = op_end > *end ? op_end : *end;
    }
    if (*end == 0)
        return false;
    uint64_t from_end = from->guest_addr + from->size_bytes;
    *first = *first < from->guest_addr ? from->guest_addr : *first & ~(SCENARIO_PAGE_BYTES - 1);
    *end = (*end + SCENARIO_PAGE_BYTES - 1) & ~(SCENARIO_PAGE_BYTES - 1);
    *end = *end > from_end ? from_end : *end;
    return true;
}

static bool has_views(const struct mini_case *mini, uint32_t entry)
{
    for (uint32_t i = 0; i < mini->entry_count; i++)
        if (!mini->entries[i].gone && mini->entries[i].entry.alias_of == entry)
            return true;
    return false;
}

static void trim_memory(struct minimiser *minimiser)
{
    for (uint32_t i = 0; i < minimiser->best.entry_count; i++) {
        const struct scenario_entry *was = &minimiser->best.entries[i].entry;
        uint64_t first, end;
        if (minimiser->best.entries[i].gone || has_views(&minimiser->best, i) ||
            !mini_begin(minimiser))
            continue;
        struct case_entry *entry = &minimiser->trial.entries[i];
        bool used = used_pages(&minimiser->best, i, &first, &end);
        if (used && (was->alias_of != SCENARIO_NONE ||
                     (first == was->guest_addr && end == was->guest_addr + was->size_bytes)))
            continue;
        entry->gone = !used;
        entry->entry.guest_addr = used ? first : was->guest_addr;
        entry->entry.size_bytes = used ? end - first : was->size_bytes;
        (void)mini_try(minimiser);
    }
    mini_note(minimiser, "pages");
}

/* Memory at plain addresses, one entry behind the other, a page between. */
static void move_memory(struct minimiser *minimiser)
{
    uint64_t at = PLAIN_ADDRESS;
    bool any = false;
    if (!mini_begin(minimiser))
        return;
    struct mini_case *trial = &minimiser->trial;
    for (uint32_t i = 0; i < trial->entry_count; i++) {
        struct scenario_entry *entry = &trial->entries[i].entry;
        if (trial->entries[i].gone)
            continue;
        uint64_t was = entry->guest_addr;
        any |= was != at;
        for (uint32_t k = 0; k < trial->count; k++)
            if (minimiser->best.ops[k].guest_addr - was < entry->size_bytes)
                trial->ops[k].guest_addr = minimiser->best.ops[k].guest_addr - was + at;
        entry->guest_addr = at;
        at += entry->size_bytes + SCENARIO_PAGE_BYTES;
    }
    if (any)
        (void)mini_try(minimiser);
}

static void rename_events(struct minimiser *minimiser)
{
    if (minimiser->best.renamed || minimiser->best.order != CASE_EXPLORED || !mini_begin(minimiser))
        return;
    minimiser->trial.renamed = true;
    (void)mini_try(minimiser);
}

void mini_shrink(struct minimiser *minimiser)
{
    drop_results(minimiser);
    drop_braces(minimiser);
    shrink_ranges(minimiser);
    trim_memory(minimiser);
    mini_move_out(minimiser);
    number_values(minimiser);
    move_memory(minimiser);
    rename_events(minimiser);
}
