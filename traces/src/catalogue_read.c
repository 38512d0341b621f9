/*
 * Reading a catalogue's database as it stands, without a change of its folder: a copy in memory.
 *
 * SQLite reads a database with a journal only where it may write, or where others that may have it
 * open; and who reads one that may not be written beside one that writes it is refused by chance.
 * So it is copied while nobody writes, or under SQLite's own locks.
 */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "catalogue.h"
#include "traces/plain_file.h"

/* What is copied at most. */
#define COPY_BYTES (INT64_C(1) << 30)
/* How often it is looked at again, for one that opens or closes it, and how long between. */
#define TRIES_MOST    500
#define TRIES_WAIT_NS 10000000L
/* Where SQLite's header says which journal it has, and what stands there for none that is apart. */
#define HEADER_BYTES  100
#define HEADER_WRITES 18
#define HEADER_READS  19
#define PLAIN_JOURNAL 1
/* The bytes that readers hold locked, by SQLite's format. */
#define SHARED_FIRST 0x40000002
#define SHARED_BYTES 510

struct copying {
    const char *path;
    bool may_write;
    unsigned char *bytes; /* of sqlite3_malloc(); NULL: none */
    sqlite3_int64 size;
    bool again; /* another was in the way */
};

/* What SQLite keeps beside the database while somebody has it open. */
struct beside {
    bool journal, index, rollback; /* the last: what one that was killed has begun */
    int64_t journal_bytes;
};

static struct beside look_beside(const char *path)
{
    char name[PATH_MAX + 64];
    struct stat about;
    struct beside out = {.journal = false};
    snprintf(name, sizeof name, "%s-wal", path);
    out.journal = stat(name, &about) == 0;
    out.journal_bytes = out.journal ? about.st_size : 0;
    snprintf(name, sizeof name, "%s-shm", path);
    out.index = stat(name, &about) == 0;
    snprintf(name, sizeof name, "%s-journal", path);
    out.rollback = stat(name, &about) == 0 && about.st_size > 0;
    return out;
}

/* The path as a URI of SQLite's, with what stands behind it. */
static void uri_of(const char *path, const char *how, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "file:");
    for (; *path != '\0' && used + 4 < size; path++) {
        bool plain = isalnum((unsigned char)*path) || strchr("/-._~", *path) != NULL;
        used += (size_t)snprintf(out + used, size - used, plain ? "%c" : "%%%02X",
                                 (unsigned)(unsigned char)*path);
    }
    snprintf(out + used, size - used, "%s", how);
}

/* What another that opens or closes it meanwhile makes of ours. */
static bool by_chance(int code)
{
    code &= 0xff;
    return code == SQLITE_READONLY || code == SQLITE_CANTOPEN || code == SQLITE_PROTOCOL;
}

/* Take all pages, with what the journal has. how: as a URI ends. */
static enum trk_status take_pages(struct copying *copying, const char *how, bool alone,
                                  struct trk_error *error)
{
    char uri[3 * PATH_MAX + 64];
    struct trk_catalogue source = {.db = NULL};
    enum trk_status status = TRK_OK;
    uri_of(copying->path, how, uri, sizeof uri);
    int code = sqlite3_open_v2(uri, &source.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL);
    if (code == SQLITE_OK) {
        (void)sqlite3_busy_timeout(source.db, CATALOGUE_BUSY_MS);
        /* Alone it keeps the journal's index to itself. */
        code = sqlite3_exec(source.db,
                            alone ? "PRAGMA locking_mode = EXCLUSIVE;"
                                    "SELECT count(*) FROM sqlite_master"
                                  : "SELECT count(*) FROM sqlite_master",
                            NULL, NULL, NULL);
    }
    if (code == SQLITE_OK) {
        copying->bytes = sqlite3_serialize(source.db, "main", &copying->size, 0);
        /* There is none of an empty one. */
        const bool done = copying->bytes != NULL || copying->size == 0;
        code = done ? SQLITE_OK : sqlite3_errcode(source.db);
        status = done || code != SQLITE_OK
                     ? TRK_OK
                     : trk_error_set(error, TRK_E_MEMORY, "no memory for a database");
    }
    if (code != SQLITE_OK) {
        copying->again = by_chance(code);
        status = source.db != NULL ? catalogue_fail(&source, error)
                                   : trk_error_set(error, TRK_E_MEMORY, "no memory for a database");
    }
    (void)sqlite3_close(source.db);
    return status;
}

/*
 * Where nobody has it open. Who opens it now makes a journal and its index, and cannot take them
 * away again while we have the lock.
 */
static enum trk_status copy_alone(struct copying *copying, int fd, struct beside before,
                                  struct trk_error *error)
{
    struct flock lock = {
        .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = SHARED_FIRST, .l_len = SHARED_BYTES};
    if (fcntl(fd, F_OFD_SETLK, &lock) != 0) {
        copying->again = errno == EAGAIN || errno == EACCES;
        return trk_error_set_errno(error, TRK_E_SYSTEM, errno, TRK_CATALOGUE_FILE);
    }
    const bool journal = before.journal_bytes > 0;
    enum trk_status status = take_pages(
        copying, journal ? "?mode=ro&vfs=unix-none" : "?mode=ro&immutable=1", journal, error);
    const struct beside after = look_beside(copying->path);
    copying->again |= after.journal != before.journal ||
                      after.journal_bytes != before.journal_bytes || after.index != before.index ||
                      after.rollback != before.rollback;
    return status;
}

static enum trk_status copy_once(struct copying *copying, struct trk_error *error)
{
    int fd;
    struct stat about;
    copying->again = false;
    enum trk_status status = trk_plain_file_open(copying->path, &fd, error);
    if (status != TRK_OK) {
        return status;
    }
    const struct beside now = look_beside(copying->path);
    if (fstat(fd, &about) != 0 || about.st_size + now.journal_bytes > COPY_BYTES) {
        status = trk_error_set(error, TRK_E_UNSUPPORTED,
                               TRK_CATALOGUE_FILE " is too large to be read as a copy");
    } else if (about.st_size > 0) { /* of an empty one SQLite would take the journal away */
        status =
            (now.journal_bytes > 0 && now.index) || now.rollback
                ? take_pages(copying, copying->may_write ? "?mode=rw" : "?mode=ro", false, error)
                : copy_alone(copying, fd, now, error);
    }
    close(fd);
    return status;
}

/* Open the copy. It is SQLite's then. */
static enum trk_status open_copy(struct trk_catalogue *catalogue, struct copying *copying,
                                 struct trk_error *error)
{
    if (copying->size >= HEADER_BYTES) {
        copying->bytes[HEADER_WRITES] = copying->bytes[HEADER_READS] = PLAIN_JOURNAL;
    }
    if (sqlite3_open_v2(":memory:", &catalogue->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        sqlite3_free(copying->bytes);
        return trk_error_set(error, TRK_E_MEMORY, "no memory for a database");
    }
    if (copying->bytes == NULL) {
        return TRK_OK;
    }
    return sqlite3_deserialize(catalogue->db, "main", copying->bytes, copying->size, copying->size,
                               SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) ==
                   SQLITE_OK
               ? TRK_OK
               : catalogue_fail(catalogue, error);
}

enum trk_status catalogue_read(struct trk_catalogue *catalogue, const char *path,
                               struct trk_error *error)
{
    const struct timespec pause = {.tv_nsec = TRIES_WAIT_NS};
    struct copying copying = {.path = path, .may_write = !catalogue->read_only};
    enum trk_status status = copy_once(&copying, error);
    for (int i = 1; copying.again && i < TRIES_MOST; i++) {
        sqlite3_free(copying.bytes);
        copying.bytes = NULL;
        copying.size = 0;
        (void)nanosleep(&pause, NULL);
        status = copy_once(&copying, error);
    }
    if (status == TRK_OK && copying.again) {
        status = trk_error_set(error, TRK_E_SYSTEM, TRK_CATALOGUE_FILE " is busy");
    }
    if (status != TRK_OK) {
        sqlite3_free(copying.bytes);
        return status;
    }
    return open_copy(catalogue, &copying, error);
}
