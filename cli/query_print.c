#include "query_print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_out.h"
#include "refusal.h"
#include "terminal.h"

/* Rows of a table that are kept until its widths are known. */
#define TABLE_ROWS 200u
#define WIDTH_MOST 60u

struct trk_query_printer {
    enum trk_query_form form;
    size_t columns;
    char **names;
    char **cells; /* of the first rows of a table */
    size_t *widths;
    uint64_t rows;
    bool begun, failed;
    bool known; /* widths are final */
};

struct trk_query_printer *trk_query_printer_create(enum trk_query_form form)
{
    struct trk_query_printer *printer = calloc(1, sizeof *printer);
    if (printer != NULL) {
        printer->form = form;
    }
    return printer;
}

static void free_texts(char **texts, size_t count)
{
    for (size_t i = 0; texts != NULL && i < count; i++) {
        free(texts[i]);
    }
    free(texts);
}

void trk_query_printer_destroy(struct trk_query_printer *printer)
{
    if (printer != NULL) {
        free_texts(printer->names, printer->columns);
        free_texts(printer->cells, printer->columns * TABLE_ROWS);
        free(printer->widths);
        free(printer);
    }
}

bool trk_query_printer_begun(const struct trk_query_printer *printer)
{
    return printer->begun;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A value that is no text, as in all forms. */
static void write_plain(FILE *out, const struct trk_query_value *value)
{
    switch (value->kind) {
    case TRK_QUERY_INTEGER:
        fprintf(out, "%" PRId64, value->integer);
        break;
    case TRK_QUERY_ADDRESS:
        fprintf(out, "0x%" PRIx64, (uint64_t)value->integer);
        break;
    case TRK_QUERY_REAL:
        fprintf(out, "%.15g", value->real);
        break;
    case TRK_QUERY_BLOB:
        for (size_t i = 0; i < value->size_bytes; i++) {
            fprintf(out, "%02x", ((const uint8_t *)value->bytes)[i]);
        }
        break;
    default:
        break;
    }
}

/* The length of a value's text up to its end or a NUL, from an offset on; a NUL stands behind it.
 */
static size_t piece_at(const struct trk_query_value *value, size_t at)
{
    return strnlen((const char *)value->bytes + at, value->size_bytes - at);
}

/* Control characters, NUL as well, become \xNN: a row is a line, and a terminal does nothing. */
static void write_text(FILE *out, const struct trk_query_value *value)
{
    if (value->kind != TRK_QUERY_TEXT) {
        write_plain(out, value);
        return;
    }
    for (size_t at = 0;; at++) {
        trk_terminal_text(out, (const char *)value->bytes + at);
        at += piece_at(value, at);
        if (at >= value->size_bytes) {
            return;
        }
        fputs("\\x00", out);
    }
}

static struct trk_query_value text_value(const char *text)
{
    return (struct trk_query_value){
        .kind = TRK_QUERY_TEXT, .bytes = text, .size_bytes = strlen(text)};
}

static void print_plain_text(const struct trk_query_value *value)
{
    write_text(stdout, value);
}

static void print_quoted(const struct trk_query_value *value)
{
    const unsigned char *text = value->bytes;
    putchar('"');
    for (size_t i = 0; i < value->size_bytes; i++) {
        if (text[i] == '"') {
            fputs("\"\"", stdout);
        } else if (text[i] < 0x20 || text[i] == 0x7f) {
            printf("\\x%02x", text[i]);
        } else {
            putchar(text[i]);
        }
    }
    putchar('"');
}

/* [RFC 4180] */
static void print_csv_text(const struct trk_query_value *value)
{
    bool quoted = false;
    for (size_t i = 0; i < value->size_bytes; i++) {
        const char byte = ((const char *)value->bytes)[i];
        quoted |= byte == '"' || byte == ',' || byte == '\n' || byte == '\r';
    }
    (quoted ? print_quoted : print_plain_text)(value);
}

/* A piece without a NUL. */
static void print_json_piece(const char *text, char *clean, size_t room)
{
    trk_json_out_utf8(text, clean, room);
    trk_json_out_escaped(stdout, clean);
}

static void print_json_text(const struct trk_query_value *value)
{
    size_t room = 3 * value->size_bytes + 1; /* each bad byte is replaced by three */
    char *clean = malloc(room);
    putchar('"');
    for (size_t at = 0; clean != NULL; at++) {
        print_json_piece((const char *)value->bytes + at, clean, room);
        at += piece_at(value, at);
        if (at >= value->size_bytes) {
            break;
        }
        fputs("\\u0000", stdout);
    }
    putchar('"');
    free(clean);
}

static void print_json(const struct trk_query_value *value)
{
    static const int64_t exact = INT64_C(1) << 53;
    bool string =
        value->kind == TRK_QUERY_ADDRESS || value->kind == TRK_QUERY_BLOB ||
        (value->kind == TRK_QUERY_INTEGER && (value->integer > exact || value->integer < -exact));
    if (value->kind == TRK_QUERY_NULL ||
        (value->kind == TRK_QUERY_REAL && !isfinite(value->real))) {
        fputs("null", stdout);
    } else if (value->kind == TRK_QUERY_TEXT) {
        print_json_text(value);
    } else if (string) {
        putchar('"');
        write_plain(stdout, value);
        putchar('"');
    } else {
        write_plain(stdout, value);
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++) {
        width += ((unsigned char)*text & 0xc0u) != 0x80; /* not the rest of a character */
    }
    return width;
}

static void print_padded(const struct trk_query_printer *printer, char *const *texts)
{
    for (size_t i = 0; i < printer->columns; i++) {
        const char *text = texts[i] != NULL ? texts[i] : "";
        size_t width = width_of(text);
        fputs(text, stdout);
        if (i + 1 < printer->columns) {
            size_t pad = printer->widths[i] > width ? printer->widths[i] - width : 0;
            printf("%*s", (int)pad + 2, "");
        }
    }
    putchar('\n');
}

/* Say what the first rows were. */
static void settle(struct trk_query_printer *printer)
{
    size_t kept = printer->rows < TABLE_ROWS ? (size_t)printer->rows : TABLE_ROWS;
    for (size_t i = 0; i < (kept + 1) * printer->columns; i++) {
        const char *text =
            i < printer->columns ? printer->names[i] : printer->cells[i - printer->columns];
        size_t width = text != NULL ? width_of(text) : 0;
        size_t *widest = &printer->widths[i % printer->columns];
        width = width > WIDTH_MOST ? WIDTH_MOST : width;
        *widest = width > *widest ? width : *widest;
    }
    print_padded(printer, printer->names);
    for (size_t i = 0; i < kept; i++) {
        print_padded(printer, printer->cells + i * printer->columns);
    }
    printer->known = true;
}

static char *cell_of(const struct trk_query_value *value)
{
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *out = open_memstream(&text, &size_bytes);
    if (out == NULL) {
        return NULL;
    }
    write_text(out, value);
    if (fclose(out) != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

static void table_row(struct trk_query_printer *printer, const struct trk_query_value *values)
{
    if (printer->rows < TABLE_ROWS) {
        for (size_t i = 0; i < printer->columns; i++) {
            char *cell = cell_of(&values[i]);
            printer->failed |= cell == NULL;
            printer->cells[printer->rows * printer->columns + i] = cell;
        }
        return;
    }
    if (!printer->known) {
        settle(printer);
    }
    char **cells = calloc(printer->columns, sizeof *cells);
    for (size_t i = 0; i < printer->columns && cells != NULL; i++) {
        cells[i] = cell_of(&values[i]);
    }
    printer->failed |= cells == NULL;
    if (cells != NULL) {
        print_padded(printer, cells);
    }
    free_texts(cells, printer->columns);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void keep_names(struct trk_query_printer *printer, const char *const *names, size_t count)
{
    printer->columns = count;
    printer->names = calloc(count, sizeof *printer->names);
    printer->widths = calloc(count, sizeof *printer->widths);
    printer->cells = calloc(count * TABLE_ROWS, sizeof *printer->cells);
    printer->failed = printer->names == NULL || printer->widths == NULL || printer->cells == NULL;
    for (size_t i = 0; i < count && !printer->failed; i++) {
        const struct trk_query_value name = text_value(names[i]);
        printer->names[i] = cell_of(&name);
        printer->failed = printer->names[i] == NULL;
    }
}

static void take_names(void *context, const char *const *names, size_t count)
{
    struct trk_query_printer *printer = context;
    printer->begun = true;
    if (printer->form == TRK_QUERY_TABLE) {
        keep_names(printer, names, count);
        return;
    }
    bool json = printer->form == TRK_QUERY_JSON;
    if (json) {
        trk_refusal_not_needed();
        fputs("{\"schema\":\"" TRK_QUERY_SCHEMA "\",\"columns\":[", stdout);
    }
    for (size_t i = 0; i < count; i++) {
        fputs(i > 0 ? "," : "", stdout);
        const struct trk_query_value name = text_value(names[i]);
        (json ? print_json_text : print_csv_text)(&name);
    }
    fputs(json ? "],\"rows\":[" : "\n", stdout);
}

static bool take_row(void *context, const struct trk_query_value *values, size_t count)
{
    struct trk_query_printer *printer = context;
    if (printer->form == TRK_QUERY_TABLE && !printer->failed) {
        table_row(printer, values);
    } else if (printer->form == TRK_QUERY_JSON) {
        fputs(printer->rows > 0 ? ",\n[" : "\n[", stdout);
    }
    for (size_t i = 0; i < count && printer->form != TRK_QUERY_TABLE; i++) {
        fputs(i > 0 ? "," : "", stdout);
        if (printer->form == TRK_QUERY_JSON) {
            print_json(&values[i]);
        } else if (values[i].kind == TRK_QUERY_TEXT) {
            print_csv_text(&values[i]);
        } else {
            write_plain(stdout, &values[i]);
        }
    }
    if (printer->form != TRK_QUERY_TABLE) {
        fputs(printer->form == TRK_QUERY_JSON ? "]" : "\n", stdout);
    }
    printer->rows++;
    return trk_terminal_alive() && !printer->failed;
}

struct trk_query_rows trk_query_printer_rows(struct trk_query_printer *printer)
{
    return (struct trk_query_rows){take_names, take_row, NULL, printer};
}

void trk_query_printer_end(struct trk_query_printer *printer, bool complete)
{
    if (printer->form == TRK_QUERY_JSON) {
        printf("\n],\"complete\":%s}\n", complete ? "true" : "false");
    } else if (printer->form == TRK_QUERY_TABLE && !printer->known && !printer->failed) {
        settle(printer);
    }
}
