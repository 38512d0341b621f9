/*
 * Following the session's holders.
 *
 * The process that joined gives its id, which names it here only within the same pid namespace. For
 * the rest there is the lock: every process that holds the session's descriptor or a mapping of it
 * shares one open file with a lock on it, which goes when the last of them lets go.
 */
#define _GNU_SOURCE
#include "record_program.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void trk_record_program_init(struct trk_record_program *out,
                             const struct trk_record_session *session)
{
    *out = (struct trk_record_program){.session = session, .pidfd = -1};
}

void trk_record_program_deinit(struct trk_record_program *program)
{
    if (program->pidfd >= 0)
        close(program->pidfd);
    program->pidfd = -1;
}

/* Whether the process that joined has the same id here. */
static bool same_namespace(const struct trk_session_control *control)
{
    struct stat ours;
    return stat(TRK_SESSION_PID_NAMESPACE, &ours) == 0 &&
           (uint64_t)ours.st_ino ==
               atomic_load_explicit(&control->pid_namespace, memory_order_relaxed);
}

pid_t trk_record_program_pid(const struct trk_record_session *session)
{
    uint32_t pid = atomic_load_explicit(&session->control->pid, memory_order_acquire);
    return pid != 0 && same_namespace(session->control) ? (pid_t)pid : 0;
}

void trk_record_program_look(struct trk_record_program *program)
{
    const struct trk_session_control *control = program->session->control;
    uint32_t pid = atomic_load_explicit(&control->pid, memory_order_acquire);
    if (program->state != TRK_PROGRAM_UNKNOWN || pid == 0)
        return;
    program->state = TRK_PROGRAM_UNREACHABLE;
    if (!same_namespace(control))
        return;
    program->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (program->pidfd >= 0)
        program->state = TRK_PROGRAM_FOLLOWED;
    else if (errno == ESRCH)
        program->state = TRK_PROGRAM_GONE;
}

bool trk_record_program_ended(struct trk_record_program *program)
{
    bool held = trk_record_session_held(program->session);
    /* Second: whoever let go just now had joined before. */
    trk_record_program_look(program);
    if (program->state == TRK_PROGRAM_FOLLOWED) {
        struct pollfd end = {.fd = program->pidfd, .events = POLLIN};
        if (poll(&end, 1, 0) == 1)
            program->state = TRK_PROGRAM_GONE;
    }
    return program->state == TRK_PROGRAM_GONE || (program->state != TRK_PROGRAM_FOLLOWED && !held);
}
