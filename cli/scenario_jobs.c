#include "scenario_jobs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What became of a file, in memory that all processes share. */
struct outcome {
    bool done;
    enum trk_status status;
    struct trk_error error;
    struct trk_scenario_file file;
};

struct board {
    size_t next; /* the first file that nobody has taken */
    struct outcome outcomes[];
};

static enum trk_status run_here(struct trk_scenario_file *files, size_t count,
                                trk_scenario_job_fn *job, const void *context,
                                struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    for (size_t i = 0; i < count && status == TRK_OK; i++) {
        status = job(&files[i], context, error);
    }
    return status;
}

/* One process's part. */
static void work(struct board *board, const struct trk_scenario_file *files, size_t count,
                 trk_scenario_job_fn *job, const void *context)
{
    for (;;) {
        size_t i = __atomic_fetch_add(&board->next, 1, __ATOMIC_RELAXED);
        if (i >= count) {
            return;
        }
        struct outcome *outcome = &board->outcomes[i];
        outcome->file = files[i];
        outcome->error =
            (struct trk_error){.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
        outcome->status = job(&outcome->file, context, &outcome->error);
        __atomic_store_n(&outcome->done, true, __ATOMIC_RELEASE);
    }
}

/* Start a process; -1: none is to be had. It ends with its parent. */
static pid_t start(struct board *board, const struct trk_scenario_file *files, size_t count,
                   trk_scenario_job_fn *job, const void *context)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid != 0) {
        return pid;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) {
        work(board, files, count, job, context);
    }
    _exit(0);
}

/* Wait for processes; gives the signal that ended one, or 0. */
static int wait_all(const pid_t *pids, unsigned count)
{
    int killed_by = 0;
    for (unsigned i = 0; i < count; i++) {
        int end = 0;
        while (waitpid(pids[i], &end, 0) < 0 && errno == EINTR) {
        }
        if (WIFSIGNALED(end)) {
            killed_by = WTERMSIG(end);
        }
    }
    return killed_by;
}

/* Take the outcomes over, in order, up to the first that is none. */
static enum trk_status collect(struct trk_scenario_file *files, size_t count,
                               const struct board *board, int killed_by, struct trk_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const struct outcome *outcome = &board->outcomes[i];
        if (!__atomic_load_n(&outcome->done, __ATOMIC_ACQUIRE)) {
            return trk_error_set(error, TRK_E_SYSTEM, "%.80s: its process ended by signal %d",
                                 files[i].path, killed_by);
        }
        files[i] = outcome->file;
        if (outcome->status != TRK_OK) {
            *error = outcome->error;
            return outcome->status;
        }
    }
    return TRK_OK;
}

enum trk_status trk_scenario_jobs_run(struct trk_scenario_file *files, size_t count, unsigned jobs,
                                      trk_scenario_job_fn *job, const void *context,
                                      struct trk_error *error)
{
    if (jobs <= 1 || count <= 1) {
        return run_here(files, count, job, context, error);
    }
    size_t size_bytes = sizeof(struct board) + count * sizeof(struct outcome);
    struct board *board =
        mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for what becomes of the files");
    }
    pid_t pids[TRK_SCENARIO_JOBS_MOST];
    unsigned started = 0;
    int reason = 0;
    while (started < jobs && started < count) {
        pids[started] = start(board, files, count, job, context);
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
        status = collect(files, count, board, wait_all(pids, started), error);
    }
    munmap(board, size_bytes);
    return status;
}
