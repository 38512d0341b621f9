/*
 * Faults a second: the bare SIGSEGV and mprotect loop, the tracker, the tracker with the recorder,
 * and somebody else's pages where there are such.
 *
 * Each variant has a window, ours of memfd memory. A batch arms the pages of it, then stores once
 * to each, ascending; the stores are timed, and apart from them the arming, by the processor's
 * time. Batches of the variants alternate, in an order that rotates.
 */
#define _GNU_SOURCE /* memfd_create, MAP_FIXED_NOREPLACE */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "live.h"
#include "recorder/capture.h"
#include "track/fault.h"

#define BATCH_PAGES  BENCH_FAULT_PAGES
#define PAGE_BYTES   4096u
#define WINDOW_BYTES BENCH_FAULT_BYTES
#define WINDOW_FIRST UINT64_C(0x200000000)
#define WINDOW_STEP  UINT64_C(0x10000000)

enum variant { BARE, TRACKER, RECORDER, PEER, VARIANTS };

struct window {
    uint64_t guest_addr;
    unsigned char *host;
    struct trk_tracker *tracker; /* NULL: bare, or the peer's */
    struct bench_samples ns;     /* a fault */
    struct bench_samples arm_ns; /* a page */
};

struct bench {
    struct trk_backend *backend;
    const struct bench_peer *peer; /* NULL: none */
    struct sigaction peers_action; /* who takes its faults */
    unsigned variants;
    struct window windows[VARIANTS];
};

static struct bench bench;

static void bare_handler(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)context;
    uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(PAGE_BYTES - 1);
    /* A fault outside the window is a fault of this program: let it end. */
    if (page - (uintptr_t)bench.windows[BARE].host >= WINDOW_BYTES ||
        mprotect((void *)page, PAGE_BYTES, PROT_READ | PROT_WRITE) != 0) {
        _exit(70);
    }
}

/* One handler, two trackers: chosen by address. */
static enum trk_fault_outcome owner(void *context, uint64_t host_addr, enum trk_access access)
{
    (void)context;
    uint64_t first = (uint64_t)(uintptr_t)bench.windows[RECORDER].host;
    enum variant variant = host_addr - first < WINDOW_BYTES ? RECORDER : TRACKER;
    return trk_fault_tracker(bench.windows[variant].tracker, host_addr, access);
}

static int window_map(struct window *window, enum variant variant)
{
    int fd = memfd_create("bench", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)WINDOW_BYTES) != 0) {
        perror("memfd");
        return 1;
    }
    window->guest_addr = WINDOW_FIRST + (uint64_t)variant * WINDOW_STEP;
    void *wanted = (void *)(uintptr_t)window->guest_addr;
    void *host = mmap(wanted, WINDOW_BYTES, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_POPULATE | MAP_FIXED_NOREPLACE, fd, 0);
    close(fd);
    if (host == MAP_FAILED) {
        perror("mmap of a window");
        return 1;
    }
    window->host = host;
    memset(host, 1, WINDOW_BYTES);
    return 0;
}

static int window_track(struct window *window, enum variant variant)
{
    struct trk_tracker_options options = trk_tracker_options_default();
    struct trk_error error;
    options.backend = bench.backend;
    options.id = (uint32_t)variant;
    if (variant == RECORDER) {
        options.observer = trk_capture_observer();
    }
    if (trk_tracker_create(&window->tracker, &options, &error) != TRK_OK) {
        fprintf(stderr, "tracker: %s\n", error.text);
        return 1;
    }
    if (variant == RECORDER) {
        trk_capture_tracker(options.id, &options.policy, bench.backend->kind);
    }
    return trk_tracker_register(window->tracker, window->guest_addr, WINDOW_BYTES) != TRK_OK;
}

static int arm(const struct window *window)
{
    if (window == &bench.windows[PEER]) {
        return bench.peer->arm(bench.peer->context);
    }
    if (window->tracker == NULL) {
        return mprotect(window->host, WINDOW_BYTES, PROT_READ) != 0;
    }
    struct trk_transfer upload = {
        .size = sizeof upload,
        .guest_addr = window->guest_addr,
        .size_bytes = WINDOW_BYTES,
    };
    return trk_tracker_upload(window->tracker, &upload) != TRK_OK;
}

static int batch(struct window *window)
{
    const struct sigaction bare = {.sa_sigaction = bare_handler,
                                   .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction ours;
    uint64_t begin = bench_processor_ns();
    if (arm(window)) {
        fputs("could not arm a window\n", stderr);
        return 1;
    }
    bench_samples_add(&window->arm_ns, (double)(bench_processor_ns() - begin) / BATCH_PAGES);
    if (window->tracker == NULL) {
        sigaction(SIGSEGV, window == &bench.windows[PEER] ? &bench.peers_action : &bare, &ours);
    }
    uint64_t start = bench_now_ns();
    for (unsigned page = 0; page < BATCH_PAGES; page++) {
        *(volatile unsigned char *)(window->host + (size_t)page * PAGE_BYTES) = (unsigned char)page;
    }
    uint64_t end = bench_now_ns();
    if (window->tracker == NULL) {
        sigaction(SIGSEGV, &ours, NULL);
    }
    bench_samples_add(&window->ns, (double)(end - start) / BATCH_PAGES);
    return 0;
}

/* Let the parent empty the ring, so that it does not do so while the next round is timed. */
static void settle(void)
{
    struct timespec pause = {.tv_nsec = 15 * 1000 * 1000};
    nanosleep(&pause, NULL);
}

static int measure(unsigned rounds)
{
    for (unsigned round = 0; round < rounds + 2; round++) {
        for (unsigned i = 0; i < bench.variants; i++) {
            struct window *window = &bench.windows[(round + i) % bench.variants];
            if (batch(window)) {
                return 1;
            }
        }
        settle();
        if (round == 1) { /* the first two warm caches and page tables */
            for (unsigned i = 0; i < VARIANTS; i++) {
                bench.windows[i].ns.count = 0;
                bench.windows[i].arm_ns.count = 0;
            }
        }
    }
    return 0;
}

static int set_up(const struct bench_peer *peer)
{
    struct trk_error error;
    bench.peer = peer;
    bench.variants = peer != NULL ? VARIANTS : PEER;
    if (peer != NULL) {
        bench.windows[PEER].host = peer->host;
        sigaction(SIGSEGV, NULL, &bench.peers_action);
    }
    if (trk_backend_mprotect_create(&bench.backend, trk_host_bias_default(), &error) != TRK_OK ||
        trk_fault_install(owner, NULL, &error) != TRK_OK ||
        trk_fault_thread_enter(&error) != TRK_OK) {
        fprintf(stderr, "set-up: %s\n", error.text);
        return 1;
    }
    for (unsigned i = 0; i < PEER; i++) {
        if (window_map(&bench.windows[i], (enum variant)i) ||
            (i != BARE && window_track(&bench.windows[i], (enum variant)i))) {
            return 1;
        }
    }
    return 0;
}

static int tear_down(void)
{
    struct trk_error error;
    for (unsigned i = TRACKER; i < PEER; i++) {
        struct window *window = &bench.windows[i];
        if (trk_tracker_unregister(window->tracker, window->guest_addr, WINDOW_BYTES) != TRK_OK ||
            trk_tracker_untrack(window->tracker, window->guest_addr, WINDOW_BYTES) != TRK_OK) {
            fputs("could not release a window\n", stderr);
            return 1;
        }
        trk_tracker_destroy(window->tracker);
    }
    trk_fault_thread_leave();
    if (trk_fault_uninstall(&error) != TRK_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    trk_backend_destroy(bench.backend);
    return 0;
}

int bench_faults(unsigned rounds, const struct bench_peer *peer, struct bench_faults *out)
{
    if (set_up(peer) || measure(rounds) || tear_down()) {
        return 1;
    }
    const struct bench_samples *bare = &bench.windows[BARE].ns;
    const struct bench_samples *tracker = &bench.windows[TRACKER].ns;
    const struct bench_samples *recorder = &bench.windows[RECORDER].ns;
    out->bare_ns = bench_samples_spread(bare);
    out->tracker_ns = bench_samples_spread(tracker);
    out->recorder_ns = bench_samples_spread(recorder);
    out->tracker_ratio = bench_samples_ratio(tracker, bare);
    out->recorder_ratio = bench_samples_ratio(recorder, tracker);
    out->bare_arm_ns = bench_samples_spread(&bench.windows[BARE].arm_ns);
    out->recorder_arm_ns = bench_samples_spread(&bench.windows[RECORDER].arm_ns);
    out->peer_ns = bench_samples_spread(&bench.windows[PEER].ns);
    out->peer_arm_ns = bench_samples_spread(&bench.windows[PEER].arm_ns);
    out->peer_ratio = bench_samples_ratio(&bench.windows[PEER].ns, bare);
    out->recorder_bare_ratio = bench_samples_ratio(recorder, bare);
    out->faults = (uint64_t)bare->count * BATCH_PAGES;
    return 0;
}
