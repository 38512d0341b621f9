/*
 * Goal: the recording follows the program that joined, wherever it runs, and ends when nobody can
 * write any more; signals for the command reach it; a second program is refused and counted.
 *
 * Method: launchers of every kind around the recorded program, and a daemon that has left its
 * parents; each trace must be whole, or say that it is not.
 */
#define _GNU_SOURCE /* pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "capture_file.h"
#include "recorder/record.h"
#include "recorder/trace.h"

static struct trk_record_result result;
static struct trk_error error;
static int told_waiting;

TestSuite(capture_follow, .init = capture_file_begin, .fini = capture_file_end);

static enum trk_status record(const char *const *argv, void (*waiting)(void))
{
    struct trk_record_options options = {
        .size = sizeof(options),
        .path = capture_path,
        .overwrite = true,
        .argv = (char *const *)(uintptr_t)argv,
        .waiting = waiting,
    };
    memset(&error, 0, sizeof(error));
    return trk_record_command(&options, &result, &error);
}

static enum trk_status record_shell(const char *script)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    return record(argv, NULL);
}

static uint64_t count_marks(bool *complete)
{
    struct trk_trace_state state;
    uint64_t marks = capture_file_marks(&state);
    *complete = state.complete;
    return marks;
}

Test(capture_follow, records_what_launchers_start)
{
    static const struct {
        const char *name, *script;
        int32_t code;
    } cases[] = {
        {"becomes it", "exec " CAPTURE_TARGET " marks 20000", 0},
        {"waits for it", CAPTURE_TARGET " marks 20000; exit 3", 3},
        {"leaves it behind", CAPTURE_TARGET " marks 20000 & exit 4", 4},
        {"dies before it joins", "(sleep 0.3; exec " CAPTURE_TARGET " marks 20000) & exit 5", 5},
        {"a launcher of launchers",
         "(sh -c 'sleep 0.1; " CAPTURE_TARGET " marks 20000 &') & exit 6", 6},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        bool complete = false;
        cr_assert_eq(record_shell(cases[i].script), TRK_OK, "%s: %s", cases[i].name, error.text);
        cr_assert_eq(result.child_status, cases[i].code << 8, "%s", cases[i].name);
        cr_assert(result.attached, "%s", cases[i].name);
        cr_assert(result.complete, "%s", cases[i].name);
        cr_assert_eq(count_marks(&complete), 80000, "%s", cases[i].name);
        cr_assert(complete, "%s", cases[i].name);
    }
}

static void start_to_wait(void)
{
    ++told_waiting;
}

Test(capture_follow, ends_when_nobody_is_left_who_could_join)
{
    static const char *const argv[] = {"sh", "-c", "sleep 1.2 & exit 0", NULL};
    cr_assert_eq(record(argv, start_to_wait), TRK_OK, "%s", error.text);
    cr_assert_not(result.attached);
    cr_assert_eq(told_waiting, 1);
}

static int daemon_ends[2];

/* A pipe whose end the daemon waits for: it lives as long as the test wants it to. */
static enum trk_status record_daemon(const char *mode, void (*waiting)(void))
{
    char number[16];
    cr_assert_eq(pipe2(daemon_ends, O_CLOEXEC), 0);
    (void)fcntl(daemon_ends[0], F_SETFD, 0);
    snprintf(number, sizeof(number), "%d", daemon_ends[0]);
    const char *argv[] = {CAPTURE_TARGET, mode, number, NULL};
    return record(argv, waiting);
}

static void let_daemon_end(void)
{
    close(daemon_ends[1]);
}

static void interrupt(void)
{
    (void)kill(getpid(), SIGTERM);
}

Test(capture_follow, waits_for_a_daemon)
{
    bool complete = false;
    cr_assert_eq(record_daemon("daemon", let_daemon_end), TRK_OK, "%s", error.text);
    cr_assert_eq(result.child_status, 4 << 8);
    cr_assert(result.complete);
    cr_assert_eq(count_marks(&complete), 1000);
    cr_assert(complete);
}

Test(capture_follow, waits_for_nobody_who_has_closed_the_session)
{
    cr_assert_eq(record_daemon("shut", start_to_wait), TRK_OK, "%s", error.text);
    let_daemon_end();
    cr_assert_not(result.attached);
    cr_assert_eq(told_waiting, 0);
}

Test(capture_follow, writes_no_end_when_told_to_stop_waiting)
{
    bool complete = true;
    signal(SIGTERM, SIG_DFL);
    cr_assert_eq(record_daemon("daemon", interrupt), TRK_E_INCOMPLETE);
    let_daemon_end();
    cr_assert_eq(result.child_status, 4 << 8);
    cr_assert_not(result.complete);
    cr_assert_eq(result.events, 1000);
    cr_assert_eq(count_marks(&complete), 1000);
    cr_assert_not(complete);
}

Test(capture_follow, hands_signals_on_to_the_command)
{
    static const struct {
        const char *name;
        int number;
    } cases[] = {{"INT", SIGINT}, {"TERM", SIGTERM}, {"HUP", SIGHUP}, {"QUIT", SIGQUIT}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        char script[128];
        snprintf(script, sizeof(script),
                 "trap 'exit 9' %s; kill -%s $PPID; "
                 "for n in 1 2 3 4 5 6 7 8; do sleep 0.5; done; exit 1",
                 cases[i].name, cases[i].name);
        signal(cases[i].number, SIG_DFL);
        cr_assert_eq(record_shell(script), TRK_OK, "%s: %s", cases[i].name, error.text);
        cr_assert_eq(result.child_status, 9 << 8, "%s does not arrive", cases[i].name);
        cr_assert(result.complete);
    }
}

Test(capture_follow, refuses_further_programs_and_counts_them)
{
    bool complete = false;
    cr_assert_eq(record_shell(CAPTURE_TARGET " marks 100; " CAPTURE_TARGET
                                             " marks 100; " CAPTURE_TARGET " marks 100; exit $?"),
                 TRK_OK, "%s", error.text);
    cr_assert_eq(result.child_status, 2 << 8, "the last one is not told");
    cr_assert_eq(result.refused_joins, 2);
    cr_assert(result.complete);
    cr_assert_eq(count_marks(&complete), 400);
}

Test(capture_follow, refuses_a_file_that_another_recording_writes)
{
    static const char *const argv[] = {"true", NULL};
    int fd = open(capture_path, O_RDWR | O_CREAT, 0600);
    cr_assert_eq(flock(fd, LOCK_EX), 0);
    cr_assert_eq(record(argv, NULL), TRK_E_ARGUMENT);
    cr_assert_eq(result.child_status, -1, "the command was started");
    cr_assert_eq(access(capture_path, F_OK), 0, "the other's file was taken away");
    close(fd);
    cr_assert_eq(record(argv, NULL), TRK_OK, "%s", error.text);
}

/* The limit would kill this process by SIGXFSZ; the command must have that signal's default. */
Test(capture_follow, survives_a_limit_on_file_sizes)
{
    static const char *const argv[] = {"sh", "-c", "kill -XFSZ $$", NULL};
    struct rlimit limit = {.rlim_cur = 1024, .rlim_max = RLIM_INFINITY};
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = 1024;
    signal(SIGXFSZ, SIG_DFL);
    cr_assert_eq(record(argv, NULL), TRK_OK, "%s", error.text);
    cr_assert_eq(result.child_status & 0x7f, SIGXFSZ);
    unlink(capture_path);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(record(argv, NULL), TRK_E_SYSTEM);
    cr_assert_eq(error.os_errno, EFBIG, "%s", error.text);
    cr_assert_neq(access(capture_path, F_OK), 0);
}
