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

/* A writer on fd that has everything the recording's file has. */
static struct trk_writer *begin_file(struct recording *recording, int fd,
                                     struct trk_record_book_stream *has)
{
    struct trk_writer_options options = trk_writer_options_default();
    struct trk_writer *writer = NULL;
    struct trk_trace *trace = NULL;
    trk_record_output_marker(options.sync_marker);
    /* The command already runs when the parent empties a file that it overwrites. */
    bool begun = atomic_load_explicit(&recording->book->begun, memory_order_acquire);
    if (!begun || trk_trace_open(&trace, recording->options->path, NULL) != TRK_OK) {
        /* Killed before the header was written: then the rings have everything. */
        char *json = trk_record_output_json(recording, NULL);
        if (json)
            (void)!trk_writer_create(&writer, fd, &options, json, NULL);
        free(json);
        return writer;
    }
    if (trk_writer_create(&writer, fd, &options, trk_trace_header_json(trace), NULL) == TRK_OK &&
        copy_events(trace, writer, has) != TRK_OK) {
        trk_writer_destroy(writer);
        writer = NULL;
    }
    trk_trace_close(trace);
    return writer;
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
    trk_record_book_continue(drain, recording->book, has, TRK_FORMAT_STREAMS_MAX);
    drain->keeps_pages = recording->options->payload == TRK_PAYLOAD_PAGES;
    recording->session.watched = true; /* the parent has shared it since */
    trk_record_program_init(&recording->program, &recording->session);
    while (!trk_record_program_ended(&recording->program)) {
        drain->status = trk_record_drain_pass(drain, &fullest, NULL);
        (void)poll(NULL, 0, fullest > recording->session.ring_records / 8 ? 0 : TURN_MS);
    }
    status = trk_record_drain_finish(drain, NULL);
    trk_record_program_deinit(&recording->program);
    trk_record_drain_deinit(drain);
    return status;
}

/* The parent is dead. Whatever fails, its own file stays as it is. */
static void take_over(struct recording *recording)
{
    static struct trk_record_book_stream has[TRK_FORMAT_STREAMS_MAX];
    char part[PATH_MAX];
    char target[TRK_PLACE_BYTES];
    enum trk_place place;
    if (trk_place_find(recording->options->path, &place, target, NULL) != TRK_OK ||
        place == TRK_PLACE_STREAM)
        return; /* somebody put something else there */
    int length = snprintf(part, sizeof part, "%s.guard-%d", target, (int)getpid());
    int fd = length > 0 && (size_t)length < sizeof part
                 ? open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
                 : -1;
    if (fd < 0)
        return;
    struct trk_writer *writer = begin_file(recording, fd, has);
    enum trk_status status = TRK_E_SYSTEM;
    if (writer) {
        status = go_on(recording, writer, has);
        if (status == TRK_OK)
            status = trk_writer_end(writer, -1, NULL);
        else
            trk_writer_destroy(writer);
    }
    if (status != TRK_OK || rename(part, target) != 0)
        (void)unlink(part);
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
