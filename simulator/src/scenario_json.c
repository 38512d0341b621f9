/*
 * The parts of a scenario file: memory and threads.
 *
 * Rules: scenario-format, Keys.
 */
#include "scenario_json.h"

#include <stdio.h>
#include <string.h>

#include "track/address.h"
#include "track/event.h"

/* Room for a name in a place; longer ones are cut, in messages only. */
#define PLACE_BYTES 120

static bool is_name(const char *word)
{
    if (*word >= '0' && *word <= '9')
        return false;
    size_t length = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    return length > 0 && word[length] == '\0';
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool expression(struct scenario_json *json, const cJSON *item, const char *where,
                       uint64_t *out)
{
    if (cJSON_IsNumber(item))
        return scenario_json_number(json, item, where, UINT64_C(1) << 53, out);
    if (!cJSON_IsString(item))
        return scenario_fault(json->fault, where, "expected an expression");
    struct scenario_text text = {.scenario = json->scenario,
                                 .fault = json->fault,
                                 .where = where,
                                 .start = item->valuestring,
                                 .at = item->valuestring};
    if (!scenario_text_expression(&text, out))
        return false;
    return *text.at == '\0' || scenario_text_fail(&text, text.at, "expected the end here");
}

static bool rights(struct scenario_json *json, const cJSON *item, const char *where, unsigned *out)
{
    const char *word = cJSON_IsString(item) ? item->valuestring : "";
    struct scenario_text text = {.scenario = json->scenario,
                                 .fault = json->fault,
                                 .where = where,
                                 .start = word,
                                 .at = word};
    return scenario_text_rights(&text, out) &&
           (*text.at == '\0' || scenario_text_fail(&text, text.at, "expected the end here"));
}

static bool range(struct scenario_json *json, const cJSON *item, const char *where,
                  struct scenario_entry *entry)
{
    char place[PLACE_BYTES + 8];
    const cJSON *at = cJSON_GetObjectItemCaseSensitive(item, "at");
    const cJSON *size = cJSON_GetObjectItemCaseSensitive(item, "size");
    bool alias = cJSON_GetObjectItemCaseSensitive(item, "alias_of") != NULL;
    if (at == NULL || (size == NULL && !alias))
        return scenario_fault(json->fault, where, "the key %s is missing",
                              at == NULL ? "at" : "size");
    snprintf(place, sizeof place, "%s.at", where);
    if (!expression(json, at, place, &entry->guest_addr))
        return false;
    if (entry->guest_addr % SCENARIO_PAGE_BYTES != 0)
        return scenario_fault(json->fault, place, "expected a multiple of 4096");
    if (size == NULL)
        return true;
    snprintf(place, sizeof place, "%s.size", where);
    uint64_t end;
    if (!expression(json, size, place, &entry->size_bytes))
        return false;
    if (entry->size_bytes == 0 || entry->size_bytes % SCENARIO_PAGE_BYTES != 0)
        return scenario_fault(json->fault, place, "expected a multiple of 4096, not 0");
    if (__builtin_add_overflow(entry->guest_addr, entry->size_bytes, &end))
        return scenario_fault(json->fault, place, "the range leaves 64 bits");
    return true;
}

static bool entry_parse(struct scenario_json *json, const cJSON *item, struct scenario_entry *entry)
{
    static const char *const keys[] = {"at",       "size",   "prot",    "gpu", "alias_of",
                                       "reserved", "mapped", "private", NULL};
    char where[PLACE_BYTES], place[PLACE_BYTES + 16];
    snprintf(where, sizeof where, "memory.%s", item->string);
    if (!is_name(item->string))
        return scenario_fault(json->fault, where, "expected a name of letters, digits and _");
    if (scenario_is_unit(item->string, strlen(item->string)))
        return scenario_fault(json->fault, where, "a unit's name cannot be a memory's");
    if (!scenario_json_keys(json, item, where, keys) || !range(json, item, where, entry))
        return false;
    const cJSON *prot = cJSON_GetObjectItemCaseSensitive(item, "prot");
    snprintf(place, sizeof place, "%s.prot", where);
    if (prot != NULL && !rights(json, prot, place, &entry->rights))
        return false;
    const struct {
        const char *key;
        bool *value;
    } flags[] = {
        {"gpu", &entry->gpu},
        {"reserved", &entry->reserved},
        {"mapped", &entry->mapped},
        {"private", &entry->is_private},
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        const cJSON *flag = cJSON_GetObjectItemCaseSensitive(item, flags[i].key);
        snprintf(place, sizeof place, "%s.%s", where, flags[i].key);
        if (flag != NULL && !scenario_json_bool(json, flag, place, flags[i].value))
            return false;
    }
    return true;
}

static bool alias_resolve(struct scenario_json *json, const cJSON *item, uint32_t index)
{
    const cJSON *original = cJSON_GetObjectItemCaseSensitive(item, "alias_of");
    if (original == NULL)
        return true;
    struct trk_scenario *scenario = json->scenario;
    struct scenario_entry *entry = &scenario->entries[index];
    char where[PLACE_BYTES + 16];
    snprintf(where, sizeof where, "memory.%.80s.alias_of", item->string);
    uint32_t other = index;
    if (cJSON_IsString(original))
        other = scenario_index_find(&scenario->entry_index, original->valuestring,
                                    strlen(original->valuestring));
    if (other == SCENARIO_INDEX_NONE || other == index)
        return scenario_fault(json->fault, where, "expected the name of another memory");
    entry->alias_of = other;
    uint64_t most = scenario->entries[other].size_bytes;
    if (entry->size_bytes == 0)
        entry->size_bytes = most;
    if (entry->size_bytes > most)
        return scenario_fault(json->fault, where, "the view is larger than its original");
    return true;
}

static bool entries_check(struct scenario_json *json)
{
    const struct trk_scenario *scenario = json->scenario;
    uint64_t pages = 0;
    char where[PLACE_BYTES + 16];
    for (uint32_t i = 0; i < scenario->entry_count; i++) {
        const struct scenario_entry *entry = &scenario->entries[i];
        snprintf(where, sizeof where, "memory.%.80s", entry->name);
        if (entry->alias_of != SCENARIO_NONE &&
            scenario->entries[entry->alias_of].alias_of != SCENARIO_NONE)
            return scenario_fault(json->fault, where, "a view of a view");
        for (uint32_t j = 0; j < i; j++) {
            const struct scenario_entry *other = &scenario->entries[j];
            if (entry->guest_addr < other->guest_addr + other->size_bytes &&
                other->guest_addr < entry->guest_addr + entry->size_bytes)
                return scenario_fault(json->fault, where, "overlaps %.40s", other->name);
        }
        uint64_t own = entry->size_bytes / SCENARIO_PAGE_BYTES;
        if (own > TRK_SCENARIO_PAGES - pages)
            return scenario_fault(json->fault, where, "more than %llu pages of memory in all",
                                  (unsigned long long)TRK_SCENARIO_PAGES);
        pages += own;
    }
    json->pages = pages;
    return true;
}

bool scenario_json_memory(struct scenario_json *json, const cJSON *item)
{
    struct trk_scenario *scenario = json->scenario;
    if (item == NULL)
        return true;
    size_t count = (size_t)cJSON_GetArraySize(item);
    if (count > TRK_SCENARIO_ENTRIES)
        return scenario_fault(json->fault, "memory", "more than %u entries", TRK_SCENARIO_ENTRIES);
    if (!scenario_json_keys(json, item, "memory", NULL))
        return false;
    scenario->entries =
        scenario_pool_take(&scenario->pool, (count + 1) * sizeof *scenario->entries);
    json->no_memory |= scenario->entries == NULL;
    if (scenario->entries == NULL)
        return false;
    for (const cJSON *one = item->child; one != NULL; one = one->next) {
        struct scenario_entry *entry = &scenario->entries[scenario->entry_count];
        *entry = (struct scenario_entry){
            .rights = TRK_RIGHTS_RW, .alias_of = SCENARIO_NONE, .gpu = true, .mapped = true};
        entry->name = scenario_pool_text(&scenario->pool, one->string, strlen(one->string));
        json->no_memory |= entry->name == NULL;
        if (entry->name == NULL || !entry_parse(json, one, entry))
            return false;
        /* From here on expressions may name it. */
        if (!scenario_index_add(&scenario->entry_index, &scenario->pool, entry->name,
                                scenario->entry_count)) {
            json->no_memory = true;
            return false;
        }
        scenario->entry_count++;
    }
    uint32_t index = 0;
    for (const cJSON *one = item->child; one != NULL; one = one->next)
        if (!alias_resolve(json, one, index++))
            return false;
    return entries_check(json);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* At most how many steps an operation takes; more than the maximum are not told apart. */
static uint64_t op_steps(const struct scenario_json *json, const struct scenario_op *op)
{
    uint64_t nested = 0, total = 1;
    for (uint32_t i = 0; i < op->nested_count && nested <= TRK_SCENARIO_STEPS; i++)
        nested += op_steps(json, &op->nested[i]);
    if (op->verb == VERB_REPEAT)
        nested = op->value * (nested + 1);
    uint64_t pages = op->size_bytes / SCENARIO_PAGE_BYTES;
    total += pages < json->pages ? pages : json->pages;
    if (trk_range_valid(json->scenario->policy.core.arena, op->guest_addr, op->size_bytes))
        total += op->size_bytes / TRK_REGION_BYTES;
    total += nested;
    return total <= TRK_SCENARIO_STEPS ? total : TRK_SCENARIO_STEPS + 1;
}

static bool ops_parse(struct scenario_json *json, const cJSON *list, const char *where,
                      struct scenario_thread_text *out)
{
    if (list != NULL && !cJSON_IsArray(list))
        return scenario_fault(json->fault, where, "expected a list of operations");
    size_t count = list != NULL ? (size_t)cJSON_GetArraySize(list) : 0;
    struct scenario_op *ops = scenario_pool_take(&json->scenario->pool, (count + 1) * sizeof *ops);
    json->no_memory |= ops == NULL;
    if (ops == NULL)
        return false;
    uint32_t number = 0;
    for (const cJSON *item = count > 0 ? list->child : NULL; item != NULL; item = item->next) {
        struct scenario_text text = {.scenario = json->scenario,
                                     .fault = json->fault,
                                     .where = where,
                                     .number = number + 1,
                                     .start = item->valuestring,
                                     .at = item->valuestring};
        if (!cJSON_IsString(item)) {
            char place[PLACE_BYTES + 32];
            snprintf(place, sizeof place, "%s, operation %u", where, number + 1);
            return scenario_fault(json->fault, place, "expected a string");
        }
        if (!scenario_op_parse(&text, &ops[number])) {
            json->no_memory |= text.no_memory;
            return false;
        }
        json->steps += op_steps(json, &ops[number++]);
        if (json->steps > TRK_SCENARIO_STEPS)
            return scenario_text_fail(&text, text.start, "more than %llu steps up to here",
                                      (unsigned long long)TRK_SCENARIO_STEPS);
    }
    out->ops = ops;
    out->op_count = number;
    return true;
}

static bool thread_parse(struct scenario_json *json, const cJSON *item,
                         struct scenario_thread_text *out)
{
    static const char *const keys[] = {"kind", "run", NULL};
    char where[PLACE_BYTES], place[PLACE_BYTES + 8];
    snprintf(where, sizeof where, "threads.%s", item->string);
    if (strcmp(item->string, "init") == 0 || strcmp(item->string, "finally") == 0)
        return scenario_fault(json->fault, where, "init and finally are no names of threads");
    if (item->string[0] == '\0' || strchr(item->string, '@') != NULL)
        return scenario_fault(json->fault, where, "expected a name without @");
    out->name = scenario_pool_text(&json->scenario->pool, item->string, strlen(item->string));
    json->no_memory |= out->name == NULL;
    if (out->name == NULL)
        return false;
    out->kind = "host";
    if (cJSON_IsArray(item))
        return ops_parse(json, item, where, out);
    if (!cJSON_IsObject(item))
        return scenario_fault(json->fault, where, "expected a list of operations or an object");
    if (!scenario_json_keys(json, item, where, keys))
        return false;
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(item, "kind");
    snprintf(place, sizeof place, "%s.kind", where);
    if (kind != NULL && !scenario_json_text(json, kind, place, &out->kind))
        return false;
    if (strcmp(out->kind, "guest") != 0 && strcmp(out->kind, "host") != 0 &&
        strcmp(out->kind, "gpu") != 0)
        return scenario_fault(json->fault, place, "expected guest, host or gpu");
    const cJSON *run = cJSON_GetObjectItemCaseSensitive(item, "run");
    if (run == NULL)
        return scenario_fault(json->fault, where, "the key run is missing");
    return ops_parse(json, run, where, out);
}

bool scenario_json_threads(struct scenario_json *json, const cJSON *root)
{
    struct trk_scenario *scenario = json->scenario;
    const cJSON *threads = cJSON_GetObjectItemCaseSensitive(root, "threads");
    if (threads == NULL)
        return scenario_fault(json->fault, "", "the key threads is missing");
    size_t count = (size_t)cJSON_GetArraySize(threads);
    if (count > TRK_SCENARIO_THREADS)
        return scenario_fault(json->fault, "threads", "more than %u threads", TRK_SCENARIO_THREADS);
    if (!scenario_json_keys(json, threads, "threads", NULL))
        return false;
    scenario->threads =
        scenario_pool_take(&scenario->pool, (count + 2) * sizeof *scenario->threads);
    json->no_memory |= scenario->threads == NULL;
    if (scenario->threads == NULL)
        return false;
    scenario->threads[0] = (struct scenario_thread_text){.name = "init", .kind = "host"};
    if (!ops_parse(json, cJSON_GetObjectItemCaseSensitive(root, "init"), "init",
                   &scenario->threads[0]))
        return false;
    scenario->thread_count = 1;
    for (const cJSON *item = threads->child; item != NULL; item = item->next)
        if (!thread_parse(json, item, &scenario->threads[scenario->thread_count++]))
            return false;
    struct scenario_thread_text *last = &scenario->threads[scenario->thread_count++];
    *last = (struct scenario_thread_text){.name = "finally", .kind = "host"};
    return ops_parse(json, cJSON_GetObjectItemCaseSensitive(root, "finally"), "finally", last);
}
