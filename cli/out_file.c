#define _GNU_SOURCE /* O_TMPFILE, mkostemp */
#include "out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "terminal.h"

#define NEW_FILE_MODE 0666

static int refuse(const struct trk_options *options, const char *subject, enum trk_status status,
                  int os_errno)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    (void)trk_error_set(&error, status, "%s", strerror(os_errno));
    error.os_errno = os_errno;
    return trk_terminal_error(options->command->name, subject, &error);
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
    const char *near = is_standard(out) ? "/tmp/" : out->path;
    size_t length = folder_length(near);
    if (length + sizeof ".trk-XXXXXX" > sizeof folder) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(folder, near, length);
    memcpy(folder + length, ".", 2);
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, NEW_FILE_MODE);
    if (fd >= 0) {
        return fd;
    }
    memcpy(out->temporary, folder, length);
    memcpy(out->temporary + length, ".trk-XXXXXX", sizeof ".trk-XXXXXX");
    fd = mkostemp(out->temporary, O_CLOEXEC);
    if (fd < 0) {
        out->temporary[0] = 0;
        return fd;
    }
    mode_t mask = umask(0);
    umask(mask);
    (void)!fchmod(fd, NEW_FILE_MODE & ~mask);
    return fd;
}

int trk_out_file_open(struct trk_out_file *out, const struct trk_options *options)
{
    const char *path = trk_options_text(options, "output");
    *out = (struct trk_out_file){.fd = -1};
    if (!path) {
        trk_terminal_say(options->command->name, "where to? -o G is needed");
        return TRK_EXIT_USAGE;
    }
    return trk_out_file_open_at(out, path, trk_options_flag(options, "force"), options);
}

int trk_out_file_open_at(struct trk_out_file *out, const char *path, bool overwrite,
                         const struct trk_options *options)
{
    *out = (struct trk_out_file){.path = path, .overwrite = overwrite, .fd = -1};
    struct stat there;
    bool exists = !is_standard(out) && stat(out->path, &there) == 0;
    if (exists && S_ISDIR(there.st_mode)) {
        return refuse(options, out->path, TRK_E_SYSTEM, EISDIR);
    }
    if (exists && !out->overwrite) {
        return refuse(options, out->path, TRK_E_EXISTS, EEXIST);
    }
    out->fd = open_unnamed(out);
    if (out->fd < 0) {
        return refuse(options, out->path, TRK_E_SYSTEM, errno);
    }
    snprintf(out->reopen, sizeof out->reopen, "/proc/self/fd/%d", out->fd);
    return TRK_EXIT_OK;
}

static int copy_out(const struct trk_out_file *out)
{
    static char buffer[1 << 16];
    off_t at = 0;
    for (;;) {
        ssize_t got = pread(out->fd, buffer, sizeof buffer, at);
        if (got <= 0) {
            return got < 0 ? -1 : 0;
        }
        if (fwrite(buffer, 1, (size_t)got, stdout) != (size_t)got) {
            return 0; /* the terminal tells of it */
        }
        at += got;
    }
}

/* A name for a file that has none yet; -1: errno. */
static int link_as(const struct trk_out_file *out, const char *path)
{
    return out->temporary[0] ? link(out->temporary, path)
                             : linkat(AT_FDCWD, out->reopen, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

/* Put the file in the place of another. */
static int replace(struct trk_out_file *out)
{
    if (!out->temporary[0]) {
        char name[PATH_MAX] = "";
        size_t length = folder_length(out->path);
        memcpy(name, out->path, length);
        snprintf(name + length, sizeof name - length, ".trk-%ld", (long)getpid());
        if (link_as(out, name) != 0) {
            return -1;
        }
        memcpy(out->temporary, name, sizeof out->temporary);
    }
    int failed = rename(out->temporary, out->path);
    if (failed == 0) {
        out->temporary[0] = 0;
    }
    return failed;
}

int trk_out_file_keep(struct trk_out_file *out, const struct trk_options *options)
{
    int code = TRK_EXIT_OK;
    int failed;
    if (is_standard(out)) {
        failed = copy_out(out);
    } else {
        failed = link_as(out, out->path);
        if (failed != 0 && errno == EEXIST && out->overwrite) {
            failed = replace(out);
        }
    }
    if (failed != 0) {
        code = refuse(options, out->path, errno == EEXIST ? TRK_E_EXISTS : TRK_E_SYSTEM, errno);
    }
    trk_out_file_close(out);
    return code;
}

void trk_out_file_close(struct trk_out_file *out)
{
    if (out->fd >= 0) {
        close(out->fd);
        out->fd = -1;
    }
    if (out->temporary[0]) {
        unlink(out->temporary);
        out->temporary[0] = 0;
    }
}
