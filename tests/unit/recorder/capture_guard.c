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
#include <stdlib.h>
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

enum killed {
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
    cr_assert_eq(trk_record_session_init(&recording.session, RING_RECORDS, &error), TRK_OK);
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

static void expect_marks(uint64_t count)
{
    struct trk_trace *trace = NULL;
    struct trk_trace_event event;
    cr_assert_eq(trk_trace_open(&trace, path, &error), TRK_OK, "%s", error.text);
    for (uint64_t n = 0; n < count; ++n) {
        cr_assert_eq(trk_trace_next(trace, &event, &error), TRK_OK, "mark %d is missing", (int)n);
        cr_assert_eq(event.event.type, TRK_EVENT_MARK);
        cr_assert_eq(event.event.argument, n, "mark %d instead of %d", (int)event.event.argument,
                     (int)n);
    }
    cr_assert_eq(trk_trace_next(trace, &event, &error), TRK_E_END, "an event too many");
    cr_assert(trk_trace_state(trace).complete);
    trk_trace_close(trace);
}

static void kill_parent(enum killed killed)
{
    mark(0, CHUNK_EVENTS + 4);
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
