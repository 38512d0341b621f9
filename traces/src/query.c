#include "query.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

/* Steps of SQLite's machine between two looks at the clock. */
#define STEPS 10000

/* A statement of a megabyte is no statement. */
#define SQL_BYTES_MAX   (1 << 20)
#define VALUE_BYTES_MAX (16 << 20)
#define DEPTH_MAX       200

bool trk_query_late(const struct trk_query *query)
{
    const struct trk_query_rows *rows = query->rows;
    return rows != NULL && rows->late != NULL && rows->late(rows->context);
}

int trk_query_fail(struct trk_query *query, const struct trk_error *error)
{
    if (query->error.status == TRK_OK) {
        query->error = *error;
    }
    return SQLITE_ERROR;
}

double trk_query_us(const struct trk_query *query, uint64_t from_tsc, uint64_t to_tsc)
{
    double ticks = to_tsc >= from_tsc ? (double)(to_tsc - from_tsc) : -(double)(from_tsc - to_tsc);
    return round(ticks / query->ticks_a_us * 1000) / 1000;
}

enum trk_status trk_query_read_chunk(struct trk_query *query, size_t index,
                                     struct trk_query_chunk *out, struct trk_error *error)
{
    uint32_t events = trk_trace_chunk(query->trace, index).events;
    out->count = 0;
    if (trk_query_late(query)) {
        return trk_error_set(error, TRK_E_LIVELOCK, "the time of the query is used up");
    }
    if (events > out->room) {
        struct trk_record *records = realloc(out->records, events * sizeof *records);
        if (records == NULL) {
            return trk_error_set(error, TRK_E_MEMORY, "no memory to read the trace");
        }
        out->records = records;
        out->room = events;
    }
    enum trk_status status = trk_trace_chunk_read(query->trace, index, out->records, error);
    query->chunks_read++;
    query->damaged |= status == TRK_E_DAMAGED;
    out->count = status == TRK_OK ? events : 0;
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Plain selects, and what they are made of. */
static int allow(TRK_SQLITE_ALLOW)
{
    (void)context;
    (void)first;
    (void)database;
    (void)view;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return strcmp(second, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    default:
        return SQLITE_DENY;
    }
}

/* address(N): as addresses are written. */
static void address_function(sqlite3_context *to, int argc, sqlite3_value **argv)
{
    char text[24];
    (void)argc;
    if (sqlite3_value_type(argv[0]) == SQLITE_INTEGER) {
        snprintf(text, sizeof text, "0x%" PRIx64, (uint64_t)sqlite3_value_int64(argv[0]));
        sqlite3_result_text(to, text, -1, SQLITE_TRANSIENT);
    }
}

/* Tables are made when a statement names them first, which is not for statements to be asked for.
 */
static int make_tables(sqlite3 *db)
{
    static const char *const names[] = {"events",  "touches",   "operations",  "faults",
                                        "uploads", "downloads", "protections", "threads",
                                        "frames",  "regions",   "findings"};
    int code = SQLITE_OK;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && code == SQLITE_OK; i++) {
        sqlite3_stmt *statement = NULL;
        char text[64];
        snprintf(text, sizeof text, "SELECT 1 FROM %s", names[i]);
        code = sqlite3_prepare_v2(db, text, -1, &statement, NULL);
        sqlite3_finalize(statement);
    }
    return code;
}

static enum trk_status open_database(struct trk_query *query, struct trk_error *error)
{
    sqlite3_hard_heap_limit64((sqlite3_int64)TRK_QUERY_SQL_BYTES);
    int code = sqlite3_open_v2(":memory:", &query->db, SQLITE_OPEN_READWRITE, NULL);
    if (code == SQLITE_OK) {
        (void)sqlite3_limit(query->db, SQLITE_LIMIT_SQL_LENGTH, SQL_BYTES_MAX);
        (void)sqlite3_limit(query->db, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
        (void)sqlite3_limit(query->db, SQLITE_LIMIT_EXPR_DEPTH, DEPTH_MAX);
        (void)sqlite3_limit(query->db, SQLITE_LIMIT_ATTACHED, 0);
        /* A name in double quotes is a name. */
        (void)sqlite3_db_config(query->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
        (void)sqlite3_db_config(query->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        code = trk_query_events_register(query);
    }
    if (code == SQLITE_OK) {
        code = trk_query_lists_register(query);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_create_function(query->db, "address", 1,
                                       SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
                                       address_function, NULL, NULL);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_exec(query->db, trk_query_views, NULL, NULL, NULL);
    }
    if (code == SQLITE_OK) {
        code = make_tables(query->db);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_set_authorizer(query->db, allow, NULL);
    }
    return code == SQLITE_OK ? TRK_OK
                             : trk_error_set(error, TRK_E_MEMORY, "SQLite does not start: %s",
                                             sqlite3_errstr(code));
}

/* The frequency of the trace's clock, as its header says it. */
static double ticks_a_us(const char *header_json)
{
    cJSON *header = cJSON_Parse(header_json);
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(header, "tsc_hz");
    double hertz = 0;
    if (cJSON_IsNumber(value)) {
        hertz = value->valuedouble;
    } else if (cJSON_IsString(value)) {
        hertz = strtod(value->valuestring, NULL);
    }
    cJSON_Delete(header);
    return hertz >= 1e3 && hertz <= 1e12 ? hertz / 1e6 : 0;
}

static enum trk_status open_trace(struct trk_query *query, struct trk_error *error)
{
    struct trk_trace_event first;
    enum trk_status status = trk_trace_open(&query->trace, query->path, error);
    if (status == TRK_OK) {
        status = trk_trace_scan_quick(query->trace, error);
    }
    if (status == TRK_OK) {
        query->ticks_a_us = ticks_a_us(trk_trace_header_json(query->trace));
        status = trk_trace_next(query->trace, &first, error);
        query->first_tsc = status == TRK_OK ? first.tsc : 0;
    }
    if (status == TRK_OK || status == TRK_E_END) {
        status = trk_trace_rewind(query->trace, error);
    }
    return status;
}

enum trk_status trk_query_open(struct trk_query **out, const char *path, struct trk_error *error)
{
    struct trk_query *query = calloc(1, sizeof *query);
    *out = NULL;
    if (query != NULL) {
        query->path = strdup(path);
    }
    if (query == NULL || query->path == NULL) {
        free(query);
        return trk_error_set(error, TRK_E_MEMORY, "no memory for a query");
    }
    enum trk_status status = open_trace(query, error);
    if (status == TRK_OK) {
        status = open_database(query, error);
    }
    if (status != TRK_OK) {
        trk_query_close(query);
        return status;
    }
    *out = query;
    return TRK_OK;
}

void trk_query_close(struct trk_query *query)
{
    if (query == NULL) {
        return;
    }
    (void)sqlite3_close(query->db);
    trk_query_frames_deinit(&query->frames);
    trk_trace_close(query->trace);
    free(query->path);
    free(query);
}

void trk_query_on_progress(struct trk_query *query, const struct trk_trace_watch *watch)
{
    query->watch = *watch;
}

struct trk_trace *trk_query_trace(struct trk_query *query)
{
    return query->trace;
}

struct trk_query_stats trk_query_stats(const struct trk_query *query)
{
    return (struct trk_query_stats){
        .read_bytes = trk_trace_bytes_read(query->trace) + query->other_bytes,
        .chunks = trk_trace_chunk_count(query->trace),
        .chunks_read = query->chunks_read,
        .damaged = query->damaged || trk_trace_state(query->trace).damaged_chunks > 0,
    };
}

/* ---- running --------------------------------------------------------------------------------- */

static int look_at_clock(void *context)
{
    return trk_query_late(context);
}

static struct trk_query_value value_of(sqlite3_stmt *statement, int column)
{
    struct trk_query_value value = {.kind = TRK_QUERY_NULL};
    const char *declared = sqlite3_column_decltype(statement, column);
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        value.kind = declared != NULL && strcmp(declared, "ADDRESS") == 0 ? TRK_QUERY_ADDRESS
                                                                          : TRK_QUERY_INTEGER;
        value.integer = sqlite3_column_int64(statement, column);
        break;
    case SQLITE_FLOAT:
        value.kind = TRK_QUERY_REAL;
        value.real = sqlite3_column_double(statement, column);
        break;
    case SQLITE_TEXT:
        value.kind = TRK_QUERY_TEXT;
        value.bytes = sqlite3_column_text(statement, column);
        break;
    case SQLITE_BLOB:
        value.kind = TRK_QUERY_BLOB;
        value.bytes = sqlite3_column_blob(statement, column);
        break;
    default:
        break;
    }
    if (value.kind == TRK_QUERY_TEXT || value.kind == TRK_QUERY_BLOB) {
        value.size_bytes = (size_t)sqlite3_column_bytes(statement, column);
    }
    return value;
}

static enum trk_status failed(struct trk_query *query, int code, struct trk_error *error)
{
    if (query->error.status != TRK_OK) {
        if (error != NULL) {
            *error = query->error;
        }
        return query->error.status;
    }
    if (code == SQLITE_INTERRUPT) {
        return trk_error_set(error, TRK_E_LIVELOCK, "the time of the query is used up");
    }
    if (code == SQLITE_NOMEM) {
        return trk_error_set(error, TRK_E_MEMORY, "the query needs more than %" PRIu64 " MiB",
                             TRK_QUERY_SQL_BYTES >> 20);
    }
    if (code == SQLITE_AUTH) {
        return trk_error_set(error, TRK_E_ARGUMENT, "a trace is only read: %s",
                             sqlite3_errmsg(query->db));
    }
    return trk_error_set(error, TRK_E_ARGUMENT, "%s", sqlite3_errmsg(query->db));
}

static enum trk_status prepare(struct trk_query *query, const char *sql, sqlite3_stmt **out,
                               struct trk_error *error)
{
    const char *rest;
    sqlite3_stmt *second = NULL;
    *out = NULL;
    int code = sqlite3_prepare_v2(query->db, sql, -1, out, &rest);
    if (code != SQLITE_OK) {
        return failed(query, code, error);
    }
    if (*out == NULL) {
        return trk_error_set(error, TRK_E_ARGUMENT, "there is no statement in it");
    }
    code = sqlite3_prepare_v2(query->db, rest, -1, &second, NULL);
    sqlite3_finalize(second);
    if (code != SQLITE_OK || second != NULL) {
        return trk_error_set(error, TRK_E_ARGUMENT, "more than one statement");
    }
    if (!sqlite3_stmt_readonly(*out) || sqlite3_column_count(*out) == 0 ||
        sqlite3_stmt_isexplain(*out) == 1) { /* whose rows have pointers; a query plan has none */
        return trk_error_set(error, TRK_E_ARGUMENT, "a trace is only read: not a SELECT");
    }
    return sqlite3_bind_parameter_count(*out) == 0
               ? TRK_OK
               : trk_error_set(error, TRK_E_ARGUMENT, "a statement with parameters");
}

static enum trk_status give_rows(struct trk_query *query, sqlite3_stmt *statement,
                                 const struct trk_query_rows *rows, struct trk_error *error)
{
    int count = sqlite3_column_count(statement);
    struct trk_query_value *values = calloc((size_t)count + 1, sizeof *values);
    const char **names = calloc((size_t)count + 1, sizeof *names);
    int code = values != NULL && names != NULL ? SQLITE_ROW : SQLITE_NOMEM;
    for (int i = 0; i < count && code == SQLITE_ROW; i++) {
        names[i] = sqlite3_column_name(statement, i);
        code = names[i] != NULL ? SQLITE_ROW : SQLITE_NOMEM;
    }
    if (code == SQLITE_ROW) {
        rows->names(rows->context, names, (size_t)count);
    }
    bool more = true;
    while (code == SQLITE_ROW && more) {
        code = sqlite3_step(statement);
        for (int i = 0; i < count && code == SQLITE_ROW; i++) {
            values[i] = value_of(statement, i);
        }
        more = code == SQLITE_ROW && rows->row(rows->context, values, (size_t)count);
    }
    free(values);
    free(names);
    return code == SQLITE_ROW || code == SQLITE_DONE ? TRK_OK : failed(query, code, error);
}

enum trk_status trk_query_run(struct trk_query *query, const char *sql,
                              const struct trk_query_rows *rows, struct trk_error *error)
{
    sqlite3_stmt *statement;
    query->error = (struct trk_error){.status = TRK_OK};
    query->rows = rows;
    sqlite3_progress_handler(query->db, rows->late != NULL ? STEPS : 0, look_at_clock, query);
    enum trk_status status = prepare(query, sql, &statement, error);
    if (status == TRK_OK) {
        status = give_rows(query, statement, rows, error);
    }
    sqlite3_finalize(statement);
    query->rows = NULL;
    return status;
}
