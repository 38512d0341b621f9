/*
 * The rows of a query, as they come: CSV, JSON, or a table for people.
 *
 * Addresses are hexadecimal; in JSON strings, like whole numbers above 2^53. A table is as wide as
 * its first rows are; what is wider later moves its line.
 */
#ifndef CLI_QUERY_PRINT_H
#define CLI_QUERY_PRINT_H

#include "traces/query.h"

enum trk_query_form {
    TRK_QUERY_CSV = 0,
    TRK_QUERY_JSON,
    TRK_QUERY_TABLE,
};

#define TRK_QUERY_SCHEMA "trk-query/1"

struct trk_query_printer;

/* NULL: no memory. */
struct trk_query_printer *trk_query_printer_create(enum trk_query_form form);
void trk_query_printer_destroy(struct trk_query_printer *printer);

/* Who takes the rows. */
struct trk_query_rows trk_query_printer_rows(struct trk_query_printer *printer);

/* What is left to print. complete: the trace is, as far as it was read. */
void trk_query_printer_end(struct trk_query_printer *printer, bool complete);

/* Whether names or rows were printed. */
bool trk_query_printer_begun(const struct trk_query_printer *printer);

#endif
