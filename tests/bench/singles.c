#define _GNU_SOURCE /* syscall */
#include "singles.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bare_ring.h"
#include "recorder/capture.h"
#include "recorder/writer.h"
#include "ring.h"

#define TOLD_APART   16384u /* ticks */
#define READINGS     65536u
#define GROUP        64u
#define CALLS        32u /* a round: of the handler, and of the function alone */
#define LAPS         16u /* around a ring, for its edges */
#define PAUSE_EACH   16384u
#define PAUSE_NS     8000000
#define FULL_RECORDS 1024u
#define FULL_APPENDS 65536u
#define QUIET_LAPS   2u
#define QUIET_TICKS  25000000u /* some ms */
#define PATIENCE_MS  5000u

/* How many appends took how many ticks. */
struct times {
    uint64_t count, worst;
    uint32_t took[TOLD_APART];
};

static struct trk_observer observer;
static uint64_t empty_ticks;

/* Nothing is begun before, or left behind, a reading. */
static inline uint64_t ticks_alone(void)
{
#if defined(__x86_64__)
    __builtin_ia32_lfence();
    uint64_t ticks = bench_ticks();
    __builtin_ia32_lfence();
#else
    __asm__ volatile("isb" ::: "memory");
    uint64_t ticks = bench_ticks();
    __asm__ volatile("isb" ::: "memory");
#endif
    return ticks;
}

static void add(struct times *times, uint64_t ticks)
{
    ticks = ticks > empty_ticks ? ticks - empty_ticks : 0;
    times->count++;
    times->worst = ticks > times->worst ? ticks : times->worst;
    times->took[ticks < TOLD_APART ? ticks : TOLD_APART - 1]++;
}

static double percentile(const struct times *times, unsigned percent)
{
    uint64_t wanted = (times->count * percent + 99) / 100;
    uint64_t seen = 0;
    unsigned ticks = 0;
    while (ticks < TOLD_APART - 1 && (seen += times->took[ticks]) < wanted) {
        ticks++;
    }
    return ticks;
}

static struct bench_single figures(const struct times *times, double tick_ns)
{
    return (struct bench_single){percentile(times, 50) * tick_ns, percentile(times, 99) * tick_ns,
                                 (double)times->worst * tick_ns, times->count};
}

static inline void append_one(struct times *times, uint64_t number)
{
    struct trk_event event = {.argument = number, .type = TRK_EVENT_MARK};
    uint64_t start = ticks_alone();
    observer.emit(observer.context, &event);
    add(times, ticks_alone() - start);
}

static void pause_ns(long ns)
{
    struct timespec pause = {.tv_nsec = ns};
    nanosleep(&pause, NULL);
}

/* ---- the counter -------------------------------------------------------------------------------
 */

/* What a pair of readings takes; gives by how much two differ that follow each other, if they do.
 */
static uint64_t measure_counter(struct times *times)
{
    static struct times steps;
    empty_ticks = 0;
    for (unsigned i = 0; i < READINGS; i++) {
        uint64_t start = ticks_alone();
        add(times, ticks_alone() - start);
        uint64_t first = bench_ticks();
        uint64_t second = bench_ticks();
        if (second > first) {
            add(&steps, second - first);
        }
    }
    empty_ticks = (uint64_t)percentile(times, 50);
    return (uint64_t)percentile(&steps, 50);
}

/* ---- in a handler ------------------------------------------------------------------------------
 */

struct place {
    struct times single;
    struct bench_samples groups;
};

static struct place called, in_handler, woken;

static void append_in(struct place *place)
{
    struct trk_event event = {.type = TRK_EVENT_MARK};
    append_one(&place->single, 0);
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < GROUP; i++) {
        observer.emit(observer.context, &event);
    }
    bench_samples_add(&place->groups, (double)(bench_now_ns() - start) / GROUP);
}

static void handler(int number)
{
    (void)number;
    append_in(&in_handler);
}

static void measure_handler(unsigned rounds, struct bench_singles *out)
{
    struct sigaction action = {.sa_handler = handler};
    struct sigaction before;
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, &before);
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < CALLS; i++) {
            append_in(&called);
            raise(SIGUSR1);
        }
        pause_ns(3000000);
        append_in(&woken);
    }
    sigaction(SIGUSR1, &before, NULL);
    out->called_ns = bench_samples_spread(&called.groups);
    out->handler_ns = bench_samples_spread(&in_handler.groups);
    out->handler_ratio = bench_samples_ratio(&in_handler.groups, &called.groups);
}

/* ---- where a ring's chunks end -----------------------------------------------------------------
 */

static struct times at_edge, inside;

/* A thread of its own: its ring is new to it, and begins with its first append. */
static void *append_laps(void *context)
{
    (void)context;
    trk_capture_thread("bench laps", TRK_ROLE_GUEST);
    for (uint64_t i = 0; i < LAPS * (uint64_t)BENCH_BARE_RECORDS; i++) {
        append_one(i % TRK_CHUNK_EVENTS == 0 ? &at_edge : &inside, i);
        if (i % PAUSE_EACH == TRK_CHUNK_EVENTS / 2) {
            pause_ns(PAUSE_NS); /* the parent drains */
        }
    }
    trk_capture_thread_end();
    return NULL;
}

/* ---- a ring that is full -----------------------------------------------------------------------
 */

static void measure_full(struct times *times, uint64_t *counted)
{
    static struct trk_session_ring shared;
    static struct trk_session_losses losses;
    static struct trk_record records[FULL_RECORDS];
    struct trk_ring_place place = {&shared, &losses, records, FULL_RECORDS};
    struct trk_ring ring;
    trk_ring_init(&ring, &place);
    struct trk_event event = {.type = TRK_EVENT_MARK};
    while (atomic_load(&shared.dropped) == 0) { /* nobody takes anything out */
        trk_ring_append(&ring, &event);
    }
    uint64_t before = atomic_load(&shared.dropped);
    for (uint64_t i = 0; i < FULL_APPENDS; i++) {
        event.argument = i;
        uint64_t start = ticks_alone();
        trk_ring_append(&ring, &event);
        add(times, ticks_alone() - start);
    }
    *counted = atomic_load(&shared.dropped) - before;
}

/* ---- calls of the system -----------------------------------------------------------------------
 */

static _Atomic uint64_t calls;

static void count_call(int number)
{
    (void)number;
    atomic_fetch_add(&calls, 1);
}

/* From now on this thread's calls raise SIGSYS instead, but for the end of a handler and its own.
 */
static int count_calls(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    struct sigaction action = {.sa_handler = count_call};
    sigaction(SIGSYS, &action, NULL);
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0;
}

static void wait_ticks(uint64_t ticks)
{
    for (uint64_t start = bench_ticks(); bench_ticks() - start < ticks;) {
    }
}

static _Atomic int quiet_state; /* 0: on its way; 1: done; -1: not to be had */

/* Ends without the C library's help, which would be a call or more: so it is not to be joined. */
static void *append_quietly(void *context)
{
    struct trk_event event = {.type = TRK_EVENT_MARK};
    (void)context;
    trk_capture_thread("bench quiet", TRK_ROLE_GUEST);
    if (count_calls() != 0) {
        atomic_store(&quiet_state, -1);
        return NULL;
    }
    for (uint64_t i = 0; i < QUIET_LAPS * (uint64_t)BENCH_BARE_RECORDS; i++) {
        observer.emit(observer.context, &event);
        if (i % PAUSE_EACH == PAUSE_EACH - 1) {
            wait_ticks(QUIET_TICKS); /* the parent drains; to sleep is a call */
        }
    }
    trk_capture_thread_end();
    atomic_store(&quiet_state, 1);
    syscall(SYS_exit, 0);
    return NULL;
}

static int measure_quiet(struct bench_singles *out)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, append_quietly, NULL) != 0) {
        fputs("singles: no thread\n", stderr);
        return 1;
    }
    pthread_detach(thread);
    for (unsigned ms = 0; atomic_load(&quiet_state) == 0 && ms < PATIENCE_MS; ms++) {
        pause_ns(1000000);
    }
    out->calls = atomic_load(&calls);
    out->quiet_appends =
        atomic_load(&quiet_state) == 1 ? QUIET_LAPS * (uint64_t)BENCH_BARE_RECORDS : 0;
    return 0;
}

int bench_singles(unsigned rounds, struct bench_singles *out)
{
    static struct times empty, full;
    pthread_t thread;
    observer = trk_capture_observer();
    uint64_t start_ns = bench_now_ns();
    uint64_t start = bench_ticks();
    uint64_t step = measure_counter(&empty);
    if (observer.emit == NULL || pthread_create(&thread, NULL, append_laps, NULL) != 0) {
        fputs("singles: not recorded, or no thread\n", stderr);
        return 1;
    }
    pthread_join(thread, NULL);
    measure_handler(rounds, out);
    measure_full(&full, &out->full_counted);
    if (measure_quiet(out)) {
        return 1;
    }
    double tick_ns = (double)(bench_now_ns() - start_ns) / (double)(bench_ticks() - start);
    out->step_ns = (double)step * tick_ns;
    out->empty_ns = (double)empty_ticks * tick_ns;
    out->called = figures(&called.single, tick_ns);
    out->handler = figures(&in_handler.single, tick_ns);
    out->woken = figures(&woken.single, tick_ns);
    out->edge = figures(&at_edge, tick_ns);
    out->inner = figures(&inside, tick_ns);
    out->full = figures(&full, tick_ns);
    return 0;
}
