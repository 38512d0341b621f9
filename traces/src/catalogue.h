/* Inside the catalogue: the open database, and short ways to ask it. */
#ifndef CATALOGUE_H
#define CATALOGUE_H

#include <limits.h>
#include <sqlite3.h>

#include "traces/catalogue.h"

struct trk_catalogue {
    sqlite3 *db;
    char folder[PATH_MAX];
};

/* BEGIN IMMEDIATE; and COMMIT or, where status is none of TRK_OK, ROLLBACK. */
TRK_MUST_USE enum trk_status catalogue_begin(struct trk_catalogue *catalogue,
                                             struct trk_error *error);
TRK_MUST_USE enum trk_status catalogue_end(struct trk_catalogue *catalogue, enum trk_status status,
                                           struct trk_error *error);

/* A statement with texts for its parameters 1 to count. */
TRK_MUST_USE enum trk_status catalogue_prepare(struct trk_catalogue *catalogue, const char *sql,
                                               const char *const *texts, int count,
                                               sqlite3_stmt **out, struct trk_error *error);
/* Finish it: whether it came to its end. */
TRK_MUST_USE enum trk_status catalogue_done(struct trk_catalogue *catalogue,
                                            sqlite3_stmt *statement, int last,
                                            struct trk_error *error);
/* A column's text; "" for NULL. */
const char *catalogue_text(sqlite3_stmt *statement, int column);

#endif
