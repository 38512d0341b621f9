/* The tables of events: constraints that pass chunks over, and rows. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "query_columns.h"
#include "query_ops.h"
#include "query_plan.h"
#include "query_scan.h"
#include "track/address.h"

enum table_kind {
    TABLE_EVENTS = 0,
    TABLE_OPERATIONS, /* with their ends */
    TABLE_TOUCHES,    /* a row for each page that an event is about */
};

struct table {
    const char *name;
    enum table_kind kind;
    bool (*takes)(const struct trk_event *event);
    bool in_holds;       /* its events may be in holds */
    bool beside_holds;   /* and in none; a fault of no region counts as in one */
    const char *columns; /* behind those of all tables, by name; NULL: all fields */
};

static bool takes_all(const struct trk_event *event)
{
    (void)event;
    return true;
}

static bool takes_faults(const struct trk_event *event)
{
    return event->type == TRK_EVENT_FAULT;
}

static bool takes_operations(const struct trk_event *event)
{
    return event->type == TRK_EVENT_OP_BEGIN || event->type == TRK_EVENT_FAULT;
}

static bool takes_uploads(const struct trk_event *event)
{
    return event->type == TRK_EVENT_OP_BEGIN && event->context == TRK_OP_UPLOAD;
}

static bool takes_downloads(const struct trk_event *event)
{
    return event->type == TRK_EVENT_OP_BEGIN &&
           (event->context == TRK_OP_DOWNLOAD || event->context == TRK_OP_DRAIN);
}

static bool takes_protections(const struct trk_event *event)
{
    return event->type == TRK_EVENT_PROTECT;
}

#define PLACE_COLUMNS "event stream thread ordinal tsc time_us frame type region page page_addr"
#define END_COLUMNS   "duration_us status"
#define COPY_COLUMNS                                                                               \
    "op guest_addr size tracker written clear read flush read_back origin ranges pages_moved "     \
    "result "

static const struct table tables[] = {
    {"events", TABLE_EVENTS, takes_all, true, true, NULL},
    {"touches", TABLE_TOUCHES, takes_all, true, true, NULL},
    {"faults", TABLE_OPERATIONS, takes_faults, true, false,
     "guest_addr access look tracker domain hold outcome " END_COLUMNS},
    {"operations", TABLE_OPERATIONS, takes_operations, true, true,
     COPY_COLUMNS "access look outcome " END_COLUMNS},
    {"uploads", TABLE_OPERATIONS, takes_uploads, false, true, COPY_COLUMNS END_COLUMNS},
    {"downloads", TABLE_OPERATIONS, takes_downloads, false, true, COPY_COLUMNS END_COLUMNS},
    {"protections", TABLE_EVENTS, takes_protections, true, false,
     "guest_addr pages tracker domain hold rights failed hold_end"},
};

struct events_table {
    sqlite3_vtab base;
    struct trk_query *query;
    const struct table *table;
    unsigned columns[TRK_QUERY_COLUMNS_MOST]; /* what stands where */
    size_t column_count;
};

struct events_cursor {
    sqlite3_vtab_cursor base;
    struct trk_query_scan scan;
    struct trk_query_ops ops;
    struct trk_query_facts facts;
    const struct trk_query_frame_list *frames; /* NULL: not asked for */
    struct trk_query_plan plan;
    bool with_ends;      /* operations are given when they have ended */
    bool ended;          /* no more events */
    bool at_end;         /* no more rows */
    uint64_t left_pages; /* of the event, for TABLE_TOUCHES */
};

/* ---- connecting ------------------------------------------------------------------------------ */

/* A text of a table's columns that grows. */
struct definition {
    char text[8192];
    size_t used;
};

static void add_column(struct events_table *table, unsigned column, struct definition *to)
{
    const char *before = table->column_count > 0 ? ", " : "CREATE TABLE x(";
    size_t room = sizeof to->text - to->used;
    int wrote = snprintf(to->text + to->used, room, "%s", before);
    to->used += (size_t)wrote;
    room -= (size_t)wrote;
    wrote = trk_query_column_text(column, to->text + to->used, room);
    assert((size_t)wrote < room);
    to->used += (size_t)wrote;
    table->columns[table->column_count++] = column;
}

static void add_columns(struct events_table *table, const char *names, struct definition *to)
{
    for (const char *at = names; *at != '\0';) {
        size_t length = strcspn(at, " ");
        add_column(table, trk_query_column_of(at, length), to);
        at += length + (at[length] == ' ');
    }
}

static void add_fields(struct events_table *table, struct definition *to)
{
    for (unsigned column = 0; column < TRK_QUERY_COLUMNS_MOST; column++) {
        if (trk_query_column_of_field(column)) {
            add_column(table, column, to);
        }
    }
}

static int connect_table(TRK_SQLITE_CONNECT)
{
    struct definition text = {.used = 0};
    struct trk_query *query = context;
    const struct table *found = NULL;
    (void)argc;
    (void)message;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        found = strcmp(tables[i].name, argv[0]) == 0 ? &tables[i] : found;
    }
    assert(found != NULL);
    struct events_table *table = sqlite3_malloc(sizeof *table);
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    *table = (struct events_table){.query = query, .table = found};
    /* The same name of a row in every scan: of an OR SQLite runs each arm and knows rows again. */
    const char *key = found->kind == TABLE_TOUCHES
                          ? ", PRIMARY KEY (stream, ordinal, page_addr)) WITHOUT ROWID"
                          : ", PRIMARY KEY (stream, ordinal)) WITHOUT ROWID";
    add_columns(table, PLACE_COLUMNS, &text);
    if (found->columns != NULL) {
        add_columns(table, found->columns, &text);
    } else {
        add_fields(table, &text);
    }
    int wrote = snprintf(text.text + text.used, sizeof text.text - text.used, "%s", key);
    assert((size_t)wrote < sizeof text.text - text.used);
    (void)wrote;
    int code = sqlite3_declare_vtab(db, text.text);
    if (code != SQLITE_OK) {
        sqlite3_free(table);
        return code;
    }
    *out = &table->base;
    return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *base)
{
    sqlite3_free(base);
    return SQLITE_OK;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct events_table *table = (const struct events_table *)base;
    return trk_query_plan_choose(info, table->columns, table->column_count);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static struct events_table *table_of(const struct events_cursor *cursor)
{
    return (struct events_table *)cursor->base.pVtab;
}

/* Whether a row is one of the table's; of the rest SQLite decides. */
static bool takes(const struct events_cursor *cursor, const struct trk_event *event)
{
    return (cursor->plan.type < 0 || event->type == cursor->plan.type) &&
           table_of(cursor)->table->takes(event);
}

/* The next event of the table. TRK_E_END: no more. */
static enum trk_status next_row(struct events_cursor *cursor, struct trk_query_row *out,
                                struct trk_error *error)
{
    bool wanted;
    enum trk_status status = TRK_OK;
    while (status == TRK_OK && !cursor->with_ends) {
        status = trk_query_scan_next(&cursor->scan, false, out, &wanted, error);
        if (status == TRK_OK && wanted && takes(cursor, &out->event)) {
            return TRK_OK;
        }
    }
    while (status == TRK_OK) {
        const struct trk_query_ops *ops = &cursor->ops;
        if (trk_query_ops_give(&cursor->ops, out)) {
            return TRK_OK;
        }
        if (cursor->ended) {
            return TRK_E_END;
        }
        uint32_t stream = cursor->scan.stream;
        bool open = cursor->scan.filter.in_order
                        ? ops->wanted > 0
                        : stream < ops->stream_count && ops->streams[stream].wanted > 0;
        status = trk_query_scan_next(&cursor->scan, open, out, &wanted, error);
        if (status == TRK_E_END) {
            cursor->ended = true;
            status = trk_query_ops_end(&cursor->ops, error);
        } else if (status == TRK_OK) {
            status =
                trk_query_ops_take(&cursor->ops, out, wanted && takes(cursor, &out->event), error);
        }
    }
    return status;
}

/* The pages that an event is about; those that are asked for. */
static void begin_touches(struct events_cursor *cursor)
{
    struct trk_query_row *row = &cursor->facts.row;
    uint64_t guest_addr;
    uint64_t size_bytes;
    cursor->left_pages = 0;
    /* A range that no tracker takes was refused, and has no pages. */
    if (!trk_query_extent(cursor->scan.query->trace, &row->event, &guest_addr, &size_bytes) ||
        !trk_range_valid(TRK_ARENA_LOW_EXTENDED, guest_addr, size_bytes)) {
        return;
    }
    uint64_t last = guest_addr + (size_bytes - 1);
    uint64_t first_page = guest_addr / TRK_HOST_PAGE_BYTES;
    uint64_t last_page = last / TRK_HOST_PAGE_BYTES;
    const struct trk_query_plan *plan = &cursor->plan;
    if (plan->has_region) { /* no others are asked for */
        uint64_t first = plan->region / TRK_HOST_PAGE_BYTES + (plan->has_page ? plan->page : 0);
        uint64_t end = first + (plan->has_page ? 1 : TRK_REGION_PAGES);
        first_page = first_page > first ? first_page : first;
        last_page = last_page < end ? last_page : end - 1;
        if (first_page > last_page) {
            return;
        }
    }
    row->touched = true;
    row->page_addr = first_page * TRK_HOST_PAGE_BYTES;
    cursor->left_pages = last_page - first_page + 1;
}

static int next_cursor(sqlite3_vtab_cursor *base)
{
    struct events_cursor *cursor = (struct events_cursor *)base;
    struct trk_query *query = cursor->scan.query;
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    bool touches = table_of(cursor)->table->kind == TABLE_TOUCHES;
    enum trk_status status = TRK_OK;
    cursor->facts.unfolded = false;
    if (touches && cursor->left_pages > 1) {
        cursor->left_pages--;
        cursor->facts.row.page_addr += TRK_HOST_PAGE_BYTES;
        return SQLITE_OK;
    }
    do {
        status = next_row(cursor, &cursor->facts.row, &error);
        if (status == TRK_OK && touches) {
            begin_touches(cursor);
        }
    } while (status == TRK_OK && touches && cursor->left_pages == 0);
    cursor->at_end = status != TRK_OK;
    return status == TRK_OK || status == TRK_E_END ? SQLITE_OK : trk_query_fail(query, &error);
}

static int filter_cursor(sqlite3_vtab_cursor *base, int flags, const char *plan, int argc,
                         sqlite3_value **argv)
{
    struct events_cursor *cursor = (struct events_cursor *)base;
    struct trk_query *query = cursor->scan.query;
    const struct table *table = table_of(cursor)->table;
    struct trk_query_plan *wanted = &cursor->plan;
    struct trk_query_filter *filter = &wanted->filter;
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    int code = trk_query_plan_take(wanted, query, plan, argc, argv);
    if (code != SQLITE_OK) {
        return code;
    }
    cursor->ended = cursor->at_end = false;
    cursor->left_pages = 0;
    cursor->with_ends = table->kind == TABLE_OPERATIONS && (flags & TRK_QUERY_PLAN_ENDS) != 0;
    filter->in_order = (flags & TRK_QUERY_PLAN_IN_ORDER) != 0;
    filter->region = wanted->region;
    filter->by_region = wanted->has_region;
    filter->in_holds = table->in_holds && trk_query_plan_in_holds(wanted);
    filter->beside_holds = table->beside_holds && trk_query_plan_beside_holds(wanted);
    enum trk_status status = trk_query_scan_begin(&cursor->scan, filter, &error);
    cursor->frames = NULL;
    if (status == TRK_OK && (flags & TRK_QUERY_PLAN_FRAMES) != 0) {
        if (!filter->by_frame) {
            status = trk_query_frames_all(query, &error);
        }
        cursor->frames = filter->by_frame ? &cursor->scan.window : &query->frames.list;
    }
    if (status == TRK_OK && cursor->with_ends) {
        status = trk_query_ops_begin(&cursor->ops, trk_trace_stream_count(query->trace), &error);
    }
    return status == TRK_OK ? next_cursor(base) : trk_query_fail(query, &error);
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    struct events_cursor *cursor = sqlite3_malloc(sizeof *cursor);
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    memset(cursor, 0, sizeof *cursor);
    cursor->scan.query = ((struct events_table *)base)->query;
    *out = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    struct events_cursor *cursor = (struct events_cursor *)base;
    trk_query_scan_deinit(&cursor->scan);
    trk_query_ops_deinit(&cursor->ops);
    trk_query_plan_deinit(&cursor->plan);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
    return ((struct events_cursor *)base)->at_end;
}

static int give_column(sqlite3_vtab_cursor *base, sqlite3_context *to, int at)
{
    struct events_cursor *cursor = (struct events_cursor *)base;
    trk_query_column_give(cursor->scan.query, &cursor->facts, table_of(cursor)->columns[at],
                          cursor->frames, to);
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .xConnect = connect_table,
    .xBestIndex = best_index,
    .xDisconnect = disconnect_table,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter_cursor,
    .xNext = next_cursor,
    .xEof = at_end,
    .xColumn = give_column,
};

int trk_query_events_register(struct trk_query *query)
{
    int code = SQLITE_OK;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && code == SQLITE_OK; i++) {
        code = sqlite3_create_module(query->db, tables[i].name, &module, query);
    }
    return code;
}
