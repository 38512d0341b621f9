/*
 * A child process whose end and standard error are looked at.
 */
#define _GNU_SOURCE
#include "child.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void read_output(int fd, struct child_end *end)
{
    size_t used = 0;
    char scrap[256];
    for (;;) {
        size_t room = sizeof end->output - 1 - used;
        ssize_t got =
            read(fd, room > 0 ? end->output + used : scrap, room > 0 ? room : sizeof scrap);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        if (room > 0)
            used += (size_t)got;
    }
    end->output[used] = '\0';
}

struct child_end child_run(int (*body)(const void *argument), const void *argument)
{
    struct child_end end = {.exit_code = -1};
    int pipe_fds[2];
    if (pipe(pipe_fds) != 0)
        abort();
    pid_t pid = fork();
    if (pid < 0)
        abort();
    if (pid == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(pipe_fds[1], STDERR_FILENO);
        close(pipe_fds[0]);
        close(pipe_fds[1]);
        _exit(body(argument));
    }
    close(pipe_fds[1]);
    read_output(pipe_fds[0], &end);
    close(pipe_fds[0]);

    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status))
        end.signal_number = WTERMSIG(status);
    else
        end.exit_code = WEXITSTATUS(status);
    return end;
}
