/* Opening a catalogue: whose database it is, and what it is brought up to. */
#include "catalogue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* "trkc", in the database's header: whose it is. */
#define APPLICATION_ID 1953655651

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

static bool has_database(const char *folder)
{
    char path[PATH_MAX];
    struct stat about;
    int length = snprintf(path, sizeof path, "%s/" TRK_CATALOGUE_FILE, folder);
    return length > 0 && (size_t)length < sizeof path && lstat(path, &about) == 0;
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

/* Whether its tables have what we ask them for. */
static enum trk_status check_tables(struct trk_catalogue *catalogue, struct trk_error *error)
{
    static const char *const questions[] = {
        "SELECT " COLUMNS " FROM traces",
        ("SELECT hash, core, schedule, seeds, trk, verdict, detail, thread, text, event_at, "
         "event_visible FROM verdicts"),
        "SELECT id, hash, result FROM benches",
    };
    enum trk_status status = TRK_OK;
    for (size_t i = 0; i < sizeof questions / sizeof questions[0] && status == TRK_OK; i++) {
        sqlite3_stmt *statement = NULL;
        status = catalogue_prepare(catalogue, questions[i], NULL, 0, &statement, error);
        sqlite3_finalize(statement);
    }
    return status;
}

/* Whether every page and row of it is what it should be. */
static enum trk_status check(struct trk_catalogue *catalogue, struct trk_error *error)
{
    sqlite3_stmt *statement = NULL;
    enum trk_status status = check_tables(catalogue, error);
    if (status == TRK_OK) {
        status = catalogue_prepare(catalogue, "PRAGMA quick_check(1)", NULL, 0, &statement, error);
    }
    if (status != TRK_OK) {
        return status;
    }
    int last = sqlite3_step(statement);
    bool good = last == SQLITE_ROW && strcmp(catalogue_text(statement, 0), "ok") == 0;
    status = catalogue_done(catalogue, statement, last, error);
    if (status == TRK_OK && !good) {
        status = trk_error_set(error, TRK_E_DAMAGED,
                               TRK_CATALOGUE_FILE " is damaged: " CATALOGUE_WAY_OUT);
    }
    return status == TRK_OK ? catalogue_check_words(catalogue, error) : status;
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
                             TRK_CATALOGUE_FILE
                             " is empty, but files are stored: " CATALOGUE_WAY_OUT);
    }
    if (!*fresh && (id != APPLICATION_ID || *version < 1)) {
        return trk_error_set(error, TRK_E_DAMAGED,
                             TRK_CATALOGUE_FILE
                             " is another program's database: " CATALOGUE_WAY_OUT);
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

static bool traces_of(const char *folder, char out[PATH_MAX])
{
    int length = snprintf(out, PATH_MAX, "%s/" TRK_CATALOGUE_TRACES, folder);
    return length > 0 && length < PATH_MAX;
}

static enum trk_status not_made(int reason, struct trk_error *error)
{
    return trk_error_set_errno(error, TRK_E_SYSTEM, reason, "the folder cannot be made");
}

/* The catalogue's own; made says whether it is new. */
static enum trk_status make_folder(const char *folder, struct catalogue_made *made,
                                   struct trk_error *error)
{
    made->folder = mkdir(folder, 0777) == 0;
    return made->folder || errno == EEXIST ? TRK_OK : not_made(errno, error);
}

/* What lies in it. */
static enum trk_status make_traces(const char *folder, struct catalogue_made *made,
                                   struct trk_error *error)
{
    char path[PATH_MAX];
    if (!traces_of(folder, path)) {
        return trk_error_set(error, TRK_E_ARGUMENT, "the path is too long");
    }
    made->traces = mkdir(path, 0777) == 0;
    return made->traces || errno == EEXIST ? TRK_OK : not_made(errno, error);
}

void catalogue_take_back(const char *folder, struct catalogue_made made)
{
    char path[PATH_MAX];
    catalogue_clear(folder, true);
    if (made.traces && traces_of(folder, path)) {
        (void)rmdir(path);
    }
    if (made.folder) {
        (void)rmdir(folder);
    }
}

/* Whether it has nothing in it yet. */
static bool is_new(const char *folder)
{
    char path[PATH_MAX];
    struct stat about;
    int length = snprintf(path, sizeof path, "%s/" TRK_CATALOGUE_FILE, folder);
    return length > 0 && (size_t)length < sizeof path &&
           (lstat(path, &about) != 0 || about.st_size == 0);
}

/* Whether the folder and the database may be written. */
static bool may_write(const char *folder, const char *path)
{
    return access(folder, W_OK) == 0 && access(path, W_OK) == 0;
}

/* Only what is known as ours is changed: the journal is a change of the file. */
static enum trk_status set_journal(struct trk_catalogue *catalogue, struct trk_error *error)
{
    const struct timespec pause = {.tv_nsec = 10000000L};
    int code;
    /* SQLite does not wait for others here. */
    for (int i = 0; (code = sqlite3_exec(catalogue->db, "PRAGMA journal_mode = WAL", NULL, NULL,
                                         NULL)) == SQLITE_BUSY &&
                    i < CATALOGUE_BUSY_MS / 10;
         i++) {
        (void)nanosleep(&pause, NULL);
    }
    return code != SQLITE_OK ? catalogue_fail(catalogue, error)
                             : catalogue_run(catalogue,
                                             "PRAGMA synchronous = FULL;"
                                             "PRAGMA foreign_keys = ON",
                                             error);
}

static enum trk_status open_to_write(struct trk_catalogue *catalogue, const char *path,
                                     enum trk_catalogue_for what,
                                     const struct catalogue_filler *filler, struct trk_error *error)
{
    const int flags =
        SQLITE_OPEN_READWRITE | (what >= TRK_CATALOGUE_TO_ADD ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(path, &catalogue->db, flags, NULL) != SQLITE_OK) {
        return catalogue->db != NULL
                   ? catalogue_fail(catalogue, error)
                   : trk_error_set(error, TRK_E_MEMORY, "no memory for a database");
    }
    catalogue->writes = true;
    (void)sqlite3_busy_timeout(catalogue->db, CATALOGUE_BUSY_MS);
    enum trk_status status = catalogue_begin(catalogue, error);
    if (status == TRK_OK) {
        status = catalogue_end(catalogue, bring_up(catalogue, what, filler, error), error);
    }
    if (status == TRK_OK) {
        status = check(catalogue, error);
    }
    return status == TRK_OK ? set_journal(catalogue, error) : status;
}

/* A copy of it as it is now. old: it must be brought up first. */
static enum trk_status open_to_read(struct trk_catalogue *catalogue, const char *path, bool *old,
                                    struct trk_error *error)
{
    int64_t version = 0;
    bool fresh = false;
    *old = false;
    enum trk_status status = catalogue_read(catalogue, path, error);
    if (status == TRK_E_UNSUPPORTED && !catalogue->read_only) {
        *old = true; /* or is too large for a copy */
        return TRK_OK;
    }
    if (status == TRK_OK) {
        status = look_at(catalogue, TRK_CATALOGUE_TO_READ, &version, &fresh, error);
    }
    if (status == TRK_OK && version < TRK_CATALOGUE_VERSION) {
        *old = true;
        return TRK_OK;
    }
    return status == TRK_OK ? check(catalogue, error) : status;
}

enum trk_status catalogue_check_file(const char *folder, bool links, struct trk_error *error)
{
    char path[PATH_MAX + sizeof TRK_CATALOGUE_FILE + 1];
    struct stat about;
    snprintf(path, sizeof path, "%s/" TRK_CATALOGUE_FILE, folder);
    if (lstat(path, &about) != 0) {
        return TRK_OK;
    }
    if (stat(path, &about) != 0) {
        return links ? TRK_OK
                     : trk_error_set(error, TRK_E_DAMAGED,
                                     TRK_CATALOGUE_FILE
                                     " is a link to what is not there: " CATALOGUE_WAY_OUT);
    }
    return S_ISREG(about.st_mode)
               ? TRK_OK
               : trk_error_set(error, TRK_E_DAMAGED,
                               TRK_CATALOGUE_FILE
                               " is no regular file, and stays: move it away; " CATALOGUE_WAY_OUT);
}

static enum trk_status open_it(struct trk_catalogue *catalogue, enum trk_catalogue_for what,
                               const struct catalogue_filler *filler, struct trk_error *error)
{
    char path[PATH_MAX + sizeof TRK_CATALOGUE_FILE + 1];
    bool old = false;
    enum trk_status status = catalogue_check_file(catalogue->folder, false, error);
    if (status != TRK_OK) {
        return status;
    }
    snprintf(path, sizeof path, "%s/" TRK_CATALOGUE_FILE, catalogue->folder);
    if (what == TRK_CATALOGUE_TO_READ) {
        catalogue->read_only = !may_write(catalogue->folder, path);
        status = open_to_read(catalogue, path, &old, error);
        if (status != TRK_OK || !old) {
            return status;
        }
        (void)sqlite3_close(catalogue->db);
        catalogue->db = NULL;
    }
    return open_to_write(catalogue, path, what, filler, error);
}

static enum trk_status open_there(struct trk_catalogue **out, const char *folder,
                                  enum trk_catalogue_for what,
                                  const struct catalogue_filler *filler, struct trk_error *error)
{
    struct trk_catalogue *catalogue = calloc(1, sizeof *catalogue);
    if (catalogue == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for a catalogue");
    }
    int length = snprintf(catalogue->folder, sizeof catalogue->folder, "%s", folder);
    enum trk_status status = length < 0 || (size_t)length >= sizeof catalogue->folder
                                 ? trk_error_set(error, TRK_E_ARGUMENT, "the path is too long")
                                 : open_it(catalogue, what, filler, error);
    if (status != TRK_OK) {
        trk_catalogue_close(catalogue);
        return status;
    }
    *out = catalogue;
    return TRK_OK;
}

/* How often the folder may be gone again before one is made in it. */
#define TRIES_MOST 1000

/*
 * Make the folder where there is none, and lock it until the database is open: alone, where one is
 * to be made. Who gives up the making of one takes all of it away, also while others wait: they
 * begin again.
 */
static enum trk_status make_and_lock(const char *folder, struct catalogue_made *made, int *fd,
                                     struct trk_error *error)
{
    for (unsigned tries = 0;; tries++) {
        enum trk_status status = make_folder(folder, made, error);
        if (status != TRK_OK) {
            return status;
        }
        const bool alone = is_new(folder);
        status = catalogue_lock(folder, alone, fd, error);
        const bool still = status == TRK_OK && (alone || !is_new(folder));
        const bool gone = status == TRK_E_SYSTEM && error->os_errno == ENOENT;
        if (still || (status != TRK_OK && !gone) || tries == TRIES_MOST) {
            made->database = still && alone && is_new(folder);
            return status;
        }
        if (status == TRK_OK) {
            close(*fd);
        }
    }
}

/* Make one where there is none; whoever rebuilds has the lock. */
static enum trk_status open_or_make(struct trk_catalogue **out, const char *folder,
                                    enum trk_catalogue_for what,
                                    const struct catalogue_filler *filler, struct trk_error *error)
{
    struct catalogue_made made = {.folder = false};
    int lock_fd = -1;
    enum trk_status status = what == TRK_CATALOGUE_TO_ADD
                                 ? make_and_lock(folder, &made, &lock_fd, error)
                                 : make_folder(folder, &made, error);
    if (status == TRK_OK) {
        status = make_traces(folder, &made, error);
    } else if (made.folder) {
        (void)rmdir(folder);
    }
    if (status == TRK_OK) {
        status = open_there(out, folder, what, filler, error);
    }
    if (status == TRK_OK) {
        (*out)->made = made;
    } else if (made.database || what == TRK_CATALOGUE_TO_REBUILD) {
        catalogue_take_back(folder, made);
    }
    if (lock_fd >= 0) {
        close(lock_fd);
    }
    return status;
}

enum trk_status catalogue_open(struct trk_catalogue **out, const char *folder,
                               enum trk_catalogue_for what, const struct catalogue_filler *filler,
                               struct trk_error *error)
{
    if (what >= TRK_CATALOGUE_TO_ADD) {
        return open_or_make(out, folder, what, filler, error);
    }
    if (!has_database(folder)) {
        return catalogue_has_stored(folder)
                   ? trk_error_set(error, TRK_E_DAMAGED,
                                   "there is no " TRK_CATALOGUE_FILE
                                   ", but files are stored: " CATALOGUE_WAY_OUT)
                   : trk_error_set(error, TRK_E_ARGUMENT,
                                   "no catalogue: there is no " TRK_CATALOGUE_FILE);
    }
    return open_there(out, folder, what, filler, error);
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
        if (catalogue->writes) {
            catalogue_clear(catalogue->folder, false); /* of a full disk SQLite leaves it */
        }
        free(catalogue);
    }
}
