/*
 * Loaded before libc: a disk that tells of an error when it is asked to be sure; or, where
 * BAD_FSYNC names a file, one that makes this file and is never done.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((visibility("default"))) int fsync(int fd)
{
    const char *sign = getenv("BAD_FSYNC");
    (void)fd;
    if (sign != NULL) {
        close(open(sign, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
        for (;;)
            (void)pause();
    }
    errno = EIO;
    return -1;
}
