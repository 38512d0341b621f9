/*
 * What a statement asks of a table of events, as far as it makes the reading less.
 *
 * SQLite offers constraints on columns; those that are of use are written down in the plan, a
 * letter for the column and one for the comparison, and their values come when rows are asked for.
 * SQLite looks at each row again.
 */
#ifndef TRACES_QUERY_PLAN_H
#define TRACES_QUERY_PLAN_H

#include "query_scan.h"

/* In the plan's number: columns that cost more. */
#define TRK_QUERY_PLAN_IN_ORDER 1
#define TRK_QUERY_PLAN_ENDS     2
#define TRK_QUERY_PLAN_FRAMES   4

/* Choose; SQLite's codes. columns: what stands where in the table. */
int trk_query_plan_choose(sqlite3_index_info *info, const unsigned *columns, size_t column_count);

/* What is asked for. */
struct trk_query_plan {
    struct trk_query_filter filter;
    int type;     /* of events; -1: any, 0: none that there is */
    char *thread; /* its name, for the filter */
    bool has_region, has_page;
    uint64_t region; /* its first address */
    uint64_t page;   /* in its region */
};

/* Take the values that go with a plan's letters; SQLite's codes. */
int trk_query_plan_take(struct trk_query_plan *plan, const struct trk_query *query,
                        const char *text, int argc, sqlite3_value **argv);
void trk_query_plan_deinit(struct trk_query_plan *plan);

/* Whether events of the type that is asked for may name a hold, and whether they may name none. */
bool trk_query_plan_in_holds(const struct trk_query_plan *plan);
bool trk_query_plan_beside_holds(const struct trk_query_plan *plan);

#endif
