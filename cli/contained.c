#define _GNU_SOURCE
#include "contained.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
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
#include "clock.h"
#include "command.h"
#include "orphans.h"

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

/* How a wait for a process has ended. */
enum waited {
    IN_TIME,
    STUCK, /* it took too long, and came to the end of nothing any more */
    SLOW,  /* it took too long, and was going on */
};

/*
 * Wait for a process as long as it may take, and end it then. The time in which a busy machine has
 * no processor for it does not count. One that has come to the end of something before gets as much
 * time again, to be seen going on. The pipe's other end is its: closed means that it ends, or that
 * it has closed what it had and goes on. Processes of its group end with it; others that it has
 * left behind end after it.
 */
static enum waited wait_for(pid_t pid, int pipe_fd, unsigned seconds, const uint64_t *progress,
                            int *end)
{
    struct pollfd poll_fd = {.fd = pipe_fd, .events = POLLIN};
    const uint64_t limit_ns = seconds * SECOND_NS, begun_ns = trk_clock_ns();
    uint64_t then = 0; /* what it had done when its time was over; 0: it is not, or nothing */
    bool in_time = false, stuck = false, slow = false;
    /* In steps, since a child of its own may keep the pipe open. */
    while (!(in_time = ended(pid)) && !stuck && !slow) {
        uint64_t now = __atomic_load_n(progress, __ATOMIC_RELAXED);
        slow = then != 0 && now != then;
        if (is_late(pid, begun_ns, then != 0 ? 2 * limit_ns : limit_ns)) {
            stuck = then != 0 || now == 0;
            then = now;
        }
        if (poll(&poll_fd, 1, poll_fd.fd < 0 ? 1 : 100) > 0) {
            poll_fd.fd = -1; /* poll() just waits */
        }
    }
    (void)kill(-pid, SIGKILL);
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, end, 0) < 0 && errno == EINTR) {
    }
    return in_time ? IN_TIME : slow ? SLOW : STUCK;
}

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
    enum waited waited =
        pid > 0 ? wait_for(pid, ends[0], contained->seconds, &board->progress, &end) : STUCK;
    trk_orphans_end(&orphans);
    close(ends[0]);
    if (pid < 0) {
        return trk_error_set_errno(error, TRK_E_SYSTEM, reason, "no process to be had");
    }
    if (waited != IN_TIME) {
        (void)trk_error_set(
            error, TRK_E_INCOMPLETE, "the core %.60s took longer than %u s%s and was ended%s",
            core_name(contained), contained->seconds, board->loaded ? "" : " to be loaded",
            waited == SLOW ? ", though it was going on" : "");
        if (error != NULL) {
            error->os_errno = waited == SLOW ? ETIME : 0;
        }
        return TRK_E_INCOMPLETE;
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
