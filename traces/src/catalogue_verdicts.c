/* What was said of stored traces: verdicts and benches. */
#include "catalogue.h"

#include <stdio.h>

#include "traces/content.h"

static uint64_t number_at(sqlite3_stmt *statement, int column)
{
    return sqlite3_column_type(statement, column) == SQLITE_NULL
               ? TRK_NOT_KNOWN
               : (uint64_t)sqlite3_column_int64(statement, column);
}

static void bind_number(sqlite3_stmt *statement, int parameter, uint64_t number)
{
    if (number == TRK_NOT_KNOWN) {
        (void)sqlite3_bind_null(statement, parameter);
    } else {
        (void)sqlite3_bind_int64(statement, parameter, (sqlite3_int64)number);
    }
}

/* Columns from `first` on: verdict, detail, thread, text, event_at, event_visible. */
static void take(sqlite3_stmt *statement, int first, struct trk_catalogue_verdict *out)
{
    snprintf(out->verdict, sizeof out->verdict, "%s", catalogue_text(statement, first));
    snprintf(out->detail, sizeof out->detail, "%s", catalogue_text(statement, first + 1));
    snprintf(out->thread, sizeof out->thread, "%s", catalogue_text(statement, first + 2));
    snprintf(out->text, sizeof out->text, "%s", catalogue_text(statement, first + 3));
    out->event_at = number_at(statement, first + 4);
    out->event_visible = number_at(statement, first + 5);
}

/* Finish what speaks of a stored file, which another may have removed. */
static enum trk_status done(struct trk_catalogue *catalogue, sqlite3_stmt *statement,
                            const char *hash, struct trk_error *error)
{
    const int last = sqlite3_step(statement);
    if ((last & 0xff) == SQLITE_CONSTRAINT) {
        sqlite3_finalize(statement);
        return trk_error_set(error, TRK_E_ARGUMENT, "no trace %.32s is stored", hash);
    }
    return catalogue_done(catalogue, statement, last, error);
}

static enum trk_status insert(struct trk_catalogue *catalogue,
                              const struct trk_catalogue_verdict *verdict, struct trk_error *error)
{
    const char *texts[] = {verdict->hash,   verdict->core,   verdict->schedule,
                           verdict->seeds,  verdict->trk,    verdict->verdict,
                           verdict->detail, verdict->thread, verdict->text};
    sqlite3_stmt *statement = NULL;
    enum trk_status status =
        catalogue_prepare(catalogue,
                          "INSERT INTO verdicts (hash, core, schedule, seeds, trk, verdict, detail,"
                          " thread, text, event_at, event_visible)"
                          " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
                          " ON CONFLICT DO NOTHING",
                          texts, 9, &statement, error);
    if (status != TRK_OK) {
        return status;
    }
    bind_number(statement, 10, verdict->event_at);
    bind_number(statement, 11, verdict->event_visible);
    return done(catalogue, statement, verdict->hash, error);
}

enum trk_status trk_catalogue_find(struct trk_catalogue *catalogue,
                                   struct trk_catalogue_verdict *verdict, bool *had,
                                   struct trk_error *error)
{
    const char *key[] = {verdict->hash, verdict->core, verdict->schedule, verdict->seeds,
                         verdict->trk};
    sqlite3_stmt *statement = NULL;
    enum trk_status status = catalogue_prepare(
        catalogue,
        "SELECT verdict, detail, thread, text, event_at, event_visible FROM verdicts WHERE"
        " hash = ?1 AND core = ?2 AND schedule = ?3 AND seeds = ?4 AND trk = ?5",
        key, 5, &statement, error);
    if (status != TRK_OK) {
        return status;
    }
    int last = sqlite3_step(statement);
    *had = last == SQLITE_ROW;
    if (*had) {
        take(statement, 0, verdict);
    }
    return catalogue_done(catalogue, statement, last, error);
}

enum trk_status trk_catalogue_record(struct trk_catalogue *catalogue,
                                     struct trk_catalogue_verdict *verdict, bool *had,
                                     struct trk_error *error)
{
    *had = false;
    enum trk_status status = catalogue_begin(catalogue, error);
    if (status != TRK_OK) {
        return status;
    }
    status = insert(catalogue, verdict, error);
    if (status == TRK_OK && sqlite3_changes(catalogue->db) == 0) {
        status = trk_catalogue_find(catalogue, verdict, had, error);
    }
    return catalogue_end(catalogue, status, error);
}

enum trk_status trk_catalogue_verdicts(struct trk_catalogue *catalogue, const char *hash,
                                       trk_catalogue_verdict_fn *fn, void *context,
                                       struct trk_error *error)
{
    sqlite3_stmt *statement = NULL;
    enum trk_status status = catalogue_prepare(
        catalogue,
        "SELECT hash, core, schedule, seeds, trk, verdict, detail, thread, text, event_at,"
        " event_visible FROM verdicts WHERE hash = ?1 ORDER BY core, schedule, seeds, trk",
        &hash, 1, &statement, error);
    int last = SQLITE_DONE;
    while (status == TRK_OK && (last = sqlite3_step(statement)) == SQLITE_ROW) {
        struct trk_catalogue_verdict verdict = {
            .hash = catalogue_text(statement, 0),
            .core = catalogue_text(statement, 1),
            .schedule = catalogue_text(statement, 2),
            .seeds = catalogue_text(statement, 3),
            .trk = catalogue_text(statement, 4),
        };
        take(statement, 5, &verdict);
        fn(context, &verdict);
    }
    return status == TRK_OK ? catalogue_done(catalogue, statement, last, error) : status;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void name_run(struct trk_catalogue_run *run)
{
    char text[sizeof run->core + sizeof run->trk + 2], name[TRK_CONTENT_BYTES];
    int length = snprintf(text, sizeof text, "%s\n%s", run->core, run->trk);
    trk_content_name_bytes(text, (size_t)length, name);
    snprintf(run->id, sizeof run->id, "%.12s", name);
}

enum trk_status trk_catalogue_runs(struct trk_catalogue *catalogue, trk_catalogue_run_fn *fn,
                                   void *context, struct trk_error *error)
{
    sqlite3_stmt *statement = NULL;
    enum trk_status status = catalogue_prepare(
        catalogue, "SELECT core, trk, count(*) FROM verdicts GROUP BY core, trk ORDER BY core, trk",
        NULL, 0, &statement, error);
    int last = SQLITE_DONE;
    while (status == TRK_OK && (last = sqlite3_step(statement)) == SQLITE_ROW) {
        struct trk_catalogue_run run = {.verdicts = number_at(statement, 2)};
        snprintf(run.core, sizeof run.core, "%s", catalogue_text(statement, 0));
        snprintf(run.trk, sizeof run.trk, "%s", catalogue_text(statement, 1));
        name_run(&run);
        fn(context, &run);
    }
    return status == TRK_OK ? catalogue_done(catalogue, statement, last, error) : status;
}

/* ---- benches --------------------------------------------------------------------------------- */

enum trk_status trk_catalogue_bench(struct trk_catalogue *catalogue, const char *hash,
                                    const char *json, struct trk_error *error)
{
    const char *texts[] = {hash, json};
    sqlite3_stmt *statement = NULL;
    enum trk_status status = catalogue_prepare(
        catalogue, "INSERT INTO benches (hash, result) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        texts, 2, &statement, error);
    if (status != TRK_OK) {
        return status;
    }
    return done(catalogue, statement, hash, error);
}

enum trk_status trk_catalogue_benches(struct trk_catalogue *catalogue, const char *hash,
                                      trk_catalogue_bench_fn *fn, void *context,
                                      struct trk_error *error)
{
    sqlite3_stmt *statement = NULL;
    enum trk_status status =
        catalogue_prepare(catalogue, "SELECT result FROM benches WHERE hash = ?1 ORDER BY id",
                          &hash, 1, &statement, error);
    int last = SQLITE_DONE;
    while (status == TRK_OK && (last = sqlite3_step(statement)) == SQLITE_ROW) {
        fn(context, catalogue_text(statement, 0));
    }
    return status == TRK_OK ? catalogue_done(catalogue, statement, last, error) : status;
}
