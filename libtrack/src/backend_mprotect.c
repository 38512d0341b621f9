/*
 * The backend that calls mprotect(2): works everywhere, and takes a mapping for every place where
 * protections differ.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "backend_host.h"
#include "backend_probe.h"
#include "track/address.h"

struct by_mprotect {
    struct trk_backend backend; /* first: the public part */
    struct trk_mappings mappings;
};

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
    trk_host_reserve_end(backend->mappings);
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
        .mappings = {.budget = trk_host_mapping_budget()},
    };
    if (!trk_probe_works(&self->backend, error)) {
        mprotect_destroy(&self->backend);
        return TRK_E_UNSUPPORTED;
    }
    trk_host_reserve_make(&self->mappings);
    *out = &self->backend;
    return TRK_OK;
}
