/*
 * The events of a trace that may match a filter, one after the other.
 *
 * Chunk by chunk and stream by stream where nobody asks for the numbers of events, without the
 * chunks in which nothing matches; else in canonical order. What is given is more than what
 * matches: SQLite looks at each row again.
 */
#ifndef TRACES_QUERY_SCAN_H
#define TRACES_QUERY_SCAN_H

#include "query.h"
#include "query_columns.h"

struct trk_query_filter {
    uint64_t first_event, last_event;
    uint64_t first_tsc, last_tsc;
    uint64_t first_frame, last_frame;
    bool by_frame;      /* frames are asked for by number */
    bool by_region;     /* and those that may match are: */
    bool in_holds;      /* events in holds, among others perhaps */
    bool beside_holds;  /* events in none, among others perhaps */
    bool in_order;      /* event numbers are wanted */
    uint64_t region;    /* its first address */
    int64_t stream;     /* -1: all */
    const char *thread; /* by name; NULL: all */
};

struct trk_query_filter trk_query_filter_all(void);

struct trk_query_scan {
    struct trk_query *query;
    struct trk_query_filter filter;
    struct trk_query_chunk chunk;
    struct trk_query_frame_list window; /* frames of the time that the filter names */
    struct trk_trace_domains domains;
    struct trk_trace *own; /* read in order; NULL: not yet */
    uint64_t own_bytes;    /* of own, that the query has counted */
    uint64_t *ordinals;    /* of own: of each stream's next event */
    uint32_t stream, at, next_record;
    uint64_t ordinal;
    bool begun; /* the stream's first chunk was looked at */
    bool late;  /* the chunk is read for the ends of operations only */
    bool done;
};

void trk_query_scan_deinit(struct trk_query_scan *scan);

/* Begin. The filter's thread must last until the scan has ended. TRK_OK; what reading gives. */
TRK_MUST_USE enum trk_status trk_query_scan_begin(struct trk_query_scan *scan,
                                                  const struct trk_query_filter *filter,
                                                  struct trk_error *error);

/**
 * Give the next event.
 *
 * @param open    An operation that is asked for has not ended, in the stream of the last event or,
 *                in order, in any: then what comes behind it is given, too.
 * @param wanted  Receives whether the event may match; else it is there for operations before it.
 * @return TRK_OK; TRK_E_END: there are no more; TRK_E_LIVELOCK: no time; what reading gives.
 */
TRK_MUST_USE enum trk_status trk_query_scan_next(struct trk_query_scan *scan, bool open,
                                                 struct trk_query_row *out, bool *wanted,
                                                 struct trk_error *error);

#endif
