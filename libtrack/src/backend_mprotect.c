/*
 * The backend that calls mprotect(2), its probe, and what all backends share.
 */
#define _GNU_SOURCE
#include "track/backend.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "track/address.h"
#include "track/event.h"

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

static int host_rights(unsigned rights)
{
    return ((rights & TRK_RIGHT_READ) ? PROT_READ : 0) |
           ((rights & TRK_RIGHT_WRITE) ? PROT_WRITE : 0) |
           ((rights & TRK_RIGHT_EXEC) ? PROT_EXEC : 0);
}

static int mprotect_protect(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes,
                            unsigned rights)
{
    int former_errno = errno;
    uint64_t host_addr = guest_addr + (uint64_t)backend->host_bias_bytes;
    int result = 0;
    if (mprotect((void *)(uintptr_t)host_addr, (size_t)size_bytes, host_rights(rights)) != 0)
        result = errno;
    errno = former_errno;
    return result;
}

static void mprotect_destroy(struct trk_backend *backend)
{
    free(backend);
}

/* The probe's page and what its handler saw; one probe at a time, as the header asks. */
static struct {
    volatile unsigned char *page;
    size_t page_bytes;
    volatile sig_atomic_t faults;
    sigjmp_buf give_up;
} probe;

static void probe_handler(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)context;
    uintptr_t first = (uintptr_t)probe.page;
    uintptr_t fault = (uintptr_t)info->si_addr;
    if (fault < first || fault >= first + probe.page_bytes || probe.faults != 0)
        siglongjmp(probe.give_up, 1);
    probe.faults = 1;
    if (mprotect((void *)first, probe.page_bytes, PROT_READ | PROT_WRITE) != 0)
        siglongjmp(probe.give_up, 1);
}

/* Arm a page, write it, and say whether the fault arrived and the store then went through. */
static bool probe_store(void)
{
    probe.faults = 0;
    if (sigsetjmp(probe.give_up, 1) != 0)
        return false;
    if (mprotect((void *)(uintptr_t)probe.page, probe.page_bytes, PROT_READ) != 0)
        return false;
    probe.page[1] = 1;
    return probe.faults == 1 && probe.page[1] == 1;
}

static enum trk_status run_probe(struct trk_error *error)
{
    probe.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (probe.page_bytes != TRK_HOST_PAGE_BYTES)
        return trk_error_set(error, TRK_E_UNSUPPORTED, "host pages of %zu bytes: 4096 are needed",
                             probe.page_bytes);
    void *page =
        mmap(NULL, probe.page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the mprotect probe");
    probe.page = page;

    /* A fault whose signal is blocked would kill the process instead of arriving. */
    sigset_t fault_signal, former_mask;
    sigemptyset(&fault_signal);
    sigaddset(&fault_signal, SIGSEGV);
    struct sigaction action = {.sa_sigaction = probe_handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction former_action;
    sigemptyset(&action.sa_mask);

    bool arrived = false;
    if (sigaction(SIGSEGV, &action, &former_action) == 0) {
        pthread_sigmask(SIG_UNBLOCK, &fault_signal, &former_mask);
        arrived = probe_store();
        pthread_sigmask(SIG_SETMASK, &former_mask, NULL);
        sigaction(SIGSEGV, &former_action, NULL);
    }
    munmap(page, probe.page_bytes);
    probe.page = NULL;
    if (!arrived)
        return trk_error_set(error, TRK_E_UNSUPPORTED,
                             "mprotect: a store to an armed page raised no fault");
    return TRK_OK;
}

enum trk_status trk_backend_mprotect_create(struct trk_backend **out, int64_t host_bias_bytes,
                                            struct trk_error *error)
{
    if (host_bias_bytes % (int64_t)TRK_HOST_PAGE_BYTES != 0)
        return trk_error_set(error, TRK_E_ARGUMENT, "host bias is no multiple of a page");
    enum trk_status status = run_probe(error);
    if (status != TRK_OK)
        return status;

    struct trk_backend *backend = malloc(sizeof *backend);
    if (backend == NULL)
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the mprotect backend");
    *backend = (struct trk_backend){
        .kind = TRK_BACKEND_MPROTECT,
        .name = "mprotect",
        .host_bias_bytes = host_bias_bytes,
        .protect = mprotect_protect,
        .destroy = mprotect_destroy,
    };
    *out = backend;
    return TRK_OK;
}

void trk_backend_destroy(struct trk_backend *backend)
{
    if (backend != NULL)
        backend->destroy(backend);
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
