/* trk sim: run a trace again through the same core, and judge it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "contained.h"
#include "input.h"
#include "jobs.h"
#include "junit.h"
#include "options.h"
#include "out_file.h"
#include "progress.h"
#include "refusal.h"
#include "scenario_files.h"
#include "sim_print.h"
#include "simulator/sim.h"
#include "terminal.h"

#define SCHEMA             TRK_SIM_SCHEMA
#define GRANULE_MOST_BYTES 4096u

static const struct trk_option sim_options[] = {
    {.name = "json",
     .about = "One JSON object, schema " SCHEMA "; trk-sim-scenario/1 for a scenario file, "
              "trk-sim-scenarios/1 for a folder."},
    {.name = "oracle-only",
     .about = "Run nothing again: judge a trace by its stores, copies and reads alone. Works on "
              "traces of any tracker that notes them."},
    {.name = "granule",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "0",
     .most = UINT64_MAX, /* what is no power of two is told as such, however large */
     .about = "Bytes that the oracle keeps together, a power of two up to 4096. 1 is exact; of "
              "more, what was stored to in part is unknown. 0: 1, and 64 for traces of more than "
              "16 million events."},
    {.name = "junit",
     .kind = TRK_OPTION_TEXT,
     .value = "F",
     .about = "Write the outcome of scenario files to a new file F as JUnit XML, too."},
    {.name = "schedule",
     .kind = TRK_OPTION_TEXT,
     .value = "S",
     .about = "Run one schedule of a scenario file, as a report gives it (trk1:...)."},
    TRK_JOBS_OPTION("Run scenario files in N processes"),
    {.name = "engine",
     .kind = TRK_OPTION_TEXT,
     .value = "E",
     .about = "How every schedule of a scenario file is tried: hashed (the usual way), dpor, or "
              "both, which must come to the same verdicts."},
    {.name = "walk",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .least = 1,
     .most = 1000000000,
     .about = "Of scenario files that ask for many schedules run N random ones, by a walk in which "
              "all are alike in chance as far as threads do not wait."},
    {.name = "seed",
     .kind = TRK_OPTION_NUMBER,
     .value = "S",
     .fallback = "0",
     .most = UINT64_MAX,
     .about = "Of --walk."},
    TRK_CONTAINED_OPTIONS,
    TRK_PROGRESS_OPTION,
    {.name = NULL},
};

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

/* Options of which the one leaves nothing to the other; said. */
static bool at_odds(const struct trk_options *options)
{
    static const char *const pairs[][2] = {
        {"schedule", "engine"}, {"schedule", "walk"}, {"walk", "engine"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (trk_options_given(options, pairs[i][0]) && trk_options_given(options, pairs[i][1])) {
            trk_terminal_say("sim", "--%s does not go with --%s", pairs[i][1], pairs[i][0]);
            return true;
        }
    }
    static const char *const of_walk[] = {"seed", NULL};
    return !trk_options_given(options, "walk") &&
           trk_terminal_refuse(options, of_walk, "goes with --walk");
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
    if (at_odds(options)) {
        return false;
    }
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
        .core = trk_contained_asked(options),
        .options = {.size = sizeof asked->options,
                    .engine = (enum trk_scenario_engine)number,
                    .walks = trk_options_number(options, "walk"),
                    .seed = trk_options_number(options, "seed")},
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
    struct trk_out_file junit = {.fd = -1, .through_fd = -1};
    if (!scenarios_asked(options, &asked)) {
        return TRK_EXIT_USAGE;
    }
    if (junit_path != NULL && strcmp(junit_path, "-") == 0) {
        trk_terminal_say("sim", "--junit: standard output has the report; name a file");
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
    error.status = status;
    trk_refusal_schema(trk_scenario_files_schema(&files));
    if (status == TRK_E_UNSUPPORTED || status == TRK_E_INCOMPLETE) { /* of the plug-in */
        (void)trk_terminal_error("sim", asked.core.core, &error);
        code = trk_contained_exit_code(status);
    } else if (status != TRK_OK) {
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

struct trace_run {
    const struct trk_options *options;
    const struct trk_sim_options *sim;
    struct trk_input *input;
};

/* An open trace, in this process or in a plug-in's: an exit code. */
static void run_trace(void *out, const void *context)
{
    static struct trk_sim_report report; /* some KiB */
    const struct trace_run *run = context;
    const struct trk_options *options = run->options;
    struct trk_input *input = run->input;
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    int code = TRK_EXIT_OK;
    enum trk_status status = trk_sim_trace_with(input->trace, run->sim, &report, &error);
    trk_contained_leave();
    if (trk_core_misused()) {
        code = trk_contained_complain(input, options, SCHEMA);
    } else if (status != TRK_OK) {
        error.status = status;
        code = trk_input_fail(input, options, SCHEMA, &error);
    } else {
        const struct trk_sim_printed printed = {input, run->sim, trk_contained_asked(options)};
        (trk_options_flag(options, "json") ? trk_sim_print_json : trk_sim_print)(&printed, &report);
        trk_terminal_flush();
        (void)trk_input_report(input, options);
        code = trk_sim_exit_code(&report);
    }
    *(int *)out = code;
}

static int run_sim(const struct trk_options *options)
{
    static const char *const of_traces[] = {"oracle-only", "granule", NULL};
    static const char *const of_scenarios[] = {"junit", "schedule", "engine", "walk",
                                               "seed",  "jobs",     NULL};
    static const char *const of_core[] = {"core-limit", NULL};
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    if (!trk_options_given(options, "core") &&
        trk_terminal_refuse(options, of_core, "goes with --core")) {
        return TRK_EXIT_USAGE;
    }
    if (options->operand_count > 0 && trk_scenario_files_named(options->operands[0])) {
        if (trk_terminal_refuse(options, of_traces, "goes with traces")) {
            return TRK_EXIT_USAGE;
        }
        return run_scenarios(options);
    }
    if (trk_terminal_refuse(options, of_scenarios, "goes with scenario files")) {
        return TRK_EXIT_USAGE;
    }
    struct trk_sim_options sim = trk_sim_options_default();
    sim.mode = trk_options_flag(options, "oracle-only") ? TRK_SIM_ORACLE_ONLY : TRK_SIM_ALL;
    uint64_t granule_bytes = trk_options_number(options, "granule");
    if ((granule_bytes & (granule_bytes - 1)) != 0 || granule_bytes > GRANULE_MOST_BYTES) {
        trk_terminal_say("sim", "--granule: %" PRIu64 " is no power of two up to %u", granule_bytes,
                         GRANULE_MOST_BYTES);
        return TRK_EXIT_USAGE;
    }
    sim.granule_bytes = (uint32_t)granule_bytes;
    struct trk_input input;
    const struct trace_run run = {options, &sim, &input};
    const struct trk_contained contained = trk_contained_asked(options);
    /* Before there is a plug-in: what is printed of it is nobody else's. */
    int code = trk_input_open(&input, options, SCHEMA);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    enum trk_status status = TRK_OK;
    if (contained.core == NULL) {
        run_trace(&code, &run);
    } else {
        status = trk_contained_run(&contained, run_trace, &run, &code, sizeof code, &error);
    }
    if (status != TRK_OK) {
        code = trk_contained_fail(&input, options, SCHEMA, &error);
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
        "compares each outcome with the recorded one and checks the rules of the model; beside it "
        "an "
        "oracle follows who wrote each byte last and which copy has it. The first rule that breaks "
        "is the verdict; with it come the event that broke it, the one where that became visible, "
        "the steps between, the order that was missing and one that would have passed. The same "
        "trace gives the same report, byte for byte. After a loss of events the oracle goes on "
        "alone, and says nothing of what the loss leaves in doubt.\n\n"
        "The exit code is 0 for the verdict ok, 1 for a broken rule, and 3 when the trace is "
        "damaged or ends early and nothing is broken in what there is, or when nothing could be "
        "judged (verdict unknown, as of a whole trace without a tracker in it).\n\n"
        "A scenario file (FILE.json) is a small program of guest, tracker and GPU operations with "
        "what must come out; DIR stands for every *.json below it. The exit code is 0 when every "
        "expectation is met and 1 when one is not; else 2 when a file is no scenario, and 4 when "
        "one needs what this program cannot do yet.",
    .examples = "trk sim trace.trk\ntrk sim --oracle-only --json trace.trk\n"
                "trk sim scenario.json\ntrk sim --junit out.xml -j 4 scenarios",
    .schema = SCHEMA,
    .options = sim_options,
    .operands_most = 1,
    .run = run_sim,
};
