#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum trk_status system_error(struct trk_error *error, const char *what, uint64_t offset)
{
    trk_error_set_errno(error, TRK_E_SYSTEM, errno, "%s", what);
    if (error != NULL) {
        error->file_offset = offset;
    }
    return TRK_E_SYSTEM;
}

enum trk_status trk_source_open(struct trk_source *source, const char *path,
                                struct trk_error *error)
{
    *source = (struct trk_source){.fd = -1};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0) {
        enum trk_status status = system_error(error, "cannot open", TRK_NOT_KNOWN);
        if (fd >= 0) {
            close(fd);
        }
        return status;
    }
    if (!S_ISREG(info.st_mode)) {
        close(fd);
        return trk_error_set(error, TRK_E_ARGUMENT, "a trace is read from regular files only");
    }
    source->fd = fd;
    source->size_bytes = (uint64_t)info.st_size;
    return TRK_OK;
}

void trk_source_open_bytes(struct trk_source *source, const void *bytes, size_t size_bytes)
{
    *source = (struct trk_source){.fd = -1, .bytes = bytes, .size_bytes = size_bytes};
}

void trk_source_close(struct trk_source *source)
{
    if (source->fd >= 0) {
        close(source->fd);
    }
    *source = (struct trk_source){.fd = -1};
}

static void count(const struct trk_source *source, size_t bytes)
{
    if (source->read_bytes != NULL) {
        *source->read_bytes += bytes;
    }
}

enum trk_status trk_source_read(const struct trk_source *source, struct trk_source_part *part,
                                struct trk_error *error)
{
    part->got = 0;
    if (part->offset >= source->size_bytes || part->size_bytes == 0) {
        return TRK_OK;
    }
    uint64_t left = source->size_bytes - part->offset;
    size_t wanted = part->size_bytes < left ? part->size_bytes : (size_t)left;
    if (source->fd < 0) {
        memcpy(part->to, source->bytes + part->offset, wanted);
        part->got = wanted;
        count(source, wanted);
        return TRK_OK;
    }
    while (part->got < wanted) {
        ssize_t got = pread(source->fd, part->to + part->got, wanted - part->got,
                            (off_t)(part->offset + part->got));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return system_error(error, "reading the trace failed", part->offset + part->got);
        }
        if (got == 0) { /* cut short since it was opened */
            break;
        }
        part->got += (size_t)got;
    }
    count(source, part->got);
    return TRK_OK;
}
