/* Asking a catalogue's database, and what it answers when something is wrong. */
#include "catalogue.h"

#include <errno.h>

static bool disk_is_full(sqlite3 *db, int code)
{
    const int reason =
        code == SQLITE_IOERR || code == SQLITE_CANTOPEN ? sqlite3_system_errno(db) : 0;
    return code == SQLITE_FULL || reason == ENOSPC || reason == EDQUOT;
}

enum trk_status catalogue_fail(struct trk_catalogue *catalogue, struct trk_error *error)
{
    int code = sqlite3_errcode(catalogue->db) & 0xff;
    const char *text = sqlite3_errmsg(catalogue->db);
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) {
        return trk_error_set(error, TRK_E_DAMAGED,
                             TRK_CATALOGUE_FILE " is damaged: " CATALOGUE_WAY_OUT);
    }
    if (code == SQLITE_ERROR) { /* our statements are right: its tables are not ours */
        return trk_error_set(error, TRK_E_DAMAGED,
                             TRK_CATALOGUE_FILE " is damaged (%.30s): " CATALOGUE_WAY_OUT, text);
    }
    if (disk_is_full(catalogue->db, code)) {
        (void)trk_error_set(error, TRK_E_SYSTEM, TRK_CATALOGUE_FILE ": the disk is full");
        error->os_errno = ENOSPC;
        return TRK_E_SYSTEM;
    }
    return trk_error_set(error, code == SQLITE_NOMEM ? TRK_E_MEMORY : TRK_E_SYSTEM,
                         TRK_CATALOGUE_FILE ": %.90s", text);
}

enum trk_status catalogue_run(struct trk_catalogue *catalogue, const char *sql,
                              struct trk_error *error)
{
    return sqlite3_exec(catalogue->db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? TRK_OK
               : catalogue_fail(catalogue, error);
}

enum trk_status catalogue_begin(struct trk_catalogue *catalogue, struct trk_error *error)
{
    return catalogue_run(catalogue, "BEGIN IMMEDIATE", error);
}

enum trk_status catalogue_end(struct trk_catalogue *catalogue, enum trk_status status,
                              struct trk_error *error)
{
    if (status == TRK_OK) {
        status = catalogue_run(catalogue, "COMMIT", error);
    }
    if (status != TRK_OK) {
        (void)sqlite3_exec(catalogue->db, "ROLLBACK", NULL, NULL, NULL);
    }
    return status;
}

enum trk_status catalogue_prepare(struct trk_catalogue *catalogue, const char *sql,
                                  const char *const *texts, int count, sqlite3_stmt **out,
                                  struct trk_error *error)
{
    int code = sqlite3_prepare_v2(catalogue->db, sql, -1, out, NULL);
    for (int i = 0; i < count && code == SQLITE_OK; i++) {
        code = sqlite3_bind_text(*out, i + 1, texts[i], -1, SQLITE_TRANSIENT);
    }
    if (code == SQLITE_OK) {
        return TRK_OK;
    }
    enum trk_status status = catalogue_fail(catalogue, error);
    sqlite3_finalize(*out);
    *out = NULL;
    return status;
}

enum trk_status catalogue_done(struct trk_catalogue *catalogue, sqlite3_stmt *statement, int last,
                               struct trk_error *error)
{
    enum trk_status status =
        last == SQLITE_DONE || last == SQLITE_ROW ? TRK_OK : catalogue_fail(catalogue, error);
    sqlite3_finalize(statement);
    return status;
}

const char *catalogue_text(sqlite3_stmt *statement, int column)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    return text != NULL ? (const char *)text : "";
}
