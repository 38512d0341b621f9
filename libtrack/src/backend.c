/*
 * What all backends have: the bias that this build needs, attaching, destruction.
 *
 * Rules: [M-3].
 */
#include "track/backend.h"

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define BUILT_WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BUILT_WITH_ASAN 1
#endif
#endif

/*
 * ASan's shadow lies over both bands. 64 TiB up, both are memory that it leaves to programs, on
 * x86-64 and aarch64, below its own allocator and below where programs and libraries are loaded.
 */
#define ASAN_BIAS_BYTES (INT64_C(64) << 40)

int64_t trk_host_bias_default(void)
{
#ifdef BUILT_WITH_ASAN
    return ASAN_BIAS_BYTES;
#else
    return 0;
#endif
}

const char *trk_backend_kind_name(enum trk_backend_kind kind)
{
    static const char *const names[] = {"simulated", "mprotect", "userfaultfd"};
    return (size_t)kind < sizeof names / sizeof names[0] ? names[kind] : "?";
}

enum trk_status trk_backend_attach(struct trk_backend *backend, uint64_t guest_addr,
                                   uint64_t size_bytes, struct trk_error *error)
{
    if (backend->attach == NULL)
        return TRK_OK;
    return backend->attach(backend, guest_addr, size_bytes, error);
}

void trk_backend_detach(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes)
{
    if (backend->detach != NULL)
        backend->detach(backend, guest_addr, size_bytes);
}

void trk_backend_destroy(struct trk_backend *backend)
{
    if (backend != NULL)
        backend->destroy(backend);
}
