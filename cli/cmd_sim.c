/* trk sim: run a trace again through the same core, and judge it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "input.h"
#include "json_out.h"
#include "junit.h"
#include "options.h"
#include "out_file.h"
#include "scenario_files.h"
#include "scenario_jobs.h"
#include "simulator/sim.h"
#include "terminal.h"

#define SCHEMA "trk-sim/1"

static const struct trk_option sim_options[] = {
    {.name = "json",
     .about = "One JSON object, schema " SCHEMA "; trk-sim-scenario/1 for a scenario file, "
              "trk-sim-scenarios/1 for a folder."},
    {.name = "junit",
     .kind = TRK_OPTION_TEXT,
     .value = "F",
     .about = "Write the outcome of scenario files to a new file F as JUnit XML, too."},
    {.name = "schedule",
     .kind = TRK_OPTION_TEXT,
     .value = "S",
     .about = "Run one schedule of a scenario file, as a report gives it (trk1:...)."},
    {.name = "jobs",
     .letter = 'j',
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "1",
     .least = 1,
     .most = TRK_SCENARIO_JOBS_MOST,
     .about = "Run scenario files in N processes at once; the report is the same. Default 1."},
    {.name = "engine",
     .kind = TRK_OPTION_TEXT,
     .value = "E",
     .about = "How every schedule of a scenario file is tried: hashed (the usual way), dpor, or "
              "both, which must come to the same verdicts."},
    {.name = NULL},
};

/* What was found, as this command's exit code. */
static int exit_code_of(const struct trk_sim_report *report)
{
    switch (report->verdict) {
    case TRK_VERDICT_OK:
        return report->complete ? TRK_EXIT_OK : TRK_EXIT_DAMAGED;
    case TRK_VERDICT_TRACE_INCOMPLETE:
    case TRK_VERDICT_UNKNOWN:
        return TRK_EXIT_DAMAGED;
    default:
        return TRK_EXIT_BROKEN;
    }
}

/* The name of the thread of event_at; NULL when there is no such event, "" when it has no name. */
static const char *thread_name(const struct trk_trace *trace, const struct trk_sim_report *report)
{
    if (report->event_at == TRK_NOT_KNOWN || report->stream_at >= trk_trace_stream_count(trace)) {
        return NULL;
    }
    return trk_trace_stream(trace, report->stream_at)->name;
}

static void print_json(const struct trk_input *input, const struct trk_sim_report *report)
{
    cJSON *object = trk_json_out_object(SCHEMA);
    trk_json_out_text(object, "path", input->path);
    trk_json_out_text(object, "verdict", trk_verdict_name(report));
    trk_json_out_text(object, "detail", report->detail[0] ? report->detail : NULL);
    trk_json_out_text(object, "text", report->text);
    cJSON_AddBoolToObject(object, "complete", report->complete);
    trk_json_out_number(object, "event_at", report->event_at);
    trk_json_out_number(object, "event_visible", report->event_visible);
    trk_json_out_text(object, "thread", thread_name(input->trace, report));
    trk_json_out_address(object, "guest_addr", report->guest_addr);
    trk_json_out_number(object, "size",
                        report->guest_addr == TRK_NOT_KNOWN ? TRK_NOT_KNOWN : report->size_bytes);
    cJSON *story = cJSON_AddArrayToObject(object, "story");
    for (size_t i = 0; i < report->story_count; i++) {
        cJSON *line = cJSON_CreateObject();
        trk_json_out_number(line, "event", report->story[i].event);
        trk_json_out_text(line, "text", report->story[i].text);
        cJSON_AddItemToArray(story, line);
    }
    const struct {
        const char *key;
        uint64_t number;
    } counts[] = {
        {"events", report->events},
        {"operations", report->operations},
        {"divergences", report->divergences},
        {"faults", report->faults},
        {"copies", report->copies},
        {"checks", report->checks},
        {"frames", report->frames},
        {"ranges", report->ranges},
        {"protect_calls", report->protect_calls},
        {"threads", report->threads},
        {"regions", report->regions},
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        trk_json_out_number(object, counts[i].key, counts[i].number);
    }
    trk_json_out_print(object);
}

static void print_event(const char *label, uint64_t number, const char *thread)
{
    if (number == TRK_NOT_KNOWN) {
        return;
    }
    printf("%-12s event %" PRIu64, label, number);
    if (thread && *thread) {
        fputs(", thread ", stdout);
        trk_terminal_text(stdout, thread);
    }
    putchar('\n');
}

static void print_text(const struct trk_input *input, const struct trk_sim_report *report)
{
    int code = exit_code_of(report);
    fputs("verdict: ", stdout);
    trk_terminal_word(code == TRK_EXIT_OK       ? TRK_TONE_GOOD
                      : code == TRK_EXIT_BROKEN ? TRK_TONE_BAD
                                                : TRK_TONE_DOUBT,
                      trk_verdict_name(report));
    if (report->detail[0]) {
        fputs(" (", stdout);
        trk_terminal_text(stdout, report->detail);
        putchar(')');
    }
    putchar('\n');
    if (report->text[0]) {
        trk_terminal_text(stdout, report->text);
        putchar('\n');
    }
    print_event("broken at", report->event_at, thread_name(input->trace, report));
    print_event("visible at", report->event_visible, NULL);
    if (report->guest_addr != TRK_NOT_KNOWN) {
        printf("%-12s 0x%" PRIx64 ", %" PRIu64 " bytes\n", "address", report->guest_addr,
               report->size_bytes);
    }
    for (size_t i = 0; i < report->story_count; i++) {
        printf("%10" PRIu64 "  ", report->story[i].event);
        trk_terminal_text(stdout, report->story[i].text);
        putchar('\n');
    }
    printf("%" PRIu64 " events, %" PRIu64 " operations run again, %" PRIu64 " divergences\n",
           report->events, report->operations, report->divergences);
    printf("%" PRIu64 " faults, %" PRIu64 " ranges, %" PRIu64 " protection calls, %" PRIu64
           " copies, %" PRIu64 " checks, %" PRIu64 " frames\n",
           report->faults, report->ranges, report->protect_calls, report->copies, report->checks,
           report->frames);
    printf("%" PRIu32 " threads, %" PRIu32 " regions, trace %s\n", report->threads, report->regions,
           report->complete ? "complete" : "incomplete");
    if (code == TRK_EXIT_BROKEN && report->event_at != TRK_NOT_KNOWN) {
        uint64_t from = report->event_at < 10 ? 0 : report->event_at - 10;
        printf("around it: trk dump ");
        trk_terminal_text(stdout, input->path);
        printf(" %" PRIu64 "-%" PRIu64 "\n", from, report->event_at + 10);
    }
}

/* JUnit XML beside the report; an exit code, of which the worse one counts. */
static int write_junit(const struct trk_options *options, const struct trk_scenario_files *files,
                       struct trk_out_file *junit, int code)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    trk_terminal_flush();
    if (trk_junit_write(files, junit->fd, &error) != TRK_OK) {
        return trk_terminal_error("sim", junit->path, &error);
    }
    int kept = trk_out_file_keep(junit, options);
    return kept != TRK_EXIT_OK ? kept : code;
}

/* What is asked for of scenario files; false: it makes no sense, and that has been said. */
static bool scenarios_asked(const struct trk_options *options, struct trk_scenario_asked *asked)
{
    static const char *const engines[] = {
        [TRK_SCENARIO_HASHED] = "hashed",
        [TRK_SCENARIO_DPOR] = "dpor",
        [TRK_SCENARIO_BOTH] = "both",
    };
    const char *engine = trk_options_text(options, "engine");
    size_t number = 0;
    while (engine != NULL && number < sizeof engines / sizeof engines[0] &&
           strcmp(engines[number], engine) != 0) {
        number++;
    }
    if (number == sizeof engines / sizeof engines[0]) {
        trk_terminal_say("sim", "--engine %s: expected hashed, dpor or both", engine);
        return false;
    }
    *asked = (struct trk_scenario_asked){
        .schedule = trk_options_text(options, "schedule"),
        .jobs = (unsigned)trk_options_number(options, "jobs"),
        .options = {.size = sizeof asked->options, .engine = (enum trk_scenario_engine)number},
    };
    return true;
}

/* Scenario files and folders of them. */
static int run_scenarios(const struct trk_options *options)
{
    const char *path = options->operands[0];
    const char *junit_path = trk_options_text(options, "junit");
    struct trk_scenario_asked asked;
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_scenario_files files;
    struct trk_out_file junit = {.fd = -1};
    if (!scenarios_asked(options, &asked)) {
        return TRK_EXIT_USAGE;
    }
    if (junit_path != NULL) {
        int refused = trk_out_file_open_at(&junit, junit_path, false, options);
        if (refused != TRK_EXIT_OK) {
            return refused;
        }
    }
    enum trk_status status = trk_scenario_files_run(&files, path, &asked, &error);
    int code = TRK_EXIT_OK;
    if (status != TRK_OK) {
        code = trk_terminal_error("sim", path, &error);
    } else {
        (trk_options_flag(options, "json") ? trk_scenario_files_print_json
                                           : trk_scenario_files_print)(&files, path);
        code = trk_scenario_files_exit_code(&files);
        if (junit_path != NULL) {
            code = write_junit(options, &files, &junit, code);
        }
    }
    trk_out_file_close(&junit);
    trk_scenario_files_destroy(&files);
    return code;
}

static int run_sim(const struct trk_options *options)
{
    static struct trk_sim_report report; /* some KiB */
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_input input;
    if (options->operand_count > 0 && trk_scenario_files_named(options->operands[0])) {
        return run_scenarios(options);
    }
    if (trk_options_given(options, "junit") || trk_options_given(options, "schedule") ||
        trk_options_given(options, "engine")) {
        trk_terminal_say("sim", "--junit, --schedule and --engine go with scenario files");
        return TRK_EXIT_USAGE;
    }
    int code = trk_input_open(&input, options, SCHEMA);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    enum trk_status status = trk_sim_trace(input.trace, &report, &error);
    if (status != TRK_OK) {
        error.status = status;
        code = trk_input_fail(&input, options, SCHEMA, &error);
    } else {
        (trk_options_flag(options, "json") ? print_json : print_text)(&input, &report);
        trk_terminal_flush();
        (void)trk_input_report(&input, options);
        code = exit_code_of(&report);
    }
    trk_input_close(&input);
    return code;
}

const struct trk_command trk_cmd_sim = {
    .name = "sim",
    .about = "run a trace or scenarios through the same core and judge them",
    .operands = "[F | FILE.json | DIR]",
    .text =
        "Runs every recorded operation again, against the same tracker code with a simulated host, "
        "compares each outcome with the recorded one and checks the rules of the model. The first "
        "rule that breaks is the verdict; with it come the event that broke it, the one where that "
        "became visible, and the steps between. The same trace gives the same report, byte for "
        "byte.\n\n"
        "The exit code is 0 for the verdict ok, 1 for a broken rule, and 3 when the trace is "
        "damaged or ends early and nothing is broken in what there is, or when nothing could be "
        "judged (verdict unknown: a whole trace, but no tracker in it).\n\n"
        "A scenario file (FILE.json) is a small program of guest, tracker and GPU operations with "
        "what must come out; DIR stands for every *.json below it. The exit code is 0 when every "
        "expectation is met and 1 when one is not; else 2 when a file is no scenario, and 4 when "
        "one needs what this program cannot do yet.",
    .examples = "trk sim trace.trk\ntrk sim --json trace.trk\n"
                "trk sim scenario.json\ntrk sim --junit out.xml -j 4 scenarios",
    .options = sim_options,
    .operands_most = 1,
    .run = run_sim,
};
