#include "minimise_right.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "terminal.h"

extern char **environ;

int trk_minimise_right_open(struct trk_minimise_right *right, const char *program)
{
    const char *folder = getenv("TMPDIR");
    *right = (struct trk_minimise_right){.program = program};
    if (access(program, X_OK) != 0) {
        trk_terminal_say("minimise", "--good: %s: %s", program, strerror(errno));
        return TRK_EXIT_USAGE;
    }
    int length = snprintf(right->path, sizeof right->path, "%s/trk-XXXXXX.json",
                          folder != NULL && folder[0] != '\0' ? folder : "/tmp");
    int fd = length < 0 || (size_t)length >= sizeof right->path ? -1 : mkstemps(right->path, 5);
    if (fd < 0) {
        trk_terminal_say("minimise", "--good: no temporary file: %s", strerror(errno));
        right->path[0] = '\0';
        return TRK_EXIT_ENVIRONMENT;
    }
    close(fd);
    return TRK_EXIT_OK;
}

static bool put(struct trk_minimise_right *right, const char *script)
{
    FILE *file = fopen(right->path, "w");
    if (file == NULL) {
        return false;
    }
    bool good = fputs(script, file) >= 0;
    return fclose(file) == 0 && good;
}

/* Run `PROGRAM sim FILE` with nothing said; its wait status, or -1. */
static int run(const struct trk_minimise_right *right)
{
    char program[PATH_MAX], path[PATH_MAX], word[] = "sim";
    char *const words[] = {program, word, path, NULL};
    posix_spawn_file_actions_t quiet;
    pid_t pid;
    int status = -1;
    snprintf(program, sizeof program, "%s", right->program);
    snprintf(path, sizeof path, "%s", right->path);
    if (posix_spawn_file_actions_init(&quiet) != 0) {
        return -1;
    }
    bool set =
        posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawn_file_actions_adddup2(&quiet, STDOUT_FILENO, STDERR_FILENO) == 0;
    if (set && posix_spawn(&pid, program, &quiet, NULL, words, environ) == 0) {
        while (waitpid(pid, &status, 0) < 0) {
            if (errno != EINTR) {
                status = -1;
                break;
            }
        }
    }
    posix_spawn_file_actions_destroy(&quiet);
    return status;
}

bool trk_minimise_right_ask(struct trk_minimise_right *right, const char *script)
{
    int status = put(right, script) ? run(right) : -1;
    right->failed |= status == -1;
    return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void trk_minimise_right_close(struct trk_minimise_right *right)
{
    if (right->path[0] != '\0') {
        unlink(right->path);
    }
    right->path[0] = '\0';
}
