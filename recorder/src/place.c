#define _GNU_SOURCE /* realpath */
#include "recorder/place.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(TRK_PLACE_BYTES >= PATH_MAX, "realpath wants so many");

static enum trk_status system_failed(struct trk_error *error, int reason)
{
    (void)trk_error_set(error, TRK_E_SYSTEM, "%s", strerror(reason));
    if (error)
        error->os_errno = reason;
    return TRK_E_SYSTEM;
}

enum trk_status trk_place_find(const char *path, enum trk_place *place,
                               char target[TRK_PLACE_BYTES], struct trk_error *error)
{
    struct stat there;
    size_t length = strlen(path);
    *place = TRK_PLACE_NEW;
    if (length >= TRK_PLACE_BYTES)
        return system_failed(error, ENAMETOOLONG);
    memcpy(target, path, length + 1);
    if (lstat(path, &there) != 0)
        return errno == ENOENT ? TRK_OK : system_failed(error, errno);
    bool is_link = S_ISLNK(there.st_mode);
    if (is_link && stat(path, &there) != 0)
        return errno == ENOENT
                   ? trk_error_set(error, TRK_E_ARGUMENT, "a symbolic link that leads to nothing")
                   : system_failed(error, errno);
    if (S_ISDIR(there.st_mode))
        return system_failed(error, EISDIR);
    if (S_ISFIFO(there.st_mode) || S_ISCHR(there.st_mode)) {
        *place = TRK_PLACE_STREAM;
        return TRK_OK;
    }
    if (!S_ISREG(there.st_mode))
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "neither a file nor a pipe nor a character device");
    *place = TRK_PLACE_FILE;
    return !is_link || realpath(path, target) ? TRK_OK : system_failed(error, errno);
}
