/*
 * Starting and awaiting the recorded command.
 *
 * Whether exec worked comes back through a pipe that exec closes: an error number, or the end of
 * the pipe. The child sees the signal actions and the mask that this process had.
 */
#define _GNU_SOURCE /* execvpe, pipe2 */
#include "record_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session_layout.h"

#define EXIT_NOT_STARTED 127

struct start {
    const struct trk_record_child_start *given;
    char **environment;
    int report_fd;
    sigset_t mask;
};

/* This process's environment with the session in it; freed by free() of the array and entry 0. */
static char **make_environment(int session_fd)
{
    size_t count = 0;
    while (environ[count])
        ++count;
    char **copy = calloc(count + 2, sizeof(*copy));
    char *entry = NULL;
    if (!copy || asprintf(&entry, "%s=%d", TRK_SESSION_VARIABLE, session_fd) < 0) {
        free(copy);
        return NULL;
    }
    size_t used = 0;
    copy[used++] = entry;
    size_t name_length = strlen(TRK_SESSION_VARIABLE);
    for (size_t i = 0; i < count; ++i) {
        if (strncmp(environ[i], TRK_SESSION_VARIABLE, name_length) != 0 ||
            environ[i][name_length] != '=')
            copy[used++] = environ[i];
    }
    return copy;
}

/* In the child: only calls that are safe after fork. */
static _Noreturn void run_command(const struct start *start)
{
    const struct trk_record_child_start *given = start->given;
    if (given->command)
        atomic_store_explicit(given->command, (int32_t)getpid(), memory_order_release);
    trk_record_signals_deinit(given->signals);
    (void)sigprocmask(SIG_SETMASK, &start->mask, NULL);
    if ((!given->output_to_stderr || dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) &&
        fcntl(given->session_fd, F_SETFD, 0) == 0)
        execvpe(given->argv[0], given->argv, start->environment);
    int reason = errno;
    if (given->command)
        atomic_store_explicit(given->command, 0, memory_order_release);
    ssize_t written = write(start->report_fd, &reason, sizeof(reason));
    (void)written; /* the exit status says it too */
    _exit(EXIT_NOT_STARTED);
}

/* 0 when the program was executed, else the error number that the child reports. */
static int read_report(int fd)
{
    int reason = 0;
    ssize_t got;
    do
        got = read(fd, &reason, sizeof(reason));
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno;
    return got == (ssize_t)sizeof(reason) ? reason : 0;
}

static int spawn(struct trk_record_child *child, struct start *start)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return errno;
    sigset_t all;
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &start->mask);
    start->report_fd = report[1];
    child->pid = fork();
    int reason = errno;
    if (child->pid == 0)
        run_command(start);
    (void)sigprocmask(SIG_SETMASK, &start->mask, NULL);
    close(report[1]);
    if (child->pid > 0)
        reason = read_report(report[0]);
    close(report[0]);
    if (child->pid > 0 && reason != 0)
        (void)waitpid(child->pid, NULL, 0);
    return reason;
}

enum trk_status trk_record_child_init(struct trk_record_child *out,
                                      const struct trk_record_child_start *given,
                                      struct trk_error *error)
{
    struct trk_record_child child = {.pid = -1, .pidfd = -1, .wait_status = -1};
    struct start start = {.given = given, .environment = make_environment(given->session_fd)};
    if (!start.environment)
        return trk_error_set(error, TRK_E_MEMORY, "out of memory for the environment");
    int reason = spawn(&child, &start);
    free(start.environment[0]);
    free(start.environment);
    if (reason != 0)
        return trk_error_set_errno(error, TRK_E_SYSTEM, reason, "%s", given->argv[0]);
    child.pidfd = (int)syscall(SYS_pidfd_open, child.pid, 0);
    *out = child;
    return TRK_OK;
}

/* Take the status of an ended child; false when it still runs. */
static bool take_status(struct trk_record_child *child)
{
    int status = -1;
    pid_t got = waitpid(child->pid, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR))
        return false;
    child->ended = true;
    child->wait_status = got == child->pid ? status : -1;
    return true;
}

bool trk_record_child_wait(struct trk_record_child *child, int timeout_ms)
{
    if (child->ended || take_status(child))
        return true;
    struct pollfd end = {.fd = child->pidfd, .events = POLLIN};
    (void)poll(&end, child->pidfd >= 0 ? 1 : 0, timeout_ms);
    return take_status(child);
}

void trk_record_child_forward(struct trk_record_child *child)
{
    if (child->ended)
        return;
    for (int number = trk_record_signals_next(); number; number = trk_record_signals_next())
        (void)kill(child->pid, number); /* not waited for yet: the id is the child's */
}

void trk_record_child_deinit(struct trk_record_child *child)
{
    if (child->pidfd >= 0)
        close(child->pidfd);
}
