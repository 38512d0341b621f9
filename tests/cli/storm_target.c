/*
 * Eight threads that do nothing but fault, and signals on top: far more than small rings hold.
 *
 * storm_target FILE ROUNDS    FILE holds a struct storm_shared. Each event is counted there just
 * before the recorder gets it.
 */
#define _GNU_SOURCE /* memfd_create, MAP_FIXED_NOREPLACE */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "recorder/capture.h"
#include "storm_shared.h"
#include "track/address.h"
#include "track/fault.h"

#define PAGES        64u
#define WINDOW_BYTES (PAGES * UINT64_C(4096))
#define WINDOW_FIRST UINT64_C(0x200000000)

static struct storm_shared *shared;
static struct trk_observer recorder;
static struct trk_tracker *tracker;
static struct trk_policy any_policy;
static unsigned rounds;

static void count(uint8_t type)
{
    atomic_fetch_add_explicit(&shared->emitted[type], 1, memory_order_relaxed);
}

static void observe(void *context, const struct trk_event *event)
{
    (void)context;
    count(event->type);
    recorder.emit(recorder.context, event);
}

/* Every annotation in turn, about memory that nobody else speaks of. */
static void annotate(uint64_t turn)
{
    const uint64_t guest_addr = WINDOW_FIRST + STORM_THREADS * TRK_REGION_BYTES;
    /* One store each, then a check; apart from what is copied. */
    const uint64_t own_addr = guest_addr + 8192 + 64 * (turn % 1024);
    const uint32_t stamp = (uint32_t)turn + 1;
    switch (turn % 12) {
    case 0:
        count(TRK_EVENT_TRACKER);
        trk_capture_tracker(1 + (uint32_t)(turn / 12) % 15, &any_policy, TRK_BACKEND_SIMULATED);
        return;
    case 1:
        count(TRK_EVENT_COPY_BEGIN);
        trk_capture_copy_begin(TRK_COPY_UP, guest_addr, 4096, 1);
        count(TRK_EVENT_COPY_END);
        trk_capture_copy_end(TRK_COPY_UP, guest_addr, 4096, 1);
        return;
    case 2:
        count(TRK_EVENT_GPU_READ);
        trk_capture_gpu_read(guest_addr, 8, stamp);
        return;
    case 3:
        count(TRK_EVENT_GPU_COMPLETE);
        trk_capture_gpu_complete(turn);
        return;
    case 4:
        count(TRK_EVENT_GUEST_PROTECT);
        trk_capture_guest_protect(guest_addr, 4096, TRK_RIGHT_READ);
        return;
    case 5:
        count(TRK_EVENT_MAP);
        trk_capture_map(guest_addr + TRK_REGION_BYTES, 4096, 7, TRK_RIGHT_READ, 0);
        count(TRK_EVENT_UNMAP);
        trk_capture_unmap(guest_addr + TRK_REGION_BYTES, 4096);
        return;
    case 6:
        count(TRK_EVENT_INVALIDATE_REQUEST);
        trk_capture_invalidate_request(guest_addr, 4096, TRK_REQUEST_DONE);
        return;
    case 7:
        count(TRK_EVENT_FRAME);
        trk_capture_frame(turn);
        return;
    case 8:
        count(TRK_EVENT_WITNESS_STORE);
        trk_capture_witness_store(TRK_AGENT_HLE, own_addr, 8, stamp);
        count(TRK_EVENT_WITNESS_CHECK);
        trk_capture_witness_check(TRK_AGENT_HLE, own_addr, 8, stamp);
        return;
    case 9:
        count(TRK_EVENT_SIGNAL);
        trk_capture_signal(77, turn);
        return;
    case 10:
        count(TRK_EVENT_AWAIT);
        trk_capture_await(77, 0);
        return;
    default:
        count(TRK_EVENT_MARK);
        trk_capture_mark(turn);
    }
}

static void on_alarm(int number)
{
    (void)number;
    annotate(atomic_fetch_add_explicit(&shared->in_handlers, 1, memory_order_relaxed));
}

static uint64_t window(uintptr_t thread)
{
    return WINDOW_FIRST + thread * TRK_REGION_BYTES;
}

static void storm(uint64_t guest_addr)
{
    struct trk_transfer upload = {
        .size = sizeof upload, .guest_addr = guest_addr, .size_bytes = WINDOW_BYTES};
    for (unsigned round = 0; round < rounds; ++round) {
        if (trk_tracker_upload(tracker, &upload) != TRK_OK)
            _exit(5);
        for (unsigned page = 0; page < PAGES; ++page) {
            uintptr_t host = (uintptr_t)guest_addr + (uintptr_t)trk_host_bias_default();
            *(volatile unsigned char *)(host + page * UINT64_C(4096)) = (unsigned char)round;
        }
        count(TRK_EVENT_FRAME);
        trk_capture_frame(round);
    }
}

static void *run(void *argument)
{
    uintptr_t thread = (uintptr_t)argument;
    if (trk_fault_thread_enter(NULL) != TRK_OK)
        _exit(6);
    if (thread % 2 == 0) /* the others claim their ring in the fault handler, or near it */
        trk_capture_thread("storm", TRK_ROLE_GUEST);
    storm(window(thread));
    trk_fault_thread_leave();
    return NULL;
}

static int map_windows(void)
{
    for (uintptr_t i = 0; i < STORM_THREADS; ++i) {
        void *wanted = (void *)((uintptr_t)window(i) + (uintptr_t)trk_host_bias_default());
        if (mmap(wanted, WINDOW_BYTES, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != wanted ||
            trk_tracker_register(tracker, window(i), WINDOW_BYTES) != TRK_OK)
            return 1;
    }
    return 0;
}

static int set_up(struct trk_backend **backend)
{
    struct trk_tracker_options options = trk_tracker_options_default();
    struct trk_error error;
    if (trk_backend_mprotect_create(backend, trk_host_bias_default(), &error) != TRK_OK)
        return 1;
    options.backend = *backend;
    options.observer = (struct trk_observer){.emit = observe};
    if (trk_tracker_create(&tracker, &options, &error) != TRK_OK ||
        trk_fault_install(trk_fault_tracker, tracker, &error) != TRK_OK)
        return 1;
    any_policy = options.policy;
    count(TRK_EVENT_TRACKER);
    trk_capture_tracker(options.id, &options.policy, (*backend)->kind);
    return map_windows();
}

static void start_alarms(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART | SA_ONSTACK};
    struct itimerval often = {{0, 200}, {0, 200}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

int main(int argc, char **argv)
{
    int fd = argc == 3 ? open(argv[1], O_RDWR) : -1;
    if (fd < 0)
        return 2;
    rounds = (unsigned)strtoul(argv[2], NULL, 10);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    struct trk_backend *backend = NULL;
    if (shared == MAP_FAILED || trk_capture_open(NULL) != TRK_OK)
        return 3;
    recorder = trk_capture_observer();
    if (set_up(&backend) != 0)
        return 4;
    start_alarms();
    pthread_t threads[STORM_THREADS];
    for (uintptr_t i = 0; i < STORM_THREADS; ++i) {
        if (pthread_create(&threads[i], NULL, run, (void *)i) != 0)
            return 4;
    }
    for (uintptr_t i = 0; i < STORM_THREADS; ++i)
        pthread_join(threads[i], NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    return 0;
}
