#define _GNU_SOURCE /* memfd_create */
#include "trace_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void must(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "test support: %s failed\n", what);
        abort();
    }
}

static void start(struct trace_file *file, unsigned clock_shift, bool plain)
{
    *file = (struct trace_file){.fd = memfd_create("trace", MFD_CLOEXEC)};
    must(file->fd >= 0, "memfd_create");
    struct trk_writer_options options = trk_writer_options_default();
    options.clock_shift = clock_shift;
    options.plain = plain;
    for (size_t i = 0; i < sizeof options.sync_marker; i++) {
        options.sync_marker[i] = (uint8_t)(0xc1 + 29 * i);
    }
    must(trk_writer_create(&file->writer, file->fd, &options, "{\"test\":true}", NULL) == TRK_OK,
         "trk_writer_create");
}

void trace_file_start(struct trace_file *file, unsigned clock_shift)
{
    start(file, clock_shift, false);
}

void trace_file_start_plain(struct trace_file *file, unsigned clock_shift)
{
    start(file, clock_shift, true);
}

void trace_file_name(struct trace_file *file, uint32_t stream_id, const char *name)
{
    struct trk_trace_stream stream = {
        .stream_id = stream_id, .thread_id = 1000 + stream_id, .role = 1};
    snprintf(stream.name, sizeof stream.name, "%s", name);
    must(trk_writer_stream(file->writer, &stream, NULL) == TRK_OK, "trk_writer_stream");
}

void trace_file_add(struct trace_file *file, uint32_t stream_id, const struct trk_record *records,
                    size_t count, uint64_t dropped)
{
    must(trk_writer_append(file->writer, stream_id, records, count, dropped, NULL) == TRK_OK,
         "trk_writer_append");
}

void trace_file_flush(struct trace_file *file)
{
    must(trk_writer_flush(file->writer, NULL) == TRK_OK, "trk_writer_flush");
}

static void take_bytes(struct trace_file *file)
{
    off_t size_bytes = lseek(file->fd, 0, SEEK_END);
    must(size_bytes > 0, "lseek");
    file->size_bytes = (size_t)size_bytes;
    file->bytes = malloc(file->size_bytes);
    must(file->bytes != NULL, "malloc");
    must(pread(file->fd, file->bytes, file->size_bytes, 0) == size_bytes, "pread");
}

void trace_file_end(struct trace_file *file, int32_t child_status)
{
    must(trk_writer_end(file->writer, child_status, NULL) == TRK_OK, "trk_writer_end");
    file->writer = NULL;
    take_bytes(file);
}

void trace_file_free(struct trace_file *file)
{
    trk_writer_destroy(file->writer);
    free(file->bytes);
    close(file->fd);
}

struct trace_events trace_read_bytes(const void *bytes, size_t size_bytes)
{
    struct trace_events all = {.events = NULL};
    struct trk_trace *trace;
    all.status = trk_trace_open_bytes(&trace, bytes, size_bytes, &all.error);
    if (all.status != TRK_OK) {
        return all;
    }
    size_t room = 0;
    for (;;) {
        struct trk_trace_event event;
        all.status = trk_trace_next(trace, &event, &all.error);
        if (all.status != TRK_OK) {
            break;
        }
        if (all.count == room) {
            room = room == 0 ? 64 : 2 * room;
            all.events = realloc(all.events, room * sizeof *all.events);
            must(all.events != NULL, "realloc");
        }
        /* Tests speak of streams by their id in the file. */
        event.stream = trk_trace_stream(trace, event.stream)->stream_id;
        all.events[all.count++] = event;
    }
    all.status = all.status == TRK_E_END ? TRK_OK : all.status;
    all.state = trk_trace_state(trace);
    trk_trace_close(trace);
    return all;
}

void trace_events_free(struct trace_events *events)
{
    free(events->events);
    *events = (struct trace_events){.events = NULL};
}

bool trace_event_equal(const struct trk_event *a, const struct trk_event *b)
{
    return a->argument == b->argument && a->seq == b->seq && a->domain == b->domain &&
           a->page == b->page && a->pages == b->pages && a->type == b->type &&
           a->flags == b->flags && a->context == b->context;
}
