/* trk dump: the events of a trace, as text or JSON lines. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "command.h"
#include "event_print.h"
#include "input.h"
#include "json_out.h"
#include "modules.h"
#include "options.h"
#include "range.h"
#include "recorder/checkpoint.h"
#include "recorder/text.h"
#include "refusal.h"
#include "terminal.h"

#define SCHEMA "trk-event/1"

static const struct trk_option dump_options[] = {
    {.name = "json", .about = "One JSON object a line and event, schema " SCHEMA "."},
    {.name = "raw", .about = "The fields of each event as they are stored, by their plain names."},
    {.name = "text",
     .about = "The whole file chunk by chunk, in the form that trk assemble reads. No RANGE."},
    {.name = NULL},
};

struct dump {
    struct trk_input input;
    struct trk_range range;
    struct trk_clock clock;
    struct trk_modules modules;
    bool json;
    bool raw;
    uint64_t first_tsc;
    uint64_t seen, printed; /* events */
};

static void name_of(const struct dump *dump, uint32_t stream, char *out, size_t size)
{
    const struct trk_trace_stream *known = stream < trk_trace_stream_count(dump->input.trace)
                                               ? trk_trace_stream(dump->input.trace, stream)
                                               : NULL;
    trk_event_text_thread(known ? known->name : NULL, stream, out, size);
}

/* A type of a newer version has the name that the file gives it. */
static const char *type_of(const struct dump *dump, uint8_t id)
{
    struct trk_trace_type type;
    (void)trk_trace_type(dump->input.trace, id, &type);
    return type.name;
}

static size_t fields_of(const struct dump *dump, const struct trk_event *event,
                        struct trk_event_field out[TRK_EVENT_FIELDS_MOST],
                        char at[TRK_MODULE_TEXT_BYTES])
{
    if (dump->raw) {
        return trk_event_text_raw(event, out);
    }
    return trk_modules_field(&dump->modules, event, out,
                             trk_trace_event_fields(dump->input.trace, event, out), at);
}

/* What is printed of an event in either form. */
struct line {
    struct trk_event_field fields[TRK_EVENT_FIELDS_MOST];
    size_t count;
    char at[TRK_MODULE_TEXT_BYTES]; /* what a field may speak of */
    char name[100], time[40];
};

static void line_of(const struct dump *dump, const struct trk_trace_event *event, struct line *out)
{
    out->count = fields_of(dump, &event->event, out->fields, out->at);
    name_of(dump, event->stream, out->name, sizeof out->name);
    trk_clock_print(&dump->clock, event->tsc, dump->first_tsc, out->time, sizeof out->time);
}

static void print_text(const struct dump *dump, const struct trk_trace_event *event)
{
    struct line line;
    line_of(dump, event, &line);
    printf("%8" PRIu64 " %14s  ", event->number, line.time);
    trk_event_text_line(stdout, line.name, type_of(dump, event->event.type), line.fields,
                        line.count);
}

static void print_json(const struct dump *dump, const struct trk_trace_event *event)
{
    struct line line;
    line_of(dump, event, &line);
    printf("{\"schema\":\"" SCHEMA "\",\"event\":%" PRIu64 ",\"%s\":%s,\"stream\":%" PRIu32
           ",\"thread\":\"",
           event->number, dump->clock.ticks_a_microsecond > 0 ? "time_us" : "ticks", line.time,
           event->stream);
    trk_json_out_escaped(stdout, line.name);
    printf("\",\"type\":\"%s\"", type_of(dump, event->event.type));
    trk_event_text_print_json(stdout, line.fields, line.count);
    puts("}");
}

/* Behind the first event, which times count from: go to where events are printed from, if there is
 * a way. */
static enum trk_status skip_to_range(struct dump *dump, struct trk_error *error)
{
    const struct trk_range *range = &dump->range;
    bool far = range->kind == TRK_RANGE_EVENTS && range->first > 1 &&
               trk_trace_checkpoint_count(dump->input.trace) > 0;
    enum trk_status status = far ? trk_trace_seek(dump->input.trace, range->first, error) : TRK_OK;
    if (status == TRK_E_END) { /* then it is read, to say where it ends */
        return trk_trace_seek(dump->input.trace, 1, error);
    }
    dump->seen = far && status == TRK_OK ? range->first : dump->seen;
    return status;
}

/* Print until the range or the trace ends, or nobody reads any more. */
static enum trk_status print_events(struct dump *dump, struct trk_error *error)
{
    struct trk_trace_event event;
    bool first = true;
    for (;;) {
        enum trk_status status = trk_trace_next(dump->input.trace, &event, error);
        if (status != TRK_OK) {
            return status == TRK_E_END ? TRK_OK : status;
        }
        dump->seen++;
        if (first) {
            dump->first_tsc = event.tsc;
            first = false;
        }
        if (trk_range_has(&dump->range, &event)) {
            (dump->json ? print_json : print_text)(dump, &event);
            dump->printed++;
        }
        if (!trk_terminal_alive() || trk_range_ends_at(&dump->range, &event)) {
            return TRK_OK;
        }
        if (dump->seen == 1 && (status = skip_to_range(dump, error)) != TRK_OK) {
            return status;
        }
    }
}

/* A range that picked nothing is told, with what there is instead. It is no error. */
static void say_nothing_picked(const struct dump *dump)
{
    char closest[TRK_RANGE_CLOSEST_BYTES];
    trk_range_closest(&dump->range, closest);
    trk_terminal_say("dump", "nothing in range: %s", closest);
}

/* The file as text. It is read where it is: a pipe has no chunks to go back to. */
static int dump_text(const struct trk_options *options)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_text_result result;
    struct trk_input input;
    static const char *const of_events[] = {"json", "raw", NULL};
    if (trk_terminal_refuse(options, of_events, "does not go with --text")) {
        return TRK_EXIT_USAGE;
    }
    if (options->operand_count > 1) {
        (void)trk_error_set(&error, TRK_E_ARGUMENT, "--text prints the whole file: no RANGE");
        return trk_terminal_error("dump", NULL, &error);
    }
    int code = trk_input_open(&input, options, SCHEMA);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    char spooled[40];
    snprintf(spooled, sizeof spooled, "/proc/self/fd/%d", input.fd);
    enum trk_status status = trk_text_print(input.fd >= 0                  ? spooled
                                            : strcmp(input.path, "-") == 0 ? "/proc/self/fd/0"
                                                                           : input.path,
                                            stdout, &result, &error);
    trk_terminal_flush();
    if (status != TRK_OK) {
        error.status = status;
        code = trk_input_fail(&input, options, SCHEMA, &error);
    } else {
        trk_refusal_not_needed();
        if (result.left_out > 0) {
            trk_terminal_say("dump",
                             "%s: %" PRIu64 " chunks of kinds that this version does not know have "
                             "no text and are left out, the first of kind %u",
                             input.path, result.left_out, result.left_kind);
        }
        code = trk_input_report(&input, options);
    }
    trk_input_close(&input);
    return code;
}

static int run_dump(const struct trk_options *options)
{
    if (trk_options_flag(options, "text")) {
        return dump_text(options);
    }
    struct dump dump = {.range = trk_range_all(),
                        .json = trk_options_flag(options, "json"),
                        .raw = trk_options_flag(options, "raw")};
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    if (options->operand_count > 1) {
        enum trk_status status = trk_range_parse(options->operands[1], &dump.range, &error);
        if (status != TRK_OK) {
            return trk_terminal_error("dump", NULL, &error);
        }
    }
    int code = trk_input_open(&dump.input, options, SCHEMA);
    if (code != TRK_EXIT_OK) {
        trk_range_free(&dump.range);
        return code;
    }
    dump.clock = trk_clock_from_header(trk_trace_header_json(dump.input.trace));
    trk_modules_init(&dump.modules, trk_trace_header_json(dump.input.trace));
    dump.range.trace = dump.input.trace;
    dump.range.ticks_a_microsecond = dump.clock.ticks_a_microsecond;
    enum trk_status status =
        dump.range.kind == TRK_RANGE_TIME && dump.clock.ticks_a_microsecond <= 0
            ? trk_error_set(&error, TRK_E_ARGUMENT, "the header does not say how long a tick is")
            : print_events(&dump, &error);
    trk_terminal_flush();
    if (status != TRK_OK) {
        error.status = status;
        code = trk_input_fail(&dump.input, options, SCHEMA, &error);
    } else {
        trk_refusal_not_needed();
        if (dump.printed == 0 && options->operand_count > 1 && trk_terminal_alive()) {
            say_nothing_picked(&dump);
        }
        code = trk_input_report(&dump.input, options);
    }
    trk_range_free(&dump.range);
    trk_modules_deinit(&dump.modules);
    trk_input_close(&dump.input);
    return code;
}

const struct trk_command trk_cmd_dump = {
    .name = "dump",
    .about = "print the events of a trace",
    .operands = "[F [RANGE]]",
    .text =
        "Prints one line an event, in the order in which the simulator runs them: its number, the "
        "time in microseconds since the first event, the thread, the type and the type's fields. "
        "What is left of a damaged or unfinished trace is printed as far as it goes.\n\n"
        "RANGE picks events: 10, 10-20, 10- or 10-20/2 by number; frame:5-9 by the frame they "
        "happen in; region:0x200000000 by the 4 MiB of guest memory they are about; time:1.2s-1.5s "
        "by "
        "the time since the first event; @FILE by the numbers in FILE, a range a line. Numbers "
        "start "
        "at 0 and ranges include both ends. A range that picks nothing is told on standard error, "
        "with "
        "what comes closest, and is no error.",
    .examples = "trk dump trace.trk 100-120\ntrk dump --json trace.trk frame:7 | grep witness",
    .schema = SCHEMA,
    .options = dump_options,
    .operands_most = 2,
    .json_lines = true,
    .judges_nothing = true,
    .run = run_dump,
};
