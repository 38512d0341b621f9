#define _GNU_SOURCE /* memfd_create */
#include "loaded.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static int complain(const char *what, const struct trk_error *error)
{
    fprintf(stderr, "%s: %s\n", what, error->text);
    return 1;
}

static int keep(struct bench_stream *stream, const struct trk_trace_event *event)
{
    if (stream->count == stream->room) {
        size_t room = stream->room == 0 ? 4096 : stream->room * 2;
        struct trk_record *grown = realloc(stream->records, room * sizeof *grown);
        if (grown == NULL) {
            fputs("out of memory\n", stderr);
            return 1;
        }
        stream->records = grown;
        stream->room = room;
    }
    stream->records[stream->count++] =
        (struct trk_record){.tsc = event->tsc, .event = event->event};
    return 0;
}

void bench_unload(struct bench_loaded *loaded)
{
    for (size_t i = 0; i < loaded->streams && loaded->list != NULL; i++) {
        free(loaded->list[i].records);
    }
    free(loaded->list);
    *loaded = (struct bench_loaded){0};
}

int bench_load(const char *path, struct bench_loaded *loaded)
{
    struct trk_trace *trace = NULL;
    struct trk_error error;
    struct trk_trace_event event;
    *loaded = (struct bench_loaded){0};
    if (trk_trace_open(&trace, path, &error) != TRK_OK || trk_trace_scan(trace, &error) != TRK_OK) {
        trk_trace_close(trace);
        return complain(path, &error);
    }
    loaded->streams = trk_trace_stream_count(trace);
    loaded->list = calloc(loaded->streams, sizeof *loaded->list);
    int failed = loaded->list == NULL;
    while (!failed && trk_trace_next(trace, &event, &error) == TRK_OK) {
        failed = keep(&loaded->list[event.stream], &event);
        loaded->events++;
    }
    trk_trace_close(trace);
    return failed;
}

int bench_memory_file(void)
{
    int fd = memfd_create("bench", MFD_CLOEXEC);
    if (fd < 0) {
        perror("memfd");
    }
    return fd;
}

static enum trk_status append(struct trk_writer *writer, size_t number,
                              const struct bench_stream *stream, struct trk_error *error)
{
    struct trk_trace_stream about = {.stream_id = (uint32_t)number};
    enum trk_status status = trk_writer_stream(writer, &about, error);
    for (size_t first = 0; first < stream->count && status == TRK_OK; first += TRK_CHUNK_EVENTS) {
        size_t left = stream->count - first;
        size_t count = left < TRK_CHUNK_EVENTS ? left : TRK_CHUNK_EVENTS;
        status =
            trk_writer_append(writer, (uint32_t)number, stream->records + first, count, 0, error);
    }
    return status;
}

int bench_encode(const struct bench_loaded *loaded, unsigned clock_shift, int fd)
{
    struct trk_writer *writer = NULL;
    struct trk_error error = {.text = ""};
    struct trk_writer_options options = trk_writer_options_default();
    options.clock_shift = clock_shift;
    enum trk_status status = trk_writer_create(&writer, fd, &options, "{}", &error);
    for (size_t i = 0; i < loaded->streams && status == TRK_OK; i++) {
        status = append(writer, i, &loaded->list[i], &error);
    }
    if (status == TRK_OK) {
        status = trk_writer_end(writer, 0, &error); /* uses the writer up, come what may */
    } else {
        trk_writer_destroy(writer);
    }
    return status == TRK_OK ? 0 : complain("encode", &error);
}
