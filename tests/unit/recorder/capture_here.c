/*
 * Goal: a program that records itself gets a whole trace of all that it said, and what cannot be
 * recorded is refused and leaves nothing.
 *
 * Method: threads of the test's own mark numbers; the file is read back. Each case is a process.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "capture_file.h"
#include "recorder/capture.h"
#include "recorder/record_here.h"
#include "recorder/trace.h"

#define THREADS 4u
#define MARKS   20000u

static struct trk_record_options options;
static struct trk_record_here *here;
static struct trk_record_result result;
static struct trk_error error;

static void begin(void)
{
    capture_file_begin();
    options = (struct trk_record_options){.size = sizeof(options), .path = capture_path};
}

TestSuite(capture_here, .init = begin, .fini = capture_file_end);

static void *mark_all(void *unused)
{
    for (uint64_t i = 0; i < MARKS; ++i)
        trk_capture_mark(i);
    return unused;
}

static void run_threads(void)
{
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; ++i)
        cr_assert_eq(pthread_create(&threads[i], NULL, mark_all, NULL), 0);
    for (unsigned i = 0; i < THREADS; ++i)
        pthread_join(threads[i], NULL);
}

Test(capture_here, writes_all_that_is_said)
{
    struct trk_trace_state state;
    options.block_ms = 10000; /* threads wait for room: nothing may be missing */
    cr_assert_eq(trk_record_here_start(&here, &options, &error), TRK_OK, "%s", error.text);
    cr_assert(trk_capture_active());
    cr_assert_null(getenv("TRK_SESSION_FD"), "children would join");
    run_threads();
    cr_assert_eq(trk_record_here_stop(here, &result, &error), TRK_OK, "%s", error.text);
    cr_assert(result.complete);
    cr_assert_eq(result.events, THREADS * MARKS);
    cr_assert_eq(result.threads, THREADS);
    cr_assert_eq(result.events_of[TRK_EVENT_MARK], THREADS * MARKS);
    cr_assert_eq(capture_file_marks(&state), THREADS * MARKS);
    cr_assert(state.complete);
    cr_assert_eq(state.child_status, -1);
}

Test(capture_here, tells_of_the_program)
{
    struct trk_trace *trace = NULL;
    cr_assert_eq(trk_record_here_start(&here, &options, &error), TRK_OK, "%s", error.text);
    trk_capture_mark(1);
    cr_assert_eq(trk_record_here_stop(here, &result, &error), TRK_OK, "%s", error.text);
    cr_assert_eq(trk_trace_open(&trace, capture_path, &error), TRK_OK, "%s", error.text);
    const char *header = trk_trace_header_json(trace);
    cr_assert_not_null(strstr(header, "\"attached\":true"), "%s", header);
    cr_assert_null(strstr(header, "\"build_id\":null"), "%s", header);
    cr_assert_not_null(strstr(header, "\"modules\":[{\"name\":"), "%s", header);
    trk_trace_close(trace);
}

Test(capture_here, counts_what_finds_no_room)
{
    struct trk_trace_state state;
    options.ring_records = 128;
    cr_assert_eq(trk_record_here_start(&here, &options, &error), TRK_OK, "%s", error.text);
    run_threads();
    cr_assert_eq(trk_record_here_stop(here, &result, &error), TRK_OK, "%s", error.text);
    cr_assert_eq(result.events + result.dropped, THREADS * MARKS);
    cr_assert_eq(capture_file_marks(&state), result.events);
    cr_assert_eq(state.dropped, result.dropped);
}

Test(capture_here, is_silent_in_forked_children)
{
    struct trk_trace_state state;
    cr_assert_eq(trk_record_here_start(&here, &options, &error), TRK_OK, "%s", error.text);
    trk_capture_mark(1);
    pid_t child = fork();
    if (child == 0) {
        trk_capture_mark(2);
        _exit(trk_capture_active() ? 1 : 0);
    }
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    cr_assert_eq(trk_record_here_stop(here, NULL, NULL), TRK_OK);
    cr_assert_eq(capture_file_marks(&state), 1);
}

Test(capture_here, refuses_what_it_cannot_do)
{
    struct trk_record_options bad = options;
    FILE *file = fopen(capture_path, "w");
    fclose(file);
    cr_assert_eq(trk_record_here_start(&here, &options, &error), TRK_E_EXISTS);
    bad.path = "-";
    cr_assert_eq(trk_record_here_start(&here, &bad, &error), TRK_E_ARGUMENT);
    bad.path = "/nonexistent/folder/a.trk";
    cr_assert_eq(trk_record_here_start(&here, &bad, &error), TRK_E_SYSTEM);
    bad = options;
    bad.ring_records = 100;
    cr_assert_eq(trk_record_here_start(&here, &bad, &error), TRK_E_ARGUMENT);
    cr_assert_not(trk_capture_active());
    options.overwrite = true;
    cr_assert_eq(trk_record_here_start(&here, &options, &error), TRK_OK, "%s", error.text);
    struct trk_record_here *second = NULL;
    cr_assert_eq(trk_record_here_start(&second, &options, &error), TRK_E_EXISTS);
    cr_assert_eq(trk_record_here_stop(here, NULL, NULL), TRK_OK);
}
