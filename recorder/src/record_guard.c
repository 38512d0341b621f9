#define _GNU_SOURCE /* pipe2, MAP_ANONYMOUS */
#include "record_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format.h"
#include "record_book.h"
#include "recorder/blobs.h"
#include "recorder/place.h"
#include "recorder/trace.h"

#define TURN_MS  5
#define FAREWELL 'q'

/* Copy a readable trace: its streams by their names, its events with their losses. */
static enum trk_status copy_events(struct trk_trace *trace, struct trk_writer *writer,
                                   struct trk_record_book_stream *has)
{
    struct trk_trace_event event;
    enum trk_status status = trk_trace_scan(trace, NULL);
    if (status == TRK_OK)
        status = trk_writer_copy_blobs(writer, trace, NULL, NULL, NULL);
    for (size_t i = 0; i < trk_trace_stream_count(trace) && status == TRK_OK; ++i) {
        const struct trk_trace_stream *stream = trk_trace_stream(trace, i);
        if (stream->stream_id < TRK_FORMAT_STREAMS_MAX)
            has[stream->stream_id].there = true;
        status = trk_writer_stream(writer, stream, NULL);
    }
    while (status == TRK_OK && (status = trk_trace_next(trace, &event, NULL)) == TRK_OK) {
        uint32_t id = trk_trace_stream(trace, event.stream)->stream_id;
        struct trk_record record = {event.tsc, event.event};
        if (id < TRK_FORMAT_STREAMS_MAX)
            has[id].events += 1;
        status = trk_writer_append(writer, id, &record, 1, 0, NULL);
    }
    return status == TRK_E_END ? TRK_OK : status;
}

/* A writer on fd with a header and no more. */
static struct trk_writer *begin_afresh(struct recording *recording, int fd)
{
    struct trk_writer_options options = trk_record_output_options(recording);
    struct trk_writer *writer = NULL;
    char *json = trk_record_output_json(recording, NULL);
    if (json)
        (void)!trk_writer_create(&writer, fd, &options, json, NULL);
    free(json);
    return writer;
}

/* A writer on fd that has everything the recording's file has. */
static struct trk_writer *begin_copy(const struct recording *recording, struct trk_trace *trace,
                                     int fd, struct trk_record_book_stream *has)
{
    struct trk_writer_options options = trk_record_output_options(recording);
    struct trk_writer *writer = NULL;
    if (trk_writer_create(&writer, fd, &options, trk_trace_header_json(trace), NULL) == TRK_OK &&
        copy_events(trace, writer, has) != TRK_OK) {
        trk_writer_destroy(writer);
        writer = NULL;
    }
    return writer;
}

/* The file that the parent wrote, whatever has become of its name; NULL: it cannot be read. */
static struct trk_trace *open_left(const struct recording *recording)
{
    char path[40];
    struct trk_trace *trace = NULL;
    snprintf(path, sizeof path, "/proc/self/fd/%d", recording->fd);
    if (trk_trace_open(&trace, path, NULL) != TRK_OK &&
        trk_trace_open(&trace, recording->options->path, NULL) != TRK_OK)
        return NULL;
    return trace;
}

/* Rings of threads that ended without a word are taken back here, too. */
static void follow_program(struct recording *recording)
{
    const struct trk_session_control *control = recording->session.control;
    bool followed = recording->program.state == TRK_PROGRAM_FOLLOWED;
    uint32_t pid = atomic_load_explicit(&control->pid, memory_order_relaxed);
    recording->drain.program = followed ? (pid_t)pid : 0;
    recording->drain.program_fd = followed ? recording->program.pidfd : -1;
}

/* Drain until nobody writes any more. */
static enum trk_status go_on(struct recording *recording, struct trk_writer *writer,
                             const struct trk_record_book_stream *has)
{
    struct trk_record_drain *drain = &recording->drain;
    uint64_t fullest = 0;
    enum trk_status status = trk_record_drain_init(drain, &recording->session, writer, NULL);
    if (status != TRK_OK)
        return status;
    status = trk_record_book_continue(drain, recording->book, has, TRK_FORMAT_STREAMS_MAX);
    drain->keeps_pages = recording->options->payload == TRK_PAYLOAD_PAGES;
    trk_record_program_init(&recording->program, &recording->session);
    while (status == TRK_OK && !trk_record_program_ended(&recording->program)) {
        follow_program(recording);
        drain->status = trk_record_drain_pass(drain, &fullest, NULL);
        (void)poll(NULL, 0, fullest > recording->session.ring_records / 8 ? 0 : TURN_MS);
    }
    if (status == TRK_OK)
        status = trk_record_drain_finish(drain, NULL);
    trk_record_program_deinit(&recording->program);
    trk_record_drain_deinit(drain);
    return status;
}

/* Write to fd what the parent's file has, and what comes; *apart: but for the former. */
static enum trk_status write_file(struct recording *recording, int fd, bool *apart)
{
    static struct trk_record_book_stream has[TRK_FORMAT_STREAMS_MAX];
    bool written = atomic_load_explicit(&recording->book->readable, memory_order_acquire);
    struct trk_trace *left = written ? open_left(recording) : NULL;
    *apart = written && !left;
    struct trk_writer *writer =
        left ? begin_copy(recording, left, fd, has) : begin_afresh(recording, fd);
    trk_trace_close(left);
    if (!writer)
        return TRK_E_SYSTEM;
    enum trk_status status = go_on(recording, writer, has);
    if (status == TRK_OK)
        return trk_writer_end(writer, -1, NULL);
    trk_writer_destroy(writer);
    return status;
}

/*
 * Whether the command ever ran. The parent may have been killed between the fork and the exec: as
 * long as somebody holds the session, the command may yet come.
 */
static bool command_ran(struct recording *recording)
{
    recording->session.watched = true; /* if the parent has shared it since */
    do {
        recording->child.pid =
            (pid_t)atomic_load_explicit(&recording->book->command, memory_order_acquire);
        if (recording->child.pid != 0)
            return true;
        (void)poll(NULL, 0, 1);
    } while (trk_record_session_held(&recording->session));
    recording->child.pid =
        (pid_t)atomic_load_explicit(&recording->book->command, memory_order_acquire);
    return recording->child.pid != 0;
}

/* The parent is dead. Whatever fails, its own file stays as it is. */
static void take_over(struct recording *recording)
{
    char part[PATH_MAX];
    char target[TRK_PLACE_BYTES];
    enum trk_place place;
    bool apart = false;
    if (!command_ran(recording))
        return;
    /* What the file held before must not pass for this recording, not even for a while. */
    if (!atomic_load_explicit(&recording->book->begun, memory_order_acquire))
        trk_record_output_begin(recording);
    if (trk_place_find(recording->options->path, &place, target, NULL) != TRK_OK ||
        place == TRK_PLACE_STREAM)
        return; /* somebody put something else there */
    int length = snprintf(part, sizeof part, "%s.guard-%d", target, (int)getpid());
    int fd = length > 0 && (size_t)length < sizeof part
                 ? open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
                 : -1;
    struct stat left;
    if (fd < 0)
        return;
    if (fstat(recording->fd, &left) == 0)
        (void)fchmod(fd, left.st_mode & 0777);
    enum trk_status status = write_file(recording, fd, &apart);
    if (status != TRK_OK || (!apart && rename(part, target) != 0))
        (void)unlink(part); /* apart: beside what cannot be read, under its own name */
    close(fd);
}

static _Noreturn void stand_by(struct recording *recording, int farewell_fd)
{
    sigset_t all;
    char word = 0;
    ssize_t got;
    sigfillset(&all); /* what the terminal or a service manager sends is the others' business */
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    do
        got = read(farewell_fd, &word, 1);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        take_over(recording);
    _exit(0);
}

enum trk_status trk_record_guard_start(struct recording *recording)
{
    int farewell[2];
    struct stat output;
    if (recording->fd < 0 || fstat(recording->fd, &output) != 0 || !S_ISREG(output.st_mode))
        return trk_error_set(recording->error, TRK_E_ARGUMENT, "a guard needs a regular file");
    recording->book = mmap(NULL, sizeof *recording->book, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (recording->book == MAP_FAILED) {
        recording->book = NULL;
        return trk_error_set(recording->error, TRK_E_MEMORY, "no memory for the guard");
    }
    if (pipe2(farewell, O_CLOEXEC) != 0)
        return trk_record_output_error(recording, TRK_E_SYSTEM, errno);
    recording->guard = fork();
    if (recording->guard == 0) {
        close(farewell[1]);
        recording->start = trk_record_header_anchor(); /* the parent takes its own later */
        stand_by(recording, farewell[0]);
    }
    int reason = errno;
    close(farewell[0]);
    recording->farewell_fd = farewell[1];
    return recording->guard > 0 ? TRK_OK : trk_record_output_error(recording, TRK_E_SYSTEM, reason);
}

void trk_record_guard_dismiss(struct recording *recording)
{
    const char word = FAREWELL;
    if (recording->guard > 0) {
        (void)!write(recording->farewell_fd, &word, 1);
        (void)waitpid(recording->guard, NULL, 0);
    }
    if (recording->farewell_fd >= 0)
        close(recording->farewell_fd);
    if (recording->book)
        (void)munmap(recording->book, sizeof *recording->book);
    recording->guard = 0;
    recording->farewell_fd = -1;
    recording->book = NULL;
}
