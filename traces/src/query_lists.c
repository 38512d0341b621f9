/* The small tables: threads, frames, regions, findings. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "query.h"
#include "query_regions.h"
#include "simulator/sim.h"
#include "track/address.h"

/* What a table's cursor gives from. */
struct list_cursor {
    sqlite3_vtab_cursor base;
    size_t at, count;
    struct trk_query_regions regions;
    struct trk_sim_report *report; /* findings */
};

struct list_table;

struct list {
    const char *name;
    const char *columns;
    enum trk_status (*begin)(struct trk_query *query, struct list_cursor *cursor,
                             struct trk_error *error);
    void (*give)(struct trk_query *query, const struct list_cursor *cursor, int column,
                 sqlite3_context *to);
};

struct list_table {
    sqlite3_vtab base;
    struct trk_query *query;
    const struct list *list;
};

static void give_text(sqlite3_context *to, const char *text)
{
    if (text[0] != '\0') {
        sqlite3_result_text(to, text, -1, SQLITE_TRANSIENT);
    }
}

static void give_number(sqlite3_context *to, uint64_t number)
{
    if (number != TRK_NOT_KNOWN) {
        sqlite3_result_int64(to, (sqlite3_int64)number);
    }
}

static void give_time(const struct trk_query *query, uint64_t from, uint64_t tsc,
                      sqlite3_context *to)
{
    if (query->ticks_a_us > 0) {
        sqlite3_result_double(to, trk_query_us(query, from, tsc));
    }
}

/* ---- threads --------------------------------------------------------------------------------- */

static enum trk_status begin_threads(struct trk_query *query, struct list_cursor *cursor,
                                     struct trk_error *error)
{
    (void)error;
    cursor->count = trk_trace_stream_count(query->trace);
    return TRK_OK;
}

static void give_threads(struct trk_query *query, const struct list_cursor *cursor, int column,
                         sqlite3_context *to)
{
    static const char *const roles[] = {"host", "guest", "gpu"};
    const struct trk_trace_stream *stream = trk_trace_stream(query->trace, cursor->at);
    switch (column) {
    case 0:
        sqlite3_result_int64(to, (sqlite3_int64)cursor->at);
        break;
    case 1:
        give_text(to, stream->name);
        break;
    case 2:
        give_text(to, stream->role < 3 ? roles[stream->role] : "?");
        break;
    case 3:
        sqlite3_result_int64(to, stream->thread_id);
        break;
    case 4:
        give_number(to, stream->events);
        break;
    default:
        give_number(to, stream->dropped);
    }
}

/* ---- frames ---------------------------------------------------------------------------------- */

static enum trk_status begin_frames(struct trk_query *query, struct list_cursor *cursor,
                                    struct trk_error *error)
{
    enum trk_status status = trk_query_frames_all(query, error);
    cursor->count = query->frames.list.count;
    return status;
}

static void give_frames(struct trk_query *query, const struct list_cursor *cursor, int column,
                        sqlite3_context *to)
{
    const struct trk_query_frame *frame = &query->frames.list.at[cursor->at];
    bool last = cursor->at + 1 == cursor->count;
    switch (column) {
    case 0:
        give_number(to, frame->number);
        break;
    case 1:
        sqlite3_result_int64(to, (sqlite3_int64)frame->tsc);
        break;
    case 2:
        give_time(query, query->first_tsc, frame->tsc, to);
        break;
    case 3:
        if (!last) {
            give_time(query, frame->tsc, frame[1].tsc, to);
        }
        break;
    default:
        sqlite3_result_int64(to, query->frames.stream);
    }
}

/* ---- regions --------------------------------------------------------------------------------- */

static enum trk_status begin_regions(struct trk_query *query, struct list_cursor *cursor,
                                     struct trk_error *error)
{
    enum trk_status status = trk_query_regions_find(query, &cursor->regions, error);
    cursor->count = cursor->regions.count;
    return status;
}

static void give_regions(struct trk_query *query, const struct list_cursor *cursor, int column,
                         sqlite3_context *to)
{
    const struct trk_query_region *region = &cursor->regions.at[cursor->at];
    (void)query;
    switch (column) {
    case 0:
        sqlite3_result_int64(to, (sqlite3_int64)trk_region_address(region->region));
        break;
    case 1:
        sqlite3_result_int64(to, region->tracker);
        break;
    case 2:
        give_number(to, region->locks);
        break;
    case 3:
        give_number(to, region->protection_holds);
        break;
    default:
        give_number(to, region->chunks);
    }
}

/* ---- findings -------------------------------------------------------------------------------- */

/* The trace is judged by a handle of its own, which is left at its end. */
static enum trk_status begin_findings(struct trk_query *query, struct list_cursor *cursor,
                                      struct trk_error *error)
{
    struct trk_trace *trace = NULL;
    struct trk_sim_options options = trk_sim_options_default();
    cursor->report = calloc(1, sizeof *cursor->report);
    if (cursor->report == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the findings");
    }
    enum trk_status status = trk_trace_open(&trace, query->path, error);
    if (status == TRK_OK) {
        trk_trace_on_progress(trace, query->watch);
        status = trk_sim_trace_with(trace, &options, cursor->report, error);
        query->other_bytes += trk_trace_bytes_read(trace);
        query->damaged |= trk_trace_state(trace).damaged_chunks > 0;
    }
    cursor->count = status == TRK_OK && cursor->report->verdict != TRK_VERDICT_OK;
    trk_trace_close(trace);
    return status;
}

static void give_findings(struct trk_query *query, const struct list_cursor *cursor, int column,
                          sqlite3_context *to)
{
    const struct trk_sim_report *report = cursor->report;
    const char *const texts[] = {report->text,   report->detail,  report->writer, report->holder,
                                 report->teller, report->missing, report->passes};
    switch (column) {
    case 0:
        give_text(to, trk_verdict_name(report));
        break;
    case 1:
        give_number(to, report->event_at);
        break;
    case 2:
        give_number(to, report->event_visible);
        break;
    case 3:
        if (report->event_at != TRK_NOT_KNOWN &&
            report->stream_at < trk_trace_stream_count(query->trace)) {
            give_text(to, trk_trace_stream(query->trace, report->stream_at)->name);
        }
        break;
    case 4:
        give_number(to, report->guest_addr);
        break;
    case 5:
        if (report->guest_addr != TRK_NOT_KNOWN) {
            give_number(to, report->size_bytes);
        }
        break;
    default:
        give_text(to, texts[column - 6]);
    }
}

static const struct list lists[] = {
    {"threads",
     "stream INTEGER, thread TEXT, role TEXT, thread_id INTEGER, events INTEGER, dropped INTEGER",
     begin_threads, give_threads},
    {"frames", "frame INTEGER, tsc INTEGER, time_us REAL, duration_us REAL, stream INTEGER",
     begin_frames, give_frames},
    {"regions",
     "region ADDRESS, tracker INTEGER, locks INTEGER, protection_holds INTEGER, chunks INTEGER",
     begin_regions, give_regions},
    {"findings",
     "verdict TEXT, event INTEGER, visible INTEGER, thread TEXT, guest_addr ADDRESS, size INTEGER, "
     "message TEXT, detail TEXT, writer TEXT, holder TEXT, teller TEXT, missing TEXT, passes TEXT",
     begin_findings, give_findings},
};

/* ---- the module ------------------------------------------------------------------------------ */

static int connect_list(TRK_SQLITE_CONNECT)
{
    const struct list *found = NULL;
    (void)argc;
    (void)message;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        found = strcmp(lists[i].name, argv[0]) == 0 ? &lists[i] : found;
    }
    assert(found != NULL);
    char *text = sqlite3_mprintf("CREATE TABLE x(%s)", found->columns);
    struct list_table *table = sqlite3_malloc(sizeof *table);
    int code = text != NULL && table != NULL ? sqlite3_declare_vtab(db, text) : SQLITE_NOMEM;
    sqlite3_free(text);
    if (code != SQLITE_OK) {
        sqlite3_free(table);
        return code;
    }
    *table = (struct list_table){.query = context, .list = found};
    *out = &table->base;
    return SQLITE_OK;
}

static int disconnect_list(sqlite3_vtab *base)
{
    sqlite3_free(base);
    return SQLITE_OK;
}

/* They are short, but for what making them costs: all rows are given, SQLite chooses. */
static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    (void)base;
    info->estimatedCost = 1e6;
    info->estimatedRows = 1000;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    struct list_cursor *cursor = sqlite3_malloc(sizeof *cursor);
    (void)base;
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    memset(cursor, 0, sizeof *cursor);
    *out = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    struct list_cursor *cursor = (struct list_cursor *)base;
    trk_query_regions_deinit(&cursor->regions);
    free(cursor->report);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int filter_cursor(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                         sqlite3_value **argv)
{
    struct list_cursor *cursor = (struct list_cursor *)base;
    struct list_table *table = (struct list_table *)base->pVtab;
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    (void)number;
    (void)text;
    (void)argc;
    (void)argv;
    trk_query_regions_deinit(&cursor->regions);
    free(cursor->report);
    cursor->report = NULL;
    cursor->at = cursor->count = 0;
    enum trk_status status = table->list->begin(table->query, cursor, &error);
    return status == TRK_OK ? SQLITE_OK : trk_query_fail(table->query, &error);
}

static int next_cursor(sqlite3_vtab_cursor *base)
{
    ((struct list_cursor *)base)->at++;
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
    const struct list_cursor *cursor = (const struct list_cursor *)base;
    return cursor->at >= cursor->count;
}

static int give_column(sqlite3_vtab_cursor *base, sqlite3_context *to, int column)
{
    const struct list_table *table = (const struct list_table *)base->pVtab;
    table->list->give(table->query, (const struct list_cursor *)base, column, to);
    return SQLITE_OK;
}

static int give_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    *out = (sqlite3_int64)((struct list_cursor *)base)->at;
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .xConnect = connect_list,
    .xBestIndex = best_index,
    .xDisconnect = disconnect_list,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter_cursor,
    .xNext = next_cursor,
    .xEof = at_end,
    .xColumn = give_column,
    .xRowid = give_rowid,
};

int trk_query_lists_register(struct trk_query *query)
{
    int code = SQLITE_OK;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0] && code == SQLITE_OK; i++) {
        code = sqlite3_create_module(query->db, lists[i].name, &module, query);
    }
    return code;
}
