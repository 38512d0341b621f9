#define _GNU_SOURCE /* renameat2, nftw, pipe2, mkostemp */
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "terminal.h"

#define FOLDERS_OPEN 16 /* at once, on the way down */

/* A command that the ended one had started may be writing yet: so often the keeper looks again. */
#define TRIES_MOST    100
#define TRIES_WAIT_NS 20000000L

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    (void)!remove(path);
    return 0;
}

/* Whether nothing of it is left. */
static bool remove_all(const char *path)
{
    struct stat about;
    (void)nftw(path, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    return lstat(path, &about) != 0 && errno == ENOENT;
}

/* ---- the keeper ------------------------------------------------------------------------------ */

/* All signals are blocked; nobody but the kernel ends it. */
static _Noreturn void keep(const char *path, int fd)
{
    const struct timespec pause = {.tv_nsec = TRIES_WAIT_NS};
    char word;
    ssize_t got;
    (void)setsid();
    /* Who reads what the command prints must not wait for us. */
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
        (void)dup2(null_fd, i);
    }
    while ((got = read(fd, &word, 1)) < 0 && errno == EINTR) {
    }
    for (int i = 0; got == 0 && i < TRIES_MOST && !remove_all(path); i++) {
        (void)nanosleep(&pause, NULL);
    }
    _exit(0);
}

/* The folder is there. Signals are blocked. 0, or an errno value. */
static int start_keeper(struct trk_scratch *scratch)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return errno;
    }
    scratch->keeper = fork();
    if (scratch->keeper == 0) {
        close(ends[1]);
        keep(scratch->path, ends[0]);
    }
    int reason = errno;
    close(ends[0]);
    scratch->hold_fd = ends[1];
    if (scratch->keeper < 0) {
        close(ends[1]);
        return reason;
    }
    return 0;
}

static void let_keeper_go(struct trk_scratch *scratch)
{
    while (write(scratch->hold_fd, "", 1) < 0 && errno == EINTR) {
    }
    close(scratch->hold_fd);
    while (waitpid(scratch->keeper, NULL, 0) < 0 && errno == EINTR) {
    }
    scratch->path[0] = '\0';
}

/* ---- the folder ------------------------------------------------------------------------------ */

/* 0, or an errno value. */
static int name_it(struct trk_scratch *scratch, const char *command, const char *beside)
{
    const char *above = getenv("TMPDIR");
    int length;
    if (beside == NULL) {
        length = snprintf(scratch->path, sizeof scratch->path, "%s/trk-%s-XXXXXX",
                          above != NULL && above[0] != '\0' ? above : "/tmp", command);
    } else {
        int folder = (int)strlen(beside);
        while (folder > 1 && beside[folder - 1] == '/') {
            folder--;
        }
        while (folder > 0 && beside[folder - 1] != '/') {
            folder--;
        }
        length = snprintf(scratch->path, sizeof scratch->path, "%.*s.trk-XXXXXX", folder, beside);
    }
    return length < 0 || (size_t)length >= sizeof scratch->path ? ENAMETOOLONG
           : mkdtemp(scratch->path) == NULL                     ? errno
                                                                : 0;
}

int trk_scratch_open(struct trk_scratch *scratch, const char *command, const char *beside)
{
    sigset_t all, former;
    *scratch = (struct trk_scratch){.hold_fd = -1};
    /* A signal finds no folder, or one with a keeper. */
    sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &former);
    int reason = name_it(scratch, command, beside);
    if (reason == 0) {
        reason = start_keeper(scratch);
        if (reason != 0) {
            (void)rmdir(scratch->path);
        }
    }
    (void)sigprocmask(SIG_SETMASK, &former, NULL);
    if (reason == 0) {
        return TRK_EXIT_OK;
    }
    scratch->path[0] = '\0';
    if (beside == NULL) {
        trk_terminal_say(command, "no temporary folder: %s", strerror(reason));
        return TRK_EXIT_ENVIRONMENT;
    }
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    (void)trk_error_set_errno(&error, TRK_E_SYSTEM, reason, "no folder can be made there");
    return trk_terminal_error(command, beside, &error);
}

int trk_scratch_file_open(struct trk_scratch *scratch, const char *folder)
{
    sigset_t all, former;
    int fd = -1, reason = ENAMETOOLONG;
    *scratch = (struct trk_scratch){.hold_fd = -1};
    int length = snprintf(scratch->path, sizeof scratch->path, "%s.trk-XXXXXX", folder);
    sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &former);
    if (length > 0 && (size_t)length < sizeof scratch->path) {
        fd = mkostemp(scratch->path, O_CLOEXEC);
        reason = fd < 0 ? errno : start_keeper(scratch);
        if (fd >= 0 && reason != 0) {
            (void)unlink(scratch->path);
            close(fd);
        }
    }
    (void)sigprocmask(SIG_SETMASK, &former, NULL);
    if (reason != 0) {
        scratch->path[0] = '\0';
        errno = reason;
        return -1;
    }
    return fd;
}

void trk_scratch_file(const struct trk_scratch *scratch, const char *name, char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%s/%s", scratch->path, name);
}

int trk_scratch_keep(struct trk_scratch *scratch, const char *path)
{
    mode_t mask = umask(0);
    umask(mask);
    if (chmod(scratch->path, 0777 & ~mask) != 0) {
        return errno;
    }
    int bad = renameat2(AT_FDCWD, scratch->path, AT_FDCWD, path, RENAME_NOREPLACE);
    if (bad != 0 && errno == EINVAL) { /* not every file system knows the flag */
        bad = rename(scratch->path, path);
    }
    if (bad != 0) {
        return errno;
    }
    let_keeper_go(scratch);
    return 0;
}

void trk_scratch_close(struct trk_scratch *scratch)
{
    if (scratch->path[0] != '\0') {
        (void)remove_all(scratch->path);
        let_keeper_go(scratch);
    }
}
