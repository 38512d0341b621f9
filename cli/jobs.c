#include "jobs.h"

#include "progress.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Between two looks at what the processes have done. */
#define LOOK_NS 20000000

/* What became of an item, in memory that all processes share; the item itself lies behind it. */
struct outcome {
    bool done;
    enum trk_status status;
    struct trk_error error;
    _Alignas(max_align_t) unsigned char item[];
};

struct board {
    size_t next; /* the first item that nobody has taken */
    _Alignas(max_align_t) unsigned char outcomes[];
};

static void *item_of(const struct trk_jobs *jobs, size_t i)
{
    return (unsigned char *)jobs->items + i * jobs->item_bytes;
}

/* Bytes of an outcome with its item. */
static size_t stride(const struct trk_jobs *jobs)
{
    size_t unit = _Alignof(max_align_t);
    return sizeof(struct outcome) + (jobs->item_bytes + unit - 1) / unit * unit;
}

static struct outcome *outcome_of(struct board *board, const struct trk_jobs *jobs, size_t i)
{
    return (void *)(board->outcomes + i * stride(jobs));
}

static void tell(const struct trk_jobs *jobs, size_t done)
{
    trk_progress_show(
        &(struct trk_progress){.unit = jobs->unit, .done = done, .total = jobs->count});
}

static enum trk_status run_here(const struct trk_jobs *jobs, struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    tell(jobs, 0);
    for (size_t i = 0; i < jobs->count && status == TRK_OK; i++) {
        status = jobs->job(item_of(jobs, i), jobs->context, error);
        tell(jobs, i + 1);
    }
    return status;
}

/* One process's part. */
static void work(struct board *board, const struct trk_jobs *jobs)
{
    for (;;) {
        size_t i = __atomic_fetch_add(&board->next, 1, __ATOMIC_RELAXED);
        if (i >= jobs->count) {
            return;
        }
        struct outcome *outcome = outcome_of(board, jobs, i);
        memcpy(outcome->item, item_of(jobs, i), jobs->item_bytes);
        outcome->error =
            (struct trk_error){.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
        outcome->status = jobs->job(outcome->item, jobs->context, &outcome->error);
        __atomic_store_n(&outcome->done, true, __ATOMIC_RELEASE);
    }
}

/* Start a process; -1: none is to be had. It ends with its parent. */
static pid_t start(struct board *board, const struct trk_jobs *jobs)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid != 0) {
        return pid;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    trk_progress_stop();
    if (getppid() == parent) {
        work(board, jobs);
    }
    _exit(0);
}

static void tell_done(const struct trk_jobs *jobs, struct board *board)
{
    size_t done = 0;
    for (size_t i = 0; i < jobs->count; i++) {
        done += __atomic_load_n(&outcome_of(board, jobs, i)->done, __ATOMIC_ACQUIRE);
    }
    tell(jobs, done);
}

/* Wait for a process, and tell meanwhile what all have done, if anybody looks. */
static void wait_one(pid_t pid, const struct trk_jobs *jobs, struct board *board, int *end)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    int how = trk_progress_is_shown() ? WNOHANG : 0;
    pid_t ended;
    while ((ended = waitpid(pid, end, how)) == 0 || (ended < 0 && errno == EINTR)) {
        if (ended == 0) {
            tell_done(jobs, board);
            (void)nanosleep(&pause, NULL);
        }
    }
}

/* Wait for processes; gives the signal that ended one, or 0. */
static int wait_all(const struct trk_jobs *jobs, struct board *board, const pid_t *pids,
                    unsigned count)
{
    int killed_by = 0;
    for (unsigned i = 0; i < count; i++) {
        int end = 0;
        wait_one(pids[i], jobs, board, &end);
        if (WIFSIGNALED(end)) {
            killed_by = WTERMSIG(end);
        }
    }
    tell_done(jobs, board);
    return killed_by;
}

/* Take the outcomes over, in order, up to the first that is none. */
static enum trk_status collect(const struct trk_jobs *jobs, struct board *board, int killed_by,
                               struct trk_error *error)
{
    for (size_t i = 0; i < jobs->count; i++) {
        const struct outcome *outcome = outcome_of(board, jobs, i);
        if (!__atomic_load_n(&outcome->done, __ATOMIC_ACQUIRE)) {
            return trk_error_set(error, TRK_E_SYSTEM, "%.80s: its process ended by signal %d",
                                 jobs->name(item_of(jobs, i)), killed_by);
        }
        memcpy(item_of(jobs, i), outcome->item, jobs->item_bytes);
        if (outcome->status != TRK_OK) {
            *error = outcome->error;
            return outcome->status;
        }
    }
    return TRK_OK;
}

/* With several processes. */
static enum trk_status run_apart(const struct trk_jobs *jobs, struct trk_error *error)
{
    size_t size_bytes = sizeof(struct board) + jobs->count * stride(jobs);
    struct board *board =
        mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for what becomes of the items");
    }
    pid_t pids[TRK_JOBS_MOST];
    unsigned started = 0;
    int reason = 0;
    fflush(stdout);
    while (started < jobs->jobs && started < jobs->count) {
        pids[started] = start(board, jobs);
        if (pids[started] < 0) {
            reason = errno;
            break;
        }
        started++;
    }
    enum trk_status status = TRK_OK;
    if (started == 0) {
        status = trk_error_set_errno(error, TRK_E_SYSTEM, reason, "no process to be had");
    } else {
        status = collect(jobs, board, wait_all(jobs, board, pids, started), error);
    }
    munmap(board, size_bytes);
    return status;
}

enum trk_status trk_jobs_run(const struct trk_jobs *jobs, struct trk_error *error)
{
    enum trk_status status =
        jobs->jobs <= 1 || jobs->count <= 1 ? run_here(jobs, error) : run_apart(jobs, error);
    trk_progress_wipe();
    return status;
}
