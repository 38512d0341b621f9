/* Bisecting: the search, and running what is asked. */
#include "bisect_probe.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "terminal.h"

extern char **environ;

/* ---- the search ------------------------------------------------------------------------------ */

/* Ask in the middle, and where that cannot be tested beside it, ever further off. */
static enum trk_bisect_answer ask_near(struct trk_bisect *bisect, uint64_t middle, uint64_t *at)
{
    uint64_t wide = bisect->bad - bisect->good;
    /* Off by 0, 1, 2, 4 and so on, then by what is left: places that cannot be tested lie together.
     */
    for (uint64_t i = 0; i < wide + 64; i++) {
        uint64_t off = i == 0 ? 0 : i < 64 ? UINT64_C(1) << (i - 1) : i - 63;
        bool tried = i >= 64 && (off & (off - 1)) == 0;
        if (tried || off >= wide) {
            continue;
        }
        for (unsigned side = 0; side < (off > 0 ? 2u : 1u); side++) {
            *at = side == 0 ? middle + off : middle - off;
            if (*at >= bisect->bad || *at <= bisect->good) {
                continue;
            }
            bisect->probes++;
            enum trk_bisect_answer answer = bisect->ask(bisect->context, *at);
            if (answer != TRK_BISECT_SKIP) {
                return answer;
            }
            bisect->skipped++;
        }
    }
    return TRK_BISECT_SKIP;
}

enum trk_bisect_answer trk_bisect_search(struct trk_bisect *bisect)
{
    while (bisect->bad - bisect->good > 1) {
        uint64_t at = 0;
        uint64_t middle = bisect->good + (bisect->bad - bisect->good) / 2;
        enum trk_bisect_answer answer = ask_near(bisect, middle, &at);
        if (answer == TRK_BISECT_GOOD) {
            bisect->good = at;
        } else if (answer == TRK_BISECT_BAD) {
            bisect->bad = at;
        } else {
            return answer;
        }
    }
    return TRK_BISECT_GOOD;
}

/* ---- files and commands ---------------------------------------------------------------------- */

int trk_bisect_folder_open(struct trk_bisect_folder *folder)
{
    const char *above = getenv("TMPDIR");
    int length = snprintf(folder->path, sizeof folder->path, "%s/trk-bisect-XXXXXX",
                          above != NULL && above[0] != '\0' ? above : "/tmp");
    if (length < 0 || (size_t)length >= sizeof folder->path || mkdtemp(folder->path) == NULL) {
        trk_terminal_say("bisect", "no temporary folder: %s", strerror(errno));
        folder->path[0] = '\0';
        return TRK_EXIT_ENVIRONMENT;
    }
    return TRK_EXIT_OK;
}

void trk_bisect_folder_file(const struct trk_bisect_folder *folder, const char *name,
                            char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%s/%s", folder->path, name);
}

void trk_bisect_folder_close(struct trk_bisect_folder *folder, const char *const *names)
{
    char path[PATH_MAX];
    if (folder->path[0] == '\0') {
        return;
    }
    for (; *names != NULL; names++) {
        trk_bisect_folder_file(folder, *names, path);
        unlink(path);
    }
    rmdir(folder->path);
    folder->path[0] = '\0';
}

int trk_bisect_spawn(const char *const *argv)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = -1;
    trk_terminal_flush();
    int os_errno = posix_spawn_file_actions_init(&actions);
    if (os_errno == 0) {
        os_errno = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
        if (os_errno == 0) {
            os_errno = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv,
                                    environ);
        }
        posix_spawn_file_actions_destroy(&actions);
    }
    while (os_errno == 0 && waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            os_errno = errno;
            status = -1;
        }
    }
    if (os_errno != 0) {
        trk_terminal_say("bisect", "%s: cannot be run: %s", argv[0], strerror(os_errno));
        return -1;
    }
    return status;
}

enum trk_bisect_answer trk_bisect_answer_of(int wait_status)
{
    if (wait_status == -1) {
        return TRK_BISECT_FAILED;
    }
    int code = trk_exit_of_program(wait_status);
    return code == 0                   ? TRK_BISECT_GOOD
           : code == TRK_BISECT_CANNOT ? TRK_BISECT_SKIP
                                       : TRK_BISECT_BAD;
}
