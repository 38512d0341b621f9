/*
 * The backend that calls mprotect(2): works everywhere, and takes a mapping for every place where
 * protections differ.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "backend_host.h"
#include "backend_probe.h"
#include "track/address.h"

struct by_mprotect {
    struct trk_backend backend; /* first: the public part */
    struct trk_mappings mappings;
};

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

static int64_t default_budget(void)
{
    int64_t limit = read_limit();
    int64_t budget = limit - limit / RESERVE_SHARE_OF - count_mappings();
    return budget > 0 ? budget : 0;
}

void trk_backend_mprotect_budget(struct trk_backend *backend, uint32_t mappings)
{
    __atomic_store_n(&backend->mappings->budget, (int64_t)mappings, __ATOMIC_RELAXED);
    __atomic_store_n(&backend->mappings->warned, false, __ATOMIC_RELAXED);
}

static int mprotect_protect(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes,
                            unsigned rights)
{
    int former_errno = errno;
    int result = trk_host_mprotect(host_range(backend, guest_addr, size_bytes), rights);
    errno = former_errno;
    return result;
}

static void mprotect_destroy(struct trk_backend *backend)
{
    free(backend);
}

enum trk_status trk_backend_mprotect_create(struct trk_backend **out, int64_t host_bias_bytes,
                                            struct trk_error *error)
{
    if (host_bias_bytes % (int64_t)TRK_HOST_PAGE_BYTES != 0)
        return trk_error_set(error, TRK_E_ARGUMENT, "host bias is no multiple of a page");
    struct by_mprotect *self = malloc(sizeof *self);
    if (self == NULL)
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the mprotect backend");
    *self = (struct by_mprotect){
        .backend = {.kind = TRK_BACKEND_MPROTECT,
                    .name = "mprotect",
                    .host_bias_bytes = host_bias_bytes,
                    .protect = mprotect_protect,
                    .destroy = mprotect_destroy,
                    .mappings = &self->mappings},
        .mappings = {.budget = default_budget()},
    };
    if (!trk_probe_works(&self->backend, error)) {
        mprotect_destroy(&self->backend);
        return TRK_E_UNSUPPORTED;
    }
    *out = &self->backend;
    return TRK_OK;
}
