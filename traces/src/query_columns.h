/*
 * The columns of tables of events, and what an event has in them.
 *
 * Most are the fields of events by their names (recorder/event_text.h): what `trk dump` prints. So
 * a field that is new there is a column.
 */
#ifndef TRACES_QUERY_COLUMNS_H
#define TRACES_QUERY_COLUMNS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "query_frames.h"
#include "recorder/event_text.h"
#include "recorder/trace.h"
#include "track/event.h"

struct trk_query;

/* An event as a row. */
struct trk_query_row {
    uint64_t number; /* TRK_NOT_KNOWN: not read in order */
    uint64_t ordinal, tsc;
    uint32_t stream;
    uint32_t ranges; /* of an operation: handed to its callback */
    uint64_t pages;  /* and the pages in them */
    uint64_t end_tsc;
    bool ended;   /* the operation's end was found */
    bool touched; /* the row is about one page of several: */
    uint64_t page_addr;
    struct trk_event event, end;
};

enum trk_query_column {
    TRK_QUERY_EVENT = 0,
    TRK_QUERY_STREAM,
    TRK_QUERY_THREAD,
    TRK_QUERY_ORDINAL,
    TRK_QUERY_TSC,
    TRK_QUERY_TIME_US,
    TRK_QUERY_FRAME,
    TRK_QUERY_TYPE,
    TRK_QUERY_REGION,
    TRK_QUERY_PAGE,
    TRK_QUERY_PAGE_ADDR,
    TRK_QUERY_DURATION_US,
    TRK_QUERY_RANGES,
    TRK_QUERY_PAGES_MOVED,
    TRK_QUERY_FIRST_FIELD, /* from here on: fields, in the order of enum trk_event_key */
};

#define TRK_QUERY_COLUMNS_MOST (TRK_QUERY_FIRST_FIELD + TRK_EVENT_KEY_COUNT)

/* Write its definition in a table: "region ADDRESS". The length, as snprintf's. */
int trk_query_column_text(unsigned column, char *out, size_t size);

/* A column by its name; there must be one. */
unsigned trk_query_column_of(const char *name, size_t length);

/* Whether it is a field of events that has a column, and that no column before the fields tells. */
bool trk_query_column_of_field(unsigned column);

/* Whether a column tells of an operation's end. */
bool trk_query_column_of_end(unsigned column);

/* A row with what was found out of it. */
struct trk_query_facts {
    struct trk_query_row row;
    bool unfolded;
    bool known[TRK_QUERY_COLUMNS_MOST];
    int64_t numbers[TRK_QUERY_COLUMNS_MOST];
    const char *words[TRK_QUERY_COLUMNS_MOST];
    bool has_region;
    uint64_t guest_addr;
};

/* Give SQLite what a row has in a column. list: the frames; NULL: not asked for. */
void trk_query_column_give(struct trk_query *query, struct trk_query_facts *facts, unsigned column,
                           const struct trk_query_frame_list *list, sqlite3_context *to);

/* The bytes that an event of the trace is about; false: none. */
bool trk_query_extent(const struct trk_trace *trace, const struct trk_event *event,
                      uint64_t *guest_addr, uint64_t *size_bytes);

#endif
