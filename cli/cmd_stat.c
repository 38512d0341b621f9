/* trk stat: run a command and count what it says of its memory; no file. */
#include <inttypes.h>
#include <stdio.h>

#include "command.h"
#include "json_out.h"
#include "options.h"
#include "recorder/record.h"
#include "terminal.h"
#include "track/event.h"

#define SCHEMA "trk-stat/1"
#define TYPES  256u

static const struct trk_option stat_options[] = {
    {.name = "json",
     .about = "Print the counts as a JSON object on standard output, behind the command's own "
              "output, schema " SCHEMA "."},
    {.name = NULL},
};

static double seconds(const struct trk_record_result *result)
{
    return (double)result->duration_ns / 1e9;
}

static double rate(const struct trk_record_result *result, uint64_t count)
{
    return result->duration_ns > 0 ? (double)count / seconds(result) : 0.0;
}

/* To standard error, as the command has standard output to itself. */
static void print_text(const struct trk_record_result *result)
{
    if (!result->attached) {
        trk_terminal_say("stat", "the command did not join the session: nothing was counted");
    }
    for (unsigned type = 0; type < TYPES; type++) {
        uint64_t count = result->events_of[type];
        uint64_t lost = result->dropped_of[type];
        if (count + lost == 0) {
            continue;
        }
        fprintf(stderr, "%16" PRIu64 "  %-20s %14.0f/s", count,
                type == 0 ? "(unknown)" : trk_event_type_name((uint8_t)type), rate(result, count));
        fprintf(stderr, lost > 0 ? "  and %" PRIu64 " lost\n" : "\n", lost);
    }
    fprintf(stderr, "%16" PRIu64 "  %-20s %14.0f/s\n", result->events, "events",
            rate(result, result->events));
    fprintf(stderr, "%16" PRIu64 "  lost\n%16" PRIu32 "  threads\n%16.3f  seconds\n",
            result->dropped, result->threads, seconds(result));
}

static void add_counts(cJSON *object, const char *name, const uint64_t *counts)
{
    cJSON *list = cJSON_AddObjectToObject(object, name);
    for (unsigned type = 0; type < TYPES; type++) {
        if (counts[type] > 0) {
            trk_json_out_number(list, type == 0 ? "unknown" : trk_event_type_name((uint8_t)type),
                                counts[type]);
        }
    }
}

static void print_json(const struct trk_record_result *result)
{
    cJSON *object = trk_json_out_object(SCHEMA);
    cJSON_AddBoolToObject(object, "attached", result->attached);
    cJSON_AddBoolToObject(object, "complete", result->complete);
    trk_json_out_number(object, "events", result->events);
    trk_json_out_number(object, "dropped", result->dropped);
    trk_json_out_number(object, "threads", result->threads);
    trk_json_out_number(object, "duration_ns", result->duration_ns);
    add_counts(object, "events_of", result->events_of);
    add_counts(object, "dropped_of", result->dropped_of);
    trk_json_out_end(object, result->child_status);
    trk_json_out_print(object);
}

static int run_stat(const struct trk_options *options)
{
    static struct trk_record_result result; /* 4 KiB of counts */
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_record_options record = {
        .size = sizeof record, .argv = options->rest, .count_only = true};
    enum trk_status status = trk_record_command(&record, &result, &error);
    if (status != TRK_OK && result.child_status == -1) {
        return trk_terminal_error("stat", NULL, &error);
    }
    if (trk_options_flag(options, "json")) {
        print_json(&result);
    } else {
        print_text(&result);
    }
    trk_terminal_keep_code();
    return trk_exit_of_program(result.child_status);
}

const struct trk_command trk_cmd_stat = {
    .name = "stat",
    .about = "run a command and count what it says of its memory",
    .operands = "[--] CMD [ARGUMENT...]",
    .text = "Runs CMD as trk record does, and counts its events by type instead of writing them: "
            "faults, protection calls, copies and so on, each with its rate over the command's "
            "time. The counts go to standard error, so that CMD keeps standard output for itself.",
    .exits = "CMD's own exit code, or 128 and the number of the signal that ended it. Errors "
             "before CMD has started give 2, 4 or 70.",
    .examples = "trk stat -- trk demo --frames 60",
    .schema = SCHEMA,
    .options = stat_options,
    .operands_least = 1,
    .runs_command = true,
    .run = run_stat,
};
