/* trk query: SQL over a trace. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "input.h"
#include "options.h"
#include "progress.h"
#include "query_lines.h"
#include "query_print.h"
#include "recorder/chunks.h"
#include "terminal.h"
#include "traces/query.h"

static const struct trk_option query_options[] = {
    {.name = "json", .about = "One JSON object, schema " TRK_QUERY_SCHEMA "."},
    {.name = "table", .about = "Columns side by side, for people, instead of CSV."},
    {.name = "file",
     .letter = 'f',
     .kind = TRK_OPTION_TEXT,
     .value = "Q",
     .about = "Take the statement from the file Q, or from standard input for -."},
    {.name = "interactive",
     .letter = 'i',
     .about = "Read statements from standard input, each ended by ;, and answer one after the "
              "other. On a terminal an error does not end that."},
    {.name = "stats",
     .about = "Say on standard error how much of the file was read, and how many chunks."},
    {.name = "limit",
     .kind = TRK_OPTION_NUMBER,
     .value = "S",
     .fallback = "0",
     .most = 1000000,
     .about = "End after S seconds, with exit code 4. 0: as long as it takes."},
    TRK_PROGRESS_OPTION,
    {.name = NULL},
};

/* A whole file as text; why not, or NULL. */
static const char *read_text(FILE *file, char text[TRK_QUERY_STATEMENT_BYTES_MOST + 2])
{
    size_t got = fread(text, 1, TRK_QUERY_STATEMENT_BYTES_MOST + 1, file);
    text[got] = '\0';
    return ferror(file)                           ? strerror(errno)
           : got > TRK_QUERY_STATEMENT_BYTES_MOST ? "more than a megabyte is no statement"
           : memchr(text, '\0', got) != NULL      ? "it is no text"
                                                  : NULL;
}

/* To be freed; NULL: said why. */
static char *read_statement(const char *path)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "re");
    const char *why = file != NULL ? "no memory" : strerror(errno);
    char *text = malloc(TRK_QUERY_STATEMENT_BYTES_MOST + 2);
    if (file != NULL && text != NULL) {
        why = read_text(file, text);
    }
    if (file != NULL && !standard) {
        fclose(file);
    }
    if (why != NULL) {
        trk_terminal_say("query", "--file: %s: %s", path, why);
        free(text);
        return NULL;
    }
    return text;
}

static void say_stats(const struct trk_query *query, const struct trk_input *input)
{
    struct trk_query_stats stats = trk_query_stats(query);
    stats.read_bytes += trk_trace_bytes_read(input->trace);
    trk_terminal_say(
        "query", "read %" PRIu64 " of %" PRIu64 " bytes, decoded %" PRIu64 " chunks of %" PRIu64,
        stats.read_bytes, input->bytes, stats.chunks_read, stats.chunks);
}

/* A printer, and when it is late. */
struct limited {
    struct trk_query_rows printer;
    const struct trk_query *query;
    bool ends; /* in time */
    struct timespec end;
};

static void give_names(void *context, const char *const *names, size_t count)
{
    const struct limited *limited = context;
    trk_progress_wipe();
    limited->printer.names(limited->printer.context, names, count);
}

static bool give_row(void *context, const struct trk_query_value *values, size_t count)
{
    const struct limited *limited = context;
    trk_progress_wipe();
    return limited->printer.row(limited->printer.context, values, count);
}

/* Asked now and then: tells how far it has come, too. */
static bool late(void *context)
{
    const struct limited *limited = context;
    struct timespec now;
    trk_progress_show(&(struct trk_progress){.unit = "chunks",
                                             .done = trk_query_stats(limited->query).chunks_read});
    clock_gettime(CLOCK_MONOTONIC, &now);
    return limited->ends &&
           (now.tv_sec > limited->end.tv_sec ||
            (now.tv_sec == limited->end.tv_sec && now.tv_nsec >= limited->end.tv_nsec));
}

/* One statement, answered; what is missing in the trace is told by report(). */
static int ask(struct trk_query *query, const char *sql, const struct trk_options *options,
               struct trk_input *input)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    enum trk_query_form form = trk_options_flag(options, "json")    ? TRK_QUERY_JSON
                               : trk_options_flag(options, "table") ? TRK_QUERY_TABLE
                                                                    : TRK_QUERY_CSV;
    struct trk_query_printer *printer = trk_query_printer_create(form);
    if (printer == NULL) {
        (void)trk_error_set(&error, TRK_E_MEMORY, "out of memory");
        return trk_terminal_error("query", NULL, &error);
    }
    uint64_t limit_s = trk_options_number(options, "limit");
    struct limited limited = {
        .printer = trk_query_printer_rows(printer), .query = query, .ends = limit_s > 0};
    bool looks = limited.ends || trk_progress_is_shown();
    struct trk_query_rows rows = {give_names, give_row, looks ? late : NULL, &limited};
    clock_gettime(CLOCK_MONOTONIC, &limited.end);
    limited.end.tv_sec += (time_t)limit_s;
    enum trk_status status = trk_query_run(query, sql, &rows, &error);
    trk_progress_wipe();
    bool damaged = trk_query_stats(query).damaged;
    bool complete = status == TRK_OK && !damaged && trk_trace_state(input->trace).complete;
    if (status == TRK_OK || trk_query_printer_begun(printer)) {
        trk_query_printer_end(printer, complete);
    }
    trk_terminal_flush();
    int code = TRK_EXIT_OK;
    if (status == TRK_E_LIVELOCK) {
        trk_terminal_say("query", "%s", error.text);
        code = TRK_EXIT_ENVIRONMENT;
    } else if (status != TRK_OK) {
        error.status = status;
        code = trk_query_printer_begun(printer)
                   ? trk_terminal_error("query", input->path, &error)
                   : trk_input_fail(input, options, TRK_QUERY_SCHEMA, &error);
    }
    trk_query_printer_destroy(printer);
    return code;
}

/* What is missing in the trace, behind the answers; an exit code. */
static int report(struct trk_query *query, const struct trk_options *options,
                  const struct trk_input *input)
{
    int code = trk_input_report(input, options);
    if (trk_query_stats(query).damaged && code == TRK_EXIT_OK) {
        struct trk_trace_state state = trk_trace_state(trk_query_trace(query));
        trk_terminal_say("query", "%s: damaged: %s", input->path,
                         state.damage[0] ? state.damage : "some chunks are not readable");
        code = TRK_EXIT_DAMAGED;
    }
    return code;
}

/* Statements from standard input, until one fails where no people type. */
static int ask_all(struct trk_query *query, const struct trk_options *options,
                   struct trk_input *input)
{
    bool people = isatty(STDIN_FILENO) == 1;
    struct trk_query_lines *lines = trk_query_lines_create(stdin, people);
    enum trk_query_line line = TRK_QUERY_LINE_STATEMENT;
    int code = TRK_EXIT_OK;
    if (lines == NULL) {
        struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
        (void)trk_error_set(&error, TRK_E_MEMORY, "out of memory");
        return trk_terminal_error("query", NULL, &error);
    }
    while (line == TRK_QUERY_LINE_STATEMENT && code == TRK_EXIT_OK && trk_terminal_alive()) {
        const char *text;
        line = trk_query_lines_next(lines, &text);
        if (line == TRK_QUERY_LINE_STATEMENT) {
            code = ask(query, text, options, input);
            code = people ? TRK_EXIT_OK : code;
        } else if (line == TRK_QUERY_LINE_BAD) {
            trk_terminal_say("query", "standard input: %s", text);
            code = TRK_EXIT_USAGE;
        }
    }
    trk_query_lines_destroy(lines);
    return code;
}

static int run_query(const struct trk_options *options)
{
    static const char *const of_people[] = {"table", NULL};
    const char *file = trk_options_text(options, "file");
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_input input;
    struct trk_query *query = NULL;
    char spooled[40];
    if (trk_options_flag(options, "json") &&
        trk_terminal_refuse(options, of_people, "does not go with --json")) {
        return TRK_EXIT_USAGE;
    }
    bool interactive = trk_options_flag(options, "interactive");
    int given = (options->operand_count == 2) + (file != NULL) + interactive;
    if (given != 1) {
        trk_terminal_say("query", "a statement is wanted behind the trace, or --file, or "
                                  "--interactive: one of them");
        return TRK_EXIT_USAGE;
    }
    if (interactive && strcmp(options->operands[0], "-") == 0) {
        trk_terminal_say("query", "--interactive reads standard input: name a file");
        return TRK_EXIT_USAGE;
    }
    char *text = file != NULL ? read_statement(file) : NULL;
    if (file != NULL && text == NULL) {
        return TRK_EXIT_USAGE;
    }
    int code = trk_input_open_quick(&input, options, TRK_QUERY_SCHEMA);
    if (code != TRK_EXIT_OK) {
        free(text);
        return code;
    }
    snprintf(spooled, sizeof spooled, "/proc/self/fd/%d", input.fd);
    const char *path = input.fd >= 0                  ? spooled
                       : strcmp(input.path, "-") == 0 ? "/proc/self/fd/0"
                                                      : input.path;
    if (trk_query_open(&query, path, &error) != TRK_OK) {
        code = trk_input_fail(&input, options, TRK_QUERY_SCHEMA, &error);
    } else {
        const struct trk_trace_watch watch = trk_progress_of_trace();
        trk_query_on_progress(query, &watch);
        code = interactive
                   ? ask_all(query, options, &input)
                   : ask(query, text != NULL ? text : options->operands[1], options, &input);
        code = code == TRK_EXIT_OK ? report(query, options, &input) : code;
        if (trk_options_flag(options, "stats")) {
            say_stats(query, &input);
        }
    }
    trk_query_close(query);
    trk_input_close(&input);
    free(text);
    return code;
}

const struct trk_command trk_cmd_query = {
    .name = "query",
    .about = "ask a trace in SQL",
    .operands = "F [SQL]",
    .text =
        "Runs one SELECT over the tables events, touches, operations, faults, uploads, downloads, "
        "protections, threads, frames, regions and findings, and the views v_stale_reads, "
        "v_page_history, v_redundant_uploads, v_fault_storm and v_upload_cost. Prints CSV; "
        "addresses "
        "are hexadecimal.\n\n"
        "A statement reads the chunks of the trace that it needs. Constraints on stream, thread, "
        "tsc, "
        "time_us and frame pass chunks over by the file's index; region and page_addr do by their "
        "summaries and, in files of format 1.1 and later, by the index. The "
        "column event is a place in the order of all events: who asks for it lets the trace be "
        "read "
        "in order, from the last checkpoint before the event or from the beginning.\n\n"
        "Nothing is changed or attached. What is asked for in examples: docs/query-cookbook.md.",
    .examples =
        "trk query trace.trk \"SELECT * FROM v_fault_storm ORDER BY faults DESC LIMIT 10\"\n"
        "trk query --json trace.trk \"SELECT count(*) FROM faults WHERE frame = 3\"\n"
        "trk query --table --stats trace.trk -f question.sql\n"
        "trk query --table -i trace.trk",
    .schema = TRK_QUERY_SCHEMA,
    .options = query_options,
    .operands_least = 1,
    .operands_most = 2,
    .judges_nothing = true,
    .run = run_query,
};
