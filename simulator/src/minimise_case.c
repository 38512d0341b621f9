/*
 * A scenario that can be changed.
 */
#include "minimise_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- making one ------------------------------------------------------------------------------ */

/* What stands behind an operation's address and size, with the blank before it. */
static const char *tail_of(const char *text)
{
    for (int words = 0; words < 3; words++) {
        text += strspn(text, " \t");
        text += strcspn(text, " \t");
    }
    return text;
}

static bool add_op(struct mini_case *mini, const struct scenario_op *op, uint32_t thread,
                   uint32_t parent)
{
    struct case_op *to = &mini->ops[mini->count];
    *to = (struct case_op){
        .verb = op->verb,
        .thread = thread,
        .parent = parent,
        .name = op->name,
        .order = mini->count,
        .ranged = scenario_verb_ranged(op->verb),
        .braces = op->has_nested,
        .guest_addr = op->guest_addr,
        .size_bytes = op->size_bytes,
        .labelled = op->label != NULL,
        .text = op->text,
        .result = op->results_text,
    };
    if (op->label != NULL)
        snprintf(to->label, sizeof to->label, "%s", op->label);
    else
        snprintf(to->label, sizeof to->label, "o%" PRIu32, mini->count);
    if (to->ranged && strlen(tail_of(op->text)) < sizeof to->tail)
        snprintf(to->tail, sizeof to->tail, "%s", tail_of(op->text));
    else
        to->ranged = false;
    uint32_t self = mini->count++;
    for (uint32_t i = 0; i < op->nested_count; i++)
        if (!add_op(mini, &op->nested[i], thread, self))
            return false;
    return true;
}

static uint32_t count_ops(const struct scenario_op *ops, uint32_t count)
{
    uint32_t sum = count;
    for (uint32_t i = 0; i < count; i++)
        sum += count_ops(ops[i].nested, ops[i].nested_count);
    return sum;
}

static void add_entries(struct mini_case *mini)
{
    const struct trk_scenario *scenario = mini->scenario;
    mini->entry_count = scenario->entry_count;
    for (uint32_t i = 0; i < scenario->entry_count; i++)
        mini->entries[i].entry = scenario->entries[i];
}

/* Labels are e and the number of an event; what has none stands behind the one before it. */
static void read_order(struct mini_case *mini)
{
    uint64_t order = 0;
    for (uint32_t i = 0; i < mini->count; i++) {
        struct case_op *op = &mini->ops[i];
        if (i == 0 || mini->ops[i - 1].thread != op->thread)
            order = 0;
        if (op->labelled && op->label[0] == 'e')
            order = strtoull(op->label + 1, NULL, 10);
        op->order = order;
    }
}

enum trk_status case_create(struct mini_case *out, const struct trk_scenario *scenario,
                            const cJSON *json, bool recorded)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < scenario->thread_count; t++)
        count += count_ops(scenario->threads[t].ops, scenario->threads[t].op_count);
    *out = (struct mini_case){.scenario = scenario,
                              .json = json,
                              .capacity = count + 8,
                              .order = recorded ? CASE_RECORDED : CASE_GIVEN};
    out->ops = calloc(out->capacity, sizeof *out->ops);
    out->entries = calloc(scenario->entry_count + CASE_ENTRIES_ADDED, sizeof *out->entries);
    if (out->ops == NULL || out->entries == NULL)
        return TRK_E_MEMORY;
    for (uint32_t t = 0; t < scenario->thread_count; t++)
        for (uint32_t i = 0; i < scenario->threads[t].op_count; i++)
            (void)add_op(out, &scenario->threads[t].ops[i], t, SCENARIO_NONE);
    add_entries(out);
    if (recorded)
        read_order(out);
    return TRK_OK;
}

enum trk_status case_copy(struct mini_case *to, const struct mini_case *from)
{
    struct case_op *ops = to->ops;
    struct case_entry *entries = to->entries;
    size_t entry_room = from->scenario->entry_count + CASE_ENTRIES_ADDED;
    if (to->capacity < from->capacity) {
        free(ops);
        ops = calloc(from->capacity, sizeof *ops);
    }
    if (entries == NULL)
        entries = calloc(entry_room, sizeof *entries);
    uint32_t capacity = to->capacity < from->capacity ? from->capacity : to->capacity;
    *to = *from;
    to->ops = ops;
    to->entries = entries;
    to->capacity = ops == NULL ? 0 : capacity;
    if (ops == NULL || entries == NULL)
        return TRK_E_MEMORY;
    memcpy(ops, from->ops, from->count * sizeof *ops);
    memcpy(entries, from->entries, entry_room * sizeof *entries);
    return TRK_OK;
}

void case_destroy(struct mini_case *mini)
{
    free(mini->ops);
    free(mini->entries);
}

/* ---- looking at one -------------------------------------------------------------------------- */

bool case_live(const struct mini_case *mini, uint32_t op)
{
    for (; op != SCENARIO_NONE; op = mini->ops[op].parent)
        if (mini->ops[op].gone)
            return false;
    return true;
}

bool case_counts(const struct case_op *op)
{
    return op->verb != VERB_SIGNAL && op->verb != VERB_AWAIT;
}

uint32_t case_find(const struct mini_case *mini, const char *label)
{
    for (uint32_t i = 0; i < mini->count; i++)
        if (strcmp(mini->ops[i].label, label) == 0 && case_live(mini, i))
            return i;
    return SCENARIO_NONE;
}

static bool between(const struct mini_case *mini, const struct case_op *op)
{
    return op->thread > 0 && op->thread + 1 < mini->scenario->thread_count;
}

/* Pages of the entries that are left, an alias not counted. */
static uint32_t count_pages(const struct mini_case *mini)
{
    uint64_t pages = 0;
    for (uint32_t i = 0; i < mini->entry_count; i++)
        if (!mini->entries[i].gone && mini->entries[i].entry.alias_of == SCENARIO_NONE)
            pages += mini->entries[i].entry.size_bytes / SCENARIO_PAGE_BYTES;
    return (uint32_t)pages;
}

struct case_size case_size_of(const struct mini_case *mini)
{
    struct case_size size = {.pages = count_pages(mini)};
    bool seen[TRK_SCENARIO_THREADS + 2] = {false};
    for (uint32_t i = 0; i < mini->count; i++) {
        const struct case_op *op = &mini->ops[i];
        if (!case_live(mini, i) || !between(mini, op))
            continue;
        size.operations += case_counts(op);
        size.threads += !seen[op->thread];
        seen[op->thread] = true;
    }
    return size;
}

/* ---- changing one ---------------------------------------------------------------------------- */

enum trk_status case_insert(struct mini_case *mini, uint32_t at, enum scenario_verb verb)
{
    if (mini->count == mini->capacity) {
        struct case_op *ops = realloc(mini->ops, (mini->capacity + 8) * sizeof *ops);
        if (ops == NULL)
            return TRK_E_MEMORY;
        mini->ops = ops;
        mini->capacity += 8;
    }
    memmove(mini->ops + at + 1, mini->ops + at, (mini->count - at) * sizeof *mini->ops);
    mini->count++;
    for (uint32_t i = at; i < mini->count; i++)
        if (mini->ops[i].parent != SCENARIO_NONE && mini->ops[i].parent >= at)
            mini->ops[i].parent++;
    const struct case_op *next = &mini->ops[at + 1];
    mini->ops[at] = (struct case_op){
        .verb = verb,
        .thread = next->thread,
        .parent = next->parent,
        .order = next->order,
        .ranged = scenario_verb_ranged(verb),
        .guest_addr = next->guest_addr,
        .size_bytes = next->size_bytes,
    };
    snprintf(mini->ops[at].label, CASE_LABEL_BYTES, "n%" PRIu32, mini->count);
    return TRK_OK;
}
