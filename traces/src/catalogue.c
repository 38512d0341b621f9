/* Opening a catalogue: whose database it is, and what it is brought up to. */
#include "catalogue.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "trkc", in the database's header: whose it is. */
#define APPLICATION_ID 1953655651
/* How long others are waited for. */
#define BUSY_MS 60000
/* All that it says of what went wrong leads here. */
#define WAY_OUT "trk catalogue rebuild makes a new one of the stored files"

/* One a version. A released one never changes; what is new is one more. */
static const char *const migrations[TRK_CATALOGUE_VERSION] = {
    "CREATE TABLE traces ("
    " hash TEXT PRIMARY KEY, name TEXT NOT NULL, bytes INTEGER NOT NULL, command TEXT NOT NULL,"
    " origin TEXT NOT NULL, licence TEXT NOT NULL, policy TEXT NOT NULL, expected TEXT NOT NULL"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE verdicts ("
    " hash TEXT NOT NULL REFERENCES traces ON DELETE CASCADE, core TEXT NOT NULL,"
    " schedule TEXT NOT NULL, seeds TEXT NOT NULL, trk TEXT NOT NULL, verdict TEXT NOT NULL,"
    " detail TEXT NOT NULL, thread TEXT NOT NULL, text TEXT NOT NULL,"
    " event_at INTEGER, event_visible INTEGER, PRIMARY KEY (hash, core, schedule, seeds, trk)"
    ") STRICT, WITHOUT ROWID;",
    "CREATE TABLE benches ("
    " id INTEGER PRIMARY KEY, hash TEXT NOT NULL REFERENCES traces ON DELETE CASCADE,"
    " result TEXT NOT NULL, UNIQUE (hash, result)"
    ") STRICT;",
    "", /* what is known of a file lies beside it, too */
};

/* ---- asking ---------------------------------------------------------------------------------- */

/* What SQLite says, as ours: damaged, or the system's. */
static enum trk_status catalogue_fail(struct trk_catalogue *catalogue, struct trk_error *error)
{
    int code = sqlite3_errcode(catalogue->db) & 0xff;
    const char *text = sqlite3_errmsg(catalogue->db);
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) {
        return trk_error_set(error, TRK_E_DAMAGED, TRK_CATALOGUE_FILE " is damaged: " WAY_OUT);
    }
    return trk_error_set(error, code == SQLITE_NOMEM ? TRK_E_MEMORY : TRK_E_SYSTEM,
                         TRK_CATALOGUE_FILE ": %.90s", text);
}

/* Run statements without values. */
static enum trk_status catalogue_run(struct trk_catalogue *catalogue, const char *sql,
                                     struct trk_error *error)
{
    return sqlite3_exec(catalogue->db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? TRK_OK
               : catalogue_fail(catalogue, error);
}

enum trk_status catalogue_begin(struct trk_catalogue *catalogue, struct trk_error *error)
{
    return catalogue_run(catalogue, "BEGIN IMMEDIATE", error);
}

enum trk_status catalogue_end(struct trk_catalogue *catalogue, enum trk_status status,
                              struct trk_error *error)
{
    if (status == TRK_OK) {
        status = catalogue_run(catalogue, "COMMIT", error);
    }
    if (status != TRK_OK) {
        (void)sqlite3_exec(catalogue->db, "ROLLBACK", NULL, NULL, NULL);
    }
    return status;
}

enum trk_status catalogue_prepare(struct trk_catalogue *catalogue, const char *sql,
                                  const char *const *texts, int count, sqlite3_stmt **out,
                                  struct trk_error *error)
{
    int code = sqlite3_prepare_v2(catalogue->db, sql, -1, out, NULL);
    for (int i = 0; i < count && code == SQLITE_OK; i++) {
        code = sqlite3_bind_text(*out, i + 1, texts[i], -1, SQLITE_TRANSIENT);
    }
    if (code == SQLITE_OK) {
        return TRK_OK;
    }
    enum trk_status status = catalogue_fail(catalogue, error);
    sqlite3_finalize(*out);
    *out = NULL;
    return status;
}

enum trk_status catalogue_done(struct trk_catalogue *catalogue, sqlite3_stmt *statement, int last,
                               struct trk_error *error)
{
    enum trk_status status =
        last == SQLITE_DONE || last == SQLITE_ROW ? TRK_OK : catalogue_fail(catalogue, error);
    sqlite3_finalize(statement);
    return status;
}

const char *catalogue_text(sqlite3_stmt *statement, int column)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    return text != NULL ? (const char *)text : "";
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool has_database(const char *folder)
{
    char path[PATH_MAX];
    struct stat about;
    int length = snprintf(path, sizeof path, "%s/" TRK_CATALOGUE_FILE, folder);
    return length > 0 && (size_t)length < sizeof path && stat(path, &about) == 0;
}

bool trk_catalogue_is(const char *folder)
{
    return has_database(folder) || catalogue_has_stored(folder);
}

/* A number of the database's header, or of a count. */
static enum trk_status number(struct trk_catalogue *catalogue, const char *sql, int64_t *out,
                              struct trk_error *error)
{
    sqlite3_stmt *statement = NULL;
    enum trk_status status = catalogue_prepare(catalogue, sql, NULL, 0, &statement, error);
    if (status != TRK_OK) {
        return status;
    }
    int last = sqlite3_step(statement);
    *out = last == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    return catalogue_done(catalogue, statement, last, error);
}

/* Whether every page of it is what it should be. */
static enum trk_status check(struct trk_catalogue *catalogue, struct trk_error *error)
{
    sqlite3_stmt *statement = NULL;
    enum trk_status status =
        catalogue_prepare(catalogue, "PRAGMA quick_check(1)", NULL, 0, &statement, error);
    if (status != TRK_OK) {
        return status;
    }
    int last = sqlite3_step(statement);
    bool good = last == SQLITE_ROW && strcmp(catalogue_text(statement, 0), "ok") == 0;
    status = catalogue_done(catalogue, statement, last, error);
    return status != TRK_OK || good
               ? status
               : trk_error_set(error, TRK_E_DAMAGED, TRK_CATALOGUE_FILE " is damaged: " WAY_OUT);
}

/* Whose it is, and of which version. fresh: nothing is in it. */
static enum trk_status look_at(struct trk_catalogue *catalogue, enum trk_catalogue_for what,
                               int64_t *version, bool *fresh, struct trk_error *error)
{
    int64_t id = 0, tables = 0;
    enum trk_status status = number(catalogue, "PRAGMA application_id", &id, error);
    if (status == TRK_OK) {
        status = number(catalogue, "PRAGMA user_version", version, error);
    }
    if (status == TRK_OK) {
        status = number(catalogue, "SELECT count(*) FROM sqlite_master", &tables, error);
    }
    if (status != TRK_OK) {
        return status;
    }
    *fresh = id == 0 && *version == 0 && tables == 0;
    if (*fresh && what != TRK_CATALOGUE_TO_REBUILD && catalogue_has_stored(catalogue->folder)) {
        return trk_error_set(error, TRK_E_DAMAGED,
                             TRK_CATALOGUE_FILE " is empty, but files are stored: " WAY_OUT);
    }
    if (!*fresh && (id != APPLICATION_ID || *version < 1)) {
        return trk_error_set(error, TRK_E_DAMAGED,
                             TRK_CATALOGUE_FILE " is another program's database: " WAY_OUT);
    }
    if (*version > TRK_CATALOGUE_VERSION) {
        return trk_error_set(error, TRK_E_VERSION,
                             TRK_CATALOGUE_FILE " has version %d, this trk knows %d", (int)*version,
                             TRK_CATALOGUE_VERSION);
    }
    if (*version < TRK_CATALOGUE_VERSION && catalogue->read_only) {
        return trk_error_set(error, TRK_E_VERSION,
                             TRK_CATALOGUE_FILE " has version %d and may only be read: this trk "
                                                "reads %d, and cannot bring it up to that",
                             (int)*version, TRK_CATALOGUE_VERSION);
    }
    return TRK_OK;
}

/* Migrate it. In a transaction that others wait for. */
static enum trk_status bring_up(struct trk_catalogue *catalogue, enum trk_catalogue_for what,
                                const struct catalogue_filler *filler, struct trk_error *error)
{
    int64_t version = 0;
    bool fresh = false;
    char sql[64];
    enum trk_status status = look_at(catalogue, what, &version, &fresh, error);
    for (int64_t i = version; i < TRK_CATALOGUE_VERSION && status == TRK_OK; i++) {
        status = catalogue_run(catalogue, migrations[i], error);
    }
    if (status == TRK_OK && version < 3) {
        status = catalogue_write_abouts(catalogue, error);
    }
    if (status == TRK_OK && version < TRK_CATALOGUE_VERSION) {
        snprintf(sql, sizeof sql, "PRAGMA user_version = %d", TRK_CATALOGUE_VERSION);
        status = catalogue_run(catalogue, sql, error);
    }
    if (status == TRK_OK && fresh) {
        snprintf(sql, sizeof sql, "PRAGMA application_id = %d", APPLICATION_ID);
        status = catalogue_run(catalogue, sql, error);
    }
    return status == TRK_OK && filler != NULL ? filler->fill(catalogue, filler->context, error)
                                              : status;
}

static enum trk_status make_folders(const char *folder, struct trk_error *error)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/" TRK_CATALOGUE_TRACES, folder);
    if (length < 0 || (size_t)length >= sizeof path) {
        return trk_error_set(error, TRK_E_ARGUMENT, "the path is too long");
    }
    if ((mkdir(folder, 0777) != 0 && errno != EEXIST) ||
        (mkdir(path, 0777) != 0 && errno != EEXIST)) {
        return trk_error_set_errno(error, TRK_E_SYSTEM, errno, "the folder cannot be made");
    }
    return TRK_OK;
}

/* The path as a URI of SQLite's. immutable: neither locks nor a journal are looked for. */
static void uri_of(const char *path, bool immutable, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "file:");
    for (; *path != '\0' && used + 4 < size; path++) {
        bool plain = isalnum((unsigned char)*path) || strchr("/-._~", *path) != NULL;
        used += (size_t)snprintf(out + used, size - used, plain ? "%c" : "%%%02X",
                                 (unsigned)(unsigned char)*path);
    }
    snprintf(out + used, size - used, "?mode=ro%s", immutable ? "&immutable=1" : "");
}

/* Whether the folder and the database may be written. */
static bool may_write(const char *folder, const char *path)
{
    return access(folder, W_OK) == 0 && access(path, W_OK) == 0;
}

static enum trk_status open_database(struct trk_catalogue *catalogue, enum trk_catalogue_for what,
                                     struct trk_error *error)
{
    char path[PATH_MAX + sizeof TRK_CATALOGUE_FILE + 1], log[sizeof path + 8], uri[3 * PATH_MAX];
    struct stat about;
    snprintf(path, sizeof path, "%s/" TRK_CATALOGUE_FILE, catalogue->folder);
    catalogue->read_only = what == TRK_CATALOGUE_TO_READ && !may_write(catalogue->folder, path);
    int flags = SQLITE_OPEN_READWRITE | (what >= TRK_CATALOGUE_TO_ADD ? SQLITE_OPEN_CREATE : 0);
    if (catalogue->read_only) {
        /* What the last writer left in the journal is read; with none, no one is writing. */
        snprintf(log, sizeof log, "%s-wal", path);
        uri_of(path, stat(log, &about) != 0 || about.st_size == 0, uri, sizeof uri);
        flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    }
    if (sqlite3_open_v2(catalogue->read_only ? uri : path, &catalogue->db, flags, NULL) !=
        SQLITE_OK) {
        return catalogue->db != NULL
                   ? catalogue_fail(catalogue, error)
                   : trk_error_set(error, TRK_E_MEMORY, "no memory for a database");
    }
    (void)sqlite3_busy_timeout(catalogue->db, BUSY_MS);
    return TRK_OK;
}

static enum trk_status open_it(struct trk_catalogue *catalogue, enum trk_catalogue_for what,
                               const struct catalogue_filler *filler, struct trk_error *error)
{
    enum trk_status status = open_database(catalogue, what, error);
    if (status == TRK_OK && catalogue->read_only) {
        int64_t version;
        bool fresh;
        status = look_at(catalogue, what, &version, &fresh, error);
        return status == TRK_OK ? check(catalogue, error) : status;
    }
    if (status == TRK_OK) {
        status = catalogue_begin(catalogue, error);
    }
    if (status == TRK_OK) {
        status = catalogue_end(catalogue, bring_up(catalogue, what, filler, error), error);
    }
    if (status == TRK_OK) {
        status = check(catalogue, error);
    }
    /* Only what is known as ours is changed: the journal is a change of the file. */
    return status == TRK_OK ? catalogue_run(catalogue,
                                            "PRAGMA journal_mode = WAL;"
                                            "PRAGMA synchronous = FULL;"
                                            "PRAGMA foreign_keys = ON",
                                            error)
                            : status;
}

enum trk_status catalogue_open(struct trk_catalogue **out, const char *folder,
                               enum trk_catalogue_for what, const struct catalogue_filler *filler,
                               struct trk_error *error)
{
    const bool create = what >= TRK_CATALOGUE_TO_ADD;
    enum trk_status status = create ? make_folders(folder, error) : TRK_OK;
    if (status != TRK_OK) {
        return status;
    }
    if (!create && !has_database(folder)) {
        return catalogue_has_stored(folder)
                   ? trk_error_set(error, TRK_E_DAMAGED,
                                   "there is no " TRK_CATALOGUE_FILE
                                   ", but files are stored: " WAY_OUT)
                   : trk_error_set(error, TRK_E_ARGUMENT,
                                   "no catalogue: there is no " TRK_CATALOGUE_FILE);
    }
    struct trk_catalogue *catalogue = calloc(1, sizeof *catalogue);
    if (catalogue == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for a catalogue");
    }
    int length = snprintf(catalogue->folder, sizeof catalogue->folder, "%s", folder);
    status = length < 0 || (size_t)length >= sizeof catalogue->folder
                 ? trk_error_set(error, TRK_E_ARGUMENT, "the path is too long")
                 : open_it(catalogue, what, filler, error);
    if (status != TRK_OK) {
        trk_catalogue_close(catalogue);
        return status;
    }
    *out = catalogue;
    return TRK_OK;
}

enum trk_status trk_catalogue_open(struct trk_catalogue **out, const char *folder,
                                   enum trk_catalogue_for what, struct trk_error *error)
{
    return catalogue_open(out, folder, what, NULL, error);
}

bool trk_catalogue_read_only(const struct trk_catalogue *catalogue)
{
    return catalogue->read_only;
}

void trk_catalogue_close(struct trk_catalogue *catalogue)
{
    if (catalogue != NULL) {
        (void)sqlite3_close(catalogue->db);
        free(catalogue);
    }
}
