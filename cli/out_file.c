#define _GNU_SOURCE /* O_TMPFILE */
#include "out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "refusal.h"
#include "terminal.h"

#define NEW_FILE_MODE 0666
#define ACCESS_BITS   0777

static enum trk_status failed(struct trk_error *error, int reason)
{
    return trk_error_set_errno(error, reason == EEXIST ? TRK_E_EXISTS : TRK_E_SYSTEM, reason, "%s",
                               "");
}

static bool is_standard(const struct trk_out_file *out)
{
    return strcmp(out->path, "-") == 0;
}

/* The folder of a path, with its slash; "" is the current one. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* A file without a name next to where it will stand, else one with an odd name. */
static int open_unnamed(struct trk_out_file *out)
{
    char folder[PATH_MAX];
    const char *near = is_standard(out) || out->through_fd >= 0 ? "/tmp/" : out->target;
    size_t length = folder_length(near);
    if (length + sizeof "." > sizeof folder) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(folder, near, length);
    memcpy(folder + length, ".", 2);
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, NEW_FILE_MODE);
    if (fd >= 0) {
        return fd;
    }
    folder[length] = '\0';
    return trk_scratch_file_open(&out->named, folder);
}

/* /dev/stdout and its like, or the file that standard output goes to. What /dev/null and its like
 * take cannot get mixed up. */
static bool leads_to_standard(const char *path)
{
    struct stat there, standard;
    return stat(path, &there) == 0 && fstat(STDOUT_FILENO, &standard) == 0 &&
           there.st_dev == standard.st_dev && there.st_ino == standard.st_ino &&
           (!S_ISCHR(there.st_mode) || isatty(STDOUT_FILENO));
}

/* What may be overwritten, and how. */
static enum trk_status aim(struct trk_out_file *out, struct trk_error *error)
{
    enum trk_place place;
    enum trk_status status = trk_place_find(out->path, &place, out->target, error);
    if (status != TRK_OK || place == TRK_PLACE_NEW) {
        return status;
    }
    if (leads_to_standard(out->path)) {
        out->path = "-";
    } else if (place == TRK_PLACE_STREAM) {
        out->through_fd = open(out->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return out->through_fd >= 0 ? TRK_OK : failed(error, errno);
    }
    return TRK_OK;
}

enum trk_status trk_out_file_begin(struct trk_out_file *out, const char *path, bool overwrite,
                                   struct trk_error *error)
{
    struct stat there;
    *out = (struct trk_out_file){
        .path = path, .overwrite = overwrite, .fd = -1, .through_fd = -1, .target = ""};
    if (!is_standard(out)) {
        if (!overwrite && lstat(path, &there) == 0 && !S_ISDIR(there.st_mode)) {
            return failed(error, EEXIST);
        }
        enum trk_status status = aim(out, error);
        if (status != TRK_OK) {
            return status;
        }
    }
    out->fd = open_unnamed(out);
    if (out->fd < 0) {
        int reason = errno;
        trk_out_file_close(out);
        return failed(error, reason);
    }
    snprintf(out->reopen, sizeof out->reopen, "/proc/self/fd/%d", out->fd);
    return TRK_OK;
}

static enum trk_status write_all(int fd, const char *bytes, size_t size_bytes,
                                 struct trk_error *error)
{
    while (size_bytes > 0) {
        ssize_t done = write(fd, bytes, size_bytes);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return failed(error, done < 0 ? errno : EIO);
        }
        bytes += done;
        size_bytes -= (size_t)done;
    }
    return TRK_OK;
}

enum trk_status trk_out_file_write(const struct trk_out_file *out, const void *bytes,
                                   size_t size_bytes, struct trk_error *error)
{
    return write_all(out->fd, bytes, size_bytes, error);
}

/* To standard output, or through to a pipe or a device. */
static enum trk_status copy_out(const struct trk_out_file *out, struct trk_error *error)
{
    static char buffer[1 << 16];
    off_t at = 0;
    if (out->through_fd < 0) {
        trk_refusal_not_needed();
    }
    for (;;) {
        ssize_t got = pread(out->fd, buffer, sizeof buffer, at);
        enum trk_status status = TRK_OK;
        if (got <= 0) {
            return got < 0 ? failed(error, errno) : TRK_OK;
        }
        if (out->through_fd >= 0) {
            status = write_all(out->through_fd, buffer, (size_t)got, error);
        } else if (fwrite(buffer, 1, (size_t)got, stdout) != (size_t)got) {
            return TRK_OK; /* the terminal tells of it */
        }
        if (status != TRK_OK) {
            return status;
        }
        at += got;
    }
}

/* A name for a file that has none yet; -1: errno. */
static int link_as(const struct trk_out_file *out, const char *path)
{
    return out->named.path[0] ? link(out->named.path, path)
                              : linkat(AT_FDCWD, out->reopen, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

/* By a name between, which no signal finds. */
static int replace_unnamed(const struct trk_out_file *out)
{
    char name[PATH_MAX] = "";
    sigset_t all, former;
    size_t length = folder_length(out->target);
    memcpy(name, out->target, length);
    snprintf(name + length, sizeof name - length, ".trk-%ld", (long)getpid());
    sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &former);
    int bad = link_as(out, name);
    if (bad == 0) {
        bad = rename(name, out->target);
        int reason = errno;
        if (bad != 0) {
            (void)unlink(name);
            errno = reason;
        }
    }
    (void)sigprocmask(SIG_SETMASK, &former, NULL);
    return bad;
}

/*
 * Put the file in the place of another; what else may have come there meanwhile stays. Who may read
 * the one may read the other.
 */
static int replace(const struct trk_out_file *out)
{
    struct stat there;
    bool is_there = lstat(out->target, &there) == 0;
    if (is_there && !S_ISREG(there.st_mode)) {
        errno = EEXIST;
        return -1;
    }
    if (is_there) {
        (void)fchmod(out->fd, there.st_mode & ACCESS_BITS);
    }
    return out->named.path[0] ? rename(out->named.path, out->target) : replace_unnamed(out);
}

static enum trk_status give_name(const struct trk_out_file *out, struct trk_error *error)
{
    if (out->named.path[0]) { /* nobody else may read it yet */
        mode_t mask = umask(0);
        umask(mask);
        (void)!fchmod(out->fd, NEW_FILE_MODE & ~mask);
    }
    int bad = link_as(out, out->target);
    if (bad != 0 && errno == EEXIST && out->overwrite) {
        bad = replace(out);
    }
    return bad == 0 ? TRK_OK : failed(error, errno);
}

enum trk_status trk_out_file_finish(struct trk_out_file *out, struct trk_error *error)
{
    bool copied = is_standard(out) || out->through_fd >= 0;
    enum trk_status status = copied ? copy_out(out, error) : give_name(out, error);
    if (out->through_fd >= 0) {
        int bad = close(out->through_fd);
        out->through_fd = -1;
        if (bad != 0 && status == TRK_OK) {
            status = failed(error, errno);
        }
    }
    trk_out_file_close(out);
    return status;
}

void trk_out_file_close(struct trk_out_file *out)
{
    if (out->through_fd >= 0) {
        close(out->through_fd);
        out->through_fd = -1;
    }
    if (out->fd >= 0) {
        close(out->fd);
        out->fd = -1;
    }
    trk_scratch_close(&out->named);
}

/* ---- with messages --------------------------------------------------------------------------- */

int trk_out_file_open(struct trk_out_file *out, const struct trk_options *options)
{
    const char *path = trk_options_text(options, "output");
    *out = (struct trk_out_file){.fd = -1, .through_fd = -1};
    if (!path) {
        trk_terminal_say(options->command->name, "where to? -o G is needed");
        return TRK_EXIT_USAGE;
    }
    return trk_out_file_open_at(out, path, trk_options_flag(options, "force"), options);
}

int trk_out_file_open_at(struct trk_out_file *out, const char *path, bool overwrite,
                         const struct trk_options *options)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    if (trk_out_file_begin(out, path, overwrite, &error) == TRK_OK) {
        return TRK_EXIT_OK;
    }
    return trk_terminal_error(options->command->name, path, &error);
}

int trk_out_file_keep(struct trk_out_file *out, const struct trk_options *options)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    if (trk_out_file_finish(out, &error) == TRK_OK) {
        return TRK_EXIT_OK;
    }
    return trk_terminal_error(options->command->name, out->path, &error);
}
