#define _GNU_SOURCE /* pipe2 */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "orphans.h"
#include "terminal.h"

/* In the child: become the command, or tell through the pipe why not. */
static _Noreturn void become(const struct trk_spawn *spawn, pid_t parent, int told_fd)
{
    int null_fd = spawn->quiet ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(0);
    }
    if (!spawn->quiet || null_fd >= 0) {
        (void)dup2(spawn->quiet ? null_fd : STDERR_FILENO, STDOUT_FILENO);
        (void)dup2(spawn->quiet ? null_fd : STDERR_FILENO, STDERR_FILENO);
        execvp(spawn->argv[0], (char *const *)(uintptr_t)spawn->argv);
    }
    int reason = errno;
    (void)!write(told_fd, &reason, sizeof reason);
    _exit(127);
}

/* How long to wait between two looks at a process that has its time. */
#define LOOK_NS   10000000L
#define SECOND_NS UINT64_C(1000000000)

/* Wait as long as it may take; false: it took longer, and is ended. */
static bool wait_in_time(pid_t pid, unsigned seconds)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    const uint64_t end_ns = trk_clock_ns() + seconds * SECOND_NS;
    siginfo_t what = {.si_pid = 0};
    while (waitid(P_PID, (id_t)pid, &what, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           what.si_pid != pid) {
        if (trk_clock_ns() >= end_ns) {
            (void)kill(pid, SIGKILL);
            return false;
        }
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

/* Start it, and wait for it. */
static int run(const struct trk_spawn *spawn, bool *late)
{
    int ends[2], reason = 0, status = -1;
    pid_t parent = getpid(), pid = -1;
    if (pipe2(ends, O_CLOEXEC) == 0) {
        pid = fork();
        if (pid == 0) {
            become(spawn, parent, ends[1]);
        }
        reason = pid < 0 ? errno : 0;
        close(ends[1]);
        while (pid > 0 && read(ends[0], &reason, sizeof reason) < 0 && errno == EINTR) {
        }
        close(ends[0]);
    } else {
        reason = errno;
    }
    if (pid > 0 && reason == 0 && spawn->seconds != 0) {
        *late = !wait_in_time(pid, spawn->seconds);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            reason = errno;
            break;
        }
    }
    if (reason != 0) {
        trk_terminal_say(spawn->command, "%s: cannot be run: %s", spawn->argv[0], strerror(reason));
        return -1;
    }
    return status;
}

int trk_spawn_run(const struct trk_spawn *spawn)
{
    struct trk_orphans orphans;
    bool late = false;
    trk_terminal_flush();
    if (spawn->seconds == 0) {
        return run(spawn, &late);
    }
    trk_orphans_begin(&orphans);
    int status = run(spawn, &late);
    trk_orphans_end(&orphans);
    return late ? TRK_SPAWN_LATE : status;
}
