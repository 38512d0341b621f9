/*
 * The recording parent.
 *
 * One thread: start the command, wait until it has joined (or gone without), write the header, then
 * drain in short turns until the command has ended and nobody is left who may write. The producer
 * never calls the kernel to wake us, so turns are timed: the next one follows at once when a ring
 * was an eighth full, and turns grow twice as long, up to 20 ms, while all stay below; so a steady
 * stream never gets past a quarter. When the file takes no more, the rings are drained and counted
 * all the same.
 *
 * The file has its final name from the first byte on: if this process is killed, what is there can
 * be read. It is taken away only when the command never ran, or nothing could be written.
 */
#define _GNU_SOURCE /* O_CLOEXEC and friends */
#include "recorder/record.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "record_child.h"
#include "record_drain.h"
#include "record_header.h"
#include "record_program.h"
#include "record_session.h"
#include "record_signals.h"
#include "recorder/writer.h"

#define TURN_MOST_MS 20
#define TURN_BUSY_MS 1
#define FLUSH_NS     UINT64_C(250000000)
/* The header waits for the program to join and name its tracker; so long after the first event. */
#define TRACKER_WAIT_NS  UINT64_C(100000000)
#define ANCHORS_APART_NS UINT64_C(5000000)
/* Others outlive the command for so long before it is worth a word. */
#define WAITING_NS UINT64_C(1000000000)

struct recording {
    const struct trk_record_options *options;
    struct trk_record_result *result;
    struct trk_error *error;
    struct trk_record_session session;
    struct trk_record_signals signals;
    struct trk_record_child child;
    struct trk_record_program program;
    struct trk_record_drain drain;
    struct trk_writer *writer;
    int fd;
    bool created; /* the file is new: ours to take away */
    bool is_stdout;
    bool interrupted; /* a signal ended the waiting for those who outlive the command */
    bool told_waiting;
    uint64_t child_ended_ns; /* 0: it has not */
    struct trk_record_anchor start;
};

static uint64_t now_ns(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static enum trk_status file_error(const struct recording *recording, enum trk_status status,
                                  int os_errno)
{
    (void)trk_error_set(recording->error, status, "%.80s: %s", recording->options->path,
                        strerror(os_errno));
    if (recording->error)
        recording->error->os_errno = os_errno;
    return status;
}

/*
 * Two recordings must not write one file. The lock ends with this process, however it ends. A file
 * system without locks is taken as it is.
 */
static enum trk_status lock_output(struct recording *recording)
{
    struct stat file;
    if (fstat(recording->fd, &file) != 0 || !S_ISREG(file.st_mode))
        return TRK_OK;
    bool taken = flock(recording->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    /* Without a name: the one who had the lock has just taken the file away. */
    if (!taken && fstat(recording->fd, &file) == 0 && file.st_nlink > 0)
        return TRK_OK;
    recording->created = false; /* it is theirs */
    return trk_error_set(recording->error, TRK_E_ARGUMENT, "%.80s: another recording writes it",
                         recording->options->path);
}

/* Open the output without hurting what it may hold: the command may yet fail to start. */
static enum trk_status open_output(struct recording *recording)
{
    const char *path = recording->options->path;
    recording->is_stdout = strcmp(path, "-") == 0;
    if (recording->is_stdout) {
        recording->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        return recording->fd >= 0 ? TRK_OK : file_error(recording, TRK_E_SYSTEM, errno);
    }
    recording->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    recording->created = recording->fd >= 0;
    if (recording->fd < 0 && errno == EEXIST && recording->options->overwrite)
        recording->fd = open(path, O_WRONLY | O_CLOEXEC);
    if (recording->fd < 0)
        return file_error(recording, errno == EEXIST ? TRK_E_EXISTS : TRK_E_SYSTEM, errno);
    return lock_output(recording);
}

static void close_output(struct recording *recording, bool keep)
{
    if (recording->fd < 0)
        return;
    if (recording->created && !keep)
        (void)unlink(recording->options->path);
    close(recording->fd); /* last: with it goes the lock */
}

static bool has_joined(const struct recording *recording)
{
    return atomic_load_explicit(&recording->session.control->attached, memory_order_acquire) != 0;
}

static bool has_tracker(const struct recording *recording)
{
    for (unsigned id = 0; id < TRK_SESSION_TRACKERS; ++id) {
        if (atomic_load_explicit(&recording->session.control->trackers[id].known,
                                 memory_order_acquire))
            return true;
    }
    return false;
}

/* The most that a ring holds. Nothing has been taken yet: positions are counts. */
static uint64_t fullest_ring(const struct recording *recording)
{
    uint64_t fullest = 0;
    for (uint32_t i = 0; i < recording->session.ring_count; ++i) {
        uint64_t head =
            atomic_load_explicit(&recording->session.rings[i].head, memory_order_relaxed);
        fullest = head > fullest ? head : fullest;
    }
    return fullest;
}

/* So many rings in use that those of ended threads should be given back. */
static bool rings_are_scarce(const struct recording *recording)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < recording->session.ring_count; ++i)
        used += atomic_load_explicit(&recording->session.rings[i].state, memory_order_relaxed) !=
                TRK_RING_FREE;
    return used >= recording->session.ring_count / 4;
}

/* Those who outlive the command are waited for, until a signal says that it is enough. */
static bool wait_for_others(struct recording *recording, int timeout_ms)
{
    if (recording->child_ended_ns == 0) {
        recording->child_ended_ns = now_ns();
        trk_record_signals_forget(); /* so far they were the command's */
    }
    if (recording->interrupted || trk_record_program_ended(&recording->program))
        return true;
    recording->interrupted = trk_record_signals_came();
    if (!recording->told_waiting && recording->options->waiting &&
        now_ns() - recording->child_ended_ns >= WAITING_NS) {
        recording->told_waiting = true;
        recording->options->waiting();
    }
    (void)poll(NULL, 0, timeout_ms);
    return false;
}

/* Let some time pass; true when nobody will write any more, or nobody is waited for. */
static bool pass_time(struct recording *recording, int timeout_ms)
{
    if (trk_record_child_wait(&recording->child, timeout_ms))
        return wait_for_others(recording, timeout_ms);
    trk_record_child_forward(&recording->child);
    trk_record_program_look(&recording->program);
    return false;
}

/*
 * Wait until there is something to say in the header: a tracker, or an end. As long as there are no
 * events nothing can be lost by waiting.
 */
static void await_program(struct recording *recording)
{
    uint64_t first_event_ns = 0;
    while (!pass_time(recording, TURN_BUSY_MS)) {
        uint64_t held = fullest_ring(recording);
        if (held == 0)
            continue;
        uint64_t now = now_ns();
        if (first_event_ns == 0)
            first_event_ns = now;
        if (has_tracker(recording) || rings_are_scarce(recording) ||
            held > recording->session.ring_records / 8 || now - first_event_ns >= TRACKER_WAIT_NS)
            break;
    }
}

/* Two anchors give a frequency only if they are some time apart. The program runs meanwhile. */
static struct trk_record_anchor second_anchor(const struct trk_record_anchor *first)
{
    struct trk_record_anchor second = trk_record_header_anchor();
    uint64_t apart_ns = second.monotonic_raw_ns - first->monotonic_raw_ns;
    if (apart_ns >= ANCHORS_APART_NS)
        return second;
    struct timespec pause = {.tv_nsec = (long)(ANCHORS_APART_NS - apart_ns)};
    (void)nanosleep(&pause, NULL);
    return trk_record_header_anchor();
}

static enum trk_status create_writer(struct recording *recording)
{
    struct trk_record_header header = {
        .session = &recording->session,
        .argv = recording->options->argv,
        .child_pid = recording->child.pid,
        .attached = has_joined(recording),
        .anchors = {recording->start, second_anchor(&recording->start)},
    };
    char *json = trk_record_header_json(&header);
    if (!json)
        return trk_error_set(recording->error, TRK_E_MEMORY, "out of memory for the header");
    struct trk_writer_options options = trk_writer_options_default();
    if (getrandom(options.sync_marker, sizeof(options.sync_marker), GRND_NONBLOCK) <
        0) /* early boot */
        memcpy(options.sync_marker, &recording->start, sizeof(options.sync_marker));
    enum trk_status status =
        trk_writer_create(&recording->writer, recording->fd, &options, json, recording->error);
    free(json);
    return status;
}

/* The threads of a program that is not the command itself may be asked for, too. */
static void follow_program(struct recording *recording)
{
    struct trk_record_drain *drain = &recording->drain;
    uint32_t pid = atomic_load_explicit(&recording->session.control->pid, memory_order_relaxed);
    bool followed = recording->program.state == TRK_PROGRAM_FOLLOWED;
    bool own = !recording->child.ended && (pid_t)pid == recording->child.pid;
    drain->program = followed || own ? (pid_t)pid : 0;
    drain->program_fd = followed ? recording->program.pidfd : -1;
}

/* Drain until nobody writes any more, then what is left. */
static enum trk_status drain_until_end(struct recording *recording)
{
    struct trk_record_drain *drain = &recording->drain;
    uint64_t flushed_ns = now_ns();
    uint64_t fullest = 0;
    int turn_ms = TURN_BUSY_MS;
    while (!pass_time(recording, turn_ms)) {
        enum trk_status status = trk_record_drain_pass(drain, &fullest, recording->error);
        uint64_t now = now_ns();
        turn_ms = turn_ms > 0 ? 2 * turn_ms : TURN_BUSY_MS;
        turn_ms = turn_ms < TURN_MOST_MS ? turn_ms : TURN_MOST_MS;
        if (fullest > recording->session.ring_records / 8)
            turn_ms = 0;
        else if (drain->scarce)
            turn_ms = TURN_BUSY_MS;
        follow_program(recording);
        if (status == TRK_OK && now - flushed_ns >= FLUSH_NS) {
            drain->status = trk_writer_flush(recording->writer, recording->error);
            flushed_ns = now;
        }
    }
    return trk_record_drain_finish(drain, recording->error);
}

/* END, if all went well; the writer is gone afterwards. */
static void end_file(struct recording *recording, enum trk_status *status)
{
    if (!recording->writer)
        return;
    if (*status == TRK_OK)
        *status = trk_writer_flush(recording->writer, recording->error);
    recording->result->bytes = trk_writer_bytes(recording->writer);
    recording->result->events = trk_writer_events(recording->writer);
    if (*status == TRK_OK && recording->interrupted)
        *status = trk_error_set(recording->error, TRK_E_INCOMPLETE,
                                "a process that outlived the command could still record: the "
                                "trace has no end");
    if (*status == TRK_OK)
        *status =
            trk_writer_end(recording->writer, recording->result->child_status, recording->error);
    else
        trk_writer_destroy(recording->writer);
    recording->writer = NULL;
    off_t end = lseek(recording->fd, 0, SEEK_CUR); /* a pipe has no place: then END is not in */
    if (end >= 0)
        recording->result->bytes = (uint64_t)end;
}

/* The command runs: record it to its end. It is awaited whatever becomes of the file. */
static enum trk_status record_child(struct recording *recording)
{
    struct trk_record_result *result = recording->result;
    await_program(recording);
    enum trk_status status = create_writer(recording);
    if (trk_record_drain_init(&recording->drain, &recording->session, recording->writer,
                              status == TRK_OK ? recording->error : NULL) == TRK_OK) {
        recording->drain.status = status;
        status = drain_until_end(recording);
        trk_record_drain_deinit(&recording->drain);
    } else {
        status = status == TRK_OK ? TRK_E_MEMORY : status;
        while (!pass_time(recording, TURN_MOST_MS)) {
        }
    }
    result->child_status = recording->child.wait_status;
    result->attached = has_joined(recording);
    result->threads = recording->drain.streams;
    result->waits = atomic_load_explicit(&recording->session.control->waits, memory_order_relaxed);
    result->refused_joins =
        atomic_load_explicit(&recording->session.control->refused_joins, memory_order_relaxed);
    end_file(recording, &status);
    result->thrown_away = recording->drain.events - result->events;
    result->dropped = recording->drain.dropped + result->thrown_away;
    result->complete = status == TRK_OK && result->dropped == 0;
    return status;
}

static enum trk_status start_child(struct recording *recording)
{
    recording->start = trk_record_header_anchor();
    struct trk_record_child_start start = {
        .argv = recording->options->argv,
        .session_fd = trk_record_session_share(&recording->session),
        .output_to_stderr = recording->is_stdout,
        .signals = &recording->signals,
    };
    if (start.session_fd < 0)
        return file_error(recording, TRK_E_SYSTEM, errno);
    enum trk_status status = trk_record_child_init(&recording->child, &start, recording->error);
    close(start.session_fd);
    if (status != TRK_OK)
        return status;
    /* The old content goes only now that there will be a new one. */
    if (!recording->created && !recording->is_stdout)
        (void)!ftruncate(recording->fd, 0);
    return TRK_OK;
}

static enum trk_status record_with_session(struct recording *recording)
{
    enum trk_status status = open_output(recording);
    if (status == TRK_OK)
        status = start_child(recording);
    bool started = status == TRK_OK;
    if (started) {
        trk_record_program_init(&recording->program, &recording->session);
        status = record_child(recording);
        trk_record_program_deinit(&recording->program);
        trk_record_child_deinit(&recording->child);
    }
    close_output(recording, started && (status == TRK_OK || status == TRK_E_INCOMPLETE ||
                                        recording->result->events > 0));
    return status;
}

enum trk_status trk_record_command(const struct trk_record_options *options,
                                   struct trk_record_result *result, struct trk_error *error)
{
    struct trk_record_result ignored = {0};
    struct recording recording = {
        .options = options, .result = result ? result : &ignored, .error = error, .fd = -1};
    *recording.result = (struct trk_record_result){.child_status = -1};
    if (!options || options->size != sizeof(*options) || !options->path || !options->argv ||
        !options->argv[0])
        return trk_error_set(error, TRK_E_ARGUMENT, "record: a path and a command are needed");
    if (options->block_ms > TRK_RECORD_BLOCK_MOST)
        return trk_error_set(error, TRK_E_ARGUMENT, "record: events may wait %u ms at most",
                             TRK_RECORD_BLOCK_MOST);
    trk_record_signals_init(&recording.signals);
    enum trk_status status =
        trk_record_session_init(&recording.session, options->ring_records, error);
    if (status == TRK_OK) {
        recording.session.control->block_ms = options->block_ms;
        status = record_with_session(&recording);
        trk_record_session_deinit(&recording.session);
    }
    trk_record_signals_deinit(&recording.signals);
    return status;
}
