/*
 * Goal: a fault that the core serves and the recorder writes down leaves no trace in the thread
 * that faulted: errno, signal mask, alternate stack, registers, flags and the red zone are as they
 * were.
 *
 * Method: a store in assembly that knows all of them, to an armed page; on an alternate stack of
 * ours, on one of the program's, and on none; with a ring that has room, one that is full, and one
 * that is claimed by this very fault; and with timer signals in between, which record too.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "record_session.h"
#include "recorder/capture.h"
#include "restored.h"
#include "track/fault.h"

#define GUEST_ADDR   UINT64_C(0x200000000)
#define PAGE_BYTES   UINT64_C(4096)
#define ERRNO_BEFORE 4711
#define STACK_BYTES  (64u << 10)
#define STORES       200

enum stack_kind { STACK_OURS, STACK_THEIRS, STACK_NONE };

static const struct restored_case {
    const char *name;
    enum stack_kind stack;
    bool full;
    bool first; /* the fault claims the thread's ring */
    bool alarms;
} cases[] = {
    {"alternate stack", STACK_OURS, false, false, false},
    {"alternate stack, full ring", STACK_OURS, true, false, false},
    {"alternate stack, first event", STACK_OURS, false, true, false},
    {"the program's alternate stack", STACK_THEIRS, false, false, false},
    {"no alternate stack", STACK_NONE, false, false, false},
    {"no alternate stack, full ring", STACK_NONE, true, false, false},
    {"no alternate stack, first event", STACK_NONE, false, true, false},
    {"alternate stack, alarms", STACK_OURS, false, false, true},
    {"no alternate stack, alarms", STACK_NONE, false, false, true},
};

static struct trk_record_session session;
static struct trk_tracker *tracker;
static unsigned char *page;
static const struct restored_case *running;
static volatile sig_atomic_t alarms;
static volatile uint64_t faults;

static void fail(const char *what)
{
    fprintf(stderr, "restored: %s: %s\n", running ? running->name : "set-up", what);
    exit(1);
}

static void on_alarm(int number)
{
    alarms = alarms + 1;
    trk_capture_mark((uint64_t)number);
}

static void observe(void *context, const struct trk_event *event)
{
    struct trk_observer *recorder = context;
    faults = faults + (event->type == TRK_EVENT_FAULT);
    recorder->emit(recorder->context, event);
    errno = EIO; /* whoever is asked on the way may leave it so */
}

static struct restored_state make_state(unsigned round)
{
    struct restored_state state;
    unsigned char *bytes = (unsigned char *)&state;
    for (size_t i = 0; i < sizeof(state); ++i)
        bytes[i] = (unsigned char)(i * 7 + round * 13 + 1);
    /* Carry, parity, adjust, zero, sign, direction, overflow, each in some round; reserved bit 1.
     */
    static const uint64_t bits[] = {0x1, 0x4, 0x10, 0x40, 0x80, 0x400, 0x800};
    state.flags = 0x202;
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); ++i)
        state.flags |= (round >> i & 1) ? bits[i] : 0;
    state.vector_control = 0x1f80u | (round & 3u) << 13; /* rounding modes; everything masked */
    state.x87_control = (uint16_t)(0x37fu | (round & 3u) << 10);
    return state;
}

static void arm(void)
{
    struct trk_transfer upload = {
        .size = sizeof upload, .guest_addr = GUEST_ADDR, .size_bytes = PAGE_BYTES};
    if (trk_tracker_upload(tracker, &upload) != TRK_OK)
        fail("upload");
}

static void compare(const struct restored_state *before, const struct restored_state *after)
{
    if (memcmp(before->red_zone, after->red_zone, sizeof(before->red_zone)) != 0)
        fail("the red zone has changed");
    if (memcmp(before->registers, after->registers, sizeof(before->registers)) != 0)
        fail("a register has changed");
    if (before->flags != after->flags)
        fail("the flags have changed");
    if (memcmp(before->vectors, after->vectors, sizeof(before->vectors)) != 0)
        fail("a vector register has changed");
    if (before->vector_control != after->vector_control ||
        before->x87_control != after->x87_control)
        fail("a control word has changed");
}

static void store_once(unsigned round)
{
    struct restored_state before = make_state(round);
    struct restored_state after;
    sigset_t mask_before, mask_after;
    stack_t stack_before, stack_after;
    arm();
    uint64_t faults_before = faults;
    (void)pthread_sigmask(SIG_BLOCK, NULL, &mask_before);
    (void)sigaltstack(NULL, &stack_before);
    errno = ERRNO_BEFORE;
    restored_store(page, &before, &after);
    if (errno != ERRNO_BEFORE)
        fail("errno has changed");
    (void)sigaltstack(NULL, &stack_after);
    (void)pthread_sigmask(SIG_BLOCK, NULL, &mask_after);
    if (faults == faults_before)
        fail("the store did not fault");
    if (*page != 77)
        fail("the store is lost");
    compare(&before, &after);
    for (int number = 1; number < SIGRTMAX; ++number) {
        if (sigismember(&mask_before, number) != sigismember(&mask_after, number))
            fail("the signal mask has changed");
    }
    if (stack_before.ss_sp != stack_after.ss_sp || stack_before.ss_size != stack_after.ss_size ||
        stack_before.ss_flags != stack_after.ss_flags)
        fail("the alternate stack has changed");
}

static void use_stack(enum stack_kind kind)
{
    static unsigned char theirs[STACK_BYTES];
    stack_t stack = {.ss_sp = theirs, .ss_size = sizeof(theirs)};
    if (kind == STACK_OURS && trk_fault_thread_enter(NULL) != TRK_OK)
        fail("no alternate stack");
    if (kind == STACK_THEIRS && sigaltstack(&stack, NULL) != 0)
        fail("sigaltstack");
}

/* Let the ring be empty or full; there is no drain. */
static void prepare_ring(void)
{
    if (running->first)
        return;
    trk_capture_mark(0);
    if (running->full) {
        for (uint32_t i = 0; i < session.ring_records; ++i)
            trk_capture_signal(1, i);
    }
}

static void empty_rings(void)
{
    for (uint32_t i = 0; i < session.ring_count; ++i)
        atomic_store(&session.rings[i].tail, atomic_load(&session.rings[i].head));
}

static void *run(void *unused)
{
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR2);
    sigaddset(&some, SIGTERM);
    if (!running->alarms)
        sigaddset(&some, SIGALRM);
    (void)pthread_sigmask(SIG_SETMASK, &some, NULL);
    use_stack(running->stack);
    prepare_ring();
    for (unsigned round = 0; round < (running->first ? 1 : STORES); ++round) {
        if (!running->full)
            empty_rings();
        store_once(round);
    }
    if (running->stack == STACK_OURS)
        trk_fault_thread_leave();
    trk_capture_thread_end();
    return unused;
}

static void set_up(void)
{
    static struct trk_observer recorder;
    struct trk_backend *backend;
    struct trk_tracker_options options = trk_tracker_options_default();
    char number[16];
    if (trk_record_session_init(&session, 128, TRK_PAYLOAD_NONE, NULL) != TRK_OK)
        fail("no session");
    snprintf(number, sizeof(number), "%d", dup(session.fd));
    setenv(TRK_SESSION_VARIABLE, number, 1);
    if (trk_capture_open(NULL) != TRK_OK)
        fail("not joined");
    recorder = trk_capture_observer();
    options.observer = (struct trk_observer){.context = &recorder, .emit = observe};
    if (trk_backend_mprotect_create(&backend, trk_host_bias_default(), NULL) != TRK_OK)
        fail("no backend");
    options.backend = backend;
    page = mmap((void *)(uintptr_t)(GUEST_ADDR + (uint64_t)trk_host_bias_default()), PAGE_BYTES,
                PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (page == MAP_FAILED || trk_tracker_create(&tracker, &options, NULL) != TRK_OK ||
        trk_fault_install(trk_fault_tracker, tracker, NULL) != TRK_OK ||
        trk_tracker_register(tracker, GUEST_ADDR, PAGE_BYTES) != TRK_OK)
        fail("no tracker");
}

static void alarm_often(int microseconds)
{
    struct itimerval often = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &often, NULL);
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigset_t alarm_only;
    if (!restored_is_here()) {
        puts("skipped: no such store for this machine");
        return 77;
    }
    set_up();
    sigaction(SIGALRM, &action, NULL);
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    (void)pthread_sigmask(SIG_BLOCK, &alarm_only, NULL); /* for the threads that want it */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        pthread_t thread;
        running = &cases[i];
        alarm_often(running->alarms ? 100 : 0);
        if (pthread_create(&thread, NULL, run, NULL) != 0)
            fail("no thread");
        pthread_join(thread, NULL);
        alarm_often(0);
    }
    printf("%llu faults, %d alarms\n", (unsigned long long)faults, (int)alarms);
    return alarms > 0 ? 0 : 1;
}
