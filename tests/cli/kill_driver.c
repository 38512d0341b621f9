/*
 * Goal: a recorded program may be killed at any moment, and every event that it had committed is in
 * the file, or counted there as lost when a busy machine kept the parent from making room; the
 * recording parent may be killed at any moment, and the file can be read as far as it goes while
 * the program goes on; and both may be, one after the other in any order.
 *
 * Method: record kill_target in a child process, kill one of the two or both at a random moment,
 * read the file, and compare with the counters that the target keeps in a shared file. What a
 * killed parent leaves is repaired, too, and the repaired file has to hold the same marks.
 *
 * kill_driver TARGET [KILLS [SEED]]; the environment's TRK_KILLS and TRK_SEED are the defaults.
 */
#define _GNU_SOURCE /* mkdtemp, mkstemp */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kill_shared.h"
#include "recorder/record.h"
#include "recorder/recover.h"
#include "recorder/trace.h"

#define RING_RECORDS (1u << 20) /* a second of marks: only a busy machine loses any */
#define WAIT_STEP_NS 200000
#define WAIT_STEPS   100000 /* 20 s: something hangs */
#define STREAMS      64u    /* a thread has one: more than there ever are */

enum victim {
    VICTIM_PROGRAM,
    VICTIM_PARENT,
    VICTIM_BOTH,
    VICTIM_STARTING, /* the parent, at the same time as the program starts */
};

static const char *target;
static char folder[] = "/tmp/trk-kill-XXXXXX";
static char trace_path[64];
static char repaired_path[64];
static char shared_path[64];
static struct kill_shared *shared;
static uint64_t seed;
static uint64_t random_state;
static unsigned round_number;
static uint64_t lost_marks; /* that found no room and are in the files as losses */
static bool guarded;        /* this round's recording has a guard */

static void remove_files(void)
{
    (void)unlink(trace_path);
    (void)unlink(repaired_path);
    (void)unlink(shared_path);
    (void)rmdir(folder);
}

static _Noreturn void fail(const char *what, uint64_t got, uint64_t expected)
{
    uint32_t pid = shared ? atomic_load(&shared->pid) : 0;
    fprintf(stderr,
            "kill_driver: round %u: %s: %" PRIu64 ", expected %" PRIu64
            "\nagain: kill_driver %s %u %" PRIu64 "\n",
            round_number, what, got, expected, target, round_number + 1, seed);
    if (pid != 0)
        (void)kill((pid_t)pid, SIGKILL);
    remove_files();
    exit(1);
}

static uint64_t next_random(void)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void wait_ns(uint64_t ns)
{
    struct timespec pause = {.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
    (void)nanosleep(&pause, NULL);
}

/* Half of the kills come while threads start, the others while they run. */
static uint64_t random_moment_ns(void)
{
    uint64_t longest = next_random() % 2 ? 2000000 : 40000000;
    return next_random() % longest;
}

static void make_files(void)
{
    if (!mkdtemp(folder))
        fail("mkdtemp", 0, 1);
    snprintf(trace_path, sizeof(trace_path), "%s/a.trk", folder);
    snprintf(repaired_path, sizeof(repaired_path), "%s/b.trk", folder);
    snprintf(shared_path, sizeof(shared_path), "%s/shared", folder);
    int fd = open(shared_path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(*shared)) != 0)
        fail("shared file", 0, 1);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (shared == MAP_FAILED) {
        shared = NULL;
        fail("mmap", 0, 1);
    }
}

/* Start a recording parent; its exit code says whether it did what it should. */
static pid_t start_parent(bool over_old)
{
    memset((void *)shared, 0, sizeof(*shared));
    if (!over_old)
        (void)unlink(trace_path);
    pid_t parent = fork();
    if (parent != 0)
        return parent;
    char *const argv[] = {(char *)(uintptr_t)target, shared_path, NULL};
    struct trk_record_options options = {
        .size = sizeof(options),
        .path = trace_path,
        .overwrite = over_old,
        .argv = argv,
        .ring_records = RING_RECORDS,
        .guard = guarded,
    };
    struct trk_record_result result;
    struct trk_error error = {0};
    enum trk_status status = trk_record_command(&options, &result, &error);
    if (status != TRK_OK)
        fprintf(stderr, "kill_driver: record: %s\n", error.text);
    _exit(status == TRK_OK && result.child_status == SIGKILL ? 0 : 1);
}

static pid_t await_pid(void)
{
    for (int i = 0; i < WAIT_STEPS; ++i) {
        uint32_t pid = atomic_load(&shared->pid);
        if (pid != 0)
            return (pid_t)pid;
        wait_ns(WAIT_STEP_NS);
    }
    fail("the target does not start", 0, 1);
}

static void await_bytes_in_trace(void)
{
    struct stat status = {0};
    for (int i = 0; i < WAIT_STEPS && status.st_size == 0; ++i) {
        wait_ns(WAIT_STEP_NS);
        (void)stat(trace_path, &status);
    }
}

/* Losses of a stream that no mark has come after yet, and whose they are. */
struct tally {
    uint64_t lost[STREAMS];
    uint64_t thread[STREAMS]; /* + 1; 0: no mark has told */
    uint64_t dropped;         /* the losses of all streams */
    bool repaired;            /* the file is: what was half written is there as losses */
};

/* A loss stands where the marks were lost, so the next mark tells whether it counts them all. */
static void count_event(const struct trk_trace_event *event, struct tally *tally, uint64_t *marks)
{
    if (event->stream >= STREAMS)
        fail("stream", event->stream, STREAMS - 1);
    if (event->event.type == TRK_EVENT_DROP) {
        tally->dropped += event->event.argument;
        if (event->event.context == TRK_EVENT_NONE && tally->repaired)
            return; /* a half written chunk: no mark of its thread comes after */
        if (event->event.context != TRK_EVENT_MARK)
            fail("type of a lost event", event->event.context, TRK_EVENT_MARK);
        tally->lost[event->stream] += event->event.argument;
        lost_marks += tally->repaired ? 0 : event->event.argument;
        return;
    }
    if (event->event.type != TRK_EVENT_MARK)
        fail("event type", event->event.type, TRK_EVENT_MARK);
    uint64_t thread = event->event.argument >> 48;
    if (thread >= KILL_THREADS)
        fail("thread", thread, KILL_THREADS - 1);
    marks[thread] += tally->lost[event->stream];
    tally->lost[event->stream] = 0;
    tally->thread[event->stream] = thread + 1;
    uint64_t expected = kill_mark(thread, marks[thread]++);
    if (event->event.argument != expected)
        fail("mark", event->event.argument, expected);
}

/* The last losses of streams, that no mark comes after. */
static void count_last_losses(const struct tally *tally, uint64_t *marks)
{
    for (size_t i = 0; i < STREAMS; ++i) {
        if (tally->lost[i] > 0 && tally->thread[i] == 0)
            fail("losses of nobody", tally->lost[i], 0);
        if (tally->lost[i] > 0)
            marks[tally->thread[i] - 1] += tally->lost[i];
    }
}

/*
 * Count each thread's marks in the file; they must come in order, without a hole but for those that
 * found no room and are counted as lost.
 */
static struct trk_trace_state read_marks(const char *path, uint64_t *marks)
{
    struct trk_trace *trace = NULL;
    struct trk_error error = {0};
    struct trk_trace_event event;
    struct tally tally = {.repaired = path == repaired_path};
    memset(marks, 0, KILL_THREADS * sizeof(*marks));
    if (trk_trace_open(&trace, path, &error) != TRK_OK) {
        fprintf(stderr, "kill_driver: %s\n", error.text);
        fail("the file does not open", error.status, TRK_OK);
    }
    enum trk_status status;
    while ((status = trk_trace_next(trace, &event, &error)) == TRK_OK)
        count_event(&event, &tally, marks);
    if (status != TRK_E_END)
        fail("end of the file", status, TRK_E_END);
    count_last_losses(&tally, marks);
    struct trk_trace_state state = trk_trace_state(trace);
    if (state.ended && state.dropped != tally.dropped)
        fail("losses that the file counts", state.dropped, tally.dropped);
    trk_trace_close(trace);
    return state;
}

/* Whether nothing is missing but what is counted as lost. */
static bool is_whole(const struct trk_trace_state *state)
{
    return state->complete || (state->ended && state->damaged_chunks == 0 && state->dropped > 0);
}

/* Kill the program: all that was counted must be in the file, and the file be whole. */
static uint64_t kill_program(void)
{
    pid_t parent = start_parent(false);
    pid_t program = await_pid();
    wait_ns(random_moment_ns());
    (void)kill(program, SIGKILL);
    int status = -1;
    if (waitpid(parent, &status, 0) != parent || status != 0)
        fail("the parent's exit status", (uint64_t)status, 0);
    uint64_t marks[KILL_THREADS];
    uint64_t all = 0;
    struct trk_trace_state state = read_marks(trace_path, marks);
    for (unsigned i = 0; i < KILL_THREADS; ++i) {
        uint64_t counted = atomic_load(&shared->threads[i].counted);
        if (marks[i] < counted || marks[i] > counted + 1)
            fail("marks in the file", marks[i], counted);
        all += counted;
    }
    if (!is_whole(&state) || state.child_status != SIGKILL)
        fail("complete", state.complete, true);
    atomic_store(&shared->pid, 0);
    return all;
}

static void await_progress(void)
{
    uint64_t before = atomic_load(&shared->threads[0].counted);
    for (int i = 0; i < WAIT_STEPS; ++i) {
        if (atomic_load(&shared->threads[0].counted) > before + 1000)
            return;
        wait_ns(WAIT_STEP_NS);
    }
    fail("the program does not go on", before, before + 1000);
}

/* Whether the repaired file is whole and has the same marks. */
static void check_repaired(const uint64_t *marks)
{
    struct trk_recover_result result;
    struct trk_error error = {0};
    uint64_t repaired[KILL_THREADS];
    int fd = open(repaired_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || trk_recover(trace_path, fd, &result, &error) != TRK_OK) {
        fprintf(stderr, "kill_driver: %s\n", error.text);
        fail("the file cannot be repaired", error.status, TRK_OK);
    }
    close(fd);
    struct trk_trace_state state = read_marks(repaired_path, repaired);
    if (!state.ended || state.damaged_chunks != 0)
        fail("the repaired file is not whole", state.damaged_chunks, 0);
    for (unsigned i = 0; i < KILL_THREADS; ++i) {
        if (repaired[i] != marks[i])
            fail("marks in the repaired file", repaired[i], marks[i]);
    }
}

/* Everybody has ended but the guard, which is ours to reap: then all that was counted is there. */
static uint64_t check_guarded(void)
{
    uint64_t marks[KILL_THREADS];
    uint64_t all = 0;
    while (waitpid(-1, NULL, 0) > 0) {
    }
    struct trk_trace_state state = read_marks(trace_path, marks);
    if (!is_whole(&state))
        fail("complete", 0, 1);
    for (unsigned i = 0; i < KILL_THREADS; ++i) {
        uint64_t counted = atomic_load(&shared->threads[i].counted);
        if (marks[i] < counted || marks[i] > counted + 1)
            fail("marks of a guarded recording", marks[i], counted);
        all += marks[i];
    }
    atomic_store(&shared->pid, 0);
    return all;
}

/* What a parent that was killed leaves: as many marks as it had written, and no end. */
static uint64_t check_left(void)
{
    uint64_t marks[KILL_THREADS];
    uint64_t all = 0;
    struct trk_trace_state state = read_marks(trace_path, marks);
    if (state.complete || state.ended)
        fail("complete", state.complete, false);
    for (unsigned i = 0; i < KILL_THREADS; ++i)
        all += marks[i];
    check_repaired(marks);
    atomic_store(&shared->pid, 0);
    return all;
}

/* Kill the recording parent: the file opens, is not complete, and the program goes on. */
static uint64_t kill_parent(void)
{
    pid_t parent = start_parent(false);
    pid_t program = await_pid();
    await_bytes_in_trace();
    wait_ns(next_random() % 600000000); /* past one or two flushes */
    (void)kill(parent, SIGKILL);
    int status = -1;
    (void)waitpid(parent, &status, 0);
    await_progress();
    atomic_store(&shared->stop, 1);
    if (waitpid(program, &status, 0) != program || status != 0) /* we are its reaper */
        fail("the program's exit status", (uint64_t)status, 0);
    return guarded ? check_guarded() : check_left();
}

/*
 * Kill a guarded parent while it starts, with the file of the round before in its way: that is
 * either still there, for nothing has run, or gone, and the guard has written everything.
 */
static uint64_t kill_starting(void)
{
    struct stat before = {0};
    struct stat after = {0};
    (void)stat(trace_path, &before);
    pid_t parent = start_parent(true);
    wait_ns(next_random() % 4000000);
    (void)kill(parent, SIGKILL);
    wait_ns(next_random() % 4000000);
    atomic_store(&shared->stop, 1);
    while (waitpid(-1, NULL, 0) > 0) {
    }
    if (atomic_load(&shared->pid) != 0)
        return check_guarded();
    (void)stat(trace_path, &after);
    if (before.st_size != after.st_size)
        fail("bytes of a file that nothing was to replace", (uint64_t)after.st_size,
             (uint64_t)before.st_size);
    return 0;
}

/* Kill both, in either order and some microseconds apart. */
static uint64_t kill_both(void)
{
    pid_t parent = start_parent(false);
    pid_t program = await_pid();
    await_bytes_in_trace();
    wait_ns(next_random() % 600000000);
    bool program_first = next_random() % 2;
    (void)kill(program_first ? program : parent, SIGKILL);
    wait_ns(next_random() % 50000);
    (void)kill(program_first ? parent : program, SIGKILL);
    int status = -1;
    if (waitpid(parent, &status, 0) != parent)
        fail("waitpid of the parent", 0, 1);
    bool ended = WIFEXITED(status);     /* it saw the program's end and had time to write its own */
    (void)waitpid(program, &status, 0); /* we are its reaper, or the parent has been */
    if (guarded)
        return check_guarded();
    uint64_t marks[KILL_THREADS];
    struct trk_trace_state state = read_marks(trace_path, marks);
    if (!ended && !state.ended) /* else its own kill came behind the file's last byte */
        return check_left();
    atomic_store(&shared->pid, 0);
    if (!is_whole(&state))
        fail("complete", 0, 1);
    return 0;
}

static uint64_t number_from(const char *argument, const char *variable, uint64_t otherwise)
{
    const char *text = argument ? argument : getenv(variable);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: kill_driver TARGET [KILLS [SEED]]\n");
        return 2;
    }
    target = argv[1];
    unsigned kills = (unsigned)number_from(argc > 2 ? argv[2] : NULL, "TRK_KILLS", 20);
    seed = number_from(argc > 3 ? argv[3] : NULL, "TRK_SEED", 1);
    random_state = seed;
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    make_files();
    uint64_t counted = 0;
    uint64_t kept = 0;
    for (round_number = 0; round_number < kills; ++round_number) {
        guarded = round_number % 2 == 0;
        enum victim victim = round_number % 10 == 2   ? VICTIM_STARTING
                             : round_number % 10 >= 8 ? VICTIM_PARENT
                             : round_number % 10 >= 6 ? VICTIM_BOTH
                                                      : VICTIM_PROGRAM;
        if (victim == VICTIM_PROGRAM)
            counted += kill_program();
        else if (victim == VICTIM_STARTING)
            kept += kill_starting();
        else
            kept += victim == VICTIM_PARENT ? kill_parent() : kill_both();
    }
    remove_files();
    printf("%u kills, seed %" PRIu64 ": %" PRIu64 " committed marks, all there or counted; %" PRIu64
           " kept without a parent; %" PRIu64 " lost for want of room\n",
           kills, seed, counted, kept, lost_marks);
    return 0;
}
