/* Traces in memory for tests: made by the real writer, read back by the real reader. */
#ifndef TESTS_TRACE_SUPPORT_H
#define TESTS_TRACE_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/trace.h"
#include "recorder/writer.h"

/* A writer on a memory file, and the bytes of it once it is finished. */
struct trace_file {
    int fd;
    struct trk_writer *writer;
    uint8_t *bytes;
    size_t size_bytes;
};

/* Each aborts the test program with a message when it fails: no test is about that. */
void trace_file_start(struct trace_file *file, unsigned clock_shift);
/* Without what a file may lack: no SCHEMA, no INDEX, no summaries. */
void trace_file_start_plain(struct trace_file *file, unsigned clock_shift);
void trace_file_name(struct trace_file *file, uint32_t stream_id, const char *name);
void trace_file_add(struct trace_file *file, uint32_t stream_id, const struct trk_record *records,
                    size_t count, uint64_t dropped);
void trace_file_flush(struct trace_file *file);
/* Write the end and take the bytes. */
void trace_file_end(struct trace_file *file, int32_t child_status);
void trace_file_free(struct trace_file *file);

/* All events of a trace, in order. */
struct trace_events {
    struct trk_trace_event *events;
    size_t count;
    struct trk_trace_state state; /* after reading */
    struct trk_error error;       /* of opening or reading, when status says so */
    enum trk_status status;       /* TRK_OK: read to the end */
};

struct trace_events trace_read_bytes(const void *bytes, size_t size_bytes);
void trace_events_free(struct trace_events *events);

bool trace_event_equal(const struct trk_event *a, const struct trk_event *b);

/* Random numbers from a seed; the same on every machine. */
struct trace_random {
    uint64_t state;
};

uint64_t trace_random_next(struct trace_random *random);
/* 0 to limit - 1. */
uint64_t trace_random_below(struct trace_random *random, uint64_t limit);

/* Every type that event.h names. */
extern const uint8_t trace_event_types[];
extern const size_t trace_event_type_count;

/* An event of a type with random contents, often extreme, in the fields the type uses. */
struct trk_event trace_random_event(struct trace_random *random, uint8_t type);
/* And in all fields, of any type. */
struct trk_event trace_random_any_event(struct trace_random *random);

#endif
