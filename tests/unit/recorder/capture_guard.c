/*
 * Goal: wherever the recording parent is killed, the guard's file has each committed event once,
 * and nothing of a recording that the file held before.
 *
 * Method: the test is the parent. It goes up to the step where it is killed, and closes the pipe by
 * which the guard learns that it is dead; then it reads what the guard has written.
 */
#define _GNU_SOURCE /* mkstemp */
#include "record_guard.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "record_book.h"
#include "record_internal.h"
#include "recorder/trace.h"
#include "recorder/writer.h"
#include "ring.h"

#define RING_RECORDS 128u
#define OLD_MARKS    50u
#define CHUNK_EVENTS 16u
#define COMMAND_PID  4242  /* any: nobody asks after it */
#define STEPS        10000 /* of a millisecond: something hangs */

enum killed {
    BEFORE_COMMAND,  /* nothing has run */
    BEFORE_EMPTYING, /* the command runs already, and the file holds the recording before */
    BEFORE_HEADER,
    BEFORE_NOTE,  /* the book knows of the ring's stream, and the file does not */
    BEFORE_FLUSH, /* a full chunk is in the file, the rest of the batch is not */
    BEFORE_BOOK,  /* all is in the file, and neither the book nor the ring's tail says so */
    BEFORE_TAIL,  /* the book says so, and the ring does not */
    AFTER_TAIL,
};

static char path[] = "/tmp/trk-guard-XXXXXX";
static char command[] = "command";
static char *const argv[] = {command, NULL};
static struct trk_record_options options = {
    .size = sizeof options, .path = path, .argv = argv, .guard = true};
static struct recording recording;
static struct trk_ring ring;
static struct trk_error error;

static void mark(uint64_t first, uint64_t count)
{
    for (uint64_t n = first; n < first + count; ++n) {
        struct trk_event event = {.argument = n, .type = TRK_EVENT_MARK};
        trk_ring_append(&ring, &event);
    }
}

static void write_old_file(void)
{
    struct trk_writer_options writing = trk_writer_options_default();
    struct trk_writer *writer;
    struct trk_trace_stream stream = {.name = "before"};
    cr_assert_eq(trk_writer_create(&writer, recording.fd, &writing, "{}", &error), TRK_OK);
    cr_assert_eq(trk_writer_stream(writer, &stream, &error), TRK_OK);
    for (uint64_t n = 0; n < OLD_MARKS; ++n) {
        struct trk_record record = {n + 1, {.argument = 1000 + n, .type = TRK_EVENT_MARK}};
        cr_assert_eq(trk_writer_append(writer, 0, &record, 1, 0, &error), TRK_OK);
    }
    cr_assert_eq(trk_writer_end(writer, 0, &error), TRK_OK);
    cr_assert_eq(lseek(recording.fd, 0, SEEK_SET), 0);
}

static void begin(void)
{
    int made = mkstemp(path);
    cr_assert_geq(made, 0);
    close(made);
    recording = (struct recording){.options = &options, .error = &error, .farewell_fd = -1};
    recording.fd = open(path, O_WRONLY | O_CLOEXEC);
    cr_assert_geq(recording.fd, 0);
    write_old_file();
    cr_assert_eq(
        trk_record_session_init(&recording.session, RING_RECORDS, TRK_PAYLOAD_NONE, &error),
        TRK_OK);
    struct trk_ring_place place = {&recording.session.rings[0], &recording.session.losses[0],
                                   recording.session.records, RING_RECORDS};
    trk_ring_init(&ring, &place);
    atomic_store(&place.shared->state, TRK_RING_LIVE);
    cr_assert_eq(trk_record_guard_start(&recording), TRK_OK, "%s", error.text);
}

static void end(void)
{
    trk_record_session_deinit(&recording.session);
    close(recording.fd);
    (void)unlink(path);
}

TestSuite(capture_guard, .init = begin, .fini = end);

static void drain_until(enum killed killed)
{
    struct trk_writer_options writing = trk_writer_options_default();
    struct trk_record_drain *drain = &recording.drain;
    uint64_t fullest = 0;
    writing.chunk_events = CHUNK_EVENTS;
    cr_assert_eq(trk_writer_create(&recording.writer, recording.fd, &writing, "{}", &error),
                 TRK_OK);
    cr_assert_eq(trk_record_drain_init(drain, &recording.session, recording.writer, &error),
                 TRK_OK);
    drain->book = recording.book;
    atomic_store(&recording.book->readable, true);
    if (killed == BEFORE_NOTE) {
        drain->rings[0].in_use = true;
        drain->rings[0].stream_id = drain->streams++;
        trk_record_book_keep(drain, 0);
        return;
    }
    cr_assert_eq(trk_record_drain_pass(drain, &fullest, &error), TRK_OK);
    if (killed >= BEFORE_BOOK)
        cr_assert_eq(trk_writer_flush(recording.writer, &error), TRK_OK);
    if (killed == BEFORE_TAIL)
        trk_record_book_keep(drain, 0);
    if (killed == AFTER_TAIL)
        trk_record_book_settle(drain);
}

static void let_guard_take_over(void)
{
    pid_t guard = recording.guard;
    int status = -1;
    close(recording.farewell_fd);
    cr_assert_eq(waitpid(guard, &status, 0), guard);
    cr_assert_eq(status, 0);
}

static struct trk_trace *open_trace(const char *name)
{
    struct trk_trace *trace = NULL;
    cr_assert_eq(trk_trace_open(&trace, name, &error), TRK_OK, "%s", error.text);
    return trace;
}

static void expect_event(struct trk_trace *trace, uint8_t type, uint64_t argument)
{
    struct trk_trace_event event;
    cr_assert_eq(trk_trace_next(trace, &event, &error), TRK_OK, "event %d is missing",
                 (int)argument);
    cr_assert_eq(event.event.type, type, "type %d instead of %d", event.event.type, type);
    cr_assert_eq(event.event.argument, argument, "event %d instead of %d",
                 (int)event.event.argument, (int)argument);
}

static void expect_marks_of(struct trk_trace *trace, uint64_t first, uint64_t count)
{
    for (uint64_t n = first; n < first + count; ++n)
        expect_event(trace, TRK_EVENT_MARK, n);
}

static void expect_end(struct trk_trace *trace, uint64_t lost)
{
    struct trk_trace_event event;
    cr_assert_eq(trk_trace_next(trace, &event, &error), TRK_E_END, "an event too many");
    struct trk_trace_state state = trk_trace_state(trace);
    cr_assert(state.ended);
    cr_assert_eq(state.dropped, lost, "%d lost instead of %d", (int)state.dropped, (int)lost);
    trk_trace_close(trace);
}

static void expect_marks(uint64_t count)
{
    struct trk_trace *trace = open_trace(path);
    expect_marks_of(trace, 0, count);
    expect_end(trace, 0);
}

static uint64_t size_of(const char *name)
{
    struct stat file;
    cr_assert_eq(stat(name, &file), 0);
    return (uint64_t)file.st_size;
}

static void kill_parent(enum killed killed)
{
    mark(0, CHUNK_EVENTS + 4);
    if (killed >= BEFORE_EMPTYING)
        atomic_store(&recording.book->command, COMMAND_PID);
    if (killed >= BEFORE_HEADER)
        trk_record_output_begin(&recording);
    if (killed >= BEFORE_NOTE)
        drain_until(killed);
    mark(CHUNK_EVENTS + 4, 30);
    let_guard_take_over();
    expect_marks(CHUNK_EVENTS + 34);
}

Test(capture_guard, keeps_nothing_of_the_recording_before)
{
    kill_parent(BEFORE_EMPTYING);
}

Test(capture_guard, leaves_the_recording_before_when_the_command_never_ran)
{
    uint64_t size_bytes = size_of(path);
    let_guard_take_over();
    cr_assert_eq(size_of(path), size_bytes);
    struct trk_trace *trace = open_trace(path);
    expect_marks_of(trace, 1000, OLD_MARKS);
    expect_end(trace, 0);
}

/* The guard waits for the program, and meanwhile nobody takes the old file for the new one. */
Test(capture_guard, empties_the_file_before_it_waits)
{
    int shared = trk_record_session_share(&recording.session);
    cr_assert(recording.session.watched);
    atomic_store(&recording.book->command, COMMAND_PID);
    close(recording.farewell_fd);
    for (unsigned i = 0; size_of(path) > 0; ++i) {
        cr_assert_lt(i, STEPS, "the old recording is still there");
        (void)poll(NULL, 0, 1);
    }
    mark(0, 30);
    close(shared);
    cr_assert_eq(waitpid(recording.guard, NULL, 0), recording.guard);
    expect_marks(30);
}

Test(capture_guard, names_the_command)
{
    kill_parent(BEFORE_HEADER);
    struct trk_trace *trace = open_trace(path);
    cr_assert(strstr(trk_trace_header_json(trace), "\"pid\":4242"));
    trk_trace_close(trace);
}

Test(capture_guard, has_all_when_the_parent_wrote_nothing)
{
    kill_parent(BEFORE_HEADER);
}

Test(capture_guard, has_all_when_a_stream_is_not_named_yet)
{
    kill_parent(BEFORE_NOTE);
}

Test(capture_guard, has_each_event_once_when_a_part_of_a_batch_is_written)
{
    kill_parent(BEFORE_FLUSH);
}

Test(capture_guard, has_each_event_once_when_the_book_lags)
{
    kill_parent(BEFORE_BOOK);
}

Test(capture_guard, has_each_event_once_when_the_tail_lags)
{
    kill_parent(BEFORE_TAIL);
}

Test(capture_guard, goes_on_behind_the_tail)
{
    kill_parent(AFTER_TAIL);
}

/* Half of what is thrown away is in the book, the other half comes after the kill. */
static void disable_and_kill(bool enable_again)
{
    struct trk_record_drain *drain = &recording.drain;
    uint64_t fullest = 0;
    mark(0, 10);
    atomic_store(&recording.book->command, COMMAND_PID);
    trk_record_output_begin(&recording);
    drain_until(AFTER_TAIL);
    drain->disabled = true;
    atomic_store(&recording.book->disabled, true);
    mark(10, 5);
    cr_assert_eq(trk_record_drain_pass(drain, &fullest, &error), TRK_OK);
    cr_assert_eq(trk_record_drain_flush(drain, &error), TRK_OK);
    if (enable_again) {
        drain->disabled = false;
        atomic_store(&recording.book->disabled, false);
        mark(15, CHUNK_EVENTS + 1); /* a chunk of them gets into the file, and not into the book */
        cr_assert_eq(trk_record_drain_pass(drain, &fullest, &error), TRK_OK);
    }
    mark(enable_again ? 16 + CHUNK_EVENTS : 15, 7);
    let_guard_take_over();
}

Test(capture_guard, throws_away_what_is_not_wanted)
{
    disable_and_kill(false);
    struct trk_trace *trace = open_trace(path);
    expect_marks_of(trace, 0, 10);
    expect_event(trace, TRK_EVENT_DROP, 12);
    expect_end(trace, 12);
}

Test(capture_guard, tells_once_what_was_thrown_away)
{
    disable_and_kill(true);
    struct trk_trace *trace = open_trace(path);
    expect_marks_of(trace, 0, 10);
    expect_event(trace, TRK_EVENT_DROP, 5);
    expect_marks_of(trace, 15, CHUNK_EVENTS + 8);
    expect_end(trace, 5);
}

/* The file is gone from its name, or nobody can read it any more. */
Test(capture_guard, follows_the_file_to_another_name)
{
    char other[sizeof path + 4];
    snprintf(other, sizeof other, "%s.old", path);
    cr_assert_eq(rename(path, other), 0);
    kill_parent(BEFORE_BOOK);
    cr_assert_eq(unlink(other), 0);
}

Test(capture_guard, writes_apart_what_it_cannot_join)
{
    char apart[sizeof path + 32];
    const char spoiled[] = "no trace";
    mark(0, CHUNK_EVENTS);
    atomic_store(&recording.book->command, COMMAND_PID);
    trk_record_output_begin(&recording);
    drain_until(AFTER_TAIL);
    mark(CHUNK_EVENTS, 9);
    cr_assert_eq(ftruncate(recording.fd, 0), 0);
    cr_assert_eq(pwrite(recording.fd, spoiled, sizeof spoiled, 0), sizeof spoiled);
    let_guard_take_over();
    cr_assert_eq(size_of(path), sizeof spoiled, "the file that it could not read is gone");
    snprintf(apart, sizeof apart, "%s.guard-%d", path, (int)recording.guard);
    struct trk_trace *trace = open_trace(apart);
    expect_event(trace, TRK_EVENT_DROP, CHUNK_EVENTS);
    expect_marks_of(trace, CHUNK_EVENTS, 9);
    expect_end(trace, CHUNK_EVENTS);
    cr_assert_eq(unlink(apart), 0);
}
