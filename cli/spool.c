#define _GNU_SOURCE /* mkostemp */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Descriptors that a command may have been started with. */
#define OWN_MOST 1024

static enum trk_status system_error(struct trk_error *error, const char *what)
{
    return trk_error_set_errno(error, TRK_E_SYSTEM, errno, "%s", what);
}

int trk_spool_open(struct trk_error *error)
{
    const char *directory = getenv("TMPDIR");
    char name[PATH_MAX];
    int length = snprintf(name, sizeof name, "%s/trk-input-XXXXXX",
                          directory && *directory ? directory : "/tmp");
    if (length < 0 || (size_t)length >= sizeof name) {
        (void)trk_error_set(error, TRK_E_ARGUMENT, "TMPDIR is too long");
        return -1;
    }
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0) {
        (void)system_error(error, "temporary file");
        return -1;
    }
    unlink(name);
    return fd;
}

enum trk_status trk_spool_read(int fd, char *buffer, size_t size, size_t *length,
                               struct trk_error *error)
{
    *length = 0;
    while (*length < size) {
        ssize_t got = read(fd, buffer + *length, size - *length);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return system_error(error, "cannot read");
        }
        if (got == 0) {
            break;
        }
        *length += (size_t)got;
    }
    return TRK_OK;
}

enum trk_status trk_spool_write(int fd, const char *bytes, size_t size, uint64_t *written,
                                struct trk_error *error)
{
    *written += size;
    if (*written > TRK_SPOOL_BYTES) {
        return trk_error_set(error, TRK_E_ARGUMENT, "more than %" PRIu64 " bytes from a pipe",
                             TRK_SPOOL_BYTES);
    }
    while (size > 0) {
        ssize_t done = write(fd, bytes, size);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done < 0) {
            return system_error(error, "temporary file");
        }
        bytes += done;
        size -= (size_t)done;
    }
    return TRK_OK;
}

/*
 * A socket cannot be opened by the name that /proc gives it: what leads to one of the process's
 * own, as standard input may be, is that one. -1 with errno.
 */
static int own_socket(const char *path)
{
    struct stat wanted;
    struct stat info;
    int fd = 0;
    if (stat(path, &wanted) != 0) {
        return -1;
    }
    while (fd < OWN_MOST && (fstat(fd, &info) != 0 || !S_ISSOCK(info.st_mode) ||
                             info.st_dev != wanted.st_dev || info.st_ino != wanted.st_ino)) {
        fd++;
    }
    if (fd == OWN_MOST) {
        errno = ENXIO;
        return -1;
    }
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static enum trk_status open_source(struct trk_spool *spool, struct trk_error *error)
{
    spool->from = open(spool->source, O_RDONLY | O_CLOEXEC);
    if (spool->from < 0 && errno == ENXIO) {
        spool->from = own_socket(spool->source);
    }
    return spool->from >= 0 ? TRK_OK : system_error(error, "cannot open");
}

/* What comes is written at once: somebody reads it. */
static void *copy(void *argument)
{
    struct trk_spool *spool = argument;
    static char buffer[1 << 16];
    uint64_t written = 0;
    ssize_t got;
    spool->status = open_source(spool, &spool->error);
    while (spool->status == TRK_OK && (got = read(spool->from, buffer, sizeof buffer)) != 0) {
        if (got > 0) {
            spool->status =
                trk_spool_write(spool->to, buffer, (size_t)got, &written, &spool->error);
        } else if (errno != EINTR) {
            spool->status = system_error(&spool->error, "cannot read");
        }
    }
    if (spool->from >= 0) {
        close(spool->from);
    }
    atomic_store(&spool->ended, true);
    return NULL;
}

enum trk_status trk_spool_begin(struct trk_spool *spool, const char *path, struct trk_error *error)
{
    struct stat info;
    *spool = (struct trk_spool){.from = -1, .to = -1};
    if (stat(path, &info) != 0 || !(S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode))) {
        return TRK_OK;
    }
    int length = snprintf(spool->source, sizeof spool->source, "%s", path);
    if (length < 0 || (size_t)length >= sizeof spool->source) {
        return trk_error_set(error, TRK_E_ARGUMENT, "the path is too long");
    }
    spool->to = trk_spool_open(error);
    if (spool->to < 0) {
        return error ? error->status : TRK_E_SYSTEM;
    }
    snprintf(spool->path, sizeof spool->path, "/proc/self/fd/%d", spool->to);
    spool->running = pthread_create(&spool->thread, NULL, copy, spool) == 0;
    if (!spool->running) {
        (void)copy(spool);
    }
    return TRK_OK;
}

enum trk_status trk_spool_wait(struct trk_spool *spool, struct trk_error *error)
{
    if (spool->running) {
        (void)pthread_join(spool->thread, NULL);
        spool->running = false;
    }
    if (spool->status != TRK_OK && error) {
        *error = spool->error;
    }
    return spool->status;
}
