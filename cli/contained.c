#define _GNU_SOURCE
#include "contained.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "carried.h"
#include "command.h"
#include "contained_wait.h"
#include "orphans.h"
#include "progress.h"
#include "terminal.h"

/* What both processes see; the work's own memory lies behind it. */
struct board {
    bool loaded, done;
    uint64_t progress;      /* what has come to its end */
    enum trk_status status; /* of loading */
    struct trk_error error;
    struct trk_carried *carried; /* what it prints */
    _Alignas(max_align_t) unsigned char out[];
};

struct trk_contained trk_contained_asked(const struct trk_options *options)
{
    return (struct trk_contained){.core = trk_options_text(options, "core"),
                                  .seconds = (unsigned)trk_options_number(options, "core-limit")};
}

/* ---- the child ------------------------------------------------------------------------------- */

/* A loop that takes memory ends at this, beyond what the process has. */
#define MEMORY_BYTES (UINT64_C(16) << 30)

/* Bytes of private memory that the process may write; 0: not known. */
static uint64_t memory_bytes(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL) {
        return 0;
    }
    if (fscanf(file, "%*s %*s %*s %*s %*s %llu", &pages) != 1) {
        pages = 0;
    }
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void limit_it(void)
{
    struct rlimit none = {0, 0};
    uint64_t most = memory_bytes() + MEMORY_BYTES;
    struct rlimit memory = {most, most};
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)setrlimit(RLIMIT_DATA, &memory);
}

static struct board *its_board; /* this is the child */

/* Handlers of the plug-in's would go on with the thread that has them. */
static void forget_handlers(void)
{
    for (int number = 1; number < NSIG; number++) {
        struct sigaction now;
        if (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_IGN &&
            now.sa_handler != SIG_DFL) {
            (void)signal(number, SIG_DFL);
        }
    }
}

static bool has_threads(void)
{
    unsigned threads = 0;
    DIR *stream = opendir("/proc/self/task");
    const struct dirent *entry;
    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        threads += entry->d_name[0] != '.';
    }
    if (stream != NULL) {
        closedir(stream);
    }
    return threads > 1;
}

/* There is no process for the report. */
static _Noreturn void give_up(enum trk_status status, int reason, const char *text)
{
    its_board->status = reason != 0
                            ? trk_error_set_errno(&its_board->error, status, reason, "%s", text)
                            : trk_error_set(&its_board->error, status, "%s", text);
    __atomic_store_n(&its_board->done, true, __ATOMIC_RELEASE);
    _exit(0);
}

void trk_contained_leave(void)
{
    trk_progress_wipe();
    if (its_board == NULL) {
        return;
    }
    fflush(stdout);
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before); /* a timer that is fast has no fork come to its end */
    pid_t pid = fork();                    /* only this thread goes on there, and no timer */
    if (pid < 0) {
        give_up(TRK_E_SYSTEM, errno, "no process to be had for the report");
    }
    if (pid > 0) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
        _exit(0); /* whether the work came to its end is on the board */
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    forget_handlers();
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (has_threads()) { /* pthread_atfork() has it called */
        give_up(TRK_E_INCOMPLETE, 0,
                "the core starts a thread in each process that is forked, beside the report");
    }
    trk_carried_begin(its_board->carried);
}

/* What may be written to is none of the plug-in's: reports, stores, other work's. It may write to
 * whatever it finds open. */
static void close_outputs(int but)
{
    DIR *stream = opendir("/proc/self/fd");
    const struct dirent *entry;
    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        int fd = entry->d_name[0] != '.' ? (int)strtol(entry->d_name, NULL, 10) : -1;
        int how = fd > STDERR_FILENO && fd != but ? fcntl(fd, F_GETFL) : -1;
        if (how >= 0 && (how & O_ACCMODE) != O_RDONLY) {
            close(fd);
        }
    }
    if (stream != NULL) {
        closedir(stream);
    }
    int null_fd = -1;
    if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0 &&
        ((null_fd = open("/dev/null", O_WRONLY)) < 0 || dup2(null_fd, STDOUT_FILENO) < 0)) {
        close(STDOUT_FILENO);
    }
}

/* Whether a descriptor is there, and of a file that is the named one. */
static bool is_file(int fd, const char *path)
{
    struct stat its, named;
    return fstat(fd, &its) == 0 && stat(path, &named) == 0 && its.st_dev == named.st_dev &&
           its.st_ino == named.st_ino;
}

/* What a plug-in closes while it is loaded, as daemons do, and opens in its place, is none of the
 * files that are open for the work: those are the parent's, too, and are taken from there. */
static void restore_files(pid_t parent)
{
    char path[64];
    struct stat info;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)parent);
    DIR *stream = opendir(path);
    const struct dirent *entry;
    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        int fd = entry->d_name[0] != '.' ? (int)strtol(entry->d_name, NULL, 10) : -1;
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)parent, fd);
        /* The link's own mode says what the descriptor is for. */
        if (fd <= STDERR_FILENO || lstat(path, &info) != 0 || (info.st_mode & S_IWUSR) != 0 ||
            stat(path, &info) != 0 || !S_ISREG(info.st_mode) || is_file(fd, path)) {
            continue;
        }
        int again = open(path, O_RDONLY | O_CLOEXEC);
        if (again >= 0 && again != fd) {
            (void)dup3(again, fd, O_CLOEXEC);
            close(again);
        }
    }
    if (stream != NULL) {
        closedir(stream);
    }
}

static _Noreturn void child(struct board *board, const struct trk_contained *contained,
                            trk_contained_fn *work, const void *context)
{
    pid_t parent = getppid();
    limit_it();
    trk_core_count_into(&board->progress);
    if (contained->core != NULL) {
        board->status = trk_core_load(contained->core, &board->error);
        restore_files(parent);
    }
    board->loaded = true;
    if (board->status == TRK_OK) {
        work(board->out, context);
    }
    fflush(stdout);
    trk_carried_end(board->carried);
    __atomic_store_n(&board->done, true, __ATOMIC_RELEASE);
    _exit(0); /* what the plug-in registered for exits is not run */
}

/* ---- the parent ------------------------------------------------------------------------------ */

static const char *core_name(const struct trk_contained *contained)
{
    return contained->core != NULL ? contained->core : "that is built in";
}

/* What became of a process whose work did not come to its end. */
static enum trk_status how_it_ended(const struct trk_contained *contained, bool loaded, int end,
                                    struct trk_error *error)
{
    const char *when = loaded ? "" : " while it was loaded";
    if (WIFSIGNALED(end)) {
        const char *name = sigabbrev_np(WTERMSIG(end));
        return trk_error_set(error, TRK_E_INCOMPLETE, "the core %.60s crashed%s: SIG%s",
                             core_name(contained), when, name != NULL ? name : "?");
    }
    return trk_error_set(error, TRK_E_INCOMPLETE,
                         "the core %.60s ended its process%s: exit code %d", core_name(contained),
                         when, WEXITSTATUS(end));
}

/* Of one that had to be ended. */
static enum trk_status not_in_time(const struct trk_contained *contained, bool loaded,
                                   enum trk_wait waited, struct trk_error *error)
{
    static const int reasons[] = {
        [TRK_WAIT_STUCK] = ETIMEDOUT, [TRK_WAIT_SLOW] = ETIME, [TRK_WAIT_DEAF] = EINTR};
    if (waited == TRK_WAIT_DEAF) {
        (void)trk_error_set(error, TRK_E_INCOMPLETE,
                            "the core %.60s did not heed an interrupt and was ended",
                            core_name(contained));
    } else {
        (void)trk_error_set(error, TRK_E_INCOMPLETE,
                            "the core %.60s took longer than %u s%s and was ended%s",
                            core_name(contained), contained->seconds, loaded ? "" : " to be loaded",
                            waited == TRK_WAIT_SLOW ? ", though it was going on" : "");
    }
    if (error != NULL) {
        error->os_errno = reasons[waited];
    }
    return TRK_E_INCOMPLETE;
}

static enum trk_status run(const struct trk_contained *contained, trk_contained_fn *work,
                           const void *context, struct board *board, struct trk_error *error)
{
    int ends[2], end = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return trk_error_set_errno(error, TRK_E_SYSTEM, errno, "no pipe to be had");
    }
    fflush(stdout);
    pid_t parent = getpid();
    struct trk_orphans orphans;
    trk_orphans_begin(&orphans);
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)setpgid(0, 0);
        (void)signal(SIGTTOU, SIG_IGN); /* its group is not the terminal's, but it may print */
        close(ends[0]);
        if (getppid() != parent) {
            _exit(0);
        }
        close_outputs(ends[1]);
        its_board = board;
        child(board, contained, work, context);
    }
    int reason = errno;
    close(ends[1]);
    if (pid > 0) {
        (void)setpgid(pid, pid); /* whoever comes first */
    }
    const struct trk_wait_for watch = {pid, ends[0], contained, &board->progress};
    enum trk_wait waited = pid > 0 ? trk_wait_for(&watch, &end) : TRK_WAIT_STUCK;
    trk_orphans_end(&orphans);
    close(ends[0]);
    if (pid < 0) {
        return trk_error_set_errno(error, TRK_E_SYSTEM, reason, "no process to be had");
    }
    if (waited != TRK_WAIT_IN_TIME) {
        return not_in_time(contained, board->loaded, waited, error);
    }
    if (!__atomic_load_n(&board->done, __ATOMIC_ACQUIRE)) {
        return how_it_ended(contained, board->loaded, end, error);
    }
    if (!trk_carried_print(board->carried)) {
        return trk_error_set(error, TRK_E_MEMORY, "the report is larger than %u MiB",
                             TRK_CARRIED_BYTES >> 20);
    }
    if (board->status != TRK_OK && error != NULL) {
        *error = board->error;
    }
    return board->status;
}

enum trk_status trk_contained_run(const struct trk_contained *contained, trk_contained_fn *work,
                                  const void *context, void *out, size_t size_bytes,
                                  struct trk_error *error)
{
    size_t all = sizeof(struct board) + size_bytes;
    struct board *board =
        mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct trk_carried *carried = board != MAP_FAILED ? trk_carried_create() : NULL;
    enum trk_status status = TRK_E_MEMORY;
    if (carried != NULL) {
        board->carried = carried;
        if (size_bytes > 0) {
            memcpy(board->out, out, size_bytes);
        }
        status = run(contained, work, context, board, error);
    } else {
        (void)trk_error_set(error, status, "no memory for what comes of a plug-in");
    }
    if (status == TRK_OK && size_bytes > 0) {
        memcpy(out, board->out, size_bytes);
    }
    trk_carried_destroy(carried);
    if (board != MAP_FAILED) {
        munmap(board, all);
    }
    return status;
}

bool trk_contained_slow(const struct trk_error *error)
{
    return error->status == TRK_E_INCOMPLETE && error->os_errno == ETIME;
}

bool trk_contained_stuck(const struct trk_error *error)
{
    return error->status == TRK_E_INCOMPLETE && error->os_errno == ETIMEDOUT;
}

bool trk_contained_ended(const struct trk_error *error)
{
    return trk_contained_slow(error) || trk_contained_stuck(error) ||
           (error->status == TRK_E_INCOMPLETE && error->os_errno == EINTR);
}

static void about(void *out, const void *context)
{
    (void)context;
    (void)trk_core_about(out);
    trk_core_try();
}

enum trk_status trk_contained_probe(const struct trk_contained *contained,
                                    struct trk_core_about *out, struct trk_error *error)
{
    *out = (struct trk_core_about){.inside = true};
    return trk_contained_run(contained, about, NULL, out, sizeof *out, error);
}

int trk_contained_exit_code(enum trk_status status)
{
    return status == TRK_E_INCOMPLETE ? TRK_EXIT_BROKEN : TRK_EXIT_ENVIRONMENT;
}

int trk_contained_fail(const struct trk_input *input, const struct trk_options *options,
                       const char *schema, const struct trk_error *error)
{
    trk_input_print_refusal(input, options, schema, error);
    (void)trk_terminal_error(options->command->name, trk_options_text(options, "core"), error);
    return trk_contained_exit_code(error->status);
}

int trk_contained_complain(const struct trk_input *input, const struct trk_options *options,
                           const char *schema)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    (void)trk_error_set(&error, TRK_E_INCOMPLETE, "%s", trk_core_complaint());
    trk_input_print_refusal(input, options, schema, &error);
    trk_terminal_say(options->command->name, "the core %s: %s", trk_options_text(options, "core"),
                     trk_core_complaint());
    return trk_contained_exit_code(error.status);
}
