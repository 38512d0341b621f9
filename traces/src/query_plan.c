#include "query_plan.h"

#include <math.h>
#include <string.h>

#include "query_columns.h"
#include "track/address.h"

/* ---- choosing -------------------------------------------------------------------------------- */

static char op_letter(unsigned char op)
{
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        return '=';
    case SQLITE_INDEX_CONSTRAINT_LT:
    case SQLITE_INDEX_CONSTRAINT_LE:
        return '<';
    case SQLITE_INDEX_CONSTRAINT_GT:
    case SQLITE_INDEX_CONSTRAINT_GE:
        return '>';
    default:
        return 0;
    }
}

/* By how much a constraint makes rows fewer, about; 0: it is of no use. */
static double worth(unsigned column, char op)
{
    switch (column) {
    case TRK_QUERY_EVENT:
    case TRK_QUERY_TSC:
    case TRK_QUERY_TIME_US:
        return op == '=' ? 1e6 : 10;
    case TRK_QUERY_FRAME:
        return op == '=' ? 1000 : 10;
    case TRK_QUERY_STREAM:
    case TRK_QUERY_THREAD:
    case TRK_QUERY_TYPE:
        return op == '=' ? 4 : 0;
    case TRK_QUERY_REGION:
        return op == '=' ? 50 : 0;
    case TRK_QUERY_PAGE:
    case TRK_QUERY_PAGE_ADDR:
        return op == '=' ? 100 : 0;
    default:
        return 0;
    }
}

int trk_query_plan_choose(sqlite3_index_info *info, const unsigned *columns, size_t column_count)
{
    char *plan = sqlite3_malloc(2 * info->nConstraint + 1);
    int used = 0;
    double rows = 1e8;
    if (plan == NULL) {
        return SQLITE_NOMEM;
    }
    for (int i = 0; i < info->nConstraint; i++) {
        int at = info->aConstraint[i].iColumn;
        char op = op_letter(info->aConstraint[i].op);
        unsigned column = at >= 0 ? columns[at] : TRK_QUERY_COLUMNS_MOST;
        /* Texts are compared here byte by byte. */
        bool bytes = strcmp(sqlite3_vtab_collation(info, i), "BINARY") == 0;
        double fewer = op != 0 && bytes && info->aConstraint[i].usable ? worth(column, op) : 0;
        if (fewer == 0) {
            continue;
        }
        plan[2 * used] = (char)('A' + column);
        plan[2 * used + 1] = op;
        info->aConstraintUsage[i].argvIndex = ++used;
        rows /= fewer;
        info->idxNum |= column == TRK_QUERY_EVENT ? TRK_QUERY_PLAN_IN_ORDER : 0;
    }
    plan[2 * used] = '\0';
    for (size_t i = 0; i < column_count; i++) {
        /* The last bit is of all columns from it on. */
        bool wanted = (info->colUsed >> (i < 63 ? i : 63) & 1u) != 0;
        info->idxNum |= wanted && columns[i] == TRK_QUERY_EVENT ? TRK_QUERY_PLAN_IN_ORDER : 0;
        info->idxNum |= wanted && columns[i] == TRK_QUERY_FRAME ? TRK_QUERY_PLAN_FRAMES : 0;
        info->idxNum |= wanted && trk_query_column_of_end(columns[i]) ? TRK_QUERY_PLAN_ENDS : 0;
    }
    info->idxStr = plan;
    info->needToFreeIdxStr = 1;
    info->estimatedRows = rows > 1 ? (sqlite3_int64)rows : 1;
    info->estimatedCost = rows > 1 ? rows * (info->idxNum & TRK_QUERY_PLAN_IN_ORDER ? 10 : 1) : 1;
    return SQLITE_OK;
}

/* ---- filters --------------------------------------------------------------------------------- */

static void at_least(uint64_t *first, uint64_t number)
{
    *first = number > *first ? number : *first;
}

static void at_most(uint64_t *last, uint64_t number)
{
    *last = number < *last ? number : *last;
}

/* A span of whole numbers that are not below 0. */
static void bound(uint64_t *first, uint64_t *last, char op, sqlite3_value *value)
{
    if (sqlite3_value_type(value) != SQLITE_INTEGER) {
        return; /* SQLite compares; nothing is passed over */
    }
    sqlite3_int64 number = sqlite3_value_int64(value);
    if (op != '>' && number < 0) {
        *first = 1;
        *last = 0;
        return;
    }
    if (op != '<') {
        at_least(first, number < 0 ? 0 : (uint64_t)number);
    }
    if (op != '>') {
        at_most(last, (uint64_t)number);
    }
}

/* Times in microseconds from event 0, which are rounded: some ticks more than asked for. */
static void bound_time(const struct trk_query *query, struct trk_query_filter *filter, char op,
                       sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || query->ticks_a_us <= 0) {
        return;
    }
    double slack = 1 + query->ticks_a_us / 1000;
    double ticks = (double)query->first_tsc + sqlite3_value_double(value) * query->ticks_a_us;
    double most = 9e18; /* below 2^63: what is beyond is no time stamp */
    double precision = fabs(ticks) / 4503599627370496.0; /* 2^52 */
    slack += precision;
    if (op != '<' && ticks - slack > 0) {
        at_least(&filter->first_tsc,
                 ticks - slack < most ? (uint64_t)(ticks - slack) : (uint64_t)most);
    }
    if (op != '>' && ticks + slack < most) {
        at_most(&filter->last_tsc, ticks + slack > 0 ? (uint64_t)(ticks + slack) : 0);
    }
}

static int type_of(const struct trk_query *query, const char *name)
{
    for (int id = 1; id < 256 && name != NULL; id++) {
        struct trk_trace_type type;
        if (trk_trace_type(query->trace, (uint8_t)id, &type) && strcmp(type.name, name) == 0) {
            return id;
        }
    }
    return 0; /* of no event */
}

static bool is_of_holds(int type)
{
    return (type >= TRK_EVENT_LOCK && type <= TRK_EVENT_WATCH) || type == TRK_EVENT_STATE ||
           type == TRK_EVENT_FAULT;
}

bool trk_query_plan_in_holds(const struct trk_query_plan *plan)
{
    /* A type that is newer than this program may name a hold. */
    return plan->type < 0 || is_of_holds(plan->type) ||
           strcmp(trk_event_type_name((uint8_t)plan->type), "?") == 0;
}

bool trk_query_plan_beside_holds(const struct trk_query_plan *plan)
{
    return !is_of_holds(plan->type);
}

static int take_word(struct trk_query_plan *plan, const struct trk_query *query, unsigned column,
                     sqlite3_value *value)
{
    const char *text = (const char *)sqlite3_value_text(value);
    if (sqlite3_value_type(value) != SQLITE_TEXT || text == NULL) {
        return SQLITE_OK;
    }
    if (column == TRK_QUERY_TYPE) {
        plan->type = type_of(query, text);
        return SQLITE_OK;
    }
    sqlite3_free(plan->thread);
    plan->thread = sqlite3_mprintf("%s", text);
    plan->filter.thread = plan->thread;
    return plan->thread != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

static void take_place(struct trk_query_plan *plan, unsigned column, sqlite3_value *value)
{
    if (sqlite3_value_type(value) != SQLITE_INTEGER) {
        return;
    }
    uint64_t number = (uint64_t)sqlite3_value_int64(value);
    if (column == TRK_QUERY_REGION) {
        plan->has_region = trk_range_valid(TRK_ARENA_LOW_EXTENDED, number, 1);
        plan->region = number;
    } else if (column == TRK_QUERY_PAGE) {
        plan->has_page = number < TRK_REGION_PAGES;
        plan->page = number;
    } else if (trk_range_valid(TRK_ARENA_LOW_EXTENDED, number, 1)) {
        plan->has_region = plan->has_page = true;
        plan->region = trk_region_address(trk_region_index(number));
        plan->page = (number - plan->region) / TRK_HOST_PAGE_BYTES;
    }
}

static int take_constraint(struct trk_query_plan *plan, const struct trk_query *query,
                           const char *text, sqlite3_value *value)
{
    unsigned column = (unsigned)(text[0] - 'A');
    struct trk_query_filter *filter = &plan->filter;
    switch (column) {
    case TRK_QUERY_EVENT:
        bound(&filter->first_event, &filter->last_event, text[1], value);
        break;
    case TRK_QUERY_TSC:
        bound(&filter->first_tsc, &filter->last_tsc, text[1], value);
        break;
    case TRK_QUERY_TIME_US:
        bound_time(query, filter, text[1], value);
        break;
    case TRK_QUERY_FRAME:
        filter->by_frame |= sqlite3_value_type(value) == SQLITE_INTEGER;
        bound(&filter->first_frame, &filter->last_frame, text[1], value);
        break;
    case TRK_QUERY_STREAM:
        if (sqlite3_value_type(value) == SQLITE_INTEGER && sqlite3_value_int64(value) >= 0) {
            filter->stream = sqlite3_value_int64(value);
        }
        break;
    case TRK_QUERY_TYPE:
    case TRK_QUERY_THREAD:
        return take_word(plan, query, column, value);
    default:
        take_place(plan, column, value);
    }
    return SQLITE_OK;
}

int trk_query_plan_take(struct trk_query_plan *plan, const struct trk_query *query,
                        const char *text, int argc, sqlite3_value **argv)
{
    int code = SQLITE_OK;
    sqlite3_free(plan->thread);
    *plan = (struct trk_query_plan){.filter = trk_query_filter_all(), .type = -1};
    for (int i = 0; i < argc && code == SQLITE_OK; i++) {
        code = take_constraint(plan, query, text + 2 * i, argv[i]);
    }
    return code;
}

void trk_query_plan_deinit(struct trk_query_plan *plan)
{
    sqlite3_free(plan->thread);
    plan->thread = NULL;
}
