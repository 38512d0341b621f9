#include "traces/plain_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum trk_status trk_plain_file_open(const char *path, int *fd, struct trk_error *error)
{
    struct stat about;
    /* Nobody waits for a pipe's other end. */
    *fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*fd < 0 || fstat(*fd, &about) != 0) {
        const int reason = errno;
        if (*fd >= 0) {
            close(*fd);
            *fd = -1;
        }
        return trk_error_set_errno(error, TRK_E_SYSTEM, reason, "cannot open");
    }
    if (!S_ISREG(about.st_mode)) {
        close(*fd);
        *fd = -1;
        return trk_error_set(error, TRK_E_ARGUMENT, "it is no regular file");
    }
    return TRK_OK;
}

/* Up to size bytes. -1: it cannot be read. */
static ssize_t read_up_to(int fd, char *out, size_t size)
{
    size_t got = 0;
    while (got < size) {
        ssize_t more = read(fd, out + got, size - got);
        if (more < 0 && errno != EINTR) {
            return -1;
        }
        if (more == 0) {
            break;
        }
        got += more > 0 ? (size_t)more : 0;
    }
    return (ssize_t)got;
}

static enum trk_status read_whole(int fd, size_t most_bytes, char **text, size_t *size_bytes,
                                  struct trk_error *error)
{
    struct stat about;
    if (fstat(fd, &about) != 0) {
        return trk_error_set_errno(error, TRK_E_SYSTEM, errno, "cannot be read");
    }
    if ((uint64_t)about.st_size > most_bytes) {
        return trk_error_set(error, TRK_E_DAMAGED, "more than %zu bytes", most_bytes);
    }
    const size_t size = (size_t)about.st_size;
    *text = malloc(size + 1);
    if (*text == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for what is in it");
    }
    const ssize_t got = read_up_to(fd, *text, size + 1);
    if (got < 0) {
        return trk_error_set_errno(error, TRK_E_SYSTEM, errno, "cannot be read");
    }
    if ((size_t)got > size) {
        return trk_error_set(error, TRK_E_SYSTEM, "it grows while it is read");
    }
    (*text)[got] = '\0';
    *size_bytes = (size_t)got;
    return TRK_OK;
}

enum trk_status trk_plain_file_read(const char *path, size_t most_bytes, char **text,
                                    size_t *size_bytes, struct trk_error *error)
{
    int fd;
    *text = NULL;
    *size_bytes = 0;
    enum trk_status status = trk_plain_file_open(path, &fd, error);
    if (status != TRK_OK) {
        return status;
    }
    status = read_whole(fd, most_bytes, text, size_bytes, error);
    close(fd);
    if (status != TRK_OK) {
        free(*text);
        *text = NULL;
    }
    return status;
}
