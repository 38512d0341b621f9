/* Making a catalogue's database, and replacing it: one at a time, and what a failure leaves. */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "catalogue.h"

/* How long one waits before it tries again. */
#define WAIT_MS 10
/* The bytes that all who have a database open lock some of, by SQLite's format. */
#define LOCKS_FIRST 0x40000000
#define LOCKS_BYTES 512

/* Whether a folder is the one that is open. */
static bool is_that(const char *folder, int fd)
{
    struct stat named, opened;
    return stat(folder, &named) == 0 && fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev &&
           named.st_ino == opened.st_ino;
}

enum trk_status catalogue_lock(const char *folder, bool alone, int *fd, struct trk_error *error)
{
    const struct timespec pause = {.tv_nsec = WAIT_MS * 1000000L};
    const int how = (alone ? LOCK_EX : LOCK_SH) | LOCK_NB;
    *fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0) {
        return trk_error_set_errno(error, TRK_E_SYSTEM, errno, "cannot open");
    }
    for (int waited_ms = 0; flock(*fd, how) != 0 && errno == EWOULDBLOCK; waited_ms += WAIT_MS) {
        if (waited_ms >= CATALOGUE_BUSY_MS) {
            close(*fd);
            *fd = -1;
            return trk_error_set(error, TRK_E_SYSTEM,
                                 "another makes its " TRK_CATALOGUE_FILE ", and does not end");
        }
        (void)nanosleep(&pause, NULL);
    }
    if (!is_that(folder, *fd)) {
        close(*fd);
        *fd = -1;
        return trk_error_set_errno(error, TRK_E_SYSTEM, ENOENT, "cannot open");
    }
    return TRK_OK; /* also where the file system has no such locks */
}

/* Take a file beside the database away; "": the database. */
static void remove_ending(const char *path, const char *ending)
{
    char name[PATH_MAX + 64];
    snprintf(name, sizeof name, "%s%s", path, ending);
    (void)unlink(name);
}

/* Bytes of one; -1: there is none, or it is no file. */
static int64_t bytes_of(const char *path, const char *ending)
{
    char name[PATH_MAX + 64];
    struct stat about;
    snprintf(name, sizeof name, "%s%s", path, ending);
    return lstat(name, &about) == 0 && S_ISREG(about.st_mode) ? about.st_size : -1;
}

/* Where nobody else has it open, and it is not changed since; under the lock. Whether it is gone.
 */
static bool remove_unused(const char *path, const struct stat *then)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCKS_FIRST, .l_len = LOCKS_BYTES};
    struct stat now;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    const bool unused =
        fcntl(fd, F_OFD_SETLK, &lock) == 0 && bytes_of(path, "-wal") <= 0 && fstat(fd, &now) == 0 &&
        now.st_ino == then->st_ino && now.st_size == then->st_size &&
        now.st_mtim.tv_sec == then->st_mtim.tv_sec && now.st_mtim.tv_nsec == then->st_mtim.tv_nsec;
    if (unused) {
        remove_ending(path, "-wal");
        remove_ending(path, "-shm");
        remove_ending(path, "");
    }
    close(fd);
    return unused;
}

/* Whether any row of its own is in it; also where that is not to be known. */
static bool is_used(struct trk_catalogue *catalogue)
{
    struct trk_error reason;
    sqlite3_stmt *statement = NULL;
    if (catalogue_prepare(catalogue,
                          "SELECT 1 FROM traces UNION ALL SELECT 1 FROM verdicts UNION ALL "
                          "SELECT 1 FROM benches LIMIT 1",
                          NULL, 0, &statement, &reason) != TRK_OK) {
        return true;
    }
    bool none = sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_finalize(statement);
    return !none;
}

void trk_catalogue_abandon(struct trk_catalogue *catalogue)
{
    char folder[PATH_MAX], path[PATH_MAX + sizeof TRK_CATALOGUE_FILE + 1];
    struct trk_error reason;
    struct stat then;
    int fd = -1;
    if (catalogue == NULL) {
        return;
    }
    const struct catalogue_made made = catalogue->made;
    memcpy(folder, catalogue->folder, sizeof folder);
    snprintf(path, sizeof path, "%s/" TRK_CATALOGUE_FILE, folder);
    bool unused = made.database && catalogue_lock(folder, true, &fd, &reason) == TRK_OK &&
                  stat(path, &then) == 0 && !is_used(catalogue) && !catalogue_has_stored(folder);
    trk_catalogue_close(catalogue);
    /* Another that has it open needs the folders. */
    if (unused && remove_unused(path, &then)) {
        catalogue_take_back(folder, made);
    }
    if (fd >= 0) {
        close(fd);
    }
}

void catalogue_clear(const char *folder, bool made)
{
    char path[PATH_MAX + sizeof TRK_CATALOGUE_FILE + 1];
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCKS_FIRST, .l_len = LOCKS_BYTES};
    snprintf(path, sizeof path, "%s/" TRK_CATALOGUE_FILE, folder);
    const bool nothing = bytes_of(path, "-wal") < 0 && bytes_of(path, "-shm") < 0;
    int fd = nothing && !made ? -1 : open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    /* Nobody else has it open then, and what the journal's index says nobody needs. */
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0 && bytes_of(path, "-wal") <= 0) {
        remove_ending(path, "-wal");
        remove_ending(path, "-shm");
        if (made && bytes_of(path, "") == 0) {
            remove_ending(path, "");
        }
    }
    close(fd);
}
