/* What lies beside the stored files, and a database made of that. */
#include "catalogue.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Databases that were moved away. */
#define OLD_MOST 1000
/* Behind the name of what is to lie beside a file once the database speaks of it. */
#define NEXT ".next"

bool catalogue_is_stored(const char *name)
{
    char hash[TRK_CONTENT_BYTES];
    snprintf(hash, sizeof hash, "%.32s", name);
    return trk_content_is_name(hash) && (strcmp(name + TRK_CONTENT_BYTES - 1, ".trk") == 0 ||
                                         strcmp(name + TRK_CONTENT_BYTES - 1, ".json") == 0);
}

static bool folder_of(const char *folder, char out[PATH_MAX])
{
    int length = snprintf(out, PATH_MAX, "%s/" TRK_CATALOGUE_TRACES, folder);
    return length > 0 && length < PATH_MAX;
}

bool catalogue_has_stored(const char *folder)
{
    char path[PATH_MAX];
    DIR *stream = folder_of(folder, path) ? opendir(path) : NULL;
    const struct dirent *file;
    bool found = false;
    while (stream != NULL && !found && (file = readdir(stream)) != NULL) {
        found = catalogue_is_stored(file->d_name);
    }
    if (stream != NULL) {
        closedir(stream);
    }
    return found;
}

/* ---- what lies beside a file ----------------------------------------------------------------- */

static enum trk_status about_of(const char *folder, const char *hash, char path[PATH_MAX],
                                char name[64], struct trk_error *error)
{
    snprintf(name, 64, "%s" TRK_CATALOGUE_ABOUT, hash);
    return folder_of(folder, path) ? TRK_OK
                                   : trk_error_set(error, TRK_E_ARGUMENT, "the path is too long");
}

static bool same_words(const struct trk_manifest_entry *one, const struct trk_manifest_entry *other)
{
    return strcmp(one->file, other->file) == 0 && one->bytes == other->bytes &&
           strcmp(one->command, other->command) == 0 && strcmp(one->origin, other->origin) == 0 &&
           strcmp(one->licence, other->licence) == 0 && strcmp(one->policy, other->policy) == 0 &&
           strcmp(one->expected, other->expected) == 0;
}

/* Write it under its own name, with `behind` behind that. */
static enum trk_status write_about(const char *folder, const struct trk_manifest_entry *entry,
                                   const char *behind, struct trk_error *error)
{
    char path[PATH_MAX], name[64];
    struct trk_manifest_entry copy = *entry;
    const struct trk_manifest manifest = {&copy, 1, false};
    enum trk_status status = about_of(folder, entry->hash, path, name, error);
    snprintf(name, sizeof name, "%s" TRK_CATALOGUE_ABOUT "%s", entry->hash, behind);
    return status == TRK_OK ? trk_manifest_save_as(&manifest, path, name, error) : status;
}

enum trk_status catalogue_prepare_about(const char *folder, const struct trk_manifest_entry *entry,
                                        struct trk_error *error)
{
    return write_about(folder, entry, NEXT, error);
}

void catalogue_drop_about(const char *folder, const char *hash)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/" TRK_CATALOGUE_TRACES "/%s" TRK_CATALOGUE_ABOUT NEXT, folder,
             hash);
    (void)unlink(path);
}

enum trk_status catalogue_put_about(const char *folder, const struct trk_manifest_entry *row,
                                    const struct trk_manifest_entry *prepared,
                                    struct trk_error *error)
{
    char from[PATH_MAX + 80], to[PATH_MAX + 64];
    snprintf(to, sizeof to, "%s/" TRK_CATALOGUE_TRACES "/%s" TRK_CATALOGUE_ABOUT, folder,
             row->hash);
    snprintf(from, sizeof from, "%s" NEXT, to);
    return same_words(row, prepared) && rename(from, to) == 0 ? TRK_OK
                                                              : write_about(folder, row, "", error);
}

/* Read it; found: it is there, else out stays. TRK_E_DAMAGED: it is none, or another file's. */
static enum trk_status read_about(const char *folder, const char *hash,
                                  struct trk_manifest_entry *out, bool *found,
                                  struct trk_error *error)
{
    char path[PATH_MAX], name[64];
    struct trk_manifest manifest;
    *found = false;
    enum trk_status status = about_of(folder, hash, path, name, error);
    if (status != TRK_OK) {
        return status;
    }
    status = trk_manifest_load_as(path, name, &manifest, error);
    if (status == TRK_OK && manifest.count == 1 && strcmp(manifest.entries[0].hash, hash) == 0) {
        *out = manifest.entries[0];
        *found = true;
    } else if (status == TRK_OK && manifest.entries != NULL) {
        status = trk_error_set(error, TRK_E_DAMAGED, "%s speaks of another file", name);
    }
    trk_manifest_free(&manifest);
    return status;
}

/* What says the same already is left alone: on a full disk nothing can be written. */
static enum trk_status write_one(void *context, const struct trk_manifest_entry *entry,
                                 struct trk_error *error)
{
    struct trk_manifest_entry former;
    struct trk_error reason;
    bool found = false;
    enum trk_status status = read_about(context, entry->hash, &former, &found, &reason);
    return status == TRK_OK && found && same_words(&former, entry)
               ? TRK_OK
               : write_about(context, entry, "", error);
}

enum trk_status catalogue_write_abouts(struct trk_catalogue *catalogue, struct trk_error *error)
{
    return trk_catalogue_list(catalogue, write_one, catalogue->folder, error);
}

/* ---- a new database -------------------------------------------------------------------------- */

struct rebuilding {
    struct trk_catalogue *catalogue;
    trk_catalogue_taken_fn *fn;
    void *context;
};

/* What lies beside a stored file. lacks: what is not known of it, or why it cannot be taken up. */
static enum trk_status describe(const struct rebuilding *by, const char *file,
                                struct trk_manifest_entry *out, char lacks[192])
{
    char hash[TRK_CONTENT_BYTES];
    struct trk_error reason = {.text = ""};
    bool found = false;
    *out = (struct trk_manifest_entry){.bytes = 0};
    snprintf(hash, sizeof hash, "%.32s", file);
    enum trk_status status = read_about(by->catalogue->folder, hash, out, &found, &reason);
    if (status != TRK_OK) {
        snprintf(lacks, 192, "%s; mend that or take it away", reason.text);
    } else if (!found) {
        const bool trace = strcmp(file + TRK_CONTENT_BYTES - 1, ".trk") == 0;
        snprintf(out->file, sizeof out->file, "%.40s", file); /* a hash and an ending */
        snprintf(out->hash, sizeof out->hash, "%s", hash);
        snprintf(out->expected, sizeof out->expected, "%s", trace ? "ok" : "");
        snprintf(lacks, 192, "nothing lies beside it that speaks of it; expected: %s",
                 trace ? "ok" : "what it says itself");
    }
    return status;
}

static void leave_out(const struct rebuilding *by, const char *file, const char *why)
{
    by->fn(by->context, file, NULL, why);
}

/* Whether a file is what it is called, and what its entry says; else it is left out. */
static bool is_right(const struct rebuilding *by, const char *file,
                     struct trk_manifest_entry *entry, struct trk_error *error)
{
    char path[PATH_MAX + 64], why[160];
    snprintf(path, sizeof path, "%s/" TRK_CATALOGUE_TRACES "/%.40s", by->catalogue->folder, file);
    enum trk_status status = trk_content_name(path, entry->hash, &entry->bytes, error);
    if (status == TRK_OK) {
        status = trk_catalogue_path("", entry, path, PATH_MAX, error);
    }
    if (status != TRK_OK) {
        leave_out(by, file, error->text);
        return false;
    }
    if (strncmp(entry->hash, file, strlen(entry->hash)) != 0) {
        snprintf(why, sizeof why, "its content is %s", entry->hash);
    } else if (strcmp(strrchr(path, '/') + 1, file) != 0) {
        snprintf(why, sizeof why, "it is called %.100s", entry->file);
    } else {
        return true;
    }
    leave_out(by, file, why);
    return false;
}

/* Put one in, unless it is there. What cannot be read is left out, and the others go on. */
static enum trk_status take_up(const struct rebuilding *by, const char *file,
                               struct trk_error *error)
{
    struct trk_manifest_entry entry;
    struct trk_error reason = {.text = ""};
    char lacks[192] = "", hash[TRK_CONTENT_BYTES];
    bool known = false;
    snprintf(hash, sizeof hash, "%.32s", file);
    /* Where there is a row, that is what counts. */
    enum trk_status status = catalogue_lookup(by->catalogue, hash, &entry, &known, error);
    if (status != TRK_OK) {
        return status;
    }
    status = known ? TRK_OK : describe(by, file, &entry, lacks);
    if (status == TRK_E_MEMORY) {
        return trk_error_set(error, status, "no memory for what lies beside a file");
    }
    if (status != TRK_OK) {
        leave_out(by, file, lacks);
    } else if (is_right(by, file, &entry, &reason) && !known) {
        status = catalogue_insert(by->catalogue, &entry, error);
        if (status == TRK_OK) {
            by->fn(by->context, file, &entry, lacks[0] != '\0' ? lacks : NULL);
        }
        return status;
    }
    return reason.status != TRK_E_MEMORY ? TRK_OK
                                         : trk_error_set(error, reason.status, "%s", reason.text);
}

static enum trk_status take_up_all(struct trk_catalogue *catalogue, void *context,
                                   struct trk_error *error)
{
    char path[PATH_MAX];
    struct dirent **files = NULL;
    struct rebuilding *by = context;
    by->catalogue = catalogue;
    if (!folder_of(catalogue->folder, path)) {
        return trk_error_set(error, TRK_E_ARGUMENT, "the path is too long");
    }
    int count = scandir(path, &files, NULL, alphasort);
    if (count < 0) {
        return trk_error_set_errno(error, TRK_E_SYSTEM, errno, TRK_CATALOGUE_TRACES);
    }
    enum trk_status status = TRK_OK;
    for (int i = 0; i < count; i++) {
        if (status == TRK_OK && catalogue_is_stored(files[i]->d_name)) {
            status = take_up(by, files[i]->d_name, error);
        }
        free(files[i]);
    }
    free(files);
    return status;
}

/* Rename the database and what SQLite keeps beside it to a name that is free. */
static enum trk_status move_away(const char *folder, char old[64], struct trk_error *error)
{
    static const char *const endings[] = {"-wal", "-shm", "-journal", ""};
    char from[PATH_MAX], to[PATH_MAX];
    struct stat about;
    int number = 1;
    do {
        snprintf(old, 64, TRK_CATALOGUE_FILE ".damaged-%d", number++);
        int length = snprintf(to, sizeof to, "%s/%s", folder, old);
        if (length < 0 || (size_t)length + strlen("-journal") >= sizeof to) {
            return trk_error_set(error, TRK_E_ARGUMENT, "the path is too long");
        }
        /* A link to nothing is there. */
    } while (lstat(to, &about) == 0 && number < OLD_MOST);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        snprintf(from, sizeof from, "%s/" TRK_CATALOGUE_FILE "%s", folder, endings[i]);
        snprintf(to, sizeof to, "%s/%s%s", folder, old, endings[i]);
        if (rename(from, to) != 0 && errno != ENOENT) {
            return trk_error_set_errno(error, TRK_E_SYSTEM, errno, TRK_CATALOGUE_FILE);
        }
    }
    return TRK_OK;
}

/* Look at the database, and replace one that is of no use. */
static enum trk_status replace(const char *folder, char old[64],
                               const struct catalogue_filler *filler, struct trk_error *error)
{
    struct trk_catalogue *catalogue = NULL;
    enum trk_status status =
        catalogue_open(&catalogue, folder, TRK_CATALOGUE_TO_REBUILD, filler, error);
    if (status == TRK_E_DAMAGED) {
        status = move_away(folder, old, error);
        if (status == TRK_OK) {
            status = catalogue_open(&catalogue, folder, TRK_CATALOGUE_TO_REBUILD, filler, error);
        }
    }
    trk_catalogue_close(catalogue);
    return status;
}

enum trk_status trk_catalogue_rebuild(const char *folder, char old[64], trk_catalogue_taken_fn *fn,
                                      void *context, struct trk_error *error)
{
    struct rebuilding by = {NULL, fn, context};
    const struct catalogue_filler filler = {take_up_all, &by};
    int lock_fd;
    old[0] = '\0';
    if (!trk_catalogue_is(folder)) {
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "no catalogue: neither " TRK_CATALOGUE_FILE " nor stored files");
    }
    /* Two that look and rename at once would take each other's new one away. */
    enum trk_status status = catalogue_lock(folder, true, &lock_fd, error);
    if (status == TRK_OK) {
        status = catalogue_check_file(folder, true, error);
        status = status != TRK_OK ? status : replace(folder, old, &filler, error);
        close(lock_fd);
    }
    return status;
}
