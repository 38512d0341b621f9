#define _GNU_SOURCE
#include "backend_probe.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "track/address.h"
#include "track/event.h"

static const int signals[] = {SIGSEGV, SIGBUS};
#define SIGNAL_COUNT (sizeof signals / sizeof signals[0])

/* What the handler knows; one try at a time, as the header asks. */
static struct {
    struct probe *probe;
    volatile unsigned faults;
    volatile uintptr_t last_page;
    sigjmp_buf give_up;
} trial;

static void handle(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)context;
    const struct probe *probe = trial.probe;
    uintptr_t offset = (uintptr_t)info->si_addr - (uintptr_t)probe->memory;
    uintptr_t page = offset / TRK_HOST_PAGE_BYTES;
    if (offset >= probe->size_bytes || page + 1 == trial.last_page)
        siglongjmp(trial.give_up, 1);
    trial.faults++;
    trial.last_page = page + 1;
    if (probe->backend->protect(probe->backend, PROBE_GUEST_ADDR + page * TRK_HOST_PAGE_BYTES,
                                TRK_HOST_PAGE_BYTES, TRK_RIGHTS_RW) != 0)
        siglongjmp(trial.give_up, 1);
}

unsigned trk_probe_faults(void)
{
    unsigned faults = trial.faults;
    trial.faults = 0;
    trial.last_page = 0;
    return faults;
}

static bool run_body(struct probe *probe, bool (*body)(struct probe *probe))
{
    if (sigsetjmp(trial.give_up, 1) != 0)
        return false;
    return body(probe);
}

bool trk_probe_run(struct probe *probe, bool (*body)(struct probe *probe))
{
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction formers[SIGNAL_COUNT];
    sigset_t ours, former_mask;
    sigemptyset(&action.sa_mask);
    sigemptyset(&ours);
    size_t installed = 0;
    while (installed < SIGNAL_COUNT &&
           sigaction(signals[installed], &action, &formers[installed]) == 0)
        sigaddset(&ours, signals[installed++]);

    bool worked = false;
    if (installed == SIGNAL_COUNT) {
        trial.probe = probe;
        (void)trk_probe_faults();
        /* A fault whose signal is blocked would kill the process instead of arriving. */
        pthread_sigmask(SIG_UNBLOCK, &ours, &former_mask);
        worked = run_body(probe, body);
        pthread_sigmask(SIG_SETMASK, &former_mask, NULL);
    }
    while (installed-- > 0)
        sigaction(signals[installed], &formers[installed], NULL);
    return worked;
}

enum trk_status trk_probe_begin(struct probe *probe, struct trk_backend *backend, uint64_t pages,
                                struct trk_error *error)
{
    if (sysconf(_SC_PAGESIZE) != (long)TRK_HOST_PAGE_BYTES) {
        trk_error_set(error, TRK_E_UNSUPPORTED, "host pages of %ld bytes: 4096 are needed",
                      sysconf(_SC_PAGESIZE));
        return TRK_E_UNSUPPORTED;
    }
    *probe = (struct probe){
        .backend = backend,
        .size_bytes = pages * TRK_HOST_PAGE_BYTES,
        .former_bias = backend->host_bias_bytes,
    };
    /* A file like the guest's memory: what holds for it need not hold for anonymous memory. */
    int fd = memfd_create("trk-probe", MFD_CLOEXEC);
    void *memory = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)probe->size_bytes) == 0)
        memory = mmap(NULL, probe->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (memory == MAP_FAILED) {
        trk_error_set(error, TRK_E_MEMORY, "no memory to try the %s backend", backend->name);
        return TRK_E_MEMORY;
    }
    probe->memory = memory;
    backend->host_bias_bytes = (int64_t)((uintptr_t)memory - PROBE_GUEST_ADDR);
    enum trk_status status =
        trk_backend_attach(backend, PROBE_GUEST_ADDR, probe->size_bytes, error);
    if (status != TRK_OK) {
        munmap(memory, probe->size_bytes);
        backend->host_bias_bytes = probe->former_bias;
    }
    return status;
}

void trk_probe_end(struct probe *probe)
{
    trk_backend_detach(probe->backend, PROBE_GUEST_ADDR, probe->size_bytes);
    munmap(probe->memory, probe->size_bytes);
    probe->backend->host_bias_bytes = probe->former_bias;
}

/* One page to rights, one access to it; whether exactly `faults` arrived. */
static bool step(struct probe *probe, unsigned rights, bool store, unsigned faults)
{
    volatile unsigned char *byte = probe->memory + TRK_HOST_PAGE_BYTES + 1;
    if (probe->backend->protect(probe->backend, PROBE_GUEST_ADDR + TRK_HOST_PAGE_BYTES,
                                TRK_HOST_PAGE_BYTES, rights) != 0)
        return false;
    unsigned char before = store ? *byte : 0;
    if (store)
        *byte = (unsigned char)(before + 1);
    else
        (void)*byte;
    return trk_probe_faults() == faults;
}

static bool try_all(struct probe *probe)
{
    static const struct {
        unsigned rights;
        bool store;
        unsigned faults;
    } steps[] = {
        {TRK_RIGHT_READ, true, 1},   /* untouched memory too can be armed */
        {TRK_RIGHTS_NONE, false, 1}, /* CPU to closed */
        {TRK_RIGHT_READ, false, 0},  {TRK_RIGHTS_NONE, false, 1}, /* armed to closed */
        {TRK_RIGHTS_NONE, false, 1}, {TRK_RIGHT_READ, true, 1},   {TRK_RIGHTS_RW, true, 0},
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (!step(probe, steps[i].rights, steps[i].store, steps[i].faults))
            return false;
    }
    /* Closed to armed, with nothing between. */
    struct trk_backend *backend = probe->backend;
    uint64_t page = PROBE_GUEST_ADDR + TRK_HOST_PAGE_BYTES;
    if (backend->protect(backend, page, TRK_HOST_PAGE_BYTES, TRK_RIGHTS_NONE) != 0 ||
        !step(probe, TRK_RIGHT_READ, true, 1))
        return false;
    return probe->memory[TRK_HOST_PAGE_BYTES + 1] == 4;
}

bool trk_probe_works(struct trk_backend *backend, struct trk_error *error)
{
    struct probe probe;
    if (trk_probe_begin(&probe, backend, 3, error) != TRK_OK)
        return false;
    bool works = trk_probe_run(&probe, try_all);
    trk_probe_end(&probe);
    if (!works)
        trk_error_set(error, TRK_E_UNSUPPORTED,
                      "%s: an access to a closed page did not fault as it must", backend->name);
    return works;
}
