/*
 * What the space asks of the host: memfd_create, mmap, munmap, fallocate.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "space.h"

static void *pointer(uint64_t host_addr)
{
    return (void *)(uintptr_t)host_addr;
}

static int host_open(void *context, uint64_t size_bytes, int *fd)
{
    (void)context;
    int made = memfd_create("trk-guest", MFD_CLOEXEC);
    if (made < 0)
        return errno;
    if (ftruncate(made, (off_t)size_bytes) != 0) {
        int result = errno;
        close(made);
        return result;
    }
    *fd = made;
    return 0;
}

static int host_alias(void *context, int fd, uint64_t size_bytes, void **out)
{
    (void)context;
    void *memory =
        mmap(NULL, (size_t)size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED)
        return errno;
    *out = memory;
    return 0;
}

static int map_placeholder(uint64_t host_addr, uint64_t size_bytes, int how)
{
    void *memory = mmap(pointer(host_addr), (size_t)size_bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | how, -1, 0);
    if (memory == MAP_FAILED)
        return errno;
    if (memory == pointer(host_addr))
        return 0;
    munmap(memory, (size_t)size_bytes); /* a kernel that takes the address for a hint */
    return EEXIST;
}

static int host_reserve(void *context, uint64_t host_addr, uint64_t size_bytes)
{
    (void)context;
    return map_placeholder(host_addr, size_bytes, MAP_FIXED_NOREPLACE);
}

static int host_map(void *context, const struct trk_space_placement *placement)
{
    unsigned rights = placement->rights;
    (void)context;
    int protection = (rights & TRK_RIGHT_READ ? PROT_READ : 0) |
                     (rights & TRK_RIGHT_WRITE ? PROT_WRITE : 0) |
                     (rights & TRK_RIGHT_EXEC ? PROT_EXEC : 0);
    void *memory = mmap(pointer(placement->host_addr), (size_t)placement->size_bytes, protection,
                        MAP_SHARED | MAP_FIXED | MAP_NORESERVE, placement->fd,
                        (off_t)placement->physical_offset);
    return memory == MAP_FAILED ? errno : 0;
}

static int host_close(void *context, uint64_t host_addr, uint64_t size_bytes)
{
    (void)context;
    return map_placeholder(host_addr, size_bytes, MAP_FIXED);
}

static int host_unmap(void *context, uint64_t host_addr, uint64_t size_bytes)
{
    (void)context;
    return munmap(pointer(host_addr), (size_t)size_bytes) == 0 ? 0 : errno;
}

static int host_forget(void *context, int fd, uint64_t physical_offset, uint64_t size_bytes)
{
    (void)context;
    int result = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)physical_offset,
                           (off_t)size_bytes);
    return result == 0 ? 0 : errno;
}

struct trk_space_host trk_space_host_default(void)
{
    return (struct trk_space_host){
        .open = host_open,
        .alias = host_alias,
        .reserve = host_reserve,
        .map = host_map,
        .close = host_close,
        .unmap = host_unmap,
        .forget = host_forget,
    };
}
