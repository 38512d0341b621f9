/*
 * Inside a query: the open trace, and what its tables share.
 */
#ifndef TRACES_SRC_QUERY_H
#define TRACES_SRC_QUERY_H

#include <sqlite3.h>

#include "query_frames.h"
#include "recorder/chunks.h"
#include "traces/query.h"

/* Lists of parameters that SQLite prescribes. */
#define TRK_SQLITE_CONNECT                                                                         \
    sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **out,             \
        char **message
#define TRK_SQLITE_ALLOW                                                                           \
    void *context, int action, const char *first, const char *second, const char *database,        \
        const char *view

struct trk_query {
    sqlite3 *db;
    char *path;
    struct trk_trace *trace;
    double ticks_a_us;  /* 0: the header does not say */
    uint64_t first_tsc; /* of event 0 */
    struct trk_query_frames frames;
    uint64_t other_bytes; /* read through other handles, that are closed */
    uint64_t chunks_read;
    const struct trk_query_rows *rows; /* of the statement that runs; NULL: none */
    struct trk_trace_watch watch;
    bool damaged;
    struct trk_error error; /* of reading, while a statement runs: SQLite's says less */
};

/* Whether the time of the running statement is used up. */
bool trk_query_late(const struct trk_query *query);

/* Keep an error for the one who runs the statement, and give SQLite's code for it. */
int trk_query_fail(struct trk_query *query, const struct trk_error *error);

/*
 * Decode a chunk of a query's trace into room that grows. TRK_E_DAMAGED: it is passed over, and
 * noted. TRK_E_LIVELOCK: no time.
 */
struct trk_query_chunk {
    struct trk_record *records;
    uint32_t count, room;
};

TRK_MUST_USE enum trk_status trk_query_read_chunk(struct trk_query *query, size_t index,
                                                  struct trk_query_chunk *out,
                                                  struct trk_error *error);

/* Microseconds between two times, with three decimals. */
double trk_query_us(const struct trk_query *query, uint64_t from_tsc, uint64_t to_tsc);

/* query_events.c and query_lists.c: the tables. SQLite's codes. */
int trk_query_events_register(struct trk_query *query);
int trk_query_lists_register(struct trk_query *query);

/* query_views.c: the views as statements. */
extern const char trk_query_views[];

#endif
