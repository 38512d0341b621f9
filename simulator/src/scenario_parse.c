/*
 * Scenario files: from bytes to a checked program.
 *
 * Rules: scenario-format, Keys.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "scenario_json.h"
#include "track/pages.h"

#define NAME_BYTES 63u /* as reports have room for */

/* ---- values ---------------------------------------------------------------------------------- */

bool scenario_json_keys(struct scenario_json *json, const cJSON *object, const char *where,
                        const char *const *known)
{
    char place[sizeof json->fault->where];
    if (!cJSON_IsObject(object))
        return scenario_fault(json->fault, where, "expected an object");
    struct scenario_index seen = {0};
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        snprintf(place, sizeof place, "%s%s%s", where, *where != '\0' ? "." : "", item->string);
        bool found = known == NULL;
        for (size_t i = 0; !found && known[i] != NULL; i++)
            found = strcmp(known[i], item->string) == 0;
        if (!found)
            return scenario_fault(json->fault, place, "unknown key");
        if (scenario_index_find(&seen, item->string, strlen(item->string)) != SCENARIO_INDEX_NONE)
            return scenario_fault(json->fault, place, "the key stands here twice");
        json->no_memory |= !scenario_index_add(&seen, &json->scenario->pool, item->string, 0);
        if (json->no_memory)
            return false;
    }
    return true;
}

bool scenario_json_number(struct scenario_json *json, const cJSON *item, const char *where,
                          uint64_t most, uint64_t *out)
{
    double value = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(value >= 0) || value > (double)most || value != (double)(uint64_t)value)
        return scenario_fault(json->fault, where, "expected a whole number up to %llu",
                              (unsigned long long)most);
    *out = (uint64_t)value;
    return true;
}

bool scenario_json_text(struct scenario_json *json, const cJSON *item, const char *where,
                        const char **out)
{
    if (!cJSON_IsString(item))
        return scenario_fault(json->fault, where, "expected a string");
    *out = scenario_pool_text(&json->scenario->pool, item->valuestring, strlen(item->valuestring));
    json->no_memory |= *out == NULL;
    return *out != NULL;
}

bool scenario_json_bool(struct scenario_json *json, const cJSON *item, const char *where, bool *out)
{
    if (!cJSON_IsBool(item))
        return scenario_fault(json->fault, where, "expected true or false");
    *out = cJSON_IsTrue(item);
    return true;
}

/* ---- policy ---------------------------------------------------------------------------------- */

static bool preset(struct scenario_json *json, const cJSON *item, const char *where)
{
    if (!cJSON_IsString(item) ||
        trk_policy_preset(item->valuestring, &json->scenario->policy.core) != TRK_OK)
        return scenario_fault(json->fault, where, "expected default, strict or kyty-2026-08");
    return true;
}

/* Set *out to the number of the word among those given, which ends with NULL. */
static bool choice(struct scenario_json *json, const cJSON *item, const char *where,
                   const char *const *choices, int *out)
{
    char list[128] = "";
    for (int i = 0; choices[i] != NULL; i++) {
        if (cJSON_IsString(item) && strcmp(item->valuestring, choices[i]) == 0) {
            *out = i;
            return true;
        }
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i > 0 ? ", " : "",
                 choices[i]);
    }
    return scenario_fault(json->fault, where, "expected one of: %s", list);
}

static bool number_of(struct scenario_json *json, const cJSON *item, const char *where,
                      const uint32_t *choices, uint32_t *out)
{
    uint64_t number = 0;
    if (!scenario_json_number(json, item, where, UINT32_MAX, &number))
        return false;
    for (size_t i = 0; choices[i] != 0; i++) {
        if (choices[i] == number) {
            *out = choices[i];
            return true;
        }
    }
    return scenario_fault(json->fault, where, "%llu is not one of its values",
                          (unsigned long long)number);
}

static bool policy_key(struct scenario_json *json, const cJSON *item, const char *where)
{
    static const char *const invalidate[] = {"verify", "strict", "per-region", NULL};
    static const char *const download[] = {"per-region", "all-regions", NULL};
    static const char *const arena[] = {"low+extended", "low", NULL};
    static const uint32_t widths[] = {1, 8, 0};
    static const uint32_t pages[] = {4096, 16384, 65536, 0};
    static const uint32_t lines[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 0};
    struct scenario_policy *policy = &json->scenario->policy;
    const char *key = item->string;
    int chosen = 0;
    bool done = true;
    if (strcmp(key, "invalidate") == 0) {
        done = choice(json, item, where, invalidate, &chosen);
        policy->core.invalidate = (enum trk_invalidate_policy)chosen;
    } else if (strcmp(key, "download") == 0) {
        done = choice(json, item, where, download, &chosen);
        policy->core.download = (enum trk_download_policy)chosen;
    } else if (strcmp(key, "arena") == 0) {
        done = choice(json, item, where, arena, &chosen);
        policy->core.arena = (enum trk_arena)chosen;
    } else if (strcmp(key, "fault_width") == 0) {
        done = number_of(json, item, where, widths, &policy->core.fault_width_bytes);
    } else if (strcmp(key, "page_size") == 0) {
        done = number_of(json, item, where, pages, &policy->core.page_size_bytes);
    } else if (strcmp(key, "line_size") == 0) {
        done = number_of(json, item, where, lines, &policy->line_bytes);
    } else if (strcmp(key, "generations") == 0) {
        done = scenario_json_bool(json, item, where, &policy->core.generations);
    } else if (strcmp(key, "max_mappings") == 0) {
        done = scenario_json_number(json, item, where, UINT32_MAX, &policy->max_mappings);
    }
    return done;
}

static bool scenario_json_policy(struct scenario_json *json, const cJSON *item)
{
    static const char *const keys[] = {"preset",      "invalidate", "download",    "arena",
                                       "fault_width", "page_size",  "generations", "max_mappings",
                                       "line_size",   NULL};
    if (trk_policy_preset("default", &json->scenario->policy.core) != TRK_OK)
        return false;
    json->scenario->policy.line_bytes = 1;
    if (item == NULL)
        return true;
    if (cJSON_IsString(item))
        return preset(json, item, "policy");
    if (!cJSON_IsObject(item))
        return scenario_fault(json->fault, "policy", "expected a preset's name or an object");
    if (!scenario_json_keys(json, item, "policy", keys))
        return false;
    /* The preset first, wherever it stands: single keys override it. */
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "preset");
    if (name != NULL && !preset(json, name, "policy.preset"))
        return false;
    for (const cJSON *key = item->child; key != NULL; key = key->next) {
        char where[64];
        snprintf(where, sizeof where, "policy.%s", key->string);
        if (!policy_key(json, key, where))
            return false;
    }
    return true;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* What this build cannot do, in the order in which it is looked for. */
static void needs(struct trk_scenario *scenario)
{
    const char *text = "";
    for (uint32_t i = 0; *text == '\0' && i < scenario->entry_count; i++) {
        uint32_t views = 1;
        for (uint32_t j = 0; j < scenario->entry_count; j++)
            views += scenario->entries[j].alias_of == i;
        if (views > TRK_VIEWS_MAX)
            text = "needs more views of one frame than a tracker knows";
    }
    enum scenario_schedule_kind kind = scenario->schedule.kind;
    uint32_t regions[SCENARIO_REACH_MOST];
    size_t count;
    if (*text == '\0' && kind != SCHEDULE_IN_ORDER && kind != SCHEDULE_LIST &&
        !scenario_reach(scenario, regions, &count))
        text = "needs several schedules of a program that reaches more than 1024 regions";
    snprintf(scenario->needs, sizeof scenario->needs, "%s", text);
}

/* Words of small letters and digits with a dash between; short enough for every report. */
static bool kebab_case(const char *name)
{
    size_t length = strlen(name);
    bool dash = true;
    for (size_t i = 0; i < length; i++) {
        bool word = (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9');
        if (!word && (name[i] != '-' || dash))
            return false;
        dash = !word;
    }
    return !dash && length <= NAME_BYTES;
}

static bool header(struct scenario_json *json, const cJSON *root)
{
    static const char *const keys[] = {"scenario", "name",    "about",  "source",
                                       "policy",   "memory",  "init",   "threads",
                                       "schedule", "finally", "expect", NULL};
    if (!scenario_json_keys(json, root, "", keys))
        return false;
    uint64_t version = 0;
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "scenario");
    if (item == NULL)
        return scenario_fault(json->fault, "", "the key scenario is missing: no scenario file");
    if (!scenario_json_number(json, item, "scenario", UINT32_MAX, &version))
        return false;
    if (version != 1)
        return scenario_fault(json->fault, "scenario", "format version %llu; this program reads 1",
                              (unsigned long long)version);
    item = cJSON_GetObjectItemCaseSensitive(root, "name");
    if (item == NULL)
        return scenario_fault(json->fault, "", "the key name is missing");
    const char *name = "";
    if (!scenario_json_text(json, item, "name", &name))
        return false;
    json->scenario->name = name;
    if (!kebab_case(name))
        return scenario_fault(json->fault, "name", "expected a short name in kebab-case: a-b-2");
    const char *about;
    item = cJSON_GetObjectItemCaseSensitive(root, "about");
    if (item != NULL && !scenario_json_text(json, item, "about", &about))
        return false;
    item = cJSON_GetObjectItemCaseSensitive(root, "source");
    if (item == NULL)
        return true;
    bool texts = cJSON_IsArray(item);
    for (const cJSON *id = texts ? item->child : NULL; id != NULL; id = id->next)
        texts &= cJSON_IsString(id);
    return texts || scenario_fault(json->fault, "source", "expected a list of strings");
}

static bool root_parse(struct scenario_json *json, const cJSON *root)
{
    if (!cJSON_IsObject(root))
        return scenario_fault(json->fault, "", "expected a JSON object");
    return header(json, root) &&
           scenario_json_policy(json, cJSON_GetObjectItemCaseSensitive(root, "policy")) &&
           scenario_json_memory(json, cJSON_GetObjectItemCaseSensitive(root, "memory")) &&
           scenario_json_threads(json, root) &&
           scenario_json_schedule(json, cJSON_GetObjectItemCaseSensitive(root, "schedule")) &&
           scenario_json_expect(json, cJSON_GetObjectItemCaseSensitive(root, "expect"));
}

/* The length of the UTF-8 sequence at the cursor; 0: it is none. */
static size_t utf8_length(const unsigned char *at, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = *at < 0x80 ? 1 : *at < 0xc0 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
    if (length < 2 || length > left)
        return length == 1 ? 1 : 0;
    uint32_t code = *at & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3f);
    }
    bool whole = code >= least[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return whole && *at < 0xf8 ? length : 0;
}

/* Where the JSON itself is broken. */
static void broken_json(struct trk_scenario_fault *fault, const char *json, const char *at,
                        const char *text)
{
    uint32_t line = 1, column = 1;
    for (const char *c = json; c < at; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    char where[32];
    snprintf(where, sizeof where, "line %u", line);
    (void)scenario_fault(fault, where, "%s", text);
    fault->column = column;
}

/*
 * What cJSON lets pass: bytes that are no text, and a NUL in a string, behind which the rest of it
 * would go unread.
 */
static bool text_check(struct trk_scenario_fault *fault, const char *json, size_t size_bytes)
{
    const char *broken = NULL, *end = json + size_bytes;
    bool inside = false;
    for (const char *at = json; at < end && broken == NULL;) {
        size_t length = utf8_length((const unsigned char *)at, (size_t)(end - at));
        unsigned char byte = (unsigned char)*at;
        if (length == 0)
            broken = "not UTF-8 from here on";
        else if (byte < 0x20 && (inside || (byte != '\t' && byte != '\n' && byte != '\r')))
            broken = "a control character";
        else if (inside && end - at >= 6 && memcmp(at, "\\u0000", 6) == 0)
            broken = "a NUL in a string";
        if (broken != NULL)
            broken_json(fault, json, at, broken);
        inside ^= byte == '"';
        at += inside && byte == '\\' && end - at >= 2 && (unsigned char)at[1] < 0x80 ? 2 : length;
    }
    return broken == NULL;
}

/* cJSON, with a look at what stands behind the value. */
static cJSON *json_read(const char *text, size_t size_bytes, struct trk_scenario_fault *fault)
{
    const char *end = text;
    if (!text_check(fault, text, size_bytes))
        return NULL;
    cJSON *root = cJSON_ParseWithLengthOpts(text, size_bytes, &end, 0);
    if (root == NULL) {
        broken_json(fault, text, end != NULL ? end : text, "not valid JSON from here on");
        return NULL;
    }
    while (end < text + size_bytes && *end != '\0' && strchr(" \t\r\n", *end) != NULL)
        end++;
    if (end < text + size_bytes) {
        broken_json(fault, text, end, "not valid JSON from here on");
        cJSON_Delete(root);
        return NULL;
    }
    return root;
}

/*
 * What lines of schedules go by: all that the file says, however it is laid out. But for `about`,
 * which is for people and may hold such a line. False: no memory.
 */
static bool hash_of(const cJSON *root, uint32_t *out)
{
    uint64_t hash = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, root)
    {
        if (strcmp(item->string, "about") == 0)
            continue;
        char *text = cJSON_PrintUnformatted(item);
        if (text == NULL)
            return false;
        hash = XXH3_64bits_withSeed(item->string, strlen(item->string), hash);
        hash = XXH3_64bits_withSeed(text, strlen(text), hash);
        cJSON_free(text);
    }
    *out = (uint32_t)hash;
    return true;
}

enum trk_status trk_scenario_parse(struct trk_scenario **out, const char *json, size_t size_bytes,
                                   struct trk_scenario_fault *fault)
{
    memset(fault, 0, sizeof *fault);
    if (size_bytes > TRK_SCENARIO_FILE_BYTES) {
        (void)scenario_fault(fault, "", "larger than %llu bytes",
                             (unsigned long long)TRK_SCENARIO_FILE_BYTES);
        return TRK_E_ARGUMENT;
    }
    struct trk_scenario *scenario = calloc(1, sizeof *scenario);
    if (scenario == NULL)
        return TRK_E_MEMORY;
    cJSON *root = json_read(json, size_bytes, fault);
    struct scenario_json reader = {.scenario = scenario, .fault = fault};
    bool done = root != NULL && root_parse(&reader, root);
    if (done && !hash_of(root, &scenario->hash)) {
        reader.no_memory = true;
        done = false;
    }
    cJSON_Delete(root);
    if (!done) {
        trk_scenario_destroy(scenario);
        return reader.no_memory ? TRK_E_MEMORY : TRK_E_ARGUMENT;
    }
    needs(scenario);
    *out = scenario;
    return TRK_OK;
}

enum trk_status trk_scenario_load(struct trk_scenario **out, const char *path,
                                  struct trk_scenario_fault *fault)
{
    memset(fault, 0, sizeof *fault);
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(TRK_SCENARIO_FILE_BYTES + 1);
    enum trk_status status = TRK_E_MEMORY;
    if (file != NULL && bytes != NULL) {
        size_t got = fread(bytes, 1, TRK_SCENARIO_FILE_BYTES + 1, file);
        status = ferror(file) ? TRK_E_SYSTEM : trk_scenario_parse(out, bytes, got, fault);
    } else if (file == NULL) {
        status = TRK_E_SYSTEM;
    }
    if (status == TRK_E_SYSTEM)
        (void)scenario_fault(fault, "", "cannot be read: %s", strerror(errno));
    if (file != NULL)
        fclose(file);
    free(bytes);
    return status;
}

void trk_scenario_destroy(struct trk_scenario *scenario)
{
    if (scenario == NULL)
        return;
    scenario_pool_deinit(&scenario->pool);
    free(scenario);
}

const char *trk_scenario_name(const struct trk_scenario *scenario)
{
    return scenario->name;
}

const struct trk_policy *trk_scenario_policy(const struct trk_scenario *scenario)
{
    return &scenario->policy.core;
}

const char *trk_scenario_needs(const struct trk_scenario *scenario)
{
    return scenario->needs[0] != '\0' ? scenario->needs : NULL;
}
