/*
 * Goal: the writer keeps what it is given and refuses what it cannot keep: bad arguments, a full
 * disk, a file that may not grow [F-6] [F-16] [F-32].
 * Method: small files in memory read back with the real reader; /dev/full and RLIMIT_FSIZE for
 * failing and short writes, a pipe for a reader that takes little at a time.
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "format.h"
#include "trace_support.h"

static struct trk_record mark(uint64_t tsc, uint64_t number)
{
    return (struct trk_record){tsc, {.type = TRK_EVENT_MARK, .argument = number}};
}

Test(writer, same_input_gives_the_same_bytes)
{
    struct trace_file files[2];
    for (size_t f = 0; f < 2; f++) {
        trace_file_start(&files[f], 5);
        trace_file_name(&files[f], 0, "one");
        for (uint64_t i = 0; i < 1000; i++) {
            struct trk_record record = mark(1000 + 50 * i, i * i);
            trace_file_add(&files[f], 0, &record, 1, 0);
        }
        trace_file_end(&files[f], 0);
    }
    cr_assert_eq(files[0].size_bytes, files[1].size_bytes);
    cr_expect_arr_eq(files[0].bytes, files[1].bytes, files[0].size_bytes);
    trace_file_free(&files[0]);
    trace_file_free(&files[1]);
}

Test(writer, chunks_of_any_length_come_back)
{
    static const size_t parts[] = {1,
                                   TRK_CHUNK_EVENTS - 1,
                                   1,
                                   TRK_CHUNK_EVENTS,
                                   1,
                                   TRK_CHUNK_EVENTS + 1,
                                   3 * TRK_CHUNK_EVENTS};
    static struct trk_record records[3 * TRK_CHUNK_EVENTS];
    struct trace_file file;
    trace_file_start(&file, 0);
    trace_file_name(&file, 3, "one");
    uint64_t total = 0;
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
        for (size_t i = 0; i < parts[p]; i++) {
            records[i] = mark(total, total);
            total++;
        }
        trace_file_add(&file, 3, records, parts[p], 0);
    }
    trace_file_flush(&file);
    trace_file_flush(&file); /* nothing is open: writes nothing */
    uint64_t size_bytes = trk_writer_bytes(file.writer);
    trace_file_flush(&file);
    cr_expect_eq(trk_writer_bytes(file.writer), size_bytes);
    trace_file_end(&file, 0);
    struct trace_events events = trace_read_bytes(file.bytes, file.size_bytes);
    cr_assert_eq(events.status, TRK_OK);
    cr_expect(events.state.complete);
    cr_assert_eq(events.count, total);
    for (uint64_t i = 0; i < total; i++) {
        cr_assert_eq(events.events[i].event.argument, i);
    }
    trace_events_free(&events);
    trace_file_free(&file);
}

/* [F-32] Losses stand at their place, also where nothing came after them. */
Test(writer, losses_stand_at_their_place)
{
    struct trace_file file;
    trace_file_start(&file, 0);
    trace_file_name(&file, 0, "one");
    struct trk_record records[2] = {mark(10, 1), mark(20, 2)};
    trace_file_add(&file, 0, &records[0], 1, 0);
    trace_file_add(&file, 0, &records[1], 1, 5);
    trace_file_add(&file, 0, NULL, 0, 7);
    trace_file_end(&file, 9);
    struct trace_events events = trace_read_bytes(file.bytes, file.size_bytes);
    static const struct {
        uint8_t type;
        uint64_t argument, tsc;
    } expected[] = {{TRK_EVENT_MARK, 1, 10},
                    {TRK_EVENT_DROP, 5, 20},
                    {TRK_EVENT_MARK, 2, 20},
                    {TRK_EVENT_DROP, 7, 20}};
    cr_assert_eq(events.count, 4);
    for (size_t i = 0; i < 4; i++) {
        cr_expect_eq(events.events[i].event.type, expected[i].type);
        cr_expect_eq(events.events[i].event.argument, expected[i].argument);
        cr_expect_eq(events.events[i].tsc, expected[i].tsc);
    }
    cr_expect_eq(events.state.dropped, 12);
    cr_expect_not(events.state.complete);
    cr_expect(events.state.ended);
    cr_expect_eq(events.state.child_status, 9);
    cr_expect_eq(events.state.first_damage_offset, TRK_NOT_KNOWN);
    trace_events_free(&events);
    trace_file_free(&file);
}

Test(writer, streams_are_told_with_their_latest_name)
{
    struct trace_file file;
    trace_file_start(&file, 0);
    trace_file_name(&file, 9, "");
    trace_file_name(&file, 4, "a name of 31 bytes, cut there...and more");
    struct trk_record record = mark(1, 1);
    trace_file_add(&file, 9, &record, 1, 0);
    trace_file_name(&file, 9, "later \"quoted\" \x01\xc3\xa9");
    uint64_t size_bytes = trk_writer_bytes(file.writer);
    trace_file_name(&file, 9, "later \"quoted\" \x01\xc3\xa9"); /* known: not written again */
    cr_expect_eq(trk_writer_bytes(file.writer), size_bytes);
    trace_file_end(&file, 0);
    struct trk_trace *trace;
    cr_assert_eq(trk_trace_open_bytes(&trace, file.bytes, file.size_bytes, NULL), TRK_OK);
    cr_assert_eq(trk_trace_scan(trace, NULL), TRK_OK);
    cr_assert_eq(trk_trace_stream_count(trace), 2);
    const struct trk_trace_stream *first = trk_trace_stream(trace, 0);
    const struct trk_trace_stream *second = trk_trace_stream(trace, 1);
    cr_expect_eq(first->stream_id, 9);
    cr_expect_eq(first->thread_id, 1009);
    cr_expect_eq(first->role, 1);
    cr_expect_eq(first->events, 1);
    cr_expect_str_eq(first->name, "later \"quoted\" \x01\xc3\xa9");
    cr_expect_eq(second->stream_id, 4);
    cr_expect_str_eq(second->name, "a name of 31 bytes, cut there..");
    cr_expect_str_eq(trk_trace_header_json(trace), "{\"test\":true}");
    trk_trace_close(trace);
    trace_file_free(&file);
}

Test(writer, refuses_bad_arguments)
{
    struct trk_writer *writer;
    struct trk_writer_options options = trk_writer_options_default();
    int fd = open("/dev/null", O_WRONLY);
    char *long_header = malloc(TRK_FORMAT_JSON_MAX + 2);
    memset(long_header, ' ', TRK_FORMAT_JSON_MAX + 1);
    long_header[TRK_FORMAT_JSON_MAX + 1] = '\0';
    cr_expect_eq(trk_writer_create(&writer, fd, &options, long_header, NULL), TRK_E_ARGUMENT);
    cr_expect_eq(trk_writer_create(&writer, fd, &options, long_header + 1, NULL), TRK_OK);
    trk_writer_destroy(writer);
    cr_expect_eq(trk_writer_create(&writer, fd, &options, "", NULL), TRK_E_ARGUMENT);
    cr_expect_eq(trk_writer_create(&writer, fd, NULL, "{}", NULL), TRK_E_ARGUMENT);
    options.size--;
    cr_expect_eq(trk_writer_create(&writer, fd, &options, "{}", NULL), TRK_E_ARGUMENT);
    options = trk_writer_options_default();
    options.clock_shift = 32;
    cr_expect_eq(trk_writer_create(&writer, fd, &options, "{}", NULL), TRK_E_ARGUMENT);
    options = trk_writer_options_default();
    options.zstd_level = 1000;
    cr_expect_eq(trk_writer_create(&writer, fd, &options, "{}", NULL), TRK_E_ARGUMENT);
    cr_expect_null(writer);
    options = trk_writer_options_default();
    struct trk_record record = mark(1, 1);
    struct trk_trace_stream nobody = {.stream_id = UINT32_MAX};
    cr_assert_eq(trk_writer_create(&writer, fd, &options, "{}", NULL), TRK_OK);
    cr_expect_eq(trk_writer_append(writer, 0, &record, 1, 0, NULL), TRK_E_ARGUMENT);
    cr_expect_eq(trk_writer_stream(writer, &nobody, NULL), TRK_E_ARGUMENT);
    struct trk_trace_stream stream = {.stream_id = 0};
    for (uint32_t i = 0; i < TRK_FORMAT_STREAMS_MAX; i++) {
        stream.stream_id = i;
        cr_assert_eq(trk_writer_stream(writer, &stream, NULL), TRK_OK);
    }
    stream.stream_id = TRK_FORMAT_STREAMS_MAX;
    cr_expect_eq(trk_writer_stream(writer, &stream, NULL), TRK_E_ARGUMENT);
    trk_writer_destroy(writer);
    trk_writer_destroy(NULL);
    free(long_header);
    close(fd);
}

Test(writer, full_disk)
{
    struct trk_writer *writer;
    struct trk_writer_options options = trk_writer_options_default();
    struct trk_error error;
    int fd = open("/dev/full", O_WRONLY);
    cr_assert_geq(fd, 0);
    cr_expect_eq(trk_writer_create(&writer, fd, &options, "{}", &error), TRK_E_SYSTEM);
    cr_expect_eq(error.os_errno, ENOSPC);
    cr_expect_null(writer);
    close(fd);
}

/* The file may grow to a size in the middle of a chunk: a short write, then a failing one. */
Test(writer, file_that_may_not_grow)
{
    char path[] = "/tmp/trk-writer-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    unlink(path);
    signal(SIGXFSZ, SIG_IGN);
    struct trk_writer *writer;
    struct trk_writer_options options = trk_writer_options_default();
    struct trk_trace_stream stream = {.stream_id = 0};
    struct trk_error error;
    cr_assert_eq(trk_writer_create(&writer, fd, &options, "{}", NULL), TRK_OK);
    cr_assert_eq(trk_writer_stream(writer, &stream, NULL), TRK_OK);
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = trk_writer_bytes(writer) + TRK_FORMAT_CHUNK_BYTES + 10;
    setrlimit(RLIMIT_FSIZE, &limit);
    struct trk_record record = mark(1, 1);
    cr_expect_eq(trk_writer_append(writer, 0, &record, 1, 0, NULL), TRK_OK);
    cr_expect_eq(trk_writer_flush(writer, &error), TRK_E_SYSTEM);
    cr_expect_eq(error.os_errno, EFBIG);
    cr_expect_eq(error.file_offset, limit.rlim_cur);
    setrlimit(RLIMIT_FSIZE, &old);
    /* There would be room again, but the file ends in the middle of a chunk. */
    cr_expect_eq(trk_writer_flush(writer, &error), TRK_E_SYSTEM);
    stream.role = 2;
    cr_expect_eq(trk_writer_stream(writer, &stream, NULL), TRK_E_SYSTEM);
    cr_expect_eq(trk_writer_end(writer, 0, NULL), TRK_E_SYSTEM);
    cr_expect_eq(lseek(fd, 0, SEEK_END), (off_t)limit.rlim_cur);
    close(fd);
}

struct drain {
    int fd;
    uint8_t *bytes;
    size_t size_bytes;
};

static void *drain_slowly(void *context)
{
    struct drain *drain = context;
    ssize_t got;
    while ((got = read(drain->fd, drain->bytes + drain->size_bytes, 777)) > 0) {
        drain->size_bytes += (size_t)got;
    }
    return NULL;
}

/* Forward only: a pipe will do, however little it takes at a time. */
Test(writer, through_a_pipe)
{
    int ends[2];
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    cr_assert_geq(fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
    struct drain drain = {.fd = ends[0], .bytes = malloc(1 << 20)};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, drain_slowly, &drain), 0);
    struct trk_writer *writer;
    struct trk_writer_options options = trk_writer_options_default();
    struct trk_trace_stream stream = {.stream_id = 0};
    cr_assert_eq(trk_writer_create(&writer, ends[1], &options, "{}", NULL), TRK_OK);
    cr_assert_eq(trk_writer_stream(writer, &stream, NULL), TRK_OK);
    struct trace_random random = {1};
    for (uint64_t i = 0; i < 20000; i++) {
        struct trk_record record = mark(i, trace_random_next(&random));
        cr_assert_eq(trk_writer_append(writer, 0, &record, 1, 0, NULL), TRK_OK);
    }
    cr_assert_eq(trk_writer_end(writer, 0, NULL), TRK_OK);
    close(ends[1]);
    pthread_join(thread, NULL);
    close(ends[0]);
    struct trace_events events = trace_read_bytes(drain.bytes, drain.size_bytes);
    cr_expect_eq(events.count, 20000);
    cr_expect(events.state.complete);
    trace_events_free(&events);
    free(drain.bytes);
}
