/* trk ctl: talk to a recording that runs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "json_out.h"
#include "number.h"
#include "options.h"
#include "recorder/control.h"
#include "refusal.h"
#include "terminal.h"

#define SCHEMA "trk-ctl/1"

static const struct trk_option ctl_options[] = {
    {.name = "timeout",
     .kind = TRK_OPTION_NUMBER,
     .value = "MS",
     .fallback = "10000",
     .least = 1,
     .most = 3600000,
     .about = "Wait up to MS milliseconds for the answer, and for another trk ctl of the same "
              "recording before that."},
    {.name = "json", .about = "Print the answer as a JSON object, schema " SCHEMA "."},
    {.name = NULL},
};

/* The command's line, from the operands: WHAT PID, or mark PID NUMBER. */
static bool make_line(const struct trk_options *options, char *out, size_t size)
{
    static const char *const plain[] = {"enable", "disable", "snapshot", "status"};
    const char *what = options->operands[0];
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strcmp(what, plain[i]) == 0) {
            snprintf(out, size, "%s", what);
            return options->operand_count == 2;
        }
    }
    uint64_t number;
    if (strcmp(what, "mark") != 0 || options->operand_count != 3 ||
        !trk_number_parse(options->operands[2], &number)) {
        return false;
    }
    snprintf(out, size, "mark %" PRIu64, number);
    return true;
}

static int run_ctl(const struct trk_options *options)
{
    char line[TRK_CONTROL_LINE];
    char answer[TRK_CONTROL_LINE] = "";
    uint64_t pid;
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    trk_refusal_path(NULL);
    if (!make_line(options, line, sizeof line) || !trk_number_parse(options->operands[1], &pid) ||
        pid == 0 || pid > INT32_MAX) {
        trk_terminal_say("ctl",
                         "expected enable PID, disable PID, snapshot PID, status PID or mark PID "
                         "NUMBER");
        return TRK_EXIT_USAGE;
    }
    enum trk_status status = trk_control_send(
        (uint32_t)pid, line, answer, (uint32_t)trk_options_number(options, "timeout"), &error);
    error.status = status;
    bool good = status == TRK_OK && strncmp(answer, "ok", 2) == 0;
    if (trk_options_flag(options, "json")) {
        cJSON *object = trk_json_out_object(SCHEMA);
        trk_json_out_number(object, "pid", pid);
        trk_json_out_text(object, "command", line);
        cJSON_AddBoolToObject(object, "ok", good);
        trk_json_out_text(object, "answer", status == TRK_OK ? answer : NULL);
        if (status != TRK_OK) {
            trk_json_out_text(object, "path", NULL);
            cJSON_AddBoolToObject(object, "complete", false);
            trk_json_out_error(object, &error);
        }
        trk_json_out_print(object);
    } else if (status == TRK_OK) {
        puts(answer);
    }
    if (status != TRK_OK) {
        trk_terminal_flush();
        return trk_terminal_error("ctl", NULL, &error);
    }
    return good ? TRK_EXIT_OK : TRK_EXIT_BROKEN;
}

const struct trk_command trk_cmd_ctl = {
    .name = "ctl",
    .about = "talk to a recording that runs",
    .operands = "enable|disable|snapshot|status|mark PID [NUMBER]",
    .text =
        "PID is that of trk record. disable throws away what comes from now on, and counts it by "
        "type, until enable; the trace says so as losses. snapshot writes out everything that has "
        "been recorded so far, or makes a dump of a flight recording, and answers when it is "
        "there. status counts the events that came and were lost so far, and of a flight recording "
        "those that its ring has forgotten, its dumps and its states. mark puts a mark into the "
        "trace, in a thread named (recorder).\n\n"
        "The answer is one line: ok, with what there is to say, or error and why. A command that "
        "was not answered in time may still be obeyed later.",
    .exits =
        "0 when the answer is ok, 1 when it is an error, 2 when no such recording runs or it ends "
        "without an answer, 4 when no answer comes, or another trk ctl waits for its own all that "
        "time.",
    .examples = "trk ctl snapshot 4711\ntrk ctl mark 4711 12",
    .schema = SCHEMA,
    .options = ctl_options,
    .operands_least = 2,
    .operands_most = 3,
    .run = run_ctl,
};
