/*
 * A file's schedule and its expectation: parsing them, and holding a verdict against the latter.
 *
 * Rules: scenario-format, Schedules, Expect and fine print 17, 18.
 */
#include "scenario_expect.h"

#include <stdio.h>
#include <string.h>

#include "scenario_json.h"
#include "simulator/sim.h"

static const char *const verdict_words[] = {
    "ok",
    "mismatch",
    "stale-gpu-read",
    "stale-cpu-read",
    "lost-cpu-write",
    "lost-gpu-write",
    "fatal:range",
    "fatal:reentry",
    "fatal:conflict",
    "fatal:retained",
    "fatal:untrack",
    "fatal:lock",
    "fatal:watch",
    "fatal:protect",
    "protection-loose",
    "kernel-access",
    "unhandled-fault",
    "livelock",
    "deadlock",
    "watch-leak",
};
#define VERDICT_WORDS (sizeof verdict_words / sizeof verdict_words[0])

_Static_assert(VERDICT_WORDS == SCENARIO_VERDICTS, "SCENARIO_VERDICTS");

uint32_t scenario_verdict_number(const char *word)
{
    uint32_t number = 0;
    while (number + 1 < VERDICT_WORDS && strcmp(verdict_words[number], word) != 0)
        number++;
    return number;
}

const char *scenario_verdict_word(uint32_t number)
{
    return verdict_words[number];
}

/* ---- schedule -------------------------------------------------------------------------------- */

static bool has_label(const struct scenario_op *ops, uint32_t count, const char *label)
{
    for (uint32_t i = 0; i < count; i++) {
        if (ops[i].label != NULL && strcmp(ops[i].label, label) == 0)
            return true;
        if (has_label(ops[i].nested, ops[i].nested_count, label))
            return true;
    }
    return false;
}

/* Note all labels of some operations and of those in their braces. */
static bool labels_add(struct scenario_json *json, struct scenario_index *labels,
                       const struct scenario_op *ops, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *label = ops[i].label;
        if (label != NULL &&
            scenario_index_find(labels, label, strlen(label)) == SCENARIO_INDEX_NONE)
            json->no_memory |= !scenario_index_add(labels, &json->scenario->pool, label, i);
        if (json->no_memory || !labels_add(json, labels, ops[i].nested, ops[i].nested_count))
            return false;
    }
    return true;
}

/* labels is of a thread each. */
static bool step_parse(struct scenario_json *json, const cJSON *item, const char *where,
                       const struct scenario_index *labels, struct scenario_step *out)
{
    const struct trk_scenario *scenario = json->scenario;
    const char *text;
    if (!scenario_json_text(json, item, where, &text))
        return false;
    const char *label = strchr(text, '@');
    size_t length = label != NULL ? (size_t)(label - text) : strlen(text);
    for (uint32_t i = 1; i + 1 < scenario->thread_count; i++) {
        const struct scenario_thread_text *thread = &scenario->threads[i];
        if (strlen(thread->name) != length || memcmp(thread->name, text, length) != 0)
            continue;
        *out = (struct scenario_step){.thread = i, .label = label != NULL ? label + 1 : NULL};
        if (label == NULL ||
            scenario_index_find(&labels[i], label + 1, strlen(label + 1)) != SCENARIO_INDEX_NONE)
            return true;
        return scenario_fault(json->fault, where, "thread %.40s has no label '%.40s'", thread->name,
                              label + 1);
    }
    return scenario_fault(json->fault, where, "'%.*s' is no thread", (int)length, text);
}

static bool list_parse(struct scenario_json *json, const cJSON *list)
{
    struct scenario_schedule *schedule = &json->scenario->schedule;
    size_t count = (size_t)cJSON_GetArraySize(list);
    struct scenario_step *steps =
        scenario_pool_take(&json->scenario->pool, (count + 1) * sizeof *steps);
    struct scenario_index labels[TRK_SCENARIO_THREADS + 1] = {{0}};
    json->no_memory |= steps == NULL;
    if (steps == NULL)
        return false;
    for (uint32_t i = 1; i + 1 < json->scenario->thread_count; i++)
        if (!labels_add(json, &labels[i], json->scenario->threads[i].ops,
                        json->scenario->threads[i].op_count))
            return false;
    schedule->kind = SCHEDULE_LIST;
    schedule->steps = steps;
    for (const cJSON *item = list->child; item != NULL; item = item->next) {
        char where[48];
        snprintf(where, sizeof where, "schedule, entry %u", schedule->step_count + 1);
        if (!step_parse(json, item, where, labels, &steps[schedule->step_count++]))
            return false;
    }
    return true;
}

static bool random_parse(struct scenario_json *json, const cJSON *object)
{
    static const char *const random_keys[] = {"random", "runs", NULL};
    static const char *const pct_keys[] = {"pct", "depth", "runs", NULL};
    struct scenario_schedule *schedule = &json->scenario->schedule;
    bool pct = cJSON_GetObjectItemCaseSensitive(object, "pct") != NULL;
    schedule->kind = pct ? SCHEDULE_PCT : SCHEDULE_RANDOM;
    if (!scenario_json_keys(json, object, "schedule", pct ? pct_keys : random_keys))
        return false;
    const struct {
        const char *key;
        uint64_t *value;
        uint64_t least;
    } numbers[] = {
        {pct ? "pct" : "random", &schedule->seed, 0},
        {"runs", &schedule->runs, 1},
        {"depth", &schedule->depth, 1},
    };
    for (size_t i = 0; i < (pct ? 3u : 2u); i++) {
        char where[32];
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, numbers[i].key);
        snprintf(where, sizeof where, "schedule.%s", numbers[i].key);
        if (item == NULL)
            return scenario_fault(json->fault, "schedule", "the key %s is missing", numbers[i].key);
        if (!scenario_json_number(json, item, where, UINT64_C(1) << 53, numbers[i].value))
            return false;
        if (*numbers[i].value < numbers[i].least)
            return scenario_fault(json->fault, where, "expected at least 1");
    }
    return true;
}

bool scenario_json_schedule(struct scenario_json *json, const cJSON *item)
{
    if (item == NULL || (cJSON_IsString(item) && strcmp(item->valuestring, "in-order") == 0))
        return true;
    if (cJSON_IsArray(item))
        return list_parse(json, item);
    if (cJSON_IsObject(item))
        return random_parse(json, item);
    if (!cJSON_IsString(item) || strcmp(item->valuestring, "explore") != 0)
        return scenario_fault(json->fault, "schedule",
                              "expected in-order, explore, a list, or an object with random or "
                              "pct");
    json->scenario->schedule.kind = SCHEDULE_EXPLORE;
    return true;
}

bool trk_scenario_verdict_is_name(const char *text)
{
    size_t i = 0;
    while (i < VERDICT_WORDS && strcmp(verdict_words[i], text) != 0)
        i++;
    return i < VERDICT_WORDS;
}

bool trk_scenario_verdict_may_come(const char *text)
{
    char fatal[64];
    bool found = trk_scenario_verdict_is_name(text) || trk_verdict_is_name(text);
    for (int i = TRK_OK; i <= TRK_E_END && !found; i++) {
        snprintf(fatal, sizeof fatal, "fatal:%s", trk_status_name((enum trk_status)i));
        found = strcmp(fatal, text) == 0;
    }
    return found;
}

/* ---- expectation ----------------------------------------------------------------------------- */

static bool verdict_parse(struct scenario_json *json, const cJSON *item, const char *where)
{
    struct scenario_expect *expect = &json->scenario->expect;
    for (size_t i = 0; cJSON_IsString(item) && i < VERDICT_WORDS; i++) {
        if (strcmp(verdict_words[i], item->valuestring) != 0)
            continue;
        for (uint32_t j = 0; j < expect->verdict_count; j++)
            if (expect->verdicts[j] == verdict_words[i])
                return scenario_fault(json->fault, where, "%s stands here twice", verdict_words[i]);
        expect->verdicts[expect->verdict_count++] = verdict_words[i];
        return true;
    }
    return scenario_fault(json->fault, where, "expected a verdict of scenarios");
}

static bool set_parse(struct scenario_json *json, const cJSON *list)
{
    json->scenario->expect.set = true;
    if (!cJSON_IsArray(list) || list->child == NULL)
        return scenario_fault(json->fault, "expect.verdicts", "expected a list of verdicts");
    for (const cJSON *item = list->child; item != NULL; item = item->next)
        if (!verdict_parse(json, item, "expect.verdicts"))
            return false;
    return true;
}

static bool at_parse(struct scenario_json *json, const cJSON *item)
{
    const struct trk_scenario *scenario = json->scenario;
    if (!scenario_json_text(json, item, "expect.at", &json->scenario->expect.at))
        return false;
    for (uint32_t i = 0; i < scenario->thread_count; i++)
        if (has_label(scenario->threads[i].ops, scenario->threads[i].op_count, scenario->expect.at))
            return true;
    return scenario_fault(json->fault, "expect.at", "no operation has the label '%.80s'",
                          scenario->expect.at);
}

bool scenario_json_expect(struct scenario_json *json, const cJSON *item)
{
    static const char *const keys[] = {"verdict", "verdicts", "in", "schedules", "at", NULL};
    struct scenario_expect *expect = &json->scenario->expect;
    if (item != NULL && !scenario_json_keys(json, item, "expect", keys))
        return false;
    const cJSON *verdict = cJSON_GetObjectItemCaseSensitive(item, "verdict");
    const cJSON *verdicts = cJSON_GetObjectItemCaseSensitive(item, "verdicts");
    const cJSON *in = cJSON_GetObjectItemCaseSensitive(item, "in");
    const cJSON *schedules = cJSON_GetObjectItemCaseSensitive(item, "schedules");
    const cJSON *at = cJSON_GetObjectItemCaseSensitive(item, "at");
    if (verdict != NULL && verdicts != NULL)
        return scenario_fault(json->fault, "expect", "either verdict or verdicts");
    if (in != NULL &&
        (verdict == NULL || !cJSON_IsString(in) || strcmp(in->valuestring, "some") != 0))
        return scenario_fault(json->fault, "expect.in", "expected some, beside verdict");
    expect->some = in != NULL;
    if (verdicts != NULL && !set_parse(json, verdicts))
        return false;
    if (verdict != NULL && !verdict_parse(json, verdict, "expect.verdict"))
        return false;
    if (expect->verdict_count == 0)
        expect->verdicts[expect->verdict_count++] = "ok";
    if (schedules != NULL && !scenario_json_number(json, schedules, "expect.schedules",
                                                   UINT64_C(1) << 53, &expect->schedules))
        return false;
    if (schedules != NULL && expect->schedules == 0)
        return scenario_fault(json->fault, "expect.schedules", "there is one schedule at least");
    return at == NULL || at_parse(json, at);
}

void scenario_expect_words(const struct scenario_expect *expect, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < expect->verdict_count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "",
                                 expect->verdicts[i]);
    if (expect->some && used < size)
        used += (size_t)snprintf(out + used, size - used, " in some schedules");
    if (expect->at != NULL && used < size)
        snprintf(out + used, size - used, " at '%s'", expect->at);
}
