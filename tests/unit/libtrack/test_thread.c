/*
 * Goal: each thread has its own state with a number that is never 0, a host thread can act as
 * another, and the default of a failure prints its line and aborts.
 * Method: threads compared with each other; swaps; a child process that fails.
 *
 * Rules: [M-62].
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.h"
#include "failure_default.h"
#include "track/thread.h"

struct seen {
    struct trk_thread *state;
    uint32_t id;
    long kernel_id;
};

static void *look(void *out)
{
    struct seen *seen = out;
    seen->state = trk_thread_current();
    seen->id = seen->state->id;
    seen->kernel_id = syscall(SYS_gettid);
    return NULL;
}

Test(thread, own_state_and_number)
{
    struct seen here, there;
    pthread_t thread;
    look(&here);
    cr_assert_eq(pthread_create(&thread, NULL, look, &there), 0);
    pthread_join(thread, NULL);
    cr_expect_neq(here.id, 0);
    cr_expect_eq(here.id, (uint32_t)here.kernel_id);
    cr_expect_eq(there.id, (uint32_t)there.kernel_id);
    cr_expect_neq(here.state, there.state);
    cr_expect_eq(trk_thread_current(), here.state, "the state stays the same");
    cr_expect_null(here.state->uploads);
}

Test(thread, swap)
{
    struct trk_thread one = {.id = 1001}, two = {.id = 1002};
    struct trk_thread *own = trk_thread_current();
    cr_expect_eq(trk_thread_swap(&one), own);
    cr_expect_eq(trk_thread_current(), &one);
    cr_expect_eq(trk_thread_swap(&two), &one);
    cr_expect_eq(trk_thread_current()->id, 1002);
    cr_expect_eq(trk_thread_swap(NULL), &two);
    cr_expect_eq(trk_thread_current(), own);
    cr_expect_eq(trk_thread_swap(&one), own);
    cr_expect_eq(trk_thread_swap(own), &one, "giving the own state back is as good as NULL");
    cr_expect_eq(trk_thread_current(), own);
}

Test(thread, swap_is_each_thread_s_own)
{
    struct trk_thread one = {.id = 1001};
    struct seen there;
    pthread_t thread;
    (void)trk_thread_swap(&one);
    cr_assert_eq(pthread_create(&thread, NULL, look, &there), 0);
    pthread_join(thread, NULL);
    cr_expect_eq(there.id, (uint32_t)there.kernel_id);
    (void)trk_thread_swap(NULL);
}

static int fail_by_default(const void *argument)
{
    trk_failure_default_prepare();
    trk_failure_default(argument);
    return 0;
}

Test(failure, default_prints_the_line_and_aborts)
{
    struct trk_failure failure = {
        .failure_class = TRK_E_CONFLICT,
        .op = TRK_OP_MARK_GPU,
        .guest_addr = 0x200010000,
        .size_bytes = 0x3000,
        .thread_id = 4711,
        .text = "a page is newer on the CPU",
    };
    struct child_end end = child_run(fail_by_default, &failure);
    cr_expect_eq(end.signal_number, SIGABRT, "ended by signal %d", end.signal_number);
    const char *line = "trk: fatal: conflict: a page is newer on the CPU "
                       "(mark_gpu 0x200010000 +0x3000, thread 4711)\n";
    cr_expect_eq(strncmp(end.output, line, strlen(line)), 0, "it said: %s", end.output);
    cr_expect(strlen(end.output) > strlen(line), "a stack follows the line");
}

Test(failure, default_survives_a_text_without_end)
{
    struct trk_failure failure = {.failure_class = TRK_E_WATCH, .op = TRK_OP_COUNT};
    memset(failure.text, 'y', sizeof failure.text);
    struct child_end end = child_run(fail_by_default, &failure);
    cr_expect_eq(end.signal_number, SIGABRT);
    cr_expect_not_null(strstr(end.output, "yyyy (? 0x0 +0x0, thread 0)\n"), "it said: %s",
                       end.output);
}
