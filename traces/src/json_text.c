#include "traces/json_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Where a NUL stands, as a byte or as \u0000; NULL: nowhere. */
static const char *find_nul(const char *text, size_t size_bytes)
{
    for (size_t at = 0; at < size_bytes; at++) {
        if (text[at] == '\0' || (size_bytes - at >= 6 && memcmp(text + at, "\\u0000", 6) == 0)) {
            return text + at;
        }
        at += text[at] == '\\'; /* what it stands before begins nothing of its own */
    }
    return NULL;
}

static int by_text(const void *one, const void *other)
{
    return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/* A key of the object that it has twice; NULL: none. enough: there was memory to look. */
static const char *twice_here(const cJSON *object, bool *enough)
{
    size_t count = 0;
    const char *found = NULL;
    const cJSON *member;
    cJSON_ArrayForEach(member, object)
    {
        count++;
    }
    const char **keys = count > 1 ? malloc(count * sizeof *keys) : NULL;
    *enough &= count <= 1 || keys != NULL;
    if (keys == NULL) {
        return NULL;
    }
    count = 0;
    cJSON_ArrayForEach(member, object)
    {
        keys[count++] = member->string;
    }
    qsort(keys, count, sizeof *keys, by_text);
    for (size_t i = 1; i < count && found == NULL; i++) {
        found = strcmp(keys[i - 1], keys[i]) == 0 ? keys[i] : NULL;
    }
    free(keys);
    return found;
}

/* The same of all that is in it; cJSON bounds how deep that is. */
static const char *twice(const cJSON *value, bool *enough)
{
    const char *found = cJSON_IsObject(value) ? twice_here(value, enough) : NULL;
    const cJSON *member;
    cJSON_ArrayForEach(member, value)
    {
        if (found != NULL) {
            break;
        }
        found = twice(member, enough);
    }
    return found;
}

enum trk_status trk_json_text_parse(const char *text, size_t size_bytes, cJSON **out,
                                    struct trk_error *error)
{
    const char *end = text, *nul = find_nul(text, size_bytes);
    bool enough = true;
    *out = NULL;
    if (nul != NULL) {
        return trk_error_set(error, TRK_E_DAMAGED, "no JSON from byte %zu on: a NUL",
                             (size_t)(nul - text));
    }
    cJSON *root = cJSON_ParseWithLengthOpts(text, size_bytes, &end, 0);
    while (root != NULL && end < text + size_bytes && strchr(" \t\r\n", *end) != NULL) {
        end++;
    }
    if (root == NULL || end < text + size_bytes) {
        cJSON_Delete(root);
        return trk_error_set(error, TRK_E_DAMAGED, "no JSON from byte %zu on",
                             end != NULL ? (size_t)(end - text) : 0);
    }
    const char *key = twice(root, &enough);
    if (key != NULL || !enough) {
        enum trk_status status =
            key != NULL
                ? trk_error_set(error, TRK_E_DAMAGED, "the key '%.60s' stands there twice", key)
                : trk_error_set(error, TRK_E_MEMORY, "no memory for its keys");
        cJSON_Delete(root);
        return status;
    }
    *out = root;
    return TRK_OK;
}
