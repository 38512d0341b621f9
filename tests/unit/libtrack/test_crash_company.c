/*
 * Goal: the crash report in company: its trigger runs once, reports of several threads do not run
 * into each other, and one that never ends takes away nobody else's.
 * Method: each crash in a child of its own; its standard error is looked at.
 *
 * Rules: [M-60].
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "env.h"
#include "track/address.h"
#include "track/crash.h"
#include "track/fault.h"

#if defined(__x86_64__)

enum { END_GOOD = 31, END_SURVIVED = 32, END_SET_UP_FAILED = 33 };

static unsigned char *closed; /* a page that nobody may touch */

static enum trk_fault_outcome owner(void *context, uint64_t host_addr, enum trk_access access)
{
    (void)context;
    (void)host_addr;
    (void)access;
    return TRK_FAULT_UNHANDLED;
}

static void plain_load(void)
{
    (void)*(volatile unsigned char *)(closed + 1);
}

/* A sanitizer has handlers of its own. */
static bool set_up(void (*segv)(int))
{
    closed = mmap(NULL, TRK_HOST_PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGSEGV, segv);
    signal(SIGBUS, SIG_DFL);
    signal(SIGILL, SIG_DFL);
    return closed != MAP_FAILED && trk_fault_install(owner, NULL, NULL) == TRK_OK &&
           trk_fault_thread_enter(NULL) == TRK_OK;
}

static void *body(void *name)
{
    if (trk_fault_thread_enter(NULL) != TRK_OK)
        _exit(END_SET_UP_FAILED);
    trk_crash_thread_guest(name);
    plain_load();
    return NULL;
}

/* ---- triggers, and crashes in company ---- */

static volatile bool waits_are_told;

/* The report's wait for another thread's, in the place of libc's: no clock has to be asked. */
int nanosleep(const struct timespec *wait, struct timespec *left)
{
    static const char said[] = "waited\n";
    if (waits_are_told)
        (void)!write(STDERR_FILENO, said, sizeof said - 1);
    return (int)syscall(SYS_nanosleep, wait, left);
}

static volatile int trigger_calls;

static void trigger(void *context, const struct trk_crash *crash)
{
    bool good = crash->signal_number == SIGSEGV && crash->access == TRK_ACCESS_READ &&
                crash->host_addr == (uint64_t)(uintptr_t)closed + 1 &&
                crash->thread_id == (uint32_t)gettid() && crash->pc != 0;
    const char *said = good ? "trigger ran\n" : "trigger got something else\n";
    trigger_calls++;
    (void)!write(STDERR_FILENO, said, strlen(said));
    if (context != NULL)
        *(volatile unsigned char *)closed = 1;
}

static int child_trigger(const void *argument)
{
    static int faults;
    if (!set_up(SIG_DFL))
        return END_SET_UP_FAILED;
    waits_are_told = true;
    trk_crash_reports_set(TRK_CRASH_REPORT_NONE, STDERR_FILENO);
    trk_crash_trigger_set(trigger, argument != NULL ? &faults : NULL);
    plain_load();
    return END_SURVIVED;
}

/* A thread that reports already does not wait for itself. */
Test(crash_company, trigger_runs_once_and_may_fault)
{
    static const int faulting = 1;
    const int *arguments[] = {NULL, &faulting};
    for (size_t i = 0; i < 2; i++) {
        struct child_end end = child_run(child_trigger, arguments[i]);
        cr_expect_eq(end.signal_number, SIGSEGV);
        cr_expect_str_eq(end.output, "trigger ran\n");
    }
}

#define FLOCK 8

static void *body_of_a_flock(void *start)
{
    if (trk_fault_thread_enter(NULL) != TRK_OK)
        _exit(END_SET_UP_FAILED);
    trk_crash_thread_guest("sheep");
    pthread_barrier_wait(start);
    plain_load();
    return NULL;
}

static int child_flock(const void *unused)
{
    pthread_barrier_t start;
    pthread_t threads[FLOCK];
    (void)unused;
    pthread_barrier_init(&start, NULL, FLOCK);
    if (!set_up(SIG_DFL))
        return END_SET_UP_FAILED;
    for (int i = 0; i < FLOCK; i++)
        pthread_create(&threads[i], NULL, body_of_a_flock, &start);
    for (int i = 0; i < FLOCK; i++)
        pthread_join(threads[i], NULL);
    return END_SURVIVED;
}

/* Reports do not run into each other: each that began also ended, but the last. */
Test(crash_company, many_at_once)
{
    struct child_end end = child_run(child_flock, NULL);
    cr_expect_eq(end.signal_number, SIGSEGV);
    cr_assert_eq(strncmp(end.output, "--- Guest fault context ---\nthread: sheep\n", 42), 0);
    const char *first_end = strstr(end.output, "Unhandled host exception: ");
    cr_assert_neq(first_end, NULL);
    const char *second = strstr(end.output + 1, "--- Guest");
    cr_expect(second == NULL || second > first_end, "a report inside another");
}

/* ---- reports that never end ---- */

static pid_t parent;
static sem_t reporting;

/* The parent's report hangs in its trigger, and what is forked meanwhile has it so. */
static void hanging_trigger(void *context, const struct trk_crash *crash)
{
    (void)context;
    (void)crash;
    if (getpid() != parent)
        return;
    sem_post(&reporting);
    for (;;)
        pause();
}

static int child_fork(const void *unused)
{
    static char name[] = "parent's";
    pthread_t thread;
    (void)unused;
    parent = getpid();
    waits_are_told = true;
    sem_init(&reporting, 0, 0);
    trk_crash_trigger_set(hanging_trigger, NULL);
    if (!set_up(SIG_DFL) || pthread_create(&thread, NULL, body, name) != 0)
        return END_SET_UP_FAILED;
    while (sem_wait(&reporting) != 0) {
    }
    pid_t forked = fork();
    if (forked == 0) {
        trk_crash_thread_guest("forked");
        plain_load();
    }
    int status = 0;
    if (forked < 0 || waitpid(forked, &status, 0) != forked)
        return END_SET_UP_FAILED;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? END_GOOD : END_SURVIVED;
}

/* A process that was forked while its parent reported reports at once. */
Test(crash_company, forked_in_a_report)
{
    struct child_end end = child_run(child_fork, NULL);
    cr_expect_eq(end.exit_code, END_GOOD, "exit code %d", end.exit_code);
    cr_expect(strstr(end.output, "thread: forked\n") != NULL, "%s", end.output);
    cr_expect_eq(strstr(end.output, "waited"), NULL);
}

static sigjmp_buf way_out;

static void jump_out(int signal_number)
{
    siglongjmp(way_out, signal_number);
}

static int child_jump(const void *unused)
{
    static int faults;
    (void)unused;
    trk_crash_reports_set(TRK_CRASH_REPORT_NONE, STDERR_FILENO);
    trk_crash_trigger_set(trigger, &faults);
    if (!set_up(jump_out))
        return END_SET_UP_FAILED;
    for (volatile int i = 0; i < 3; i++) {
        if (sigsetjmp(way_out, 1) == 0)
            plain_load();
    }
    return END_GOOD;
}

/* A former handler that jumps out of a fault inside the report takes the next report away not. */
Test(crash_company, jump_out_of_a_report)
{
    struct child_end end = child_run(child_jump, NULL);
    cr_expect_eq(end.exit_code, END_GOOD);
    cr_expect_str_eq(end.output, "trigger ran\ntrigger ran\ntrigger ran\n");
}

static volatile bool has_place;

static enum trk_fault_outcome jump_owner(void *context, uint64_t host_addr, enum trk_access access)
{
    const uint64_t in_another_view = host_addr + 5 * TRK_HOST_PAGE_BYTES;
    has_place = env_interrupted(host_addr) != NULL && env_interrupted(in_another_view) != NULL;
    (void)owner(context, host_addr, access);
    siglongjmp(way_out, 1);
}

static __attribute__((noinline)) bool has_place_at(uint64_t guest_addr)
{
    return env_interrupted(guest_addr) != NULL;
}

/* Whether an access of no handler, far down on the stack, passes for the one that was left. */
static __attribute__((noinline)) bool has_place_below(void)
{
    volatile unsigned char deep[1 << 15];
    deep[0] = 0;
    return has_place_at((uint64_t)(uintptr_t)closed) || deep[0] != 0;
}

/* The thread has an alternate stack, or the handler is on the thread's own. */
static int child_jump_owner(const void *argument)
{
    const bool *alternate = argument;
    if (!set_up(SIG_DFL) || trk_fault_uninstall(NULL) != TRK_OK ||
        trk_fault_install(jump_owner, NULL, NULL) != TRK_OK)
        return END_SET_UP_FAILED;
    if (!*alternate)
        trk_fault_thread_leave();
    if (sigsetjmp(way_out, 1) == 0)
        plain_load();
    const uint64_t there = (uint64_t)(uintptr_t)closed + 1;
    bool stays = env_interrupted(there) != NULL || has_place_below();
    trk_fault_thread_leave();
    return has_place && !stays && env_interrupted(there) == NULL ? END_GOOD : END_SURVIVED;
}

#define HOLE_BYTES ((size_t)1 << 20)

/* The alternate stack comes into the hole, above the thread's own stack. */
static void *jump_below(void *hole)
{
    static const bool alternate = true;
    static int result;
    (void)munmap(hole, HOLE_BYTES);
    result = child_jump_owner(&alternate);
    return &result;
}

static int child_jump_owner_below(const void *unused)
{
    (void)unused;
    pthread_t thread;
    void *result;
    void *hole = mmap(NULL, HOLE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (hole == MAP_FAILED || pthread_create(&thread, NULL, jump_below, hole) != 0 ||
        pthread_join(thread, &result) != 0)
        return END_SET_UP_FAILED;
    return *(int *)result;
}

/* An owner that jumps out takes the place of the access with it. */
Test(crash_company, jump_out_of_an_owner)
{
    for (int alternate = 0; alternate < 2; ++alternate) {
        const bool has = alternate != 0;
        struct child_end end = child_run(child_jump_owner, &has);
        cr_expect_eq(end.exit_code, END_GOOD, "%d: exit code %d", alternate, end.exit_code);
    }
    struct child_end end = child_run(child_jump_owner_below, NULL);
    cr_expect_eq(end.exit_code, END_GOOD, "below: exit code %d", end.exit_code);
}

/* ---- reports that nobody takes ---- */

static void stay(int signal_number)
{
    (void)signal_number;
    (void)mprotect(closed, TRK_HOST_PAGE_BYTES, PROT_READ);
}

/* Standard error is a pipe without a reader, or a file that may not grow. */
static int child_unheard(const void *argument)
{
    const int *file = argument;
    struct rlimit nothing = {0, 0};
    int fds[2];
    if (!set_up(stay) || pipe(fds) != 0 || setrlimit(RLIMIT_FSIZE, &nothing) != 0)
        return END_SET_UP_FAILED;
    close(fds[0]);
    if (dup2(*file ? memfd_create("report", 0) : fds[1], STDERR_FILENO) < 0)
        return END_SET_UP_FAILED;
    plain_load();
    return END_GOOD;
}

/* What a report's write raises is not the program's: the former handler lets it go on. */
Test(crash_company, reports_that_nobody_takes)
{
    for (int file = 0; file < 2; file++) {
        struct child_end end = child_run(child_unheard, &file);
        cr_expect_eq(end.exit_code, END_GOOD, "file %d: exit code %d, signal %d", file,
                     end.exit_code, end.signal_number);
    }
}

/* ---- a reader that comes late ---- */

static int full_pipe[2] = {-1, -1};
static char report[131072]; /* the filling stands before it, as zeros */
static size_t report_bytes;

static void take_from_pipe(void)
{
    ssize_t got;
    while ((got = read(full_pipe[0], report + report_bytes, sizeof report - 1 - report_bytes)) > 0)
        report_bytes += (size_t)got;
}

/* Waiting for room, in the place of libc's: that is when the reader comes. */
int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    if (full_pipe[1] >= 0)
        take_from_pipe();
    return (int)syscall(SYS_poll, fds, count, timeout);
}

static int child_late_reader(const void *unused)
{
    static const char filling[512] = "";
    (void)unused;
    if (!set_up(stay) || pipe2(full_pipe, O_NONBLOCK) != 0 || dup2(full_pipe[1], STDERR_FILENO) < 0)
        return END_SET_UP_FAILED;
    while (write(STDERR_FILENO, filling, sizeof filling) > 0) {
    }
    plain_load();
    take_from_pipe();
    static const char last[] = "\nUnhandled host exception: ";
    return memmem(report, report_bytes, last, sizeof last - 1) != NULL ? END_GOOD : END_SURVIVED;
}

/* A pipe that is full and would not wait gets the whole report when it is emptied. */
Test(crash_company, a_reader_that_comes_late)
{
    struct child_end end = child_run(child_late_reader, NULL);
    cr_expect_eq(end.exit_code, END_GOOD, "exit code %d", end.exit_code);
}

#endif
