/*
 * The file of a recording.
 *
 * It has its final name from the first byte on: if this process is killed, what is there can be
 * read. It is taken away only when the command never ran, or nothing could be written.
 */
#define _GNU_SOURCE /* O_CLOEXEC and friends */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "record_internal.h"
#include "record_mappings.h"
#include "recorder/blobs.h"
#include "recorder/writer.h"

/* A ring that is fuller than this is drained in a hurry, until it is emptier than that. */
#define HURRY_SHARE      8
#define CALM_SHARE       32
#define LATE_NS          UINT64_C(150000000)
#define HURRIED_NS       UINT64_C(1000000000)
#define ANCHORS_APART_NS UINT64_C(5000000)
#define LOOK_NS          UINT64_C(10000000)
#define ZSTD_LEVEL       1 /* a quarter less work beside the program than 3, a 25th larger */

uint64_t trk_record_now_ns(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

enum trk_status trk_record_output_error(const struct recording *recording, enum trk_status status,
                                        int os_errno)
{
    return trk_error_set_errno(recording->error, status, os_errno, "%.80s",
                               recording->options->path);
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

enum trk_status trk_record_output_place(const struct recording *recording, enum trk_place *place,
                                        char target[TRK_PLACE_BYTES])
{
    struct trk_error reason = {.os_errno = 0};
    enum trk_status status = trk_place_find(recording->options->path, place, target, &reason);
    if (status == TRK_OK)
        return status;
    (void)trk_error_set(recording->error, status, "%.80s: %s", recording->options->path,
                        reason.text);
    if (recording->error)
        recording->error->os_errno = reason.os_errno;
    return status;
}

/* Open the output without hurting what it may hold: the command may yet fail to start. */
enum trk_status trk_record_output_open(struct recording *recording)
{
    const char *path = recording->options->path;
    recording->is_stdout = strcmp(path, "-") == 0;
    if (recording->is_stdout) {
        recording->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        return recording->fd >= 0 ? TRK_OK
                                  : trk_record_output_error(recording, TRK_E_SYSTEM, errno);
    }
    recording->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    recording->created = recording->fd >= 0;
    if (recording->fd < 0 && errno == EEXIST && recording->options->overwrite) {
        enum trk_place place;
        char target[TRK_PLACE_BYTES];
        enum trk_status status = trk_record_output_place(recording, &place, target);
        if (status != TRK_OK)
            return status;
        recording->fd = open(target, O_WRONLY | O_CLOEXEC);
    }
    if (recording->fd < 0)
        return trk_record_output_error(recording, errno == EEXIST ? TRK_E_EXISTS : TRK_E_SYSTEM,
                                       errno);
    return lock_output(recording);
}

void trk_record_output_close(struct recording *recording, bool keep)
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

struct trk_record_turns trk_record_turns_begin(struct recording *recording, struct trk_error *error)
{
    return (struct trk_record_turns){
        .recording = recording,
        .error = error,
        .flushed_ns = trk_record_now_ns(),
        .next_ms = TRK_RECORD_TURN_BUSY_MS,
        .hurry = true, /* nobody has looked yet */
    };
}

static int next_turn_ms(const struct trk_record_turns *turns)
{
    if (turns->fullest > turns->recording->session.ring_records / HURRY_SHARE)
        return 0;
    if (turns->next_ms == 0 || turns->recording->drain.scarce)
        return TRK_RECORD_TURN_BUSY_MS;
    const int most_ms = turns->recording->session.ring_records < TRK_SESSION_RING_RECORDS
                            ? TRK_RECORD_TURN_SMALL_MS
                            : TRK_RECORD_TURN_MOST_MS;
    return 2 * turns->next_ms < most_ms ? 2 * turns->next_ms : most_ms;
}

/* Who gives way gets next to nothing on a machine that is wanted by many: then not for a while. */
bool trk_record_turns_late(struct trk_record_turns *turns)
{
    const uint64_t now = trk_record_now_ns();
    const uint64_t due_ns = turns->ended_ns + (uint64_t)turns->next_ms * UINT64_C(1000000);
    if (turns->hurry || turns->ended_ns == 0 || now < due_ns + LATE_NS)
        return false;
    turns->hurry = true;
    turns->hurried_to_ns = now + HURRIED_NS;
    turns->next_ms = 0;
    return true;
}

void trk_record_turn(void *context)
{
    struct trk_record_turns *turns = context;
    struct recording *recording = turns->recording;
    struct trk_record_drain *drain = &recording->drain;
    enum trk_status status = trk_record_drain_pass(drain, &turns->fullest, turns->error);
    uint64_t now = trk_record_now_ns();
    if (!recording->flight &&
        (drain->behind || (status == TRK_OK && now - turns->flushed_ns >= TRK_RECORD_FLUSH_NS))) {
        trk_record_output_flush(recording);
        turns->flushed_ns = now;
    }
    turns->next_ms = next_turn_ms(turns);
    const uint64_t share = turns->hurry ? CALM_SHARE : HURRY_SHARE;
    turns->hurry = drain->scarce || turns->fullest > recording->session.ring_records / share ||
                   now < turns->hurried_to_ns;
    turns->ended_ns = trk_record_now_ns(); /* a file may have taken long */
}

void trk_record_count(struct recording *recording)
{
    const struct trk_session_control *control = recording->session.control;
    const struct trk_record_drain *drain = &recording->drain;
    struct trk_record_result *result = recording->result;
    result->attached = has_joined(recording);
    result->waits = atomic_load_explicit(&control->waits, memory_order_relaxed);
    result->pages_missed = atomic_load_explicit(&control->pages_missed, memory_order_relaxed);
    result->refused_joins = atomic_load_explicit(&control->refused_joins, memory_order_relaxed);
    for (uint32_t kind = 0; kind < TRK_SESSION_LOSS_KINDS; ++kind) {
        uint32_t type = trk_session_loss_type(kind);
        result->events_of[type] = drain->events_of[kind];
        result->dropped_of[type] = drain->dropped_of[kind];
    }
    result->threads = drain->streams + drain->shared_uses;
    result->discarded = drain->discarded;
}

/* Two anchors give a frequency only if they are some time apart. The program runs meanwhile. */
static struct trk_trace_anchor second_anchor(const struct trk_trace_anchor *first)
{
    struct trk_trace_anchor second = trk_record_header_anchor();
    uint64_t apart_ns = second.monotonic_raw_ns - first->monotonic_raw_ns;
    if (apart_ns >= ANCHORS_APART_NS)
        return second;
    struct timespec pause = {.tv_nsec = (long)(ANCHORS_APART_NS - apart_ns)};
    (void)nanosleep(&pause, NULL);
    return trk_record_header_anchor();
}

/* The process that joined, where its number means the same here; or this one; 0: not known. */
static pid_t find_program(const struct recording *recording)
{
    const struct trk_session_control *control = recording->session.control;
    if (recording->program.state == TRK_PROGRAM_FOLLOWED)
        return (pid_t)atomic_load_explicit(&control->pid, memory_order_relaxed);
    return recording->child.pid == getpid() ? getpid() : 0;
}

void trk_record_output_look(struct recording *recording)
{
    const pid_t program = find_program(recording);
    const pid_t joined = trk_record_program_pid(&recording->session);
    const pid_t mapped = joined > 0 ? joined : program;
    bool is_recorded = true;
    if (mapped > 0)
        is_recorded = trk_record_mappings_look(&recording->mappings, mapped);
    if (program > 0 && is_recorded)
        trk_record_handlers_look(&recording->handlers, program);
}

void trk_record_output_look_again(struct recording *recording)
{
    const uint64_t now = trk_record_now_ns();
    if (now < recording->next_look_ns)
        return;
    if (recording->first_look_ns == 0)
        recording->first_look_ns = now;
    recording->next_look_ns = now + LOOK_NS + (now - recording->first_look_ns);
    trk_record_output_look(recording);
}

char *trk_record_output_json(struct recording *recording, const struct trk_record_header_dump *dump)
{
    trk_record_output_look(recording);
    struct trk_record_header header = {
        .session = &recording->session,
        .options = recording->options,
        .child_pid = recording->child.pid,
        .attached = has_joined(recording) || recording->child.pid == getpid(),
        .handlers = recording->handlers,
        .mappings = recording->mappings,
        .append_ns = recording->append_ns,
        .anchors = {recording->start, second_anchor(&recording->start)},
        .dump = dump,
    };
    return trk_record_header_json(&header);
}

void trk_record_output_marker(uint8_t marker[16])
{
    if (getrandom(marker, 16, GRND_NONBLOCK) == 16)
        return;
    struct trk_trace_anchor anchor = trk_record_header_anchor(); /* early boot */
    memcpy(marker, &anchor, 16);
}

struct trk_writer_options trk_record_output_options(const struct recording *recording)
{
    struct trk_writer_options options = trk_writer_options_default();
    options.zstd_level = ZSTD_LEVEL;
    if (recording->options->clock_shift != NULL)
        options.clock_shift = *recording->options->clock_shift;
    trk_record_output_marker(options.sync_marker);
    return options;
}

enum trk_status trk_record_output_header(struct recording *recording)
{
    char *json = trk_record_output_json(recording, NULL);
    if (!json)
        return trk_error_set(recording->error, TRK_E_MEMORY, "out of memory for the header");
    struct trk_writer_options options = trk_record_output_options(recording);
    enum trk_status status =
        trk_writer_create(&recording->writer, recording->fd, &options, json, recording->error);
    free(json);
    if (recording->book && status == TRK_OK)
        atomic_store_explicit(&recording->book->readable, true, memory_order_release);
    return status;
}

void trk_record_output_begin(const struct recording *recording)
{
    if (!recording->created && !recording->is_stdout)
        (void)!ftruncate(recording->fd, 0);
    if (recording->book)
        atomic_store_explicit(&recording->book->begun, true, memory_order_release);
}

void trk_record_output_flush(struct recording *recording)
{
    struct trk_record_drain *drain = &recording->drain;
    if (trk_record_drain_flush(drain, recording->error) == TRK_OK && recording->options->sync &&
        recording->fd >= 0 && fdatasync(recording->fd) != 0 && errno != EINVAL) /* a pipe */
        drain->status = trk_record_output_error(recording, TRK_E_SYSTEM, errno);
}

static void end_file(struct recording *recording, enum trk_status *status)
{
    if (*status == TRK_OK)
        *status = trk_writer_flush(recording->writer, recording->error);
    recording->result->bytes = trk_writer_bytes(recording->writer);
    recording->result->events = trk_writer_events(recording->writer);
    recording->result->pages = trk_writer_blobs(recording->writer);
    if (*status == TRK_OK && recording->interrupted)
        *status = trk_error_set(recording->error, TRK_E_INCOMPLETE,
                                "a process that outlived the command could still record: the "
                                "trace has no end");
    const struct trk_trace_anchor now = trk_record_header_anchor();
    if (*status == TRK_OK)
        *status = trk_writer_clocks(recording->writer, &now, recording->error);
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

void trk_record_output_end(struct recording *recording, enum trk_status *status)
{
    struct trk_record_result *result = recording->result;
    if (recording->writer)
        end_file(recording, status);
    result->thrown_away = recording->drain.events - result->events;
    result->dropped = recording->drain.dropped + result->thrown_away;
}
