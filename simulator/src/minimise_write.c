/*
 * A case as a scenario file.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore_text.h"
#include "minimise_case.h"
#include "track/event.h"

struct writing {
    const struct mini_case *mini;
    const struct case_writing *how;
    struct growing text; /* of one operation */
};

/* ---- addresses ------------------------------------------------------------------------------- */

static void write_address(struct writing *writing, uint64_t guest_addr)
{
    const struct mini_case *mini = writing->mini;
    for (uint32_t i = 0; i < mini->entry_count; i++) {
        const struct scenario_entry *entry = &mini->entries[i].entry;
        if (mini->entries[i].gone || guest_addr - entry->guest_addr >= entry->size_bytes)
            continue;
        uint64_t offset = guest_addr - entry->guest_addr;
        growing_add(&writing->text, "%s", entry->name);
        if (offset % SCENARIO_PAGE_BYTES == 0 && offset > 0)
            growing_add(&writing->text, "+%" PRIu64 "P", offset / SCENARIO_PAGE_BYTES);
        else if (offset > 0)
            growing_add(&writing->text, "+%" PRIu64, offset);
        return;
    }
    growing_add(&writing->text, "0x%" PRIx64, guest_addr);
}

static void write_range(struct writing *writing, const struct case_op *op)
{
    growing_add(&writing->text, " ");
    write_address(writing, op->guest_addr);
    if (op->size_bytes % SCENARIO_PAGE_BYTES == 0 && op->size_bytes > 0)
        growing_add(&writing->text, " %" PRIu64 "P", op->size_bytes / SCENARIO_PAGE_BYTES);
    else
        growing_add(&writing->text, " %" PRIu64, op->size_bytes);
}

/* ---- operations ------------------------------------------------------------------------------ */

/* The number of an event among those that are left, in the order of their signals. */
static uint32_t short_name(const struct mini_case *mini, uint32_t name)
{
    uint32_t number = 1;
    for (uint32_t i = 0; i < mini->count; i++) {
        const struct case_op *op = &mini->ops[i];
        if (op->verb != VERB_SIGNAL || !case_live(mini, i))
            continue;
        if (op->name == name)
            break;
        number++;
    }
    return number;
}

static void write_head(struct writing *writing, const struct case_op *op)
{
    const struct mini_case *mini = writing->mini;
    bool event = op->verb == VERB_SIGNAL || op->verb == VERB_AWAIT;
    if (op->labelled || (!event && (!writing->how->final || mini->order == CASE_RECORDED)))
        growing_add(&writing->text, "%s: ", op->label);
    if (event && mini->renamed) {
        growing_add(&writing->text, "%s s%" PRIu32, scenario_verb_word(op->verb),
                    short_name(mini, op->name));
    } else if (event) {
        growing_add(&writing->text, "%s %s", scenario_verb_word(op->verb),
                    mini->scenario->names[op->name]);
    } else if (op->ranged) {
        growing_add(&writing->text, "%s", scenario_verb_word(op->verb));
        write_range(writing, op);
        growing_add(&writing->text, "%s", op->tail);
    } else {
        growing_add(&writing->text, "%s", op->text);
    }
}

static void write_op(struct writing *writing, uint32_t index);

static void write_nested(struct writing *writing, uint32_t index)
{
    const struct mini_case *mini = writing->mini;
    const char *between = "";
    for (uint32_t i = index + 1; i < mini->count; i++) {
        if (mini->ops[i].parent != index || mini->ops[i].gone)
            continue;
        growing_add(&writing->text, "%s", between);
        write_op(writing, i);
        between = " ; ";
    }
}

static void write_op(struct writing *writing, uint32_t index)
{
    const struct case_op *op = &writing->mini->ops[index];
    write_head(writing, op);
    if (op->braces) {
        growing_add(&writing->text, " { ");
        size_t empty = writing->text.size;
        write_nested(writing, index);
        growing_add(&writing->text, writing->text.size == empty ? "}" : " }");
    }
    if (op->result != NULL)
        growing_add(&writing->text, " => %s", op->result);
}

/* The operations of a thread, as strings; how many. */
static int write_thread(struct writing *writing, uint32_t thread, cJSON *list)
{
    const struct mini_case *mini = writing->mini;
    int count = 0;
    for (uint32_t i = 0; i < mini->count; i++) {
        const struct case_op *op = &mini->ops[i];
        if (op->thread != thread || op->parent != SCENARIO_NONE || op->gone)
            continue;
        growing_clear(&writing->text);
        write_op(writing, i);
        if (writing->text.text != NULL)
            cJSON_AddItemToArray(list, cJSON_CreateString(writing->text.text));
        count++;
    }
    return count;
}

static void write_threads(struct writing *writing, cJSON *root)
{
    const struct mini_case *mini = writing->mini;
    const struct trk_scenario *scenario = mini->scenario;
    cJSON *list = cJSON_CreateArray();
    if (write_thread(writing, 0, list) > 0)
        cJSON_AddItemToObject(root, "init", list);
    else
        cJSON_Delete(list);
    cJSON *threads = cJSON_AddObjectToObject(root, "threads");
    for (uint32_t t = 1; t + 1 < scenario->thread_count; t++) {
        list = cJSON_CreateArray();
        if (write_thread(writing, t, list) == 0) {
            cJSON_Delete(list);
            continue;
        }
        if (mini->order == CASE_RECORDED)
            cJSON_AddItemToArray(list, cJSON_CreateString("over: frame"));
        cJSON *thread = cJSON_AddObjectToObject(threads, scenario->threads[t].name);
        cJSON_AddStringToObject(thread, "kind", scenario->threads[t].kind);
        cJSON_AddItemToObject(thread, "run", list);
    }
}

static void write_finally(struct writing *writing, cJSON *root)
{
    cJSON *list = cJSON_CreateArray();
    if (write_thread(writing, writing->mini->scenario->thread_count - 1, list) > 0)
        cJSON_AddItemToObject(root, "finally", list);
    else
        cJSON_Delete(list);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void write_entry(const struct mini_case *mini, const struct scenario_entry *from,
                        cJSON *memory)
{
    char text[32];
    cJSON *entry = cJSON_AddObjectToObject(memory, from->name);
    snprintf(text, sizeof text, "0x%" PRIx64, from->guest_addr);
    cJSON_AddStringToObject(entry, "at", text);
    snprintf(text, sizeof text, "%" PRIu64 "P", from->size_bytes / SCENARIO_PAGE_BYTES);
    cJSON_AddStringToObject(entry, "size", text);
    if (from->rights != TRK_RIGHTS_RW)
        cJSON_AddStringToObject(entry, "prot", scenario_rights_word(from->rights));
    if (from->alias_of != SCENARIO_NONE)
        cJSON_AddStringToObject(entry, "alias_of", mini->entries[from->alias_of].entry.name);
    if (!from->gpu)
        cJSON_AddFalseToObject(entry, "gpu");
    if (from->reserved)
        cJSON_AddTrueToObject(entry, "reserved");
    if (!from->mapped && !from->reserved)
        cJSON_AddFalseToObject(entry, "mapped");
    if (from->is_private)
        cJSON_AddTrueToObject(entry, "private");
}

static void write_memory(const struct mini_case *mini, cJSON *root)
{
    cJSON *memory = cJSON_AddObjectToObject(root, "memory");
    for (uint32_t i = 0; i < mini->entry_count; i++)
        if (!mini->entries[i].gone)
            write_entry(mini, &mini->entries[i].entry, memory);
}

/* ---- schedule -------------------------------------------------------------------------------- */

struct turn {
    uint64_t order;
    uint32_t op;
};

static int by_order(const void *a, const void *b)
{
    const struct turn *one = a, *other = b;
    if (one->order != other->order)
        return one->order < other->order ? -1 : 1;
    return one->op < other->op ? -1 : one->op > other->op;
}

/* Each operation as soon as all that began before it have begun. */
static void write_recorded(struct writing *writing, cJSON *root)
{
    const struct mini_case *mini = writing->mini;
    struct turn *live = calloc((size_t)mini->count + 1, sizeof *live);
    cJSON *list = cJSON_AddArrayToObject(root, "schedule");
    uint32_t count = 0;
    writing->text.no_memory |= live == NULL;
    for (uint32_t i = 0; live != NULL && i < mini->count; i++) {
        const struct case_op *op = &mini->ops[i];
        if (op->thread > 0 && op->thread + 1 < mini->scenario->thread_count && case_counts(op) &&
            case_live(mini, i))
            live[count++] = (struct turn){op->order, i};
    }
    if (count > 0)
        qsort(live, count, sizeof *live, by_order);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t next = i + 1, thread = mini->ops[live[i].op].thread;
        char text[160];
        while (next < count && mini->ops[live[next].op].thread != thread)
            next++;
        snprintf(text, sizeof text, "%s@%s", mini->scenario->threads[thread].name,
                 next < count ? mini->ops[live[next].op].label : "over");
        cJSON_AddItemToArray(list, cJSON_CreateString(text));
    }
    free(live);
}

/* Whether an entry of a list names a thread, and a label, that are left. */
static bool entry_holds(const struct mini_case *mini, const char *text)
{
    const char *at = strchr(text, '@');
    size_t length = at == NULL ? strlen(text) : (size_t)(at - text);
    for (uint32_t i = 0; i < mini->count; i++) {
        const struct case_op *op = &mini->ops[i];
        const char *thread = mini->scenario->threads[op->thread].name;
        if (case_live(mini, i) && strlen(thread) == length && strncmp(thread, text, length) == 0 &&
            (at == NULL || strcmp(op->label, at + 1) == 0))
            return true;
    }
    return false;
}

static void write_given(const struct mini_case *mini, cJSON *root)
{
    const cJSON *given = cJSON_GetObjectItemCaseSensitive(mini->json, "schedule");
    if (given == NULL)
        return;
    if (!cJSON_IsArray(given)) {
        cJSON_AddItemToObject(root, "schedule", cJSON_Duplicate(given, true));
        return;
    }
    cJSON *list = cJSON_AddArrayToObject(root, "schedule");
    const cJSON *entry;
    cJSON_ArrayForEach(entry, given) if (entry_holds(mini, entry->valuestring))
        cJSON_AddItemToArray(list, cJSON_CreateString(entry->valuestring));
}

/* ---- all of it ------------------------------------------------------------------------------- */

char *case_write(const struct mini_case *mini, const struct case_writing *how)
{
    struct writing writing = {.mini = mini, .how = how};
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "scenario", 1);
    cJSON_AddStringToObject(root, "name", how->final ? how->name : "case");
    if (how->final && how->sentence != NULL)
        cJSON_AddStringToObject(root, "about", how->sentence);
    const cJSON *policy = cJSON_GetObjectItemCaseSensitive(mini->json, "policy");
    if (policy != NULL)
        cJSON_AddItemToObject(root, "policy", cJSON_Duplicate(policy, true));
    write_memory(mini, root);
    write_threads(&writing, root);
    if (mini->order == CASE_RECORDED)
        write_recorded(&writing, root);
    else if (mini->order == CASE_GIVEN)
        write_given(mini, root);
    else
        cJSON_AddStringToObject(root, "schedule", "explore");
    write_finally(&writing, root);
    cJSON *expect = cJSON_AddObjectToObject(root, "expect");
    cJSON_AddStringToObject(expect, "verdict", "ok");
    char *text = writing.text.no_memory ? NULL : cJSON_Print(root);
    cJSON_Delete(root);
    growing_clear(&writing.text);
    if (text != NULL)
        growing_add(&writing.text, "%s\n", text);
    bool whole = text != NULL && !writing.text.no_memory;
    cJSON_free(text);
    if (whole)
        return writing.text.text;
    growing_deinit(&writing.text);
    return NULL;
}
