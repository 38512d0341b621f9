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

/* Between two looks at a process that may be ended: an eighth of the time that it has had, so that
 * short ones are not held up, and at most this. */
#define LOOK_NS       UINT64_C(10000000)
#define FIRST_LOOK_NS UINT64_C(50000)

static bool may_be_ended(const struct trk_spawn *spawn)
{
    return spawn->until_ns != 0 || spawn->stop != NULL;
}

static bool must_end(const struct trk_spawn *spawn, uint64_t now_ns)
{
    return (spawn->until_ns != 0 && now_ns >= spawn->until_ns) ||
           (spawn->stop != NULL && *spawn->stop != 0);
}

/* Wait as long as it may take; false: it was to end before, and is ended. */
static bool wait_in_time(pid_t pid, const struct trk_spawn *spawn)
{
    const uint64_t begun_ns = trk_clock_ns();
    siginfo_t what = {.si_pid = 0};
    while (waitid(P_PID, (id_t)pid, &what, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           what.si_pid != pid) {
        const uint64_t now_ns = trk_clock_ns();
        if (must_end(spawn, now_ns)) {
            (void)kill(pid, SIGKILL);
            return false;
        }
        const uint64_t share_ns = FIRST_LOOK_NS + (now_ns - begun_ns) / 8;
        const struct timespec pause = {.tv_nsec = (long)(share_ns < LOOK_NS ? share_ns : LOOK_NS)};
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

/* Start it, and wait for it. */
static int run(const struct trk_spawn *spawn, bool *ended)
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
    if (pid > 0 && reason == 0 && may_be_ended(spawn)) {
        *ended = !wait_in_time(pid, spawn);
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
    bool ended = false;
    trk_terminal_flush();
    if (!may_be_ended(spawn)) {
        return run(spawn, &ended);
    }
    if (must_end(spawn, trk_clock_ns())) {
        return TRK_SPAWN_ENDED;
    }
    trk_orphans_begin(&orphans);
    int status = run(spawn, &ended);
    trk_orphans_end(&orphans);
    return ended ? TRK_SPAWN_ENDED : status;
}
