/* Waiting for the process of a plug-in. */
#define _GNU_SOURCE
#include "contained_wait.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>

#include "clock.h"

/* Whether it has ended; it is not reaped, so its number stays its own. */
static bool ended(pid_t pid)
{
    siginfo_t what = {.si_pid = 0};
    int result = waitid(P_PID, (id_t)pid, &what, WEXITED | WNOHANG | WNOWAIT);
    return (result == 0 && what.si_pid == pid) || (result < 0 && errno != EINTR);
}

#define SECOND_NS UINT64_C(1000000000)

/* How long a process's first thread, which does the work, was ready to run and had no processor. */
static uint64_t waited_ns(pid_t pid)
{
    char path[64];
    uint64_t waited = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0; /* the kernel does not say */
    }
    if (fscanf(file, "%*s %" SCNu64, &waited) != 1) {
        waited = 0;
    }
    fclose(file);
    return waited;
}

/* Whether a process has had its time by now, where nothing that a busy machine took away counts. */
static bool is_late(pid_t pid, uint64_t begun_ns, uint64_t limit_ns)
{
    uint64_t now_ns = trk_clock_ns(), end_ns = begun_ns + limit_ns;
    return now_ns >= end_ns && now_ns >= end_ns + waited_ns(pid);
}

#define HEED_NS (UINT64_C(10) * SECOND_NS) /* an interrupt */

enum trk_wait trk_wait_for(const struct trk_wait_for *watch, int *end)
{
    struct pollfd poll_fd = {.fd = watch->pipe_fd, .events = POLLIN};
    const pid_t pid = watch->pid;
    volatile sig_atomic_t *stop = watch->contained->stop;
    const uint64_t limit_ns = watch->contained->seconds * SECOND_NS, begun_ns = trk_clock_ns();
    uint64_t then = 0; /* what it had done when its time was over; 0: it is not, or nothing */
    uint64_t deaf_ns = UINT64_MAX; /* when it should have heeded an interrupt */
    bool in_time = false, stuck = false, slow = false, deaf = false;
    /* In steps, since a child of its own may keep the pipe open. */
    while (!(in_time = ended(pid)) && !stuck && !slow && !deaf) {
        uint64_t now = __atomic_load_n(watch->progress, __ATOMIC_RELAXED);
        slow = then != 0 && now != then && stop == NULL;
        if (is_late(pid, begun_ns, then != 0 ? 2 * limit_ns : limit_ns)) {
            slow |= then != 0 && now != then;
            stuck = (then != 0 && !slow) || now == 0;
            then = now;
            if (stop != NULL && *stop == 0) {
                *stop = TRK_CONTAINED_LATE;
            }
        }
        if (stop != NULL && *stop == TRK_CONTAINED_INTERRUPTED) {
            deaf_ns = deaf_ns == UINT64_MAX ? trk_clock_ns() + HEED_NS : deaf_ns;
            deaf = trk_clock_ns() >= deaf_ns;
        }
        if (poll(&poll_fd, 1, poll_fd.fd < 0 ? 1 : 100) > 0) {
            poll_fd.fd = -1; /* poll() just waits */
        }
    }
    (void)kill(-pid, SIGKILL);
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, end, 0) < 0 && errno == EINTR) {
    }
    return in_time ? TRK_WAIT_IN_TIME
           : slow  ? TRK_WAIT_SLOW
           : deaf  ? TRK_WAIT_DEAF
                   : TRK_WAIT_STUCK;
}
