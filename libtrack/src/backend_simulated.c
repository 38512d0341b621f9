/*
 * The backend that touches no memory: the host of the simulator and of most tests.
 */
#include "track/backend.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

struct simulated {
    struct trk_backend backend;   /* first: the public part */
    atomic_uint calls_to_failure; /* 0: none is to fail */
};

static int simulated_protect(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes,
                             unsigned rights)
{
    struct simulated *simulated = (struct simulated *)backend;
    (void)guest_addr;
    (void)size_bytes;
    (void)rights;

    unsigned left = atomic_load_explicit(&simulated->calls_to_failure, memory_order_relaxed);
    while (left != 0) {
        if (atomic_compare_exchange_weak_explicit(&simulated->calls_to_failure, &left, left - 1,
                                                  memory_order_relaxed, memory_order_relaxed))
            return left == 1 ? ENOMEM : 0;
    }
    return 0;
}

static void simulated_destroy(struct trk_backend *backend)
{
    free(backend);
}

enum trk_status trk_backend_simulated_create(struct trk_backend **out, struct trk_error *error)
{
    struct simulated *simulated = malloc(sizeof *simulated);
    if (simulated == NULL)
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the simulated backend");

    simulated->backend = (struct trk_backend){
        .kind = TRK_BACKEND_SIMULATED,
        .name = "simulated",
        .host_bias_bytes = 0,
        .protect = simulated_protect,
        .destroy = simulated_destroy,
    };
    atomic_init(&simulated->calls_to_failure, 0);
    *out = &simulated->backend;
    return TRK_OK;
}

void trk_backend_simulated_fail(struct trk_backend *backend, uint32_t nth)
{
    struct simulated *simulated = (struct simulated *)backend;
    atomic_store_explicit(&simulated->calls_to_failure, nth, memory_order_relaxed);
}
