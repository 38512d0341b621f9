#include "query_columns.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "query.h"
#include "track/address.h"

struct column {
    const char *name, *type;
};

static const struct column places[TRK_QUERY_FIRST_FIELD] = {
    [TRK_QUERY_EVENT] = {"event", "INTEGER"},
    [TRK_QUERY_STREAM] = {"stream", "INTEGER"},
    [TRK_QUERY_THREAD] = {"thread", "TEXT"},
    [TRK_QUERY_ORDINAL] = {"ordinal", "INTEGER"},
    [TRK_QUERY_TSC] = {"tsc", "INTEGER"},
    [TRK_QUERY_TIME_US] = {"time_us", "REAL"},
    [TRK_QUERY_FRAME] = {"frame", "INTEGER"},
    [TRK_QUERY_TYPE] = {"type", "TEXT"},
    [TRK_QUERY_REGION] = {"region", "ADDRESS"},
    [TRK_QUERY_PAGE] = {"page", "INTEGER"},
    [TRK_QUERY_PAGE_ADDR] = {"page_addr", "ADDRESS"},
    [TRK_QUERY_DURATION_US] = {"duration_us", "REAL"},
    [TRK_QUERY_RANGES] = {"ranges", "INTEGER"},
    [TRK_QUERY_PAGES_MOVED] = {"pages_moved", "INTEGER"},
};

static enum trk_event_key key_of(unsigned column)
{
    return (enum trk_event_key)(column - TRK_QUERY_FIRST_FIELD);
}

static enum trk_event_field_kind kind_of(unsigned column)
{
    return trk_event_key_kind(key_of(column));
}

static unsigned field_column(enum trk_event_key id)
{
    return TRK_QUERY_FIRST_FIELD + (unsigned)id;
}

static struct column describe(unsigned column)
{
    static const char *const types[] = {[TRK_FIELD_NUMBER] = "INTEGER",
                                        [TRK_FIELD_ADDRESS] = "ADDRESS",
                                        [TRK_FIELD_WORD] = "TEXT",
                                        [TRK_FIELD_FLAG] = "INTEGER",
                                        [TRK_FIELD_TEXT] = "TEXT"};
    if (column < TRK_QUERY_FIRST_FIELD) {
        return places[column];
    }
    /* A mapping's frame is a place in the memory object. */
    return (struct column){key_of(column) == TRK_KEY_FRAME ? "map_frame"
                                                           : trk_event_key_name(key_of(column)),
                           types[kind_of(column)]};
}

int trk_query_column_text(unsigned column, char *out, size_t size)
{
    const struct column of = describe(column);
    return snprintf(out, size, "%s %s", of.name, of.type);
}

unsigned trk_query_column_of(const char *name, size_t length)
{
    for (unsigned at = 0; at < TRK_QUERY_COLUMNS_MOST; at++) {
        const char *own = describe(at).name;
        if (strncmp(own, name, length) == 0 && own[length] == '\0') {
            return at;
        }
    }
    assert(false);
    return 0;
}

bool trk_query_column_of_field(unsigned column)
{
    return column >= TRK_QUERY_FIRST_FIELD && key_of(column) != TRK_KEY_REGION &&
           key_of(column) != TRK_KEY_PAGE && kind_of(column) != TRK_FIELD_TEXT;
}

bool trk_query_column_of_end(unsigned column)
{
    return column == TRK_QUERY_DURATION_US || column == TRK_QUERY_RANGES ||
           column == TRK_QUERY_PAGES_MOVED || column == field_column(TRK_KEY_STATUS) ||
           column == field_column(TRK_KEY_OUTCOME) || column == field_column(TRK_KEY_RESULT);
}

bool trk_query_extent(const struct trk_trace *trace, const struct trk_event *event,
                      uint64_t *guest_addr, uint64_t *size_bytes)
{
    struct trk_event_field fields[TRK_EVENT_FIELDS_MOST];
    size_t count = trk_trace_event_fields(trace, event, fields);
    bool found = false;
    *size_bytes = 1;
    for (size_t i = 0; i < count; i++) {
        if (fields[i].id == TRK_KEY_GUEST_ADDR) {
            *guest_addr = fields[i].number;
            found = true;
        } else if (fields[i].id == TRK_KEY_SIZE) {
            *size_bytes = fields[i].number;
        } else if (fields[i].id == TRK_KEY_PAGES) {
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
        unsigned column = field_column(field->id);
        if (field->id == TRK_KEY_REGION) {
            facts->has_region = field->kind == TRK_FIELD_ADDRESS;
            facts->numbers[TRK_QUERY_REGION] = (int64_t)field->number;
        }
        if (trk_query_column_of_field(column) && (!end || trk_query_column_of_end(column))) {
            facts->known[column] = true;
            facts->numbers[column] = (int64_t)field->number;
            facts->words[column] = field->kind == TRK_FIELD_WORD ? field->word : NULL;
        }
    }
}

/* Where an event with a guest address is; else the region of its lock, if that is one. */
static void take_place(struct trk_query_facts *facts)
{
    const unsigned addr_column = field_column(TRK_KEY_GUEST_ADDR);
    bool addressed = facts->known[addr_column];
    uint64_t guest_addr =
        facts->row.touched ? facts->row.page_addr : (uint64_t)facts->numbers[addr_column];
    if (addressed && trk_range_valid(TRK_ARENA_LOW_EXTENDED, guest_addr, 1)) {
        uint64_t region_addr = trk_region_address(trk_region_index(guest_addr));
        facts->numbers[TRK_QUERY_REGION] = (int64_t)region_addr;
        facts->numbers[TRK_QUERY_PAGE] =
            (int64_t)((guest_addr - region_addr) / TRK_HOST_PAGE_BYTES);
        facts->numbers[TRK_QUERY_PAGE_ADDR] = (int64_t)(guest_addr & ~(TRK_HOST_PAGE_BYTES - 1));
        facts->known[TRK_QUERY_REGION] = facts->known[TRK_QUERY_PAGE] =
            facts->known[TRK_QUERY_PAGE_ADDR] = true;
    } else if (!addressed && facts->has_region) {
        facts->known[TRK_QUERY_REGION] = true;
    }
}

static void unfold(const struct trk_trace *trace, struct trk_query_facts *facts)
{
    memset(facts->known, 0, sizeof facts->known);
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
    return strcmp(describe(column).type, "ADDRESS") == 0;
}

static void give_field(const struct trk_query *query, struct trk_query_facts *facts,
                       unsigned column, sqlite3_context *to)
{
    if (!facts->unfolded) {
        unfold(query->trace, facts);
    }
    if (!facts->known[column]) {
        if (column >= TRK_QUERY_FIRST_FIELD && kind_of(column) == TRK_FIELD_FLAG) {
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
