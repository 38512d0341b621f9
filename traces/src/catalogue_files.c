/* The files of a catalogue, by the names of their content. */
#include "catalogue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "traces/plain_file.h"

/* What is being written; gc takes those that nobody gave their name. */
#define PART ".part"

static bool is_scenario(const char *name)
{
    size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".json") == 0;
}

enum trk_status trk_catalogue_path(const char *folder, const struct trk_manifest_entry *entry,
                                   char *out, size_t size, struct trk_error *error)
{
    int length = snprintf(out, size, "%s/" TRK_CATALOGUE_TRACES "/%s%s", folder, entry->hash,
                          is_scenario(entry->file) ? ".json" : ".trk");
    return length > 0 && (size_t)length < size
               ? TRK_OK
               : trk_error_set(error, TRK_E_ARGUMENT, "the path is too long");
}

/* ---- storing --------------------------------------------------------------------------------- */

static bool copy_bytes(int from, int to)
{
    char buffer[1 << 14];
    ssize_t got;
    while ((got = read(from, buffer, sizeof buffer)) > 0) {
        for (ssize_t at = 0; at < got;) {
            ssize_t done = write(to, buffer + at, (size_t)(got - at));
            if (done < 0 && errno != EINTR) {
                return false;
            }
            at += done > 0 ? done : 0;
        }
    }
    return got == 0;
}

/* Copy to a file beside the name that it will have. */
static enum trk_status copy_file(const char *path, const char *part, struct trk_error *error)
{
    int from;
    enum trk_status status = trk_plain_file_open(path, &from, error);
    if (status != TRK_OK) {
        return status;
    }
    int to = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool good = to >= 0 && copy_bytes(from, to) && fsync(to) == 0;
    int reason = errno;
    close(from);
    if (to >= 0 && close(to) != 0) {
        good = false;
    }
    if (!good) {
        if (to >= 0) {
            unlink(part);
        }
        return trk_error_set_errno(error, TRK_E_SYSTEM, reason, "cannot be stored");
    }
    return TRK_OK;
}

enum trk_status catalogue_insert(struct trk_catalogue *catalogue,
                                 const struct trk_manifest_entry *entry, struct trk_error *error)
{
    const char *texts[] = {entry->file,    entry->hash,   entry->command, entry->origin,
                           entry->licence, entry->policy, entry->expected};
    sqlite3_stmt *statement = NULL;
    enum trk_status status = catalogue_prepare(
        catalogue,
        "INSERT INTO traces (" COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
        " ON CONFLICT (hash) DO UPDATE SET name = ?1, command = ?3, origin = ?4, licence = ?5,"
        " policy = ?6, expected = ?7",
        texts, 7, &statement, error);
    if (status != TRK_OK) {
        return status;
    }
    (void)sqlite3_bind_int64(statement, 8, (sqlite3_int64)entry->bytes);
    return catalogue_done(catalogue, statement, sqlite3_step(statement), error);
}

/* A row of COLUMNS. */
static void take_row(sqlite3_stmt *statement, struct trk_manifest_entry *out)
{
    snprintf(out->file, sizeof out->file, "%s", catalogue_text(statement, 0));
    snprintf(out->hash, sizeof out->hash, "%s", catalogue_text(statement, 1));
    snprintf(out->command, sizeof out->command, "%s", catalogue_text(statement, 2));
    snprintf(out->origin, sizeof out->origin, "%s", catalogue_text(statement, 3));
    snprintf(out->licence, sizeof out->licence, "%s", catalogue_text(statement, 4));
    snprintf(out->policy, sizeof out->policy, "%s", catalogue_text(statement, 5));
    snprintf(out->expected, sizeof out->expected, "%s", catalogue_text(statement, 6));
    out->bytes = (uint64_t)sqlite3_column_int64(statement, 7);
}

enum trk_status catalogue_lookup(struct trk_catalogue *catalogue, const char *hash,
                                 struct trk_manifest_entry *out, bool *found,
                                 struct trk_error *error)
{
    sqlite3_stmt *statement = NULL;
    enum trk_status status = catalogue_prepare(
        catalogue, "SELECT " COLUMNS " FROM traces WHERE hash = ?1", &hash, 1, &statement, error);
    if (status != TRK_OK) {
        return status;
    }
    int last = sqlite3_step(statement);
    *found = last == SQLITE_ROW;
    if (*found) {
        take_row(statement, out);
    }
    return catalogue_done(catalogue, statement, last, error);
}

static void keep_text(char *to, size_t size, const char *former)
{
    if (to[0] == '\0') {
        snprintf(to, size, "%s", former);
    }
}

/* What was said of it stays, where nothing else is said. */
static enum trk_status keep_words(struct trk_catalogue *catalogue, const char *policy,
                                  struct trk_manifest_entry *entry, bool *found,
                                  struct trk_error *error)
{
    struct trk_manifest_entry former = {.bytes = 0};
    enum trk_status status = catalogue_lookup(catalogue, entry->hash, &former, found, error);
    if (*found) {
        memcpy(entry->file, former.file, sizeof entry->file);
    }
    keep_text(entry->command, sizeof entry->command, former.command);
    keep_text(entry->origin, sizeof entry->origin, former.origin);
    keep_text(entry->licence, sizeof entry->licence, former.licence);
    keep_text(entry->policy, sizeof entry->policy, former.policy);
    keep_text(entry->policy, sizeof entry->policy, policy);
    keep_text(entry->expected, sizeof entry->expected, former.expected);
    keep_text(entry->expected, sizeof entry->expected, is_scenario(entry->file) ? "" : "ok");
    return status;
}

/* Copy it to the name of its content, by way of another name. */
static enum trk_status store(const char *path, const char *target,
                             const struct trk_manifest_entry *entry, struct trk_error *error)
{
    char part[PATH_MAX + 32], named[TRK_CONTENT_BYTES];
    snprintf(part, sizeof part, "%s" PART, target);
    (void)unlink(part); /* of one that was killed: who writes has the lock */
    enum trk_status status = copy_file(path, part, error);
    if (status == TRK_OK) {
        status = trk_content_name(part, named, NULL, error);
    }
    if (status == TRK_OK && strcmp(named, entry->hash) != 0) {
        status = trk_error_set(error, TRK_E_SYSTEM, "it changes while it is stored");
    }
    if (status == TRK_OK && rename(part, target) != 0) {
        status = trk_error_set_errno(error, TRK_E_SYSTEM, errno, "cannot be stored");
    }
    if (status != TRK_OK) {
        (void)unlink(part);
    }
    return status;
}

/*
 * Say beside the file what the row says now, behind the database, which is what counts; gc writes
 * it anew for who is killed before. Under the lock: others may be storing the same.
 */
static enum trk_status describe_row(struct trk_catalogue *catalogue,
                                    const struct trk_manifest_entry *entry, struct trk_error *error)
{
    struct trk_manifest_entry row = {.bytes = 0};
    bool found = false;
    enum trk_status status = catalogue_begin(catalogue, error);
    if (status != TRK_OK) {
        return status;
    }
    status = catalogue_lookup(catalogue, entry->hash, &row, &found, error);
    if (status == TRK_OK && found) {
        status = catalogue_put_about(catalogue->folder, &row, entry, error);
    }
    return catalogue_end(catalogue, status, error);
}

/* ---- listing --------------------------------------------------------------------------------- */

enum trk_status trk_catalogue_list(struct trk_catalogue *catalogue, trk_catalogue_entry_fn *fn,
                                   void *context, struct trk_error *error)
{
    sqlite3_stmt *statement = NULL;
    enum trk_status status =
        catalogue_prepare(catalogue, "SELECT " COLUMNS " FROM traces ORDER BY name, hash", NULL, 0,
                          &statement, error);
    int last = SQLITE_DONE;
    while (status == TRK_OK && (last = sqlite3_step(statement)) == SQLITE_ROW) {
        struct trk_manifest_entry entry = {.bytes = 0};
        take_row(statement, &entry);
        status = fn(context, &entry, error);
    }
    if (status != TRK_OK) {
        sqlite3_finalize(statement);
        return status;
    }
    return catalogue_done(catalogue, statement, last, error);
}

/* ---- removing -------------------------------------------------------------------------------- */

/* Whether a file of the folder is one that the database speaks of. */
static enum trk_status is_spoken_of(struct trk_catalogue *catalogue, const char *name, bool *out,
                                    struct trk_error *error)
{
    sqlite3_stmt *statement = NULL;
    enum trk_status status = catalogue_prepare(
        catalogue,
        "SELECT 1 FROM traces WHERE hash || iif(name GLOB '?*.json', '.json', '.trk') = ?1"
        " OR hash || '" TRK_CATALOGUE_ABOUT "' = ?1",
        &name, 1, &statement, error);
    if (status != TRK_OK) {
        return status;
    }
    int last = sqlite3_step(statement);
    *out = last == SQLITE_ROW;
    return catalogue_done(catalogue, statement, last, error);
}

/* A link to nothing is there. */
static bool is_there(int folder, const char *name)
{
    return faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * Whether a file that the database does not speak of is stored and described all the same, or is
 * what describes it: it is not gc's to remove. What is removed on purpose loses its description
 * first.
 */
static bool is_described(int folder, const char *name)
{
    char hash[TRK_CONTENT_BYTES], about[64], trace[64], scenario[64];
    snprintf(hash, sizeof hash, "%.32s", name);
    snprintf(about, sizeof about, "%s" TRK_CATALOGUE_ABOUT, hash);
    if (catalogue_is_stored(name)) {
        return is_there(folder, about);
    }
    snprintf(trace, sizeof trace, "%s.trk", hash);
    snprintf(scenario, sizeof scenario, "%s.json", hash);
    return strcmp(name, about) == 0 && (is_there(folder, trace) || is_there(folder, scenario));
}

struct sweeping {
    trk_catalogue_removed_fn *fn;
    void *context;
    struct trk_catalogue_swept *swept;
};

static enum trk_status sweep_one(struct trk_catalogue *catalogue, int folder, const char *name,
                                 const struct sweeping *sweeping, struct trk_error *error)
{
    bool spoken_of = name[0] == '.', of_another = false;
    enum trk_status status = spoken_of ? TRK_OK : is_spoken_of(catalogue, name, &spoken_of, error);
    if (status != TRK_OK || spoken_of) {
        return status;
    }
    /* The same content under the other ending: what describes it speaks of the row's. */
    if (catalogue_is_stored(name)) {
        char about[64];
        snprintf(about, sizeof about, "%.32s" TRK_CATALOGUE_ABOUT, name);
        status = is_spoken_of(catalogue, about, &of_another, error);
    }
    if (status != TRK_OK) {
        return status;
    }
    if (!of_another && is_described(folder, name)) {
        sweeping->swept->kept += catalogue_is_stored(name);
    } else if (unlinkat(folder, name, 0) == 0) {
        sweeping->swept->removed++;
        sweeping->fn(sweeping->context, name);
    }
    return TRK_OK;
}

static enum trk_status sweep(struct trk_catalogue *catalogue, const struct sweeping *sweeping,
                             struct trk_error *error)
{
    char path[PATH_MAX + 16];
    struct dirent **files = NULL;
    snprintf(path, sizeof path, "%s/" TRK_CATALOGUE_TRACES, catalogue->folder);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 && errno == ENOENT) {
        return TRK_OK; /* nothing was ever stored */
    }
    int count = folder >= 0 ? scandir(path, &files, NULL, alphasort) : -1;
    enum trk_status status =
        count >= 0 ? TRK_OK : trk_error_set_errno(error, TRK_E_SYSTEM, errno, TRK_CATALOGUE_TRACES);
    for (int i = 0; i < count; i++) {
        if (status == TRK_OK) {
            status = sweep_one(catalogue, folder, files[i]->d_name, sweeping, error);
        }
        free(files[i]);
    }
    free(files);
    if (folder >= 0) {
        close(folder);
    }
    return status;
}

enum trk_status trk_catalogue_gc(struct trk_catalogue *catalogue, trk_catalogue_removed_fn *fn,
                                 void *context, struct trk_catalogue_swept *swept,
                                 struct trk_error *error)
{
    const struct sweeping sweeping = {fn, context, swept};
    *swept = (struct trk_catalogue_swept){0, 0};
    enum trk_status status = catalogue_begin(catalogue, error);
    if (status != TRK_OK) {
        return status;
    }
    status = catalogue_write_abouts(catalogue, error);
    if (status == TRK_OK) {
        status = sweep(catalogue, &sweeping, error);
    }
    return catalogue_end(catalogue, status, error);
}

/*
 * Take away the file of a hash, and before it what describes it: whoever is killed in between
 * leaves what rebuild takes up again, or gc removes. Others that have put it in again meanwhile
 * keep it.
 */
static enum trk_status remove_files(struct trk_catalogue *catalogue, const char *hash,
                                    struct trk_error *error)
{
    static const char *const endings[] = {TRK_CATALOGUE_ABOUT, ".trk", ".json"};
    char path[PATH_MAX + 64], name[64];
    bool spoken_of = true;
    snprintf(name, sizeof name, "%s" TRK_CATALOGUE_ABOUT, hash);
    enum trk_status status = catalogue_begin(catalogue, error);
    if (status != TRK_OK) {
        return status;
    }
    status = is_spoken_of(catalogue, name, &spoken_of, error);
    for (size_t i = 0; i < 3 && status == TRK_OK && !spoken_of; i++) {
        snprintf(path, sizeof path, "%s/" TRK_CATALOGUE_TRACES "/%s%s", catalogue->folder, hash,
                 endings[i]);
        if (unlink(path) != 0 && errno != ENOENT) {
            status = trk_error_set_errno(error, TRK_E_SYSTEM, errno, TRK_CATALOGUE_TRACES);
        }
    }
    return catalogue_end(catalogue, status, error);
}

enum trk_status trk_catalogue_remove(struct trk_catalogue *catalogue, const char *name,
                                     struct trk_error *error)
{
    sqlite3_stmt *statement = NULL;
    char hash[TRK_CONTENT_BYTES] = "";
    if (name[0] == '\0') {
        return trk_error_set(error, TRK_E_ARGUMENT, "no name");
    }
    enum trk_status status = catalogue_begin(catalogue, error);
    if (status != TRK_OK) {
        return status;
    }
    status = catalogue_prepare(
        catalogue,
        "DELETE FROM traces WHERE name = ?1 OR substr(hash, 1, length(?1)) = ?1 RETURNING hash",
        &name, 1, &statement, error);
    if (status == TRK_OK) {
        int last;
        while ((last = sqlite3_step(statement)) == SQLITE_ROW) {
            snprintf(hash, sizeof hash, "%s", catalogue_text(statement, 0));
        }
        status = catalogue_done(catalogue, statement, last, error);
    }
    int gone = sqlite3_changes(catalogue->db);
    if (status == TRK_OK && gone != 1) {
        status =
            trk_error_set(error, TRK_E_ARGUMENT,
                          gone == 0 ? "none is called %.60s" : "several are called %.60s", name);
    }
    status = catalogue_end(catalogue, status, error);
    return status == TRK_OK ? remove_files(catalogue, hash, error) : status;
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* One that was not there is not there again. What cannot be taken back is as after a kill. */
static void take_back(struct trk_catalogue *catalogue, const char *hash)
{
    struct trk_error reason;
    if (trk_catalogue_remove(catalogue, hash, &reason) != TRK_OK) {
        (void)remove_files(catalogue, hash, &reason); /* its row did not come to be */
    }
}

enum trk_status trk_catalogue_add(struct trk_catalogue *catalogue, const char *path,
                                  const char *policy, struct trk_manifest_entry *entry,
                                  struct trk_error *error)
{
    char target[PATH_MAX];
    bool found = false, fresh = false;
    enum trk_status status = trk_content_name(path, entry->hash, &entry->bytes, error);
    /* Under the writers' lock, so that no gc comes between the file and what speaks of it. */
    if (status == TRK_OK) {
        status = catalogue_begin(catalogue, error);
    }
    if (status != TRK_OK) {
        return status;
    }
    status = keep_words(catalogue, policy, entry, &found, error);
    if (status == TRK_OK) {
        status = trk_catalogue_path(catalogue->folder, entry, target, sizeof target, error);
    }
    if (status == TRK_OK) {
        fresh = !found && access(target, F_OK) != 0;
        status = store(path, target, entry, error);
    }
    if (status == TRK_OK) {
        status = catalogue_prepare_about(catalogue->folder, entry, error);
    }
    if (status == TRK_OK) {
        status = catalogue_insert(catalogue, entry, error);
    }
    status = catalogue_end(catalogue, status, error);
    if (status == TRK_OK) {
        status = describe_row(catalogue, entry, error);
    }
    if (status != TRK_OK) {
        catalogue_drop_about(catalogue->folder, entry->hash);
    }
    if (status != TRK_OK && fresh) {
        take_back(catalogue, entry->hash);
    }
    return status;
}
