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

#include "clock.h"
#include "command.h"
#include "orphans.h"
#include "terminal.h"

/* What both processes see; the work's own memory lies behind it. */
struct board {
    bool loaded, done;
    int write_errno;        /* of what was printed; 0: all is out */
    enum trk_status status; /* of loading */
    struct trk_error error;
    size_t size_bytes;
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

static int real_output = -1;
static struct stat real_file; /* what that leads to: a plug-in may close it, and open another */
static bool apart;            /* this is the child */
static bool prints;           /* what goes to standard output is trk's own */

void trk_contained_print_from_here(void)
{
    if (!apart) {
        return;
    }
    fflush(stdout);
    clearerr(stdout);
    prints = true;
    struct stat now;
    bool there = real_output >= 0 && fstat(real_output, &now) == 0 &&
                 now.st_dev == real_file.st_dev && now.st_ino == real_file.st_ino;
    /* Where there is none, writing fails as it does in the other process. */
    int output = there ? real_output : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (output < 0 || dup2(output, STDOUT_FILENO) < 0) {
        close(STDOUT_FILENO);
    }
}

static _Noreturn void child(struct board *board, const struct trk_contained *contained,
                            trk_contained_fn *work, const void *context)
{
    limit_it();
    apart = true;
    real_output = dup(STDOUT_FILENO);
    if (real_output >= 0 && fstat(real_output, &real_file) != 0) {
        real_output = -1;
    }
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    if (contained->core != NULL) {
        board->status = trk_core_load(contained->core, &board->error);
    }
    board->loaded = true;
    if (board->status == TRK_OK) {
        work(board->out, context);
    }
    if (!prints) {
        fflush(stdout);
    }
    board->write_errno = prints ? trk_terminal_write_errno() : 0;
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

/*
 * Wait for a process as long as it may take, and end it then; false: it took longer. The time in
 * which a busy machine has no processor for it does not count. The pipe's other end is its: closed
 * means that it ends, or that it has closed what it had and goes on. Processes of its group end
 * with it; others that it has left behind end after it.
 */
static bool wait_for(pid_t pid, int pipe_fd, unsigned seconds, int *end)
{
    struct pollfd poll_fd = {.fd = pipe_fd, .events = POLLIN};
    const uint64_t end_ns = trk_clock_ns() + seconds * SECOND_NS;
    bool in_time = false, late = false;
    /* In steps, since a child of its own may keep the pipe open. */
    while (!(in_time = ended(pid)) && !late) {
        late = trk_clock_ns() >= end_ns && trk_clock_ns() >= end_ns + waited_ns(pid);
        if (poll(&poll_fd, 1, poll_fd.fd < 0 ? 1 : 100) > 0) {
            poll_fd.fd = -1; /* poll() just waits */
        }
    }
    (void)kill(-pid, SIGKILL);
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, end, 0) < 0 && errno == EINTR) {
    }
    return in_time;
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
        child(board, contained, work, context);
    }
    int reason = errno;
    close(ends[1]);
    if (pid > 0) {
        (void)setpgid(pid, pid); /* whoever comes first */
    }
    bool in_time = pid > 0 && wait_for(pid, ends[0], contained->seconds, &end);
    trk_orphans_end(&orphans);
    close(ends[0]);
    if (pid < 0) {
        return trk_error_set_errno(error, TRK_E_SYSTEM, reason, "no process to be had");
    }
    if (!in_time) {
        return trk_error_set(
            error, TRK_E_INCOMPLETE, "the core %.60s took longer than %u s%s and was ended",
            core_name(contained), contained->seconds, board->loaded ? "" : " to be loaded");
    }
    if (!__atomic_load_n(&board->done, __ATOMIC_ACQUIRE)) {
        return how_it_ended(contained, board->loaded, end, error);
    }
    trk_terminal_failed(board->write_errno);
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
    if (board == MAP_FAILED) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for what comes of a plug-in");
    }
    if (size_bytes > 0) {
        memcpy(board->out, out, size_bytes);
    }
    enum trk_status status = run(contained, work, context, board, error);
    if (status == TRK_OK && size_bytes > 0) {
        memcpy(out, board->out, size_bytes);
    }
    munmap(board, all);
    return status;
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
