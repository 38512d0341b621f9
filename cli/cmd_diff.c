/* trk diff: what two traces, or two runs of scenarios, have otherwise. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "diff_print.h"
#include "diff_traces.h"
#include "input.h"
#include "json_out.h"
#include "options.h"
#include "progress.h"
#include "scenario_files.h"
#include "simulator/explore.h"
#include "terminal.h"

#define SCHEMA TRK_DIFF_SCHEMA

/* Orders of a window that are tried for --policies. */
#define ORDERS_MOST 20000u

static const struct trk_option diff_options[] = {
    {.name = "asked",
     .about = "Compare what the programs did alone, not what came of it: faults, ranges, results, "
              "copies, contents that were read."},
    {.name = "policies",
     .kind = TRK_OPTION_TEXT,
     .value = "P,Q",
     .about = "Compare one scenario file, or all of one trace, under two policies of the core, by "
              "their presets' names."},
    {.name = "json", .about = "One JSON object, schema " SCHEMA "."},
    TRK_PROGRESS_OPTION,
    {.name = NULL},
};

/* ---- scenarios ------------------------------------------------------------------------------- */

/* The text of a scenario file; NULL: said why not. */
static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *bytes = file == NULL ? NULL : malloc(TRK_SCENARIO_FILE_BYTES + 2);
    size_t size = bytes == NULL ? 0 : fread(bytes, 1, TRK_SCENARIO_FILE_BYTES + 1, file);
    bool bad = bytes == NULL || ferror(file) != 0;
    if (bad) {
        trk_terminal_say("diff", "%s: cannot be read: %s", path, strerror(errno));
        free(bytes);
        bytes = NULL;
    } else {
        bytes[size] = '\0';
    }
    if (file != NULL) {
        fclose(file);
    }
    return bytes;
}

/* Run and print. names: of the sides. */
static int diff_texts(const struct trk_options *options, const char *const texts[2],
                      const char *const policies[2], const char *const names[2])
{
    static struct trk_scenario_diff diff; /* some KiB */
    struct trk_scenario_fault fault;
    enum trk_status status = trk_scenario_diff_run(texts, policies, &diff, &fault);
    if (status == TRK_E_ARGUMENT) {
        trk_terminal_say("diff", "%s: %s%s%s", options->operands[0], fault.where,
                         fault.where[0] ? ": " : "", fault.text);
        return TRK_EXIT_USAGE;
    }
    if (status != TRK_OK) {
        struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
        (void)trk_error_set(&error, status, "cannot be run: %s", trk_status_name(status));
        return trk_terminal_error("diff", options->operands[0], &error);
    }
    trk_diff_print_scenarios(&diff, names, trk_options_flag(options, "json"));
    return diff.differ ? TRK_EXIT_BROKEN : diff.complete ? TRK_EXIT_OK : TRK_EXIT_DAMAGED;
}

static int diff_scenarios(const struct trk_options *options)
{
    char *a = read_text(options->operands[0]);
    char *b = a == NULL ? NULL : read_text(options->operands[1]);
    const char *const texts[2] = {a, b};
    const char *const names[2] = {options->operands[0], options->operands[1]};
    int code = a == NULL || b == NULL ? TRK_EXIT_USAGE : diff_texts(options, texts, NULL, names);
    free(a);
    free(b);
    return code;
}

/* ---- policies -------------------------------------------------------------------------------- */

/* The window of a trace with the most orders, as a scenario; NULL: there is none, or the status
 * says what is wrong. */
static enum trk_status window_of(struct trk_input *input, char **script, struct trk_error *error)
{
    static struct trk_explore_report report; /* some KiB */
    struct trk_explore_options explore = trk_explore_options_default();
    explore.schedules = ORDERS_MOST;
    explore.want_script = true;
    enum trk_status status = trk_trace_rewind(input->trace, error);
    if (status == TRK_OK) {
        status = trk_explore_trace(input->trace, &explore, &report, error);
        *script = report.script;
    }
    return status;
}

/* All that the trace's program did, then the orders of that window. An exit code. */
static int diff_trace_policies(const struct trk_options *options, const char *const names[2])
{
    static struct trk_scenario_diff window; /* some KiB */
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_policy policies[2];
    struct trk_policy_diff diff = {.count = 0};
    struct trk_scenario_fault fault;
    struct trk_input input;
    char *script = NULL;
    for (size_t i = 0; i < 2; i++) {
        if (trk_policy_preset(names[i], &policies[i]) != TRK_OK) {
            trk_terminal_say("diff", "--policies: '%.60s' is none of default, strict, kyty-2026-08",
                             names[i]);
            return TRK_EXIT_USAGE;
        }
    }
    int code = trk_input_open(&input, options, SCHEMA);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    enum trk_status status = trk_policy_diff_run(&diff, input.trace, policies, &error);
    if (status == TRK_OK && diff.operations == 0) {
        status = trk_error_set(&error, TRK_E_INCOMPLETE, "no operation of the core's is in it%s",
                               diff.log.behind > 0 ? " before what is lost" : "");
    }
    /* A window may be of what is lost in part. */
    if (status == TRK_OK && diff.log.behind == 0) {
        status = window_of(&input, &script, &error);
    }
    if (status == TRK_OK && script != NULL) {
        const char *const texts[2] = {script, script};
        status = trk_scenario_diff_run(texts, names, &window, &fault);
        if (status != TRK_OK) {
            (void)trk_error_set(&error, status, "its window: %s", fault.text);
        }
    }
    if (status != TRK_OK) {
        error.status = status;
        code = trk_input_fail_lacks(&input, options, SCHEMA, &error);
    } else {
        const struct trk_diff_policies said = {
            .input = &input,
            .names = {names[0], names[1]},
            .diff = &diff,
            .window = script != NULL ? &window : NULL,
            .complete = diff.log.complete && (script == NULL || window.complete) &&
                        diff.left_out + diff.log.foreign == 0,
        };
        trk_progress_wipe();
        trk_diff_print_policies(&said, trk_options_flag(options, "json"));
        trk_terminal_flush();
        (void)trk_input_report(&input, options);
        bool differ = diff.differ > 0 || (script != NULL && window.differ);
        code = differ ? TRK_EXIT_BROKEN : said.complete ? TRK_EXIT_OK : TRK_EXIT_DAMAGED;
    }
    free(script);
    trk_policy_diff_free(&diff);
    trk_input_close(&input);
    return code;
}

static int diff_policies(const struct trk_options *options, const char *given)
{
    char *both = strdup(given);
    char *comma = both == NULL ? NULL : strchr(both, ',');
    if (comma == NULL || strchr(comma + 1, ',') != NULL || comma == both || comma[1] == '\0') {
        trk_terminal_say("diff", "--policies: expected two names with a comma between");
        free(both);
        return TRK_EXIT_USAGE;
    }
    *comma = '\0';
    const char *const policies[2] = {both, comma + 1};
    int code = TRK_EXIT_USAGE;
    if (!trk_scenario_files_named(options->operands[0])) {
        code = diff_trace_policies(options, policies);
        free(both);
        return code;
    }
    char *text = read_text(options->operands[0]);
    if (text != NULL) {
        const char *const texts[2] = {text, text};
        code = diff_texts(options, texts, policies, policies);
    }
    free(text);
    free(both);
    return code;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat found;
    return strcmp(path, "-") != 0 && stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

/* What an operand is taken for. */
static const char *kind_of(const char *path)
{
    struct stat found;
    return strcmp(path, "-") != 0 && stat(path, &found) != 0 ? "not there"
           : is_folder(path)                                 ? "a folder"
           : trk_scenario_files_named(path)                  ? "a scenario by its name"
                                                             : "a trace by its name";
}

static int run_diff(const struct trk_options *options)
{
    const char *policies = trk_options_text(options, "policies");
    bool asked = trk_options_flag(options, "asked");
    if (policies != NULL && (options->operand_count != 1 || asked)) {
        trk_terminal_say("diff", "--policies goes with one file%s",
                         asked ? ", and not with --asked" : "");
        return TRK_EXIT_USAGE;
    }
    if (policies != NULL) {
        return diff_policies(options, policies);
    }
    if (options->operand_count != 2) {
        trk_terminal_say("diff", "expected two files");
        return TRK_EXIT_USAGE;
    }
    bool first = trk_scenario_files_named(options->operands[0]);
    bool folder = is_folder(options->operands[0]) || is_folder(options->operands[1]);
    if (folder || first != trk_scenario_files_named(options->operands[1])) {
        trk_terminal_say("diff", "%s is %s, and %s is %s: these cannot be compared",
                         options->operands[0], kind_of(options->operands[0]), options->operands[1],
                         kind_of(options->operands[1]));
        return TRK_EXIT_USAGE;
    }
    if (first && asked) {
        trk_terminal_say("diff", "--asked does not go with scenario files");
        return TRK_EXIT_USAGE;
    }
    return first ? diff_scenarios(options) : trk_diff_traces(options);
}

const struct trk_command trk_cmd_diff = {
    .name = "diff",
    .about = "say what two traces, or two runs of scenarios, have otherwise",
    .operands = "A [B]",
    .text = "Of traces: each thread's part of each region is compared, by what the thread did "
            "there and what came of it. Not compared is what may differ between two runs that do "
            "the same: times, the order of threads among each other, locks, host calls, and where "
            "memory lies (addresses are those that trk pack --redact gives). Threads are known by "
            "their names. The first difference is told, and where the others begin that follow.\n\n"
            "Traces of one recording (a copy that is damaged, recovered, packed, redacted, "
            "trimmed or merged) are compared event by event: threads are known by their streams, "
            "and an event's place in its thread is the same in both.\n\n"
            "Where a trace has lost events, what the other has in their place is not judged; what "
            "stands on both sides of a loss is. Nor is what a part (trk trim, a flight ring) has "
            "not. How much was compared is told, and what is lost.\n\n"
            "What came of it depends on how threads race, so two recordings of one program may "
            "differ there by right; with --asked only what the programs did is compared "
            "(downloads, drains, signals and awaits come of faults mostly, and do not count).\n\n"
            "Of scenario files (*.json): both are run as they say, and verdict, operation, and "
            "how many orders end in what are compared. With --policies one file is run under two "
            "policies of the core.\n\n"
            "Of a trace --policies runs all that its program did, operations of the core's "
            "trackers and accesses of the guest, under either policy, one whole after the other "
            "in the trace's order, and tells for each region where the two come apart: how "
            "operations end, what they hand over, which accesses fault, what states pages are in. "
            "What only differs when threads meet is looked for in the window with the most "
            "orders, or of the first finding (trk explore). Of a trace with losses all is run up "
            "to the first one.",
    .exits =
        "0 when they are the same, 1 when they differ; 3 when they are the same as far as they "
        "go, or when nothing of them can be compared.",
    .examples = "trk diff good.trk bad.trk\n"
                "trk diff --asked monday.trk tuesday.trk\n"
                "trk diff case.json --policies default,strict\n"
                "trk diff game.trk --policies default,kyty-2026-08",
    .schema = TRK_DIFF_SCHEMA,
    .options = diff_options,
    .operands_least = 1,
    .operands_most = 2,
    .run = run_diff,
};
