/* What a regression has to run. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "regress.h"
#include "terminal.h"
#include "traces/catalogue.h"

/* Folders within folders. */
#define DEPTH_MOST 32

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

struct trk_regress_stamp trk_regress_stamp(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0) {
        return (struct trk_regress_stamp){.inode = 0};
    }
    return (struct trk_regress_stamp){(uint64_t)about.st_dev, (uint64_t)about.st_ino,
                                      (uint64_t)about.st_size, about.st_mtim};
}

bool trk_regress_changed(const char *path, const struct trk_regress_stamp *then)
{
    const struct trk_regress_stamp now = trk_regress_stamp(path);
    return now.device != then->device || now.inode != then->inode || now.bytes != then->bytes ||
           now.changed.tv_sec != then->changed.tv_sec ||
           now.changed.tv_nsec != then->changed.tv_nsec;
}

enum trk_status trk_regress_add(struct trk_regress *regress, const char *path, size_t name_at,
                                const char *expected, struct trk_error *error)
{
    if (regress->count == TRK_REGRESS_MOST) {
        return trk_error_set(error, TRK_E_UNSUPPORTED, "more than %u traces and scenarios",
                             TRK_REGRESS_MOST);
    }
    if (regress->count == regress->capacity) {
        size_t capacity = regress->capacity * 2 + 16;
        void *more = realloc(regress->items, capacity * sizeof *regress->items);
        if (more == NULL) {
            return trk_error_set(error, TRK_E_MEMORY, "no memory for the list");
        }
        regress->items = more;
        regress->capacity = capacity;
    }
    struct trk_regress_item *item = &regress->items[regress->count];
    memset(item, 0, sizeof *item);
    item->path = strdup(path);
    if (item->path == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the list");
    }
    regress->count++;
    item->name = item->path + name_at;
    item->scenario = ends_in(path, ".json");
    snprintf(item->expected, sizeof item->expected, "%s", expected);
    item->stamp = trk_regress_stamp(path);
    struct trk_error reason;
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {
        snprintf(item->unreadable, sizeof item->unreadable, "no regular file");
    } else if (trk_content_name(path, item->hash, &item->bytes, &reason) != TRK_OK) {
        snprintf(item->unreadable, sizeof item->unreadable, "%s", reason.text);
    }
    return TRK_OK;
}

/* What the manifest says of the file: what is expected, and which bytes it has. */
static enum trk_status apply(struct trk_regress *regress, const char *path, size_t name_at,
                             const struct trk_manifest_entry *entry, struct trk_error *error)
{
    struct trk_regress_item *item = NULL;
    for (size_t i = 0; i < regress->count && item == NULL; i++) {
        item = strcmp(regress->items[i].path, path) == 0 ? &regress->items[i] : NULL;
    }
    if (item == NULL) {
        return trk_regress_add(regress, path, name_at, entry->expected, error);
    }
    snprintf(item->expected, sizeof item->expected, "%s", entry->expected);
    if (item->by_manifest) { /* the one below: this one counts */
        item->unreadable[0] = '\0';
    }
    const bool readable = item->unreadable[0] == '\0';
    if (readable && strcmp(item->hash, entry->hash) != 0) {
        snprintf(item->unreadable, sizeof item->unreadable,
                 "its content is %s, the manifest says %s", item->hash, entry->hash);
    } else if (readable && item->bytes != entry->bytes) {
        snprintf(item->unreadable, sizeof item->unreadable,
                 "it has %" PRIu64 " bytes, the manifest says %" PRIu64, item->bytes, entry->bytes);
    }
    item->by_manifest = readable && item->unreadable[0] != '\0';
    return TRK_OK;
}

static enum trk_status apply_all(struct trk_regress *regress, const char *folder, size_t name_at,
                                 const struct trk_manifest *manifest, struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    for (size_t i = 0; i < manifest->count && status == TRK_OK; i++) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%s/%s", folder, manifest->entries[i].file);
        status = length > 0 && (size_t)length < sizeof path
                     ? apply(regress, path, name_at, &manifest->entries[i], error)
                     : trk_error_set(error, TRK_E_ARGUMENT, "%.80s: a path too long", folder);
    }
    return status;
}

/* below: nobody has named the folder, so that another program's manifest.json may lie there. */
static enum trk_status load_manifest(const char *folder, bool below, struct trk_manifest *out,
                                     struct trk_error *error)
{
    enum trk_status status = trk_manifest_load(folder, out, error);
    if (status != TRK_OK && below && out->other) {
        trk_terminal_say("regress", "%s/" TRK_MANIFEST_FILE ": another program's; passed over",
                         folder);
        return TRK_OK;
    }
    if (status == TRK_E_ARGUMENT && below) {
        status = TRK_E_DAMAGED;
    }
    if (status != TRK_OK) {
        const struct trk_error said = *error;
        (void)trk_error_set(error, status, "%.40s: %.80s", folder, said.text);
        error->os_errno = said.os_errno;
    }
    return status;
}

static enum trk_status walk(struct trk_regress *regress, const char *folder, size_t name_at,
                            int depth, struct trk_error *error);

/* What lies in a folder, and in those below it. */
static enum trk_status walk_into(struct trk_regress *regress, const char *folder, size_t name_at,
                                 int depth, struct trk_error *error)
{
    DIR *stream = depth < DEPTH_MOST ? opendir(folder) : NULL;
    if (stream == NULL) {
        return depth < DEPTH_MOST
                   ? trk_error_set_errno(error, TRK_E_SYSTEM, errno, "%.80s", folder)
                   : trk_error_set(error, TRK_E_ARGUMENT, "folders more than %d deep", DEPTH_MOST);
    }
    enum trk_status status = TRK_OK;
    struct dirent *entry;
    while (status == TRK_OK && (entry = readdir(stream)) != NULL) {
        char path[PATH_MAX];
        struct stat about;
        int length = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.') {
            continue;
        }
        if (length < 0 || (size_t)length >= sizeof path) {
            status = trk_error_set(error, TRK_E_ARGUMENT, "%.80s: a path too long", folder);
        } else if (lstat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
            status = walk(regress, path, name_at, depth + 1, error);
        } else if (strcmp(entry->d_name, TRK_MANIFEST_FILE) != 0 &&
                   (ends_in(path, ".trk") || ends_in(path, ".json"))) {
            /* A trace that no manifest speaks of is one in which nothing is wrong. */
            status =
                trk_regress_add(regress, path, name_at, ends_in(path, ".trk") ? "ok" : "", error);
        }
    }
    closedir(stream);
    return status;
}

/* The same, and what its manifest says of it; that of a folder above says more. */
static enum trk_status walk(struct trk_regress *regress, const char *folder, size_t name_at,
                            int depth, struct trk_error *error)
{
    struct trk_manifest manifest;
    enum trk_status status = load_manifest(folder, depth > 0, &manifest, error);
    if (status == TRK_OK) {
        status = walk_into(regress, folder, name_at, depth, error);
    }
    if (status == TRK_OK) {
        status = apply_all(regress, folder, name_at, &manifest, error);
    }
    trk_manifest_free(&manifest);
    return status;
}

static int by_name(const void *one, const void *other)
{
    const struct trk_regress_item *mine = one, *others = other;
    int order = strcmp(mine->name, others->name);
    return order != 0 ? order : strcmp(mine->path, others->path); /* stored under one name twice */
}

static enum trk_status list_folder(struct trk_regress *regress, const char *folder, bool alone,
                                   struct trk_error *error)
{
    struct stat about;
    size_t name_at = alone ? strlen(folder) + 1 : 0;
    if (stat(folder, &about) == 0 && !S_ISDIR(about.st_mode)) {
        return trk_error_set(error, TRK_E_ARGUMENT, "%.100s: no folder", folder);
    }
    return walk(regress, folder, name_at, 0, error);
}

/* Names point into what has moved. */
static void name_them(struct trk_regress *regress)
{
    for (size_t i = 0; i < regress->count; i++) {
        struct trk_regress_item *item = &regress->items[i];
        if (item->stored_name[0] != '\0') {
            item->name = item->stored_name;
        }
    }
}

/* Each folder is run once: none is another one, or lies below it. */
static enum trk_status check_apart(const char *const *folders, size_t count,
                                   struct trk_error *error)
{
    char one[PATH_MAX], other[PATH_MAX];
    for (size_t i = 0; i < count * count; i++) {
        const char *above = folders[i / count], *below = folders[i % count];
        if (i / count == i % count || realpath(above, one) == NULL ||
            realpath(below, other) == NULL) {
            continue;
        }
        const size_t length = strcmp(one, "/") != 0 ? strlen(one) : 0;
        if (strncmp(one, other, length) == 0 && (other[length] == '/' || other[length] == '\0')) {
            return trk_error_set(error, TRK_E_ARGUMENT, "%.60s lies in %.60s: each is run once",
                                 below, above);
        }
    }
    return TRK_OK;
}

enum trk_status trk_regress_list(struct trk_regress *regress, const char *const *folders,
                                 size_t count, struct trk_error *error)
{
    enum trk_status status = check_apart(folders, count, error);
    for (size_t i = 0; i < count && status == TRK_OK; i++) {
        const size_t former = regress->count;
        if (trk_catalogue_is(folders[i])) {
            if (count > 1) {
                return trk_error_set(error, TRK_E_ARGUMENT, "%.60s: a catalogue goes alone",
                                     folders[i]);
            }
            regress->catalogue = folders[i];
            status = trk_regress_list_catalogue(regress, folders[i], error);
        } else {
            status = list_folder(regress, folders[i], count == 1, error);
        }
        if (status == TRK_OK && regress->count == former) {
            status = trk_error_set(error, TRK_E_ARGUMENT,
                                   "%.60s: no traces (*.trk), no scenarios (*.json)", folders[i]);
        }
    }
    if (status == TRK_OK) {
        name_them(regress);
        qsort(regress->items, regress->count, sizeof *regress->items, by_name);
        name_them(regress);
    }
    return status;
}

void trk_regress_free(struct trk_regress *regress)
{
    for (size_t i = 0; i < regress->count; i++) {
        free(regress->items[i].path);
    }
    free(regress->items);
    regress->items = NULL;
    regress->count = 0;
}
