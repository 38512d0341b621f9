/* An input as a file, for what reads files by their names. */
#ifndef TESTS_FUZZ_GIVEN_H
#define TESTS_FUZZ_GIVEN_H

#define _GNU_SOURCE /* memfd_create */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* In memory, the same one each time: its number. */
static inline int given(const uint8_t *bytes, size_t size_bytes)
{
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("given", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) != 0 ||
        pwrite(fd, bytes, size_bytes, 0) != (ssize_t)size_bytes) {
        fprintf(stderr, "no memory for an input as a file\n");
        abort();
    }
    return fd;
}

static inline void expect(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

#endif
