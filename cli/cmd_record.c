/* trk record: run a command and write down what it says of its memory. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "json_out.h"
#include "options.h"
#include "recorder/record.h"
#include "terminal.h"
#include "trace_dir.h"

#define SCHEMA "trk-record/1"
/* Other recordings may take the name that was free a moment ago; more than this is no accident. */
#define NAME_TRIES   64
#define RECORD_BYTES 32u

static const struct trk_option record_options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = TRK_OPTION_TEXT,
     .value = "F",
     .about = "Write the trace to F, or to standard output for -. Without it the trace gets the "
              "next name in the trace directory."},
    {.name = "force", .letter = 'f', .about = "Overwrite F if it exists."},
    {.name = "ring",
     .kind = TRK_OPTION_SIZE,
     .value = "BYTES",
     .fallback = "4M",
     .least = 64 << 10,
     .most = 1 << 30,
     .about =
         "Room for events that a thread has before they are drained: a power of two, with K, M "
         "or G. Default 4M."},
    {.name = "json",
     .about = "Say what was written as a JSON object on standard output too, behind "
              "the command's own output, schema " SCHEMA "."},
    {.name = NULL},
};

/* The shell's way: the command's own exit code, or 128 and the signal's number. */
static int exit_code_of(int32_t wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static void say_result(const struct trk_record_result *result, const char *path)
{
    if (!result->attached) {
        trk_terminal_say("record", "the command did not join the session: nothing was recorded");
    }
    char each[40] = "";
    if (result->events > 0) {
        snprintf(each, sizeof each, " (%.2f bytes/event)",
                 (double)result->bytes / (double)result->events);
    }
    trk_terminal_say("record",
                     "%" PRIu64 " events, %" PRIu64 " dropped, %" PRIu32 " threads, %" PRIu64
                     " bytes%s -> %s",
                     result->events, result->dropped, result->threads, result->bytes, each, path);
}

static void print_json(const struct trk_record_result *result, const char *path)
{
    cJSON *object = trk_json_out_object(SCHEMA);
    trk_json_out_text(object, "path", path);
    cJSON_AddBoolToObject(object, "attached", result->attached);
    trk_json_out_number(object, "events", result->events);
    trk_json_out_number(object, "dropped", result->dropped);
    trk_json_out_number(object, "bytes", result->bytes);
    trk_json_out_number(object, "threads", result->threads);
    trk_json_out_end(object, result->child_status);
    trk_json_out_print(object);
}

/* Record under the given name, or under the next free one. path is where it went. */
static enum trk_status record(const struct trk_options *options, char path[PATH_MAX],
                              struct trk_record_result *result, struct trk_error *error)
{
    const char *output = trk_options_text(options, "output");
    struct trk_record_options record = {
        .size = sizeof record,
        .path = output ? output : path,
        .overwrite = trk_options_flag(options, "force"),
        .argv = options->rest,
        .ring_records = (uint32_t)(trk_options_number(options, "ring") / RECORD_BYTES),
    };
    if (output) {
        snprintf(path, PATH_MAX, "%s", output);
        return trk_record_command(&record, result, error);
    }
    record.overwrite = false;
    enum trk_status status = TRK_E_EXISTS;
    for (unsigned i = 0; i < NAME_TRIES && status == TRK_E_EXISTS; i++) {
        status = trk_trace_dir_next(path, PATH_MAX, error);
        if (status == TRK_OK) {
            status = trk_record_command(&record, result, error);
        }
    }
    return status;
}

/* An error before the command ran: not a fault of its own, so never its exit code. */
static int fail_before_start(const struct trk_error *error)
{
    int code = trk_terminal_error("record", NULL, error);
    if (error->status == TRK_E_EXISTS) {
        trk_terminal_say("record", "give -f to overwrite it");
    }
    return code == TRK_EXIT_DAMAGED || code == TRK_EXIT_OK ? TRK_EXIT_INTERNAL : code;
}

static int run_record(const struct trk_options *options)
{
    char path[PATH_MAX] = "";
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_record_result result = {.child_status = -1};
    const char *output = trk_options_text(options, "output");
    bool to_stdout = output && strcmp(output, "-") == 0;
    uint64_t ring = trk_options_number(options, "ring");
    if ((ring & (ring - 1)) != 0) {
        trk_terminal_say("record", "--ring: %" PRIu64 " is not a power of two", ring);
        return TRK_EXIT_USAGE;
    }
    if (to_stdout && isatty(STDOUT_FILENO)) {
        trk_terminal_say("record", "a trace is not for a terminal: name a file behind -o");
        return TRK_EXIT_USAGE;
    }
    if (to_stdout && trk_options_flag(options, "json")) {
        trk_terminal_say("record", "--json and -o - both want standard output");
        return TRK_EXIT_USAGE;
    }
    enum trk_status status = record(options, path, &result, &error);
    error.status = status;
    if (status != TRK_OK && result.child_status == -1) {
        return fail_before_start(&error);
    }
    if (status != TRK_OK) {
        (void)trk_terminal_error("record", NULL, &error);
    }
    say_result(&result, to_stdout ? "standard output" : path);
    if (trk_options_flag(options, "json")) {
        print_json(&result, path);
    }
    return exit_code_of(result.child_status);
}

const struct trk_command trk_cmd_record = {
    .name = "record",
    .about = "run a command and record what it says of its memory",
    .operands = "[--] CMD [ARGUMENT...]",
    .text =
        "Runs CMD with a recording session and writes what its threads emit, compressed, until it "
        "has ended. If CMD dies, everything it had committed before is in the trace; if trk record "
        "dies, CMD goes on unrecorded and what was written so far can be read.\n\n"
        "The exit code is CMD's own, or 128 and the number of the signal that ended it. Errors "
        "before CMD has started give 2 (no such command; F exists and -f is not given), 4 or 70.",
    .examples = "trk record -o trace.trk -- trk demo --frames 60\n"
                "trk record -- ./emulator game.bin && trk sim",
    .options = record_options,
    .operands_least = 1,
    .runs_command = true,
    .run = run_record,
};
