/*
 * Goal: recording a command gives a trace with everything that the command said, and the command's
 * own end; what cannot be recorded is refused and leaves nothing behind.
 *
 * Method: real programs, real files in a folder of the test's own, read back by the trace reader.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "capture_file.h"
#include "recorder/record.h"
#include "recorder/trace.h"

static struct trk_record_result result;
static struct trk_error error;

TestSuite(capture_record, .init = capture_file_begin, .fini = capture_file_end);

static enum trk_status record(uint32_t ring_records, const char *const *argv)
{
    struct trk_record_options options = {
        .size = sizeof(options),
        .path = capture_path,
        .argv = (char *const *)(uintptr_t)argv,
        .ring_records = ring_records,
    };
    memset(&error, 0, sizeof(error));
    return trk_record_command(&options, &result, &error);
}

static enum trk_status record_target(uint32_t ring_records, const char *mode, const char *number)
{
    const char *argv[] = {CAPTURE_TARGET, mode, number, NULL};
    return record(ring_records, argv);
}

static struct trk_trace *open_trace(void)
{
    struct trk_trace *trace = NULL;
    enum trk_status status = trk_trace_open(&trace, capture_path, &error);
    cr_assert_eq(status, TRK_OK, "%s", error.text);
    return trace;
}

Test(capture_record, gives_back_the_end_of_commands_that_join_nothing)
{
    static const struct {
        const char *argv[4];
        int32_t status;
    } cases[] = {
        {{"true"}, 0},
        {{"/bin/false"}, 1 << 8},
        {{"sh", "-c", "exit 77"}, 77 << 8},
        {{"sh", "-c", "kill -9 $$"}, SIGKILL},
        {{"sh", "-c", "kill -TERM $$"}, SIGTERM},
        {{CAPTURE_TARGET, "alone"}, 3 << 8},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        cr_assert_eq(record(0, cases[i].argv), TRK_OK, "%s: %s", cases[i].argv[0], error.text);
        cr_assert_eq(result.child_status, cases[i].status, "%s: %x", cases[i].argv[0],
                     (unsigned)result.child_status);
        cr_assert_not(result.attached);
        cr_assert_eq(result.events, 0);
        struct trk_trace *trace = open_trace();
        struct trk_trace_event event;
        cr_assert_eq(trk_trace_next(trace, &event, &error), TRK_E_END);
        cr_assert(trk_trace_state(trace).complete);
        cr_assert_eq(trk_trace_state(trace).child_status, cases[i].status);
        trk_trace_close(trace);
        unlink(capture_path);
    }
}

Test(capture_record, refuses_commands_that_cannot_start)
{
    static const struct {
        const char *command;
        int os_errno;
    } cases[] = {
        {"/nonexistent/program", ENOENT},
        {"no-such-program-in-the-path", ENOENT},
        {"/etc/passwd", EACCES},
        {"/", EACCES},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        const char *argv[] = {cases[i].command, NULL};
        cr_assert_eq(record(0, argv), TRK_E_SYSTEM, "%s", cases[i].command);
        cr_assert_eq(error.os_errno, cases[i].os_errno, "%s: %s", cases[i].command, error.text);
        cr_assert_eq(result.child_status, -1);
        cr_assert_neq(access(capture_path, F_OK), 0, "%s leaves a file", cases[i].command);
    }
}

Test(capture_record, refuses_unusable_options)
{
    static const char *const argv[] = {"true", NULL};
    static const uint32_t sizes[] = {1, 64, 129, 1000, 8u << 20};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i)
        cr_assert_eq(record(sizes[i], argv), TRK_E_ARGUMENT, "%u records", sizes[i]);
    static const char *const nothing[] = {NULL};
    cr_assert_eq(record(0, nothing), TRK_E_ARGUMENT);
    cr_assert_neq(access(capture_path, F_OK), 0);
}

static void write_old_file(void)
{
    FILE *file = fopen(capture_path, "w");
    fputs("old", file);
    fclose(file);
}

static off_t file_size(void)
{
    struct stat status;
    return stat(capture_path, &status) == 0 ? status.st_size : -1;
}

Test(capture_record, overwrites_only_when_told_and_when_the_command_starts)
{
    static const char *const good[] = {"true", NULL};
    static const char *const bad[] = {"/nonexistent/program", NULL};
    struct trk_record_options options = {
        .size = sizeof(options), .path = capture_path, .overwrite = true};
    write_old_file();
    cr_assert_eq(record(0, good), TRK_E_EXISTS);
    cr_assert_eq(file_size(), 3);
    options.argv = (char *const *)(uintptr_t)bad;
    cr_assert_eq(trk_record_command(&options, &result, &error), TRK_E_SYSTEM);
    cr_assert_eq(file_size(), 3, "the old file is hurt though the command did not start");
    options.argv = (char *const *)(uintptr_t)good;
    cr_assert_eq(trk_record_command(&options, &result, &error), TRK_OK);
    cr_assert_eq(file_size(), (off_t)result.bytes);
}

/* Each stream's marks count up from 0 without a hole; returns how many marks there are. */
static uint64_t check_marks(struct trk_trace *trace)
{
    static uint64_t next[64];
    uint64_t marks = 0;
    struct trk_trace_event event;
    enum trk_status status;
    memset(next, 0, sizeof(next));
    while ((status = trk_trace_next(trace, &event, &error)) == TRK_OK) {
        if (event.event.type != TRK_EVENT_MARK)
            continue;
        cr_assert_lt(event.stream, 64);
        cr_assert_eq(event.event.argument, next[event.stream]++);
        ++marks;
    }
    cr_assert_eq(status, TRK_E_END, "%s", error.text);
    return marks;
}

Test(capture_record, writes_down_all_that_threads_say)
{
    cr_assert_eq(record_target(0, "marks", "20000"), TRK_OK, "%s", error.text);
    cr_assert_eq(result.child_status, 0);
    cr_assert(result.attached);
    cr_assert_eq(result.events, 80000);
    cr_assert_eq(result.dropped, 0);
    cr_assert_eq(result.threads, 4);
    cr_assert(result.complete);
    struct trk_trace *trace = open_trace();
    cr_assert_eq(check_marks(trace), 80000);
    cr_assert(trk_trace_state(trace).complete);
    cr_assert_eq(trk_trace_stream_count(trace), 4);
    unsigned seen = 0;
    for (size_t i = 0; i < 4; ++i) {
        const struct trk_trace_stream *stream = trk_trace_stream(trace, i);
        int worker = -1;
        cr_assert_eq(sscanf(stream->name, "worker %d", &worker), 1, "%s", stream->name);
        seen |= 1u << worker;
        cr_assert_eq(stream->role, 1);
        cr_assert_eq(stream->events, 20000);
    }
    cr_assert_eq(seen, 15);
    trk_trace_close(trace);
}

Test(capture_record, keeps_what_was_said_before_an_abort)
{
    cr_assert_eq(record_target(0, "abort", "5000"), TRK_OK, "%s", error.text);
    cr_assert(WIFSIGNALED(result.child_status));
    cr_assert_eq(WTERMSIG(result.child_status), SIGABRT);
    struct trk_trace *trace = open_trace();
    cr_assert_eq(check_marks(trace), 5000);
    cr_assert(trk_trace_state(trace).complete);
    trk_trace_close(trace);
}

/* On a busy machine the drain may come too late for a thread or two: that is told, not hidden. */
Test(capture_record, uses_rings_of_dead_threads_again)
{
    bool seen[151] = {false};
    uint64_t next = 0;
    uint64_t events = 0;
    cr_assert_eq(record_target(128, "churn", "150"), TRK_OK, "%s", error.text);
    cr_assert_eq(result.events + result.dropped, 150);
    cr_assert_gt(result.threads, 64, "no ring is used again");
    struct trk_trace *trace = open_trace();
    struct trk_trace_event event;
    while (trk_trace_next(trace, &event, &error) == TRK_OK) {
        if (event.event.type != TRK_EVENT_MARK)
            continue;
        cr_assert_geq(event.event.argument, next);
        next = event.event.argument + 1;
        cr_assert_lt(event.stream, 151);
        cr_assert_not(seen[event.stream], "a stream is used again");
        seen[event.stream] = true;
        ++events;
    }
    cr_assert_eq(events, result.events);
    trk_trace_close(trace);
}

Test(capture_record, counts_every_event_that_found_no_room)
{
    char counted[64];
    snprintf(counted, sizeof(counted), "%s/counted", capture_folder);
    int saved = dup(STDOUT_FILENO);
    int fd = open(counted, O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(fd, STDOUT_FILENO);
    enum trk_status status = record_target(1024, "flood", "3000000");
    dup2(saved, STDOUT_FILENO);
    unsigned long long lost = 0;
    FILE *file = fopen(counted, "r");
    cr_assert_eq(fscanf(file, "%llu", &lost), 1);
    fclose(file);
    close(fd);
    unlink(counted);
    cr_assert_eq(status, TRK_OK, "%s", error.text);
    cr_assert_gt(lost, 0, "the flood was too small for the test");
    cr_assert_eq(result.dropped, lost);
    cr_assert_eq(result.events + result.dropped, 3000000);
    struct trk_trace *trace = open_trace();
    struct trk_trace_event event;
    uint64_t next = 0;
    while (trk_trace_next(trace, &event, &error) == TRK_OK) {
        if (event.event.type == TRK_EVENT_DROP) {
            next += event.event.argument;
            continue;
        }
        cr_assert_eq(event.event.argument, next, "the loss stands in the wrong place");
        ++next;
    }
    cr_assert_eq(next, 3000000);
    cr_assert_not(trk_trace_state(trace).complete);
    cr_assert_eq(trk_trace_state(trace).dropped, lost);
    trk_trace_close(trace);
}

static enum trk_status record_over(const char *to)
{
    static const char *const argv[] = {CAPTURE_TARGET, "marks", "20000", NULL};
    struct trk_record_options options = {.size = sizeof(options),
                                         .path = to,
                                         .overwrite = true,
                                         .argv = (char *const *)(uintptr_t)argv};
    return trk_record_command(&options, &result, &error);
}

Test(capture_record, lets_the_command_go_on_when_the_disk_is_full)
{
    cr_assert_eq(record_over("/dev/full"), TRK_E_SYSTEM);
    cr_assert_eq(error.os_errno, ENOSPC, "%s", error.text);
    cr_assert_eq(result.child_status, 0, "the command suffers from our trouble");
    cr_assert_not(result.complete);
    cr_assert_eq(result.events, 0);
    cr_assert_eq(result.thrown_away, 80000, "what is thrown away is counted");
    cr_assert_eq(result.dropped, 80000);
}

Test(capture_record, lets_the_command_go_on_when_the_reader_goes)
{
    cr_assert_eq(mkfifo(capture_path, 0600), 0);
    pid_t reader = fork();
    if (reader == 0) {
        char bytes[3000];
        int fd = open(capture_path, O_RDONLY);
        _exit(read(fd, bytes, sizeof(bytes)) > 0 ? 0 : 1);
    }
    cr_assert_eq(record_over(capture_path), TRK_E_SYSTEM);
    cr_assert_eq(error.os_errno, EPIPE, "%s", error.text);
    cr_assert_eq(result.events + result.dropped, 80000);
    cr_assert_eq(result.dropped, result.thrown_away);
    cr_assert_eq(result.child_status, 0, "the command suffers from our trouble");
    int status = -1;
    waitpid(reader, &status, 0);
    cr_assert_eq(status, 0);
}

Test(capture_record, leaves_signals_as_they_were)
{
    static const char *const argv[] = {"sh", "-c", "kill -TERM $PPID; exit 5", NULL};
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_IGN);
    cr_assert_eq(record(0, argv), TRK_OK);
    cr_assert_eq(result.child_status, 5 << 8);
    struct sigaction action;
    sigaction(SIGINT, NULL, &action);
    cr_assert_eq(action.sa_handler, SIG_DFL);
    sigaction(SIGTERM, NULL, &action);
    cr_assert_eq(action.sa_handler, SIG_IGN);
}
