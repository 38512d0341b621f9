/*
 * Goal: whatever happens to guest threads while they fault - signals that touch guest memory
 * themselves, forks, threads that end and begin - no store is lost and nothing hangs.
 * Method: eight threads store into, load from, move, add and hash their own bytes of every page,
 * and compare each load with what they stored, byte by byte; an owner uploads, takes and drains the
 * pages meanwhile; a timer interrupts everybody; another thread forks. At the end the memory is
 * compared whole. An alarm ends a run that hangs.
 *
 * Usage: fault_storm [seconds [seed]]
 *
 * Rules: [M-20] [M-51] [M-52] [M-54] [M-58].
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "storm_world.h"

#define THREADS      8u
#define LIFE_STEPS   2000u /* of a thread, then another goes on in its place */
#define LANE_FIRST   1024u /* behind the slots of the other storm */
#define LANE_BYTES   256u
#define SIGNAL_BYTES 64u /* the last ones of a lane are its signal handler's */
#define OWN_BYTES    (LANE_BYTES - SIGNAL_BYTES)

struct guest {
    uint32_t number;
    uint64_t random, signal_random;
    unsigned char mirror[STORM_PAGES][LANE_BYTES];
    uint64_t steps, loads, emulated, signals, lives;
};

static struct guest guests[THREADS];
static __thread struct guest *self;
static atomic_bool stop;
static atomic_ullong forks;

static uint32_t below(uint64_t *random, uint32_t limit)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((*random >> 33) * limit >> 31);
}

static unsigned char *lane(const struct guest *guest, uint32_t page)
{
    return storm.guest + page * STORM_PAGE + LANE_FIRST + guest->number * LANE_BYTES;
}

/* ---- a guest's steps ---- */

static void check(const struct guest *guest, uint32_t page, const unsigned char *found,
                  uint32_t first, uint32_t size)
{
    if (memcmp(found, guest->mirror[page] + first, size) != 0)
        storm_fail("thread %u, page %u: bytes %u to %u of its lane are not what it stored",
                   guest->number, page, first, first + size);
}

static void fill(unsigned char *to, uint32_t size, unsigned char value)
{
#if defined(__x86_64__)
    uint64_t count = size;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(value) : "memory");
#else
    for (uint32_t i = 0; i < size; i++)
        ((volatile unsigned char *)to)[i] = value;
#endif
}

static void store(struct guest *guest, uint32_t page)
{
    uint32_t size = 1 + below(&guest->random, 64);
    uint32_t first = below(&guest->random, OWN_BYTES - size + 1);
    unsigned char value = (unsigned char)guest->random;
    fill(lane(guest, page) + first, size, value);
    memset(guest->mirror[page] + first, value, size);
}

static void load(struct guest *guest, uint32_t page)
{
    unsigned char found[OWN_BYTES];
    const volatile unsigned char *from = lane(guest, page);
    for (uint32_t i = 0; i < OWN_BYTES; i++)
        found[i] = from[i];
    check(guest, page, found, 0, OWN_BYTES);
    guest->loads++;
}

static void add(struct guest *guest, uint32_t page)
{
    uint32_t first = 8 * below(&guest->random, OWN_BYTES / 8);
    uint64_t word;
    memcpy(&word, guest->mirror[page] + first, sizeof word);
    uint64_t former = __atomic_fetch_add((uint64_t *)(void *)(lane(guest, page) + first), 0x101,
                                         __ATOMIC_SEQ_CST);
    if (former != word)
        storm_fail("thread %u, page %u: an atomic add at %u finds %" PRIx64 ", not %" PRIx64,
                   guest->number, page, first, former, word);
    word += 0x101;
    memcpy(guest->mirror[page] + first, &word, sizeof word);
}

/* From one page to another: a load and a store that fault on their own. */
static void move(struct guest *guest, uint32_t page)
{
    uint32_t to = below(&guest->random, STORM_PAGES);
    memcpy(lane(guest, to), lane(guest, page), 96);
    memcpy(guest->mirror[to], guest->mirror[page], 96);
}

/* sha1nexte of zero leaves the low three words of its memory operand, emulated behind ud2. */
static void hash(struct guest *guest, uint32_t page)
{
#if defined(__x86_64__)
    unsigned char result[16];
    uint32_t first = 16 * below(&guest->random, OWN_BYTES / 16);
    __asm__ volatile("pxor %%xmm1, %%xmm1\n"
                     "ud2\n"
                     ".byte 0x0f, 0x38, 0xc8, 0x08\n"
                     "movups %%xmm1, %0\n"
                     : "=m"(result)
                     : "a"(lane(guest, page) + first)
                     : "xmm1", "memory");
    check(guest, page, result, first, 12);
    guest->emulated++;
#else
    (void)guest;
    (void)page;
#endif
}

static void step(struct guest *guest)
{
    uint32_t page = below(&guest->random, STORM_PAGES);
    guest->steps++;
    switch (below(&guest->random, 8)) {
    case 0:
    case 1:
    case 2:
        store(guest, page);
        break;
    case 3:
    case 4:
        load(guest, page);
        break;
    case 5:
        add(guest, page);
        break;
    case 6:
        move(guest, page);
        break;
    default:
        hash(guest, page);
        break;
    }
}

/* ---- signals ---- */

/* In the middle of whatever the thread does: its own part of the lane, loaded and stored. */
static void on_timer(int signal_number)
{
    struct guest *guest = self;
    (void)signal_number;
    if (guest == NULL)
        return;
    uint32_t page = below(&guest->signal_random, STORM_PAGES);
    unsigned char found[SIGNAL_BYTES], *at = lane(guest, page) + OWN_BYTES;
    memcpy(found, at, sizeof found);
    check(guest, page, found, OWN_BYTES, SIGNAL_BYTES);
    unsigned char value = (unsigned char)guest->signal_random;
    fill(at, SIGNAL_BYTES, value);
    memset(guest->mirror[page] + OWN_BYTES, value, SIGNAL_BYTES);
    guest->signals++;
}

#if defined(__x86_64__)
static struct sigaction emulator;

static void step_over_ud2(int signal_number, siginfo_t *info, void *opaque)
{
    ucontext_t *context = opaque;
    context->uc_mcontext.gregs[REG_RIP] += 2;
    emulator.sa_sigaction(signal_number, info, opaque);
}
#endif

static void signals_begin(void)
{
    struct sigaction timer = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 500}, {0, 500}};
    if (sigaction(SIGPROF, &timer, NULL) != 0 || setitimer(ITIMER_PROF, &often, NULL) != 0)
        storm_fail("no timer");
#if defined(__x86_64__)
    struct sigaction stepper = {.sa_sigaction = step_over_ud2, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigfillset(&stepper.sa_mask);
    sigdelset(&stepper.sa_mask, SIGSEGV);
    sigdelset(&stepper.sa_mask, SIGBUS);
    if (sigaction(SIGILL, &stepper, &emulator) != 0)
        storm_fail("no handler on top");
#endif
}

static void signals_end(void)
{
    struct itimerval never = {{0, 0}, {0, 0}};
    (void)setitimer(ITIMER_PROF, &never, NULL);
    signal(SIGPROF, SIG_IGN);
#if defined(__x86_64__)
    (void)sigaction(SIGILL, &emulator, NULL);
#endif
}

static void let_signals(int how)
{
    sigset_t timer;
    sigemptyset(&timer);
    sigaddset(&timer, SIGPROF);
    (void)pthread_sigmask(how, &timer, NULL);
}

/* Threads whose own work holds region locks: guest memory must not be touched in the middle. */
static void no_signals_here(void)
{
    let_signals(SIG_BLOCK);
}

/* ---- threads ---- */

static void *guest_life(void *argument)
{
    struct guest *guest = argument;
    if (trk_fault_thread_enter(NULL) != TRK_OK)
        storm_fail("no fault stack");
    self = guest;
    let_signals(SIG_UNBLOCK);
    for (uint32_t i = 0; i < LIFE_STEPS && !atomic_load_explicit(&stop, memory_order_relaxed); i++)
        step(guest);
    no_signals_here();
    self = NULL;
    /* Every other one leaves it to the end of the thread. */
    if (guest->lives++ % 2 == 0)
        trk_fault_thread_leave();
    return NULL;
}

static void start_life(pthread_t *id, struct guest *guest)
{
    if (pthread_create(id, NULL, guest_life, guest) != 0)
        storm_fail("no thread");
}

static void *owner_main(void *argument)
{
    uint64_t random = *(const uint64_t *)argument;
    no_signals_here();
    if (trk_fault_thread_enter(NULL) != TRK_OK)
        storm_fail("no fault stack");
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        uint32_t page = below(&random, STORM_PAGES);
        uint32_t pages = 1 + below(&random, STORM_PAGES - page < 6 ? STORM_PAGES - page : 6);
        uint64_t guest_addr = STORM_BASE + page * STORM_PAGE, size_bytes = pages * STORM_PAGE;
        enum trk_status status;
        switch (below(&random, 5)) {
        case 0:
        case 1:
            status = storm_upload(guest_addr, size_bytes);
            break;
        case 2:
        case 3:
            status = storm_upload_written(guest_addr, size_bytes);
            break;
        default:
            status = storm_drain(guest_addr, size_bytes);
            break;
        }
        if (status != TRK_OK)
            storm_fail("an owner's operation gives %s", trk_status_name(status));
    }
    trk_fault_thread_leave();
    return NULL;
}

/* The child has one thread, and whatever locks the others held: it only ends. */
static void *forker_main(void *unused)
{
    no_signals_here();
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        pid_t child = fork();
        if (child == 0)
            _exit(7);
        int status = 0;
        if (child > 0 &&
            (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7))
            storm_fail("a child ends with status 0x%x", (unsigned)status);
        atomic_fetch_add(&forks, 1);
        struct timespec rest = {0, 5000000};
        (void)nanosleep(&rest, NULL);
    }
    return unused;
}

/* ---- a round ---- */

static void check_all(void)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        for (uint32_t page = 0; page < STORM_PAGES; page++)
            check(&guests[i], page, storm.alias + page * STORM_PAGE + LANE_FIRST + i * LANE_BYTES,
                  0, LANE_BYTES);
    }
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Threads that have ended are followed by others, until the time is over. */
static void run_lives(uint64_t end_ms)
{
    pthread_t ids[THREADS];
    for (uint32_t i = 0; i < THREADS; i++)
        start_life(&ids[i], &guests[i]);
    for (uint32_t i = 0; now_ms() < end_ms; i = (i + 1) % THREADS) {
        if (pthread_tryjoin_np(ids[i], NULL) == 0)
            start_life(&ids[i], &guests[i]);
        struct timespec rest = {0, 200000};
        (void)nanosleep(&rest, NULL);
    }
    atomic_store(&stop, true);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
}

static void round_run(uint32_t round, uint64_t seed, uint64_t milliseconds,
                      struct trk_backend *backend)
{
    static uint64_t owner_seed;
    struct trk_policy policy;
    pthread_t owner, forker;
    if (trk_policy_preset("default", &policy) != TRK_OK)
        storm_fail("no default policy");
    policy.invalidate = round % 2 ? TRK_INVALIDATE_PER_REGION : TRK_INVALIDATE_VERIFY;
    storm_open(&policy, backend);
    atomic_store(&stop, false);
    for (uint32_t i = 0; i < THREADS; i++) {
        memset(guests[i].mirror, 0, sizeof guests[i].mirror);
        guests[i].number = i;
        guests[i].random = seed * 1000003 + round * THREADS + i;
        guests[i].signal_random = ~guests[i].random;
    }
    owner_seed = seed + round;
    signals_begin();
    if (pthread_create(&owner, NULL, owner_main, &owner_seed) != 0 ||
        pthread_create(&forker, NULL, forker_main, NULL) != 0)
        storm_fail("no thread");
    run_lives(now_ms() + milliseconds);
    pthread_join(owner, NULL);
    pthread_join(forker, NULL);
    signals_end();
    storm_check_pages();
    storm_settle();
    check_all();
    storm_close();
}

int main(int argc, char **argv)
{
    uint32_t seconds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 3;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    struct guest sum = {.number = 0};
    uint32_t backend_count = 0, round = 0;
    struct trk_backend *backends[BACKEND_CHOICES];
    no_signals_here(); /* the main thread is the manager */
    FOR_BACKENDS(choice)
    {
        struct trk_backend *backend = backend_choice_open(choice, trk_host_bias_default());
        if (backend != NULL)
            backends[backend_count++] = backend;
    }
    fprintf(stderr, "again: %s %u %" PRIu64 "\n", argv[0], seconds, seed);
    (void)alarm(seconds * 4 + 120); /* a hang */
    for (uint64_t end_ms = now_ms() + seconds * 1000; round == 0 || now_ms() < end_ms; round++)
        round_run(round, seed, 1000, backends[round % backend_count]);
    for (uint32_t i = 0; i < backend_count; i++)
        trk_backend_destroy(backends[i]);
    for (uint32_t i = 0; i < THREADS; i++) {
        sum.steps += guests[i].steps;
        sum.loads += guests[i].loads;
        sum.emulated += guests[i].emulated;
        sum.signals += guests[i].signals;
        sum.lives += guests[i].lives;
    }
    printf("%u rounds on %u backends: %" PRIu64 " steps, %" PRIu64 " loads checked, %" PRIu64
           " emulated, %" PRIu64 " faults, %" PRIu64 " signals, %" PRIu64 " forks, %" PRIu64
           " threads\n",
           round, backend_count, sum.steps, sum.loads, sum.emulated,
           (uint64_t)atomic_load(&storm.faults), sum.signals, (uint64_t)atomic_load(&forks),
           sum.lives);
    return 0;
}
