/*
 * The host's calls that the backends are made of.
 */
#define _GNU_SOURCE
#include "backend_host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel_abi.h"
#include "track/address.h"

/* A call that other changes of the address space disturb says so; it is tried again this often. */
#define DISTURBED_MAX 1000

int trk_host_mprotect(struct host_range range, unsigned rights)
{
    int host = ((rights & TRK_RIGHT_READ) ? PROT_READ : 0) |
               ((rights & TRK_RIGHT_WRITE) ? PROT_WRITE : 0) |
               ((rights & TRK_RIGHT_EXEC) ? PROT_EXEC : 0);
    return mprotect((void *)range.first, range.size_bytes, host) == 0 ? 0 : errno;
}

int trk_host_uffd_open(uint64_t features)
{
    int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    if (uffd < 0)
        return -1;
    struct uffdio_api api = {.api = UFFD_API, .features = features};
    if (ioctl(uffd, UFFDIO_API, &api) == 0)
        return uffd;
    int refused = errno;
    close(uffd);
    errno = refused;
    return -1;
}

int trk_host_uffd_register(int uffd, struct host_range range)
{
    struct uffdio_register request = {
        .range = {.start = range.first, .len = range.size_bytes},
        .mode = UFFDIO_REGISTER_MODE_WP,
    };
    if (ioctl(uffd, UFFDIO_REGISTER, &request) != 0)
        return errno;
    return request.ioctls & (UINT64_C(1) << _UFFDIO_WRITEPROTECT) ? 0 : EOPNOTSUPP;
}

int trk_host_uffd_unregister(int uffd, struct host_range range)
{
    struct uffdio_range request = {.start = range.first, .len = range.size_bytes};
    return ioctl(uffd, UFFDIO_UNREGISTER, &request) == 0 ? 0 : errno;
}

int trk_host_uffd_protect(int uffd, struct host_range range, bool armed)
{
    /* Nobody waits for a page: the faults arrive as signals. */
    struct uffdio_writeprotect request = {
        .range = {.start = range.first, .len = range.size_bytes},
        .mode = armed ? UFFDIO_WRITEPROTECT_MODE_WP : UFFDIO_WRITEPROTECT_MODE_DONTWAKE,
    };
    int result = EAGAIN;
    for (int i = 0; i < DISTURBED_MAX && result == EAGAIN; i++)
        result = ioctl(uffd, UFFDIO_WRITEPROTECT, &request) == 0 ? 0 : errno;
    return result;
}

int trk_host_guard(struct host_range range, bool install)
{
    int advice = install ? KERNEL_MADV_GUARD_INSTALL : KERNEL_MADV_GUARD_REMOVE;
    int result = EINTR;
    for (int i = 0; i < DISTURBED_MAX && (result == EINTR || result == EAGAIN); i++)
        result = madvise((void *)range.first, range.size_bytes, advice) == 0 ? 0 : errno;
    return result;
}

bool trk_host_is_shared(struct host_range range)
{
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (maps < 0)
        return false;
    uint64_t at = range.first, end = range.first + range.size_bytes;
    bool shared = true;
    while (shared && at < end) {
        struct kernel_procmap_query query = {.size = sizeof query, .query_addr = at};
        shared = ioctl(maps, KERNEL_PROCMAP_QUERY, &query) == 0 && query.vma_start <= at &&
                 (query.vma_flags & KERNEL_PROCMAP_SHARED);
        at = query.vma_end;
    }
    close(maps);
    return shared;
}

/* Of vm.max_map_count, for openings that cannot be widened and for the program itself. */
#define RESERVE_SHARE_OF 16
#define MAX_MAPPINGS     65530 /* the kernel's default */

static int64_t read_limit(void)
{
    char text[32];
    int fd = open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return MAX_MAPPINGS;
    text[length] = '\0';
    long limit = strtol(text, NULL, 10);
    return limit > 0 ? limit : MAX_MAPPINGS;
}

/* Mappings that the process has: lines of its list. */
static int64_t count_mappings(void)
{
    static const size_t chunk_bytes = 65536;
    int64_t lines = 0;
    char *chunk = malloc(chunk_bytes);
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    for (ssize_t length = 1; chunk != NULL && fd >= 0 && length > 0;) {
        length = read(fd, chunk, chunk_bytes);
        for (ssize_t i = 0; i < length; i++)
            lines += chunk[i] == '\n';
    }
    if (fd >= 0)
        close(fd);
    free(chunk);
    return lines;
}

int64_t trk_host_mapping_budget(void)
{
    int64_t limit = read_limit();
    int64_t budget = limit - limit / RESERVE_SHARE_OF - count_mappings();
    return budget > 0 ? budget : 0;
}

#define RESERVE_BYTES ((2 * (size_t)TRK_RESERVE_PIECES + 1) * TRK_HOST_PAGE_BYTES)

bool trk_host_reserve_set(const struct trk_mappings *mappings, uint32_t piece, bool held)
{
    int former_errno = errno;
    unsigned char *page = mappings->reserve + (2 * (size_t)piece + 1) * TRK_HOST_PAGE_BYTES;
    bool done = mprotect(page, TRK_HOST_PAGE_BYTES, held ? PROT_READ : PROT_NONE) == 0;
    errno = former_errno;
    return done;
}

void trk_host_reserve_make(struct trk_mappings *mappings)
{
    void *pages =
        mmap(NULL, RESERVE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        return;
    mappings->reserve = pages;
    mappings->met = TRK_LIMIT_NOT_MET;
    for (uint32_t piece = 0; piece < TRK_RESERVE_PIECES; piece++) {
        if (!trk_host_reserve_set(mappings, piece, true))
            mappings->reserve_out |= UINT64_C(1) << piece;
    }
}

void trk_host_reserve_end(struct trk_mappings *mappings)
{
    if (mappings->reserve != NULL)
        munmap(mappings->reserve, RESERVE_BYTES);
}
