/*
 * SQL over a trace.
 *
 * The tables are virtual: a statement reads the chunks of the trace that it needs and no others.
 * What it says of thread, time, frame, region and type is used to pass chunks over, by the file's
 * index and by the summaries of chunks. Tables and views: docs/query-cookbook.md.
 *
 * Nothing can be changed, attached or loaded. Memory is bounded for the process, time by a limit.
 */
#ifndef TRACES_QUERY_H
#define TRACES_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

TRK_EXTERN_C_BEGIN

struct trk_query;

/* What SQLite may take for rows that it keeps; what is more it puts into temporary files. */
#define TRK_QUERY_SQL_BYTES (UINT64_C(128) << 20)

/**
 * Open a trace for statements.
 *
 * @param path  A regular file; opened again where a statement reads the trace twice at a time.
 * @return TRK_OK; what opening and scanning a trace give; TRK_E_MEMORY; TRK_E_SYSTEM.
 *
 * Allocates: yes. Blocks: reads the file. Signal-safe: no. Threads: one query, one thread.
 */
TRK_MUST_USE enum trk_status trk_query_open(struct trk_query **out, const char *path,
                                            struct trk_error *error);
void trk_query_close(struct trk_query *query);

enum trk_query_kind {
    TRK_QUERY_NULL = 0,
    TRK_QUERY_INTEGER,
    TRK_QUERY_REAL,
    TRK_QUERY_TEXT,
    TRK_QUERY_BLOB,
    TRK_QUERY_ADDRESS, /* of a column of addresses: integer, to be written in hexadecimal */
};

struct trk_query_value {
    enum trk_query_kind kind;
    int64_t integer;
    double real;
    const void *bytes; /* of text and blobs; valid during the call */
    size_t size_bytes;
};

/* Who takes the rows. */
struct trk_query_rows {
    void (*names)(void *context, const char *const *names, size_t count); /* once, first */
    bool (*row)(void *context, const struct trk_query_value *values,
                size_t count);   /* false: no more */
    bool (*late)(void *context); /* the time is used up, asked now and then; NULL: it never is */
    void *context;
};

/**
 * Run one statement.
 *
 * @return TRK_OK; TRK_E_ARGUMENT: it is no statement, or not one that may be run; TRK_E_LIVELOCK:
 *         the time was used up; TRK_E_MEMORY; TRK_E_SYSTEM; TRK_E_VERSION. Rows may have been given
 *         before. What is damaged in the trace is passed over: trk_query_stats.
 */
TRK_MUST_USE enum trk_status trk_query_run(struct trk_query *query, const char *sql,
                                           const struct trk_query_rows *rows,
                                           struct trk_error *error);

struct trk_query_stats {
    uint64_t read_bytes;  /* of the file since it was opened; twice counts twice */
    uint64_t chunks;      /* of events in the file */
    uint64_t chunks_read; /* decoded, each time */
    bool damaged;         /* something that was read was not readable */
};

struct trk_query_stats trk_query_stats(const struct trk_query *query);

struct trk_trace;
struct trk_trace_watch;

/* Tell how far reading has come where a statement reads the events in order, or has them judged. */
void trk_query_on_progress(struct trk_query *query, const struct trk_trace_watch *watch);

/* The trace as far as it was looked at: its state says what is missing. The query's. */
struct trk_trace *trk_query_trace(struct trk_query *query);

TRK_EXTERN_C_END

#endif
