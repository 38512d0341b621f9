/* Whether the rows of a database say what can be: a bit that turns over in a text is no damage to
 * SQLite. */
#include "catalogue.h"

#include "simulator/scenario.h"

static bool is_number(sqlite3_stmt *statement, int column)
{
    return sqlite3_column_type(statement, column) == SQLITE_NULL ||
           sqlite3_column_int64(statement, column) >= 0;
}

/* Name, hash, expected, bytes. */
static bool is_trace(sqlite3_stmt *statement)
{
    const char *name = catalogue_text(statement, 0);
    return name[0] != '\0' && trk_content_is_name(catalogue_text(statement, 1)) &&
           trk_manifest_may_expect(name, catalogue_text(statement, 2)) && is_number(statement, 3);
}

/* Verdict, event_at, event_visible. */
static bool is_verdict(sqlite3_stmt *statement)
{
    return trk_scenario_verdict_may_come(catalogue_text(statement, 0)) && is_number(statement, 1) &&
           is_number(statement, 2);
}

static enum trk_status check_rows(struct trk_catalogue *catalogue, const char *sql,
                                  bool (*good)(sqlite3_stmt *statement), const char *what,
                                  struct trk_error *error)
{
    sqlite3_stmt *statement = NULL;
    enum trk_status status = catalogue_prepare(catalogue, sql, NULL, 0, &statement, error);
    int last = SQLITE_DONE;
    while (status == TRK_OK && (last = sqlite3_step(statement)) == SQLITE_ROW) {
        if (!good(statement)) {
            status = trk_error_set(error, TRK_E_DAMAGED,
                                   TRK_CATALOGUE_FILE " is damaged: %s '%.40s': " CATALOGUE_WAY_OUT,
                                   what, catalogue_text(statement, 0));
        }
    }
    if (status != TRK_OK) {
        sqlite3_finalize(statement);
        return status;
    }
    return catalogue_done(catalogue, statement, last, error);
}

enum trk_status catalogue_check_words(struct trk_catalogue *catalogue, struct trk_error *error)
{
    enum trk_status status =
        check_rows(catalogue, "SELECT name, hash, expected, bytes FROM traces ORDER BY hash",
                   is_trace, "what it says of", error);
    return status == TRK_OK ? check_rows(catalogue,
                                         "SELECT verdict, event_at, event_visible FROM verdicts"
                                         " ORDER BY hash, core, schedule, seeds, trk",
                                         is_verdict, "the verdict", error)
                            : status;
}
