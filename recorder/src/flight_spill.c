#define _GNU_SOURCE /* O_TMPFILE, fallocate */
#include "flight_spill.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define STEP_BYTES 4096u /* what a hole in a file gives back is whole blocks */

struct trk_flight_spill {
    _Atomic uint32_t users;
    _Atomic uint64_t live_bytes; /* somebody's */
    _Atomic uint64_t
        disk_bytes; /* these, and what a file system does not give back before the end */
    uint64_t most_bytes;
    uint64_t left_bytes; /* free on the file system, at least */
    uint64_t end;        /* the file's */
    int fd;              /* -1: not yet */
    bool none;           /* there can be no file */
    char folder[PATH_MAX];
};

struct trk_flight_spill *trk_flight_spill_create(const char *path, uint64_t most_bytes,
                                                 uint64_t left_bytes)
{
    struct trk_flight_spill *spill = calloc(1, sizeof *spill);
    const char *slash = strrchr(path, '/');
    if (spill == NULL)
        return NULL;
    atomic_init(&spill->users, 1);
    spill->most_bytes = most_bytes;
    spill->left_bytes = left_bytes;
    spill->fd = -1;
    int length = slash == NULL || slash == path ? 1 : (int)(slash - path);
    snprintf(spill->folder, sizeof spill->folder, "%.*s", length, slash == NULL ? "." : path);
    return spill;
}

void trk_flight_spill_release(struct trk_flight_spill *spill)
{
    if (spill == NULL || atomic_fetch_sub_explicit(&spill->users, 1, memory_order_acq_rel) != 1)
        return;
    if (spill->fd >= 0)
        close(spill->fd);
    free(spill);
}

static int open_file(const char *folder)
{
    char name[PATH_MAX + 24];
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    snprintf(name, sizeof name, "%s/.trk-flight-XXXXXX", folder);
    fd = mkostemp(name, O_CLOEXEC); /* a file system without nameless files */
    if (fd >= 0)
        (void)unlink(name);
    return fd;
}

static bool write_all(int fd, const uint8_t *bytes, size_t size, uint64_t offset)
{
    while (size > 0) {
        ssize_t done = pwrite(fd, bytes, size, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        bytes += done;
        offset += (uint64_t)done;
        size -= (size_t)done;
    }
    return true;
}

static uint64_t whole_steps(size_t size)
{
    return (size + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
}

/* Whether so many bytes more leave room enough; it is not known of each file system. */
static bool leaves_room(const struct trk_flight_spill *spill, uint64_t bytes)
{
    struct statvfs about;
    return fstatvfs(spill->fd, &about) != 0 || about.f_blocks == 0 ||
           (uint64_t)about.f_bavail * about.f_frsize >= bytes + spill->left_bytes;
}

bool trk_flight_spill_put(struct trk_flight_spill *spill, const void *bytes, size_t size,
                          uint64_t *offset)
{
    uint64_t steps = whole_steps(size);
    if (spill->fd < 0 && !spill->none)
        spill->fd = open_file(spill->folder);
    spill->none = spill->fd < 0;
    if (spill->none)
        return false;
    if (atomic_load_explicit(&spill->live_bytes, memory_order_acquire) == 0 &&
        ftruncate(spill->fd, 0) == 0) {
        spill->end = 0;
        atomic_store_explicit(&spill->disk_bytes, 0, memory_order_relaxed);
    }
    uint64_t disk = atomic_load_explicit(&spill->disk_bytes, memory_order_relaxed);
    if (disk + steps > spill->most_bytes || !leaves_room(spill, steps) ||
        !write_all(spill->fd, bytes, size, spill->end))
        return false;
    *offset = spill->end;
    spill->end += steps;
    atomic_fetch_add_explicit(&spill->live_bytes, steps, memory_order_relaxed);
    atomic_fetch_add_explicit(&spill->disk_bytes, steps, memory_order_relaxed);
    atomic_fetch_add_explicit(&spill->users, 1, memory_order_relaxed);
    return true;
}

bool trk_flight_spill_get(const struct trk_flight_spill *spill, uint64_t offset, void *bytes,
                          size_t size)
{
    uint8_t *to = bytes;
    while (size > 0) {
        ssize_t got = pread(spill->fd, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return true;
}

void trk_flight_spill_take_back(struct trk_flight_spill *spill, uint64_t offset, size_t size)
{
    uint64_t steps = whole_steps(size);
    if (fallocate(spill->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                  (off_t)steps) == 0)
        atomic_fetch_sub_explicit(&spill->disk_bytes, steps, memory_order_relaxed);
    atomic_fetch_sub_explicit(&spill->live_bytes, steps, memory_order_release);
    trk_flight_spill_release(spill);
}
