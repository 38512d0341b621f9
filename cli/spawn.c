#define _GNU_SOURCE /* pipe2 */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

int trk_spawn_run(const struct trk_spawn *spawn)
{
    int ends[2], reason = 0, status = -1;
    pid_t parent = getpid(), pid = -1;
    trk_terminal_flush();
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
