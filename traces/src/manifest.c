#include "traces/manifest.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "simulator/scenario.h"
#include "simulator/sim.h"
#include "traces/json_text.h"
#include "traces/plain_file.h"

/* The texts of an entry. */
static const struct {
    const char *key;
    size_t offset, size;
} texts[] = {
    {"file", offsetof(struct trk_manifest_entry, file),
     sizeof((struct trk_manifest_entry *)0)->file},
    {"hash", offsetof(struct trk_manifest_entry, hash),
     sizeof((struct trk_manifest_entry *)0)->hash},
    {"command", offsetof(struct trk_manifest_entry, command),
     sizeof((struct trk_manifest_entry *)0)->command},
    {"origin", offsetof(struct trk_manifest_entry, origin),
     sizeof((struct trk_manifest_entry *)0)->origin},
    {"licence", offsetof(struct trk_manifest_entry, licence),
     sizeof((struct trk_manifest_entry *)0)->licence},
    {"policy", offsetof(struct trk_manifest_entry, policy),
     sizeof((struct trk_manifest_entry *)0)->policy},
    {"expected", offsetof(struct trk_manifest_entry, expected),
     sizeof((struct trk_manifest_entry *)0)->expected},
};

/* How the schemas of all manifests begin, whatever their version. */
#define FAMILY "trk-corpus"

#define TEXTS (sizeof texts / sizeof texts[0])

static enum trk_status path_of(const char *folder, const char *file, const char *ending,
                               char out[PATH_MAX], struct trk_error *error)
{
    int length = snprintf(out, PATH_MAX, "%s/%s%s", folder, file, ending);
    return length > 0 && length < PATH_MAX
               ? TRK_OK
               : trk_error_set(error, TRK_E_ARGUMENT, "the path is too long");
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A file of the folder and of no other, by the only name that it has: no part is empty, . or .. */
static bool stays_below(const char *file)
{
    const char *part = file;
    for (size_t length; (length = strcspn(part, "/")) > 0; part += length + 1) {
        if ((length == 1 && part[0] == '.') || (length == 2 && part[0] == '.' && part[1] == '.')) {
            return false;
        }
        if (part[length] == '\0') {
            return true;
        }
    }
    return false;
}

bool trk_manifest_may_expect(const char *file, const char *expected)
{
    const size_t length = strlen(file);
    const bool scenario = length > 5 && strcmp(file + length - 5, ".json") == 0;
    return expected[0] == '\0' ? scenario
           : scenario          ? trk_scenario_verdict_is_name(expected)
                               : trk_verdict_is_name(expected);
}

static enum trk_status read_entry(const cJSON *object, size_t number,
                                  struct trk_manifest_entry *out, struct trk_error *error)
{
    for (size_t i = 0; i < TEXTS; i++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, texts[i].key);
        char *to = (char *)out + texts[i].offset;
        if (!cJSON_IsString(value) || strlen(value->valuestring) >= texts[i].size) {
            return trk_error_set(error, TRK_E_DAMAGED,
                                 "traces[%zu].%s is no text of at most %zu bytes", number,
                                 texts[i].key, texts[i].size - 1);
        }
        memcpy(to, value->valuestring, strlen(value->valuestring) + 1);
    }
    const cJSON *bytes = cJSON_GetObjectItemCaseSensitive(object, "bytes");
    const double most = 9007199254740992.0; /* 2^53: what a JSON number holds exactly */
    if (!cJSON_IsNumber(bytes) || !(bytes->valuedouble >= 0 && bytes->valuedouble <= most) ||
        (double)(uint64_t)bytes->valuedouble != bytes->valuedouble) {
        return trk_error_set(error, TRK_E_DAMAGED, "traces[%zu].bytes is no size", number);
    }
    out->bytes = (uint64_t)bytes->valuedouble;
    if (!trk_content_is_name(out->hash)) {
        return trk_error_set(error, TRK_E_DAMAGED, "traces[%zu].hash is not 32 hexadecimal digits",
                             number);
    }
    if (!stays_below(out->file)) {
        return trk_error_set(error, TRK_E_DAMAGED,
                             "traces[%zu].file is no plain path below the folder", number);
    }
    if (!trk_manifest_may_expect(out->file, out->expected)) {
        return trk_error_set(error, TRK_E_DAMAGED, "traces[%zu].expected is no verdict: '%.40s'",
                             number, out->expected);
    }
    return TRK_OK;
}

static enum trk_status read_all(const cJSON *root, struct trk_manifest *out,
                                struct trk_error *error)
{
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(root, "schema");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "traces");
    out->other =
        !cJSON_IsString(schema) || strncmp(schema->valuestring, FAMILY, sizeof FAMILY - 1) != 0;
    if (out->other || strcmp(schema->valuestring, TRK_MANIFEST_SCHEMA) != 0 ||
        !cJSON_IsArray(list)) {
        return trk_error_set(error, TRK_E_DAMAGED, "no object of schema " TRK_MANIFEST_SCHEMA);
    }
    const int count = cJSON_GetArraySize(list);
    if (count > (int)TRK_MANIFEST_MOST) {
        return trk_error_set(error, TRK_E_DAMAGED, "more than %u traces", TRK_MANIFEST_MOST);
    }
    out->entries = calloc((size_t)count + 1, sizeof *out->entries);
    if (out->entries == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the manifest");
    }
    const cJSON *object;
    enum trk_status status = TRK_OK;
    cJSON_ArrayForEach(object, list)
    {
        struct trk_manifest_entry *entry = &out->entries[out->count];
        status = read_entry(object, out->count, entry, error);
        if (status == TRK_OK && trk_manifest_find(out, entry->file) != NULL) {
            status = trk_error_set(error, TRK_E_DAMAGED, "%.60s is there twice", entry->file);
        }
        if (status != TRK_OK) {
            return status;
        }
        out->count++;
    }
    return TRK_OK;
}

static enum trk_status read_text(const char *text, size_t size, struct trk_manifest *out,
                                 struct trk_error *error)
{
    cJSON *root = NULL;
    enum trk_status status = trk_json_text_parse(text, size, &root, error);
    if (status == TRK_OK) {
        status = read_all(root, out, error);
    }
    cJSON_Delete(root);
    return status;
}

/* Put the file's name in front of what is wrong in it. */
static enum trk_status in_file(enum trk_status status, const char *name, struct trk_error *error)
{
    if (status != TRK_OK) {
        const struct trk_error said = *error;
        (void)trk_error_set(error, status, "%.50s: %.120s", name, said.text);
        error->os_errno = said.os_errno;
    }
    return status;
}

enum trk_status trk_manifest_load_as(const char *folder, const char *name, struct trk_manifest *out,
                                     struct trk_error *error)
{
    char path[PATH_MAX];
    *out = (struct trk_manifest){.count = 0};
    enum trk_status status = path_of(folder, name, "", path, error);
    if (status != TRK_OK) {
        return status;
    }
    char *text;
    size_t size;
    struct stat about = {.st_mode = 0};
    if (lstat(path, &about) != 0 && errno == ENOENT) {
        return TRK_OK;
    }
    status = trk_plain_file_read(path, TRK_MANIFEST_FILE_BYTES, &text, &size, error);
    if (status == TRK_OK) {
        status = read_text(text, size, out, error);
    } else if (status == TRK_E_ARGUMENT ||
               (status == TRK_E_SYSTEM && error->os_errno == ENOENT && S_ISLNK(about.st_mode))) {
        /* It is there, and can be no manifest: not as where there is none. */
        status = trk_error_set(error, TRK_E_ARGUMENT, "%s",
                               status == TRK_E_ARGUMENT ? "it is no regular file"
                                                        : "a link to what is not there");
    }
    free(text);
    return in_file(status, name, error);
}

enum trk_status trk_manifest_load(const char *folder, struct trk_manifest *out,
                                  struct trk_error *error)
{
    return trk_manifest_load_as(folder, TRK_MANIFEST_FILE, out, error);
}

const struct trk_manifest_entry *trk_manifest_find(const struct trk_manifest *manifest,
                                                   const char *file)
{
    for (size_t i = 0; i < manifest->count; i++) {
        if (strcmp(manifest->entries[i].file, file) == 0) {
            return &manifest->entries[i];
        }
    }
    return NULL;
}

void trk_manifest_free(struct trk_manifest *manifest)
{
    free(manifest->entries);
    *manifest = (struct trk_manifest){.count = 0};
}

/* ---- writing --------------------------------------------------------------------------------- */

static char *text_of(const struct trk_manifest *manifest)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "schema", TRK_MANIFEST_SCHEMA);
    cJSON *list = cJSON_AddArrayToObject(root, "traces");
    for (size_t i = 0; i < manifest->count; i++) {
        const struct trk_manifest_entry *entry = &manifest->entries[i];
        cJSON *object = cJSON_CreateObject();
        for (size_t k = 0; k < TEXTS; k++) {
            cJSON_AddStringToObject(object, texts[k].key, (const char *)entry + texts[k].offset);
        }
        cJSON_AddNumberToObject(object, "bytes", (double)entry->bytes);
        cJSON_AddItemToArray(list, object);
    }
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    return text;
}

/* Write it with blanks where cJSON has tabs; inside texts there are none. */
static bool put_text(FILE *file, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '\t') {
            fputs(at > text && at[-1] == ':' ? " " : "  ", file);
        } else {
            putc(*at, file);
        }
    }
    putc('\n', file);
    return ferror(file) == 0;
}

enum trk_status trk_manifest_save_as(const struct trk_manifest *manifest, const char *folder,
                                     const char *name, struct trk_error *error)
{
    char path[PATH_MAX], part[PATH_MAX];
    enum trk_status status = path_of(folder, name, "", path, error);
    if (status == TRK_OK) {
        status = path_of(folder, name, ".part", part, error);
    }
    if (status != TRK_OK) {
        return status;
    }
    char *text = text_of(manifest);
    FILE *file = text != NULL ? fopen(part, "wbe") : NULL;
    bool good =
        file != NULL && put_text(file, text) && fflush(file) == 0 && fsync(fileno(file)) == 0;
    int reason = errno;
    if (file != NULL && fclose(file) != 0) {
        good = false;
    }
    free(text);
    if (!good || rename(part, path) != 0) {
        reason = good ? errno : reason;
        unlink(part);
        return trk_error_set_errno(error, TRK_E_SYSTEM, reason, "%.60s", name);
    }
    return TRK_OK;
}

enum trk_status trk_manifest_save(const struct trk_manifest *manifest, const char *folder,
                                  struct trk_error *error)
{
    return trk_manifest_save_as(manifest, folder, TRK_MANIFEST_FILE, error);
}
