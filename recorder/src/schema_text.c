#include "schema_text.h"

#include <string.h>

#include <cjson/cJSON.h>

#include "columns_model.h"
#include "track/event.h"

#define SCHEMA_NAME    "trk.types"
#define SCHEMA_VERSION 1

static const char *const pair_words[] = {"none", "hold", "size", "size_stamp", "timeline", "hash"};
static const char *const span_words[] = {"none", "page",     "count",   "run",
                                         "id",   "id_value", "number32"};
static const char *const argument_words[] = {"none", "address", "number"};
static const char *const group_words[] = {"region", "pages"};
static const char *const encoding_words[] = {"", "bytes", "leb128", "zigzag"};
static const char *const column_words[TRK_COLUMN_COUNT] = {
    "",        "type",    "time", "domain", "seq",    "page", "pages",  "flags",
    "context", "address", "size", "stamp",  "number", "id",   "others", "hash",
};

#define COUNT(words) (sizeof(words) / sizeof(words)[0])

/* What each word of a type fills, with the role and unit of the field there. */
static const struct {
    const char *word, *field, *role, *unit;
} fields[] = {
    {"flags", "flags", "flags", ""},
    {"context", "context", "code", ""},
    {"address", "argument", "address", "byte"},
    {"number", "argument", "number", ""},
    {"hold", "domain", "domain", ""},
    {"hold", "seq", "seq", "hold"},
    {"size", "seq,domain", "size", "byte"},
    {"size_stamp", "seq", "size", "byte"},
    {"size_stamp", "domain", "stamp", ""},
    {"timeline", "domain", "timeline", ""},
    {"hash", "seq,domain", "hash", ""},
    {"page", "page", "page", "4096 bytes"},
    {"run", "page", "page", "4096 bytes"},
    {"run", "pages", "count", "4096 bytes"},
    {"count", "pages", "count", ""},
    {"id", "page", "id", ""},
    {"id_value", "page", "id", ""},
    {"id_value", "pages", "number", ""},
    {"number32", "page,pages", "number", ""},
};

static cJSON *columns_json(void)
{
    cJSON *list = cJSON_CreateArray();
    for (unsigned id = 1; id < TRK_COLUMN_COUNT; id++) {
        cJSON *column = cJSON_CreateObject();
        cJSON_AddNumberToObject(column, "id", id);
        cJSON_AddStringToObject(column, "name", column_words[id]);
        cJSON_AddStringToObject(column, "encoding", encoding_words[trk_columns_encoding[id]]);
        cJSON_AddItemToArray(list, column);
    }
    return list;
}

static cJSON *fields_json(void)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < COUNT(fields); i++) {
        cJSON *field = cJSON_CreateObject();
        cJSON_AddStringToObject(field, "word", fields[i].word);
        cJSON_AddStringToObject(field, "field", fields[i].field);
        cJSON_AddStringToObject(field, "role", fields[i].role);
        if (fields[i].unit[0] != '\0') {
            cJSON_AddStringToObject(field, "unit", fields[i].unit);
        }
        cJSON_AddItemToArray(list, field);
    }
    return list;
}

static cJSON *type_json(unsigned id)
{
    const struct trk_schema_type *shape = &trk_schema_table[id];
    cJSON *type = cJSON_CreateObject();
    cJSON_AddNumberToObject(type, "id", id);
    cJSON_AddStringToObject(type, "name", trk_event_type_name((uint8_t)id));
    if (shape->required) {
        cJSON_AddTrueToObject(type, "required");
    }
    if (shape->flags) {
        cJSON_AddTrueToObject(type, "flags");
    }
    if (shape->context) {
        cJSON_AddTrueToObject(type, "context");
    }
    if (shape->argument != TRK_SCHEMA_ARGUMENT_NONE) {
        cJSON_AddStringToObject(type, "argument", argument_words[shape->argument]);
    }
    if (shape->argument == TRK_SCHEMA_ARGUMENT_ADDRESS) {
        cJSON_AddNumberToObject(type, "line", shape->line);
    }
    if (shape->pair != TRK_SCHEMA_PAIR_NONE) {
        cJSON_AddStringToObject(type, "pair", pair_words[shape->pair]);
    }
    if (shape->span != TRK_SCHEMA_SPAN_NONE) {
        cJSON_AddStringToObject(type, "span", span_words[shape->span]);
    }
    if (shape->group != TRK_SCHEMA_GROUP_REGION) {
        cJSON_AddStringToObject(type, "group", group_words[shape->group]);
    }
    return type;
}

char *trk_schema_print(char *const *newer)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "schema", SCHEMA_NAME);
    cJSON_AddNumberToObject(root, "schema_version", SCHEMA_VERSION);
    cJSON_AddItemToObject(root, "columns", columns_json());
    cJSON_AddItemToObject(root, "words", fields_json());
    cJSON *types = cJSON_AddArrayToObject(root, "types");
    for (unsigned id = 1; id < 256; id++) {
        if (trk_schema_table[id].known) {
            cJSON_AddItemToArray(types, type_json(id));
        } else if (newer != NULL && newer[id] != NULL) {
            cJSON_AddItemToArray(types, cJSON_CreateRaw(newer[id]));
        }
    }
    char *text = types != NULL ? cJSON_PrintUnformatted(root) : NULL;
    cJSON_Delete(root);
    return text;
}

void trk_schema_free(char *text)
{
    cJSON_free(text);
}

char *trk_schema_copy(const char *text)
{
    size_t size_bytes = strlen(text) + 1;
    char *copy = cJSON_malloc(size_bytes);
    if (copy != NULL) {
        memcpy(copy, text, size_bytes);
    }
    return copy;
}

/* The place of a member's word in a list; 0 when it is absent. False: the word is in no place. */
static bool get_word(const cJSON *type, const char *key, const char *const *words, size_t count,
                     uint8_t *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(type, key);
    *out = 0;
    if (item == NULL) {
        return true;
    }
    for (size_t i = 0; cJSON_IsString(item) && i < count; i++) {
        if (strcmp(item->valuestring, words[i]) == 0) {
            *out = (uint8_t)i;
            return true;
        }
    }
    return false;
}

/* A whole number below a limit; 0 when it is absent. */
static bool get_number(const cJSON *type, const char *key, unsigned limit, uint8_t *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(type, key);
    *out = 0;
    if (item == NULL) {
        return true;
    }
    if (!cJSON_IsNumber(item) || item->valuedouble < 0 || item->valuedouble >= limit) {
        return false;
    }
    *out = (uint8_t)item->valuedouble;
    return true;
}

static uint8_t get_flag(const cJSON *type, const char *key)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(type, key)) ? 1 : 0;
}

static bool get_shape(const cJSON *type, struct trk_schema_type *shape)
{
    *shape = (struct trk_schema_type){
        .known = 1,
        .flags = get_flag(type, "flags"),
        .context = get_flag(type, "context"),
        .required = get_flag(type, "required"),
    };
    return get_word(type, "pair", pair_words, COUNT(pair_words), &shape->pair) &&
           get_word(type, "span", span_words, COUNT(span_words), &shape->span) &&
           get_word(type, "argument", argument_words, COUNT(argument_words), &shape->argument) &&
           get_word(type, "group", group_words, COUNT(group_words), &shape->group) &&
           get_number(type, "line", TRK_SCHEMA_LINES, &shape->line);
}

static bool same_shape(const struct trk_schema_type *a, const struct trk_schema_type *b)
{
    return a->pair == b->pair && a->span == b->span && a->argument == b->argument &&
           a->flags == b->flags && a->context == b->context && a->group == b->group &&
           a->line == b->line;
}

/* As names of types are: what a terminal or a JSON text would take for something else is not one.
 */
static void put_name(char out[TRK_SCHEMA_NAME_BYTES], const char *name)
{
    strncpy(out, name, TRK_SCHEMA_NAME_BYTES - 1);
    out[TRK_SCHEMA_NAME_BYTES - 1] = '\0';
    for (char *at = out; *at != '\0'; at++) {
        *at = *at > ' ' && *at < 0x7f && *at != '"' && *at != '\\' ? *at : '?';
    }
}

static enum trk_status take_type(const cJSON *type, struct trk_schema *schema)
{
    uint8_t id;
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(type, "name");
    if (!get_number(type, "id", 256, &id) || id == TRK_EVENT_NONE || !cJSON_IsString(name)) {
        return TRK_E_DAMAGED;
    }
    struct trk_schema_type shape;
    if (!get_shape(type, &shape)) {
        return TRK_E_VERSION;
    }
    if (trk_schema_table[id].known) {
        return same_shape(&shape, &trk_schema_table[id]) ? TRK_OK : TRK_E_VERSION;
    }
    schema->types[id] = shape;
    put_name(schema->names[id], name->valuestring);
    if (schema->texts != NULL) {
        trk_schema_free(schema->texts[id]);
        schema->texts[id] = cJSON_PrintUnformatted(type);
        return schema->texts[id] != NULL ? TRK_OK : TRK_E_MEMORY;
    }
    return TRK_OK;
}

bool trk_schema_same(const char *a, const char *b)
{
    cJSON *one = cJSON_Parse(a);
    cJSON *other = cJSON_Parse(b);
    bool same = cJSON_Compare(one, other, true);
    cJSON_Delete(one);
    cJSON_Delete(other);
    return same;
}

enum trk_status trk_schema_parse(const char *text, size_t size_bytes, struct trk_schema *schema)
{
    cJSON *root = cJSON_ParseWithLength(text, size_bytes);
    const cJSON *types = cJSON_GetObjectItemCaseSensitive(root, "types");
    enum trk_status status = cJSON_IsArray(types) ? TRK_OK : TRK_E_DAMAGED;
    const cJSON *type;
    cJSON_ArrayForEach(type, types)
    {
        if (status == TRK_OK) {
            status = take_type(type, schema);
        }
    }
    cJSON_Delete(root);
    return status;
}
