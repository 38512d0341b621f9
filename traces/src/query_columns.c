#include "query_columns.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "query.h"
#include "recorder/event_text.h"
#include "track/address.h"

/* In the order of enum trk_query_column; then the fields. */
static const char *const columns[] = {
    "event INTEGER",      "stream INTEGER",      "thread TEXT",       "ordinal INTEGER",
    "tsc INTEGER",        "time_us REAL",        "frame INTEGER",     "type TEXT",
    "region ADDRESS",     "page INTEGER",        "page_addr ADDRESS", "duration_us REAL",
    "ranges INTEGER",     "pages_moved INTEGER", "written INTEGER",   "op TEXT",
    "guest_addr ADDRESS", "size INTEGER",        "pages INTEGER",     "tracker INTEGER",
    "domain TEXT",        "hold INTEGER",        "rights TEXT",       "access TEXT",
    "look TEXT",          "agent TEXT",          "direction TEXT",    "moment TEXT",
    "hash ADDRESS",       "stamp INTEGER",       "tick INTEGER",      "timeline INTEGER",
    "value INTEGER",      "number INTEGER",      "callback TEXT",     "changed INTEGER",
    "resource INTEGER",   "object INTEGER",      "origin TEXT",       "decision TEXT",
    "failed INTEGER",     "status TEXT",         "outcome TEXT",      "result INTEGER",
    "lock INTEGER",       "errno INTEGER",       "change TEXT",       "class TEXT",
    "clear INTEGER",      "read INTEGER",        "flush INTEGER",     "read_back INTEGER",
    "hold_end INTEGER",   "alias INTEGER",       "untracked INTEGER",
};

/* Fields that an event has or has not: 1 or 0. */
static const char *const flags[] = {"written",   "failed",   "clear", "read",     "flush",
                                    "read_back", "hold_end", "alias", "untracked"};

#define COLUMNS (sizeof columns / sizeof columns[0])
_Static_assert(COLUMNS <= TRK_QUERY_COLUMNS_MOST, "a table's columns are bits of 64, and facts");

const char *trk_query_column_text(unsigned column)
{
    return column < COLUMNS ? columns[column] : NULL;
}

/* COLUMNS: there is none of that name. */
static unsigned find(const char *name, size_t length)
{
    unsigned at = 0;
    while (at < COLUMNS &&
           (strncmp(columns[at], name, length) != 0 || columns[at][length] != ' ')) {
        at++;
    }
    return at;
}

static bool is_flag(unsigned column)
{
    bool found = false;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        found |= find(flags[i], strlen(flags[i])) == column;
    }
    return found;
}

unsigned trk_query_column_of(const char *name, size_t length)
{
    unsigned column = find(name, length);
    assert(column < COLUMNS);
    return column;
}

bool trk_query_column_of_end(unsigned column)
{
    return column == TRK_QUERY_DURATION_US || column == TRK_QUERY_RANGES ||
           column == TRK_QUERY_PAGES_MOVED || strncmp(columns[column], "status ", 7) == 0 ||
           strncmp(columns[column], "outcome ", 8) == 0 ||
           strncmp(columns[column], "result ", 7) == 0;
}

bool trk_query_extent(const struct trk_trace *trace, const struct trk_event *event,
                      uint64_t *guest_addr, uint64_t *size_bytes)
{
    struct trk_event_field fields[TRK_EVENT_FIELDS_MOST];
    size_t count = trk_trace_event_fields(trace, event, fields);
    bool found = false;
    *size_bytes = 1;
    for (size_t i = 0; i < count; i++) {
        if (fields[i].kind == TRK_FIELD_ADDRESS && strcmp(fields[i].key, "guest_addr") == 0) {
            *guest_addr = fields[i].number;
            found = true;
        } else if (strcmp(fields[i].key, "size") == 0) {
            *size_bytes = fields[i].number;
        } else if (strcmp(fields[i].key, "pages") == 0) {
            *size_bytes = fields[i].number * TRK_HOST_PAGE_BYTES;
        }
    }
    return found;
}

/* Take an event's fields into the columns of their names. */
static void take_fields(const struct trk_trace *trace, struct trk_query_facts *facts,
                        const struct trk_event *event, bool end)
{
    struct trk_event_field fields[TRK_EVENT_FIELDS_MOST];
    size_t count = trk_trace_event_fields(trace, event, fields);
    for (size_t i = 0; i < count; i++) {
        const struct trk_event_field *field = &fields[i];
        unsigned column = find(field->key, strlen(field->key));
        if (strcmp(field->key, "region") == 0) {
            facts->has_region = field->kind == TRK_FIELD_ADDRESS;
            facts->numbers[TRK_QUERY_REGION] = (int64_t)field->number;
        }
        bool taken = (column >= TRK_QUERY_FIRST_FIELD || column == TRK_QUERY_WRITTEN) &&
                     column < COLUMNS && (!end || trk_query_column_of_end(column));
        if (taken && field->kind != TRK_FIELD_TEXT) {
            facts->known |= UINT64_C(1) << column;
            facts->numbers[column] = (int64_t)field->number;
            facts->words[column] = field->kind == TRK_FIELD_WORD ? field->word : NULL;
        }
    }
}

/* Where an event with a guest address is; else the region of its lock, if that is one. */
static void take_place(struct trk_query_facts *facts)
{
    unsigned addr_column = find("guest_addr", 10);
    bool addressed = (facts->known >> addr_column & 1u) != 0;
    uint64_t guest_addr =
        facts->row.touched ? facts->row.page_addr : (uint64_t)facts->numbers[addr_column];
    if (addressed && trk_range_valid(TRK_ARENA_LOW_EXTENDED, guest_addr, 1)) {
        uint64_t region_addr = trk_region_address(trk_region_index(guest_addr));
        facts->numbers[TRK_QUERY_REGION] = (int64_t)region_addr;
        facts->numbers[TRK_QUERY_PAGE] =
            (int64_t)((guest_addr - region_addr) / TRK_HOST_PAGE_BYTES);
        facts->numbers[TRK_QUERY_PAGE_ADDR] = (int64_t)(guest_addr & ~(TRK_HOST_PAGE_BYTES - 1));
        facts->known |= UINT64_C(1) << TRK_QUERY_REGION | UINT64_C(1) << TRK_QUERY_PAGE |
                        UINT64_C(1) << TRK_QUERY_PAGE_ADDR;
    } else if (!addressed && facts->has_region) {
        facts->known |= UINT64_C(1) << TRK_QUERY_REGION;
    }
}

static void unfold(const struct trk_trace *trace, struct trk_query_facts *facts)
{
    facts->known = 0;
    facts->has_region = false;
    facts->unfolded = true;
    take_fields(trace, facts, &facts->row.event, false);
    if (facts->row.ended) {
        take_fields(trace, facts, &facts->row.end, true);
    }
    take_place(facts);
}

/* SQLite's integers have a sign: what is beyond them is its decimal digits. */
static void give_digits(sqlite3_context *to, uint64_t number)
{
    char text[24];
    if (number <= INT64_MAX) {
        sqlite3_result_int64(to, (sqlite3_int64)number);
        return;
    }
    snprintf(text, sizeof text, "%" PRIu64, number);
    sqlite3_result_text(to, text, -1, SQLITE_TRANSIENT);
}

static void give_number(sqlite3_context *to, uint64_t number)
{
    if (number != TRK_NOT_KNOWN) {
        give_digits(to, number);
    }
}

static void give_thread(const struct trk_query *query, uint32_t stream, sqlite3_context *to)
{
    const char *name = trk_trace_stream(query->trace, stream)->name;
    if (name[0] != '\0') {
        sqlite3_result_text(to, name, -1, SQLITE_TRANSIENT);
    }
}

static void give_type(const struct trk_query *query, uint8_t id, sqlite3_context *to)
{
    struct trk_trace_type type;
    if (trk_trace_type(query->trace, id, &type)) {
        sqlite3_result_text(to, type.name, -1, SQLITE_STATIC);
    }
}

static bool is_address(unsigned column)
{
    return strstr(columns[column], " ADDRESS") != NULL;
}

static void give_field(const struct trk_query *query, struct trk_query_facts *facts,
                       unsigned column, sqlite3_context *to)
{
    if (!facts->unfolded) {
        unfold(query->trace, facts);
    }
    if ((facts->known >> column & 1u) == 0) {
        if (is_flag(column)) {
            sqlite3_result_int(to, 0);
        }
    } else if (column >= TRK_QUERY_FIRST_FIELD && facts->words[column] != NULL) {
        sqlite3_result_text(to, facts->words[column], -1, SQLITE_STATIC);
    } else if (is_address(column)) {
        sqlite3_result_int64(to, facts->numbers[column]);
    } else {
        give_digits(to, (uint64_t)facts->numbers[column]);
    }
}

void trk_query_column_give(struct trk_query *query, struct trk_query_facts *facts, unsigned column,
                           const struct trk_query_frame_list *list, sqlite3_context *to)
{
    const struct trk_query_row *row = &facts->row;
    switch (column) {
    case TRK_QUERY_EVENT:
        give_number(to, row->number);
        break;
    case TRK_QUERY_STREAM:
        sqlite3_result_int64(to, row->stream);
        break;
    case TRK_QUERY_THREAD:
        give_thread(query, row->stream, to);
        break;
    case TRK_QUERY_ORDINAL:
        give_number(to, row->ordinal);
        break;
    case TRK_QUERY_TSC:
        sqlite3_result_int64(to, (sqlite3_int64)row->tsc);
        break;
    case TRK_QUERY_TIME_US:
        if (query->ticks_a_us > 0) {
            sqlite3_result_double(to, trk_query_us(query, query->first_tsc, row->tsc));
        }
        break;
    case TRK_QUERY_FRAME:
        give_number(to, list != NULL ? trk_query_frame_at(list, row->tsc) : TRK_NOT_KNOWN);
        break;
    case TRK_QUERY_TYPE:
        give_type(query, row->event.type, to);
        break;
    case TRK_QUERY_DURATION_US:
        if (row->ended && query->ticks_a_us > 0) {
            sqlite3_result_double(to, trk_query_us(query, row->tsc, row->end_tsc));
        }
        break;
    case TRK_QUERY_RANGES:
        give_number(to, row->ended ? row->ranges : TRK_NOT_KNOWN);
        break;
    case TRK_QUERY_PAGES_MOVED:
        give_number(to, row->ended ? row->pages : TRK_NOT_KNOWN);
        break;
    default:
        give_field(query, facts, column, to);
    }
}
