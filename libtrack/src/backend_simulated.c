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
    trk_backend_decide_fn *decide;
    void *decide_context;
};

static int simulated_protect(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes,
                             unsigned rights)
{
    struct simulated *simulated = (struct simulated *)backend;
    unsigned left = atomic_load_explicit(&simulated->calls_to_failure, memory_order_relaxed);
    while (left != 0) {
        if (atomic_compare_exchange_weak_explicit(&simulated->calls_to_failure, &left, left - 1,
                                                  memory_order_relaxed, memory_order_relaxed))
            break;
    }
    if (left == 1)
        return ENOMEM;
    return simulated->decide == NULL
               ? 0
               : simulated->decide(simulated->decide_context, guest_addr, size_bytes, rights);
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
    simulated->decide = NULL;
    simulated->decide_context = NULL;
    *out = &simulated->backend;
    return TRK_OK;
}

void trk_backend_simulated_fail(struct trk_backend *backend, uint32_t nth)
{
    struct simulated *simulated = (struct simulated *)backend;
    atomic_store_explicit(&simulated->calls_to_failure, nth, memory_order_relaxed);
}

void trk_backend_simulated_decide(struct trk_backend *backend, trk_backend_decide_fn *decide,
                                  void *context)
{
    struct simulated *simulated = (struct simulated *)backend;
    simulated->decide = decide;
    simulated->decide_context = context;
}
