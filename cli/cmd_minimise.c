/* trk minimise: from a trace or a scenario that breaks a rule to the few operations that do. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "command.h"
#include "input.h"
#include "interrupt.h"
#include "json_out.h"
#include "minimise_print.h"
#include "minimise_right.h"
#include "options.h"
#include "out_file.h"
#include "progress.h"
#include "scenario_files.h"
#include "terminal.h"

static const struct trk_option minimise_options[] = {
    TRK_OUT_FILE_OPTIONS,
    {.name = "from-scenario",
     .about = "F is a scenario file, whatever its name; one that ends in .json is one anyway."},
    {.name = "keep",
     .kind = TRK_OPTION_TEXT,
     .value = "LABELS",
     .about = "Operations that must stay, by their labels, with commas between; of a trace e and "
              "the number of an event (e4711)."},
    {.name = "passing",
     .kind = TRK_OPTION_TEXT,
     .value = "P",
     .about = "Write to P the case with the one change that lets it pass, if there is one."},
    {.name = "good",
     .kind = TRK_OPTION_TEXT,
     .value = "TRK",
     .about = "Path of another trk, whose core is right: the case must hold there. For faults of "
              "the core that this trk has."},
    {.name = "replays",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "10000",
     .least = 1,
     .most = 1000000000,
     .about = "Try at most so many candidates."},
    {.name = "time",
     .kind = TRK_OPTION_NUMBER,
     .value = "SECONDS",
     .least = 1,
     .most = 1000000,
     .about = "Try no further candidate after so many seconds, and wait no longer for an answer of "
              "--good. What comes out then depends on the machine; by default nothing does."},
    TRK_PROGRESS_OPTION,
    {.name = "json", .about = "One JSON object, schema " TRK_MINIMISE_SCHEMA "."},
    {.name = NULL},
};

/* ---- going on -------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

struct going {
    uint64_t until_ns; /* 0: for any time */
    struct trk_minimise_size shown;
    struct trk_minimise_right right;
};

static bool is_right(void *context, const char *script)
{
    struct going *going = context;
    return trk_minimise_right_ask(&going->right, script);
}

static bool go_on(void *context, const struct trk_minimise_report *so_far)
{
    struct going *going = context;
    trk_minimise_show(so_far, &going->shown);
    bool past = going->until_ns != 0 && trk_clock_ns() >= going->until_ns;
    return interrupted == 0 && !past && !going->right.failed;
}

/* ---- options --------------------------------------------------------------------------------- */

/* The labels of --keep, in text that is cut up; false: too many, or an empty one. */
static bool read_keep(char *text, struct trk_minimise_options *minimise)
{
    for (char *at = text; at != NULL;) {
        char *comma = strchr(at, ',');
        if (comma != NULL) {
            *comma++ = '\0';
        }
        if (*at == '\0' || minimise->keep_count == TRK_MINIMISE_KEEP) {
            trk_terminal_say("minimise", "--keep: expected 1 to %u labels with commas between",
                             TRK_MINIMISE_KEEP);
            return false;
        }
        minimise->keep[minimise->keep_count++] = at;
        at = comma;
    }
    return true;
}

static bool read_options(const struct trk_options *options, struct trk_minimise_options *minimise,
                         struct going *going, char *keep)
{
    *minimise = trk_minimise_options_default();
    *going = (struct going){.right.stop = &interrupted};
    minimise->replays = trk_options_number(options, "replays");
    minimise->go_on = go_on;
    minimise->context = going;
    if (trk_options_given(options, "time")) {
        going->until_ns = trk_clock_ns_in(trk_options_number(options, "time"));
    }
    if (trk_options_text(options, "output") == NULL) {
        trk_terminal_say("minimise", "-o is missing: the case needs a file");
        return false;
    }
    return keep == NULL || read_keep(keep, minimise);
}

/* ---- input ----------------------------------------------------------------------------------- */

static bool is_scenario(const struct trk_options *options)
{
    return trk_options_flag(options, "from-scenario") ||
           (options->operand_count > 0 && trk_scenario_files_named(options->operands[0]));
}

/* The bytes of a file; NULL: said why not. */
static char *read_file(const char *path, size_t *size)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    char *bytes = file == NULL ? NULL : malloc(TRK_SCENARIO_FILE_BYTES + 1);
    bool bad = bytes == NULL;
    if (!bad) {
        *size = fread(bytes, 1, TRK_SCENARIO_FILE_BYTES + 1, file);
        bad = ferror(file) != 0;
    }
    if (bad) {
        trk_terminal_say("minimise", "%s: cannot be read: %s", path, strerror(errno));
        free(bytes);
        bytes = NULL;
    }
    if (file != NULL && file != stdin) {
        fclose(file);
    }
    return bytes;
}

struct outputs {
    struct trk_out_file script, passing;
    bool passing_wanted;
};

/* Whether the input, what: a trace or a scenario, would be lost to what is made of it. It is said.
 */
static bool overwrites(const char *path, const char *what, const struct outputs *outputs)
{
    const struct trk_out_file *const outs[] = {&outputs->script, &outputs->passing};
    struct stat input, there;
    bool standard = strcmp(path, "-") == 0;
    if ((standard ? fstat(STDIN_FILENO, &input) : stat(path, &input)) != 0) {
        return false;
    }
    for (size_t i = 0; i < (outputs->passing_wanted ? 2u : 1u); i++) {
        if (S_ISREG(input.st_mode) && stat(outs[i]->target, &there) == 0 &&
            there.st_dev == input.st_dev && there.st_ino == input.st_ino) {
            trk_terminal_say("minimise", "%s: the case would overwrite its %s", path, what);
            return true;
        }
    }
    return false;
}

static int from_scenario(const struct trk_options *options,
                         const struct trk_minimise_options *minimise, const struct outputs *outputs,
                         struct trk_minimise_report *report)
{
    struct trk_scenario_fault fault;
    size_t size = 0;
    const char *path = options->operand_count > 0 ? options->operands[0] : "-";
    if (overwrites(path, "scenario", outputs)) {
        return TRK_EXIT_USAGE;
    }
    char *bytes = read_file(path, &size);
    if (bytes == NULL) {
        return TRK_EXIT_USAGE;
    }
    trk_interrupt_watch(&interrupted, 1, false);
    enum trk_status status = trk_minimise_scenario(bytes, size, minimise, report, &fault);
    free(bytes);
    if (status == TRK_E_ARGUMENT) {
        trk_terminal_say("minimise", "%s: %s%s%s", path, fault.where, fault.where[0] ? ": " : "",
                         fault.text);
        return TRK_EXIT_USAGE;
    }
    if (status != TRK_OK) {
        struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
        (void)trk_error_set(&error, status, "it cannot be run: %s", trk_status_name(status));
        return trk_terminal_error("minimise", path, &error);
    }
    return TRK_EXIT_OK;
}

struct result {
    struct trk_minimise_report report;
    char path[PATH_MAX]; /* of the input */
    int lacks;           /* what the trace lacks, as an exit code */
};

static int from_trace(const struct trk_options *options,
                      const struct trk_minimise_options *minimise, const struct outputs *outputs,
                      struct result *result)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_input input;
    int code = trk_input_open(&input, options, TRK_MINIMISE_SCHEMA);
    if (code == TRK_EXIT_OK && overwrites(input.path, "trace", outputs)) {
        code = TRK_EXIT_USAGE;
    } else if (code == TRK_EXIT_OK) {
        trk_interrupt_watch(&interrupted, 1, false);
        trk_trace_stop_on(input.trace, &interrupted);
        enum trk_status status = trk_minimise_trace(input.trace, minimise, &result->report, &error);
        if (status != TRK_OK && interrupted == 0) {
            error.status = status;
            code = trk_input_fail(&input, options, TRK_MINIMISE_SCHEMA, &error);
        } else {
            result->lacks = trk_input_report(&input, options);
        }
    }
    memcpy(result->path, input.path, PATH_MAX);
    trk_input_close(&input);
    return code;
}

/* ---- output ---------------------------------------------------------------------------------- */

static int write_text(struct trk_out_file *out, const char *text, const struct trk_options *options)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    if (trk_out_file_write(out, text, strlen(text), &error) != TRK_OK) {
        return trk_terminal_error("minimise", out->path, &error);
    }
    return trk_out_file_keep(out, options);
}

/* What a trace lacks may be what breaks a rule. A case that is written stands for itself. */
static int exit_code_of(const struct trk_minimise_report *report, int lacks)
{
    if (report->nothing) {
        return lacks != TRK_EXIT_OK ? lacks : TRK_EXIT_USAGE;
    }
    if (report->script == NULL) {
        bool sure = report->not_shown && report->whole && lacks == TRK_EXIT_OK;
        return sure ? TRK_EXIT_BROKEN : TRK_EXIT_DAMAGED;
    }
    return report->whole ? TRK_EXIT_OK : TRK_EXIT_DAMAGED;
}

/* Whether two paths lead to one file, which need not be there yet. */
static bool same_place(const char *one, const char *other)
{
    const char *const paths[] = {one, other};
    const char *names[2];
    struct stat folders[2];
    for (int i = 0; i < 2; i++) {
        char folder[PATH_MAX];
        const char *slash = strrchr(paths[i], '/');
        names[i] = slash != NULL ? slash + 1 : paths[i];
        snprintf(folder, sizeof folder, "%.*s./", (int)(names[i] - paths[i]), paths[i]);
        if (stat(folder, &folders[i]) != 0) {
            return false;
        }
    }
    return strcmp(names[0], names[1]) == 0 && folders[0].st_dev == folders[1].st_dev &&
           folders[0].st_ino == folders[1].st_ino;
}

/* Open what is to be written before any work is done. An exit code. */
static int open_outputs(const struct trk_options *options, struct outputs *outputs)
{
    const char *path = trk_options_text(options, "passing");
    int code = trk_out_file_open(&outputs->script, options);
    outputs->passing_wanted = path != NULL;
    if (code == TRK_EXIT_OK && strcmp(outputs->script.path, "-") == 0 &&
        trk_options_flag(options, "json")) {
        trk_terminal_say("minimise", "--json does not go with -o -");
        trk_out_file_close(&outputs->script);
        code = TRK_EXIT_USAGE;
    }
    if (code != TRK_EXIT_OK || path == NULL) {
        return code;
    }
    code =
        trk_out_file_open_at(&outputs->passing, path, trk_options_flag(options, "force"), options);
    bool report = code == TRK_EXIT_OK && strcmp(outputs->passing.path, "-") == 0;
    bool same = code == TRK_EXIT_OK && same_place(outputs->passing.target, outputs->script.target);
    if (report || same) {
        trk_terminal_say("minimise", "--passing: %s is where %s goes; name another file", path,
                         report ? "the report" : "the case of -o");
        trk_out_file_close(&outputs->passing);
        code = TRK_EXIT_USAGE;
    }
    if (code != TRK_EXIT_OK) {
        trk_out_file_close(&outputs->script);
    }
    return code;
}

static int finish(const struct trk_options *options, const struct trk_minimise_report *report,
                  struct outputs *outputs, const struct trk_minimise_printing *printing, int code)
{
    int written = TRK_EXIT_OK;
    if (trk_options_flag(options, "json")) {
        trk_minimise_print_json(report, printing);
    } else if (report->script == NULL || strcmp(printing->output, "-") != 0) {
        trk_minimise_print(report, printing);
    }
    trk_terminal_flush();
    if (report->script != NULL) {
        written = write_text(&outputs->script, report->script, options);
    }
    if (written == TRK_EXIT_OK && outputs->passing_wanted && report->passing != NULL) {
        written = write_text(&outputs->passing, report->passing, options);
    } else if (outputs->passing_wanted && report->script != NULL && report->passing == NULL) {
        bool sought = report->whole && !trk_options_given(options, "good");
        trk_terminal_say("minimise", "%s: %s is not written",
                         sought ? "no one change lets the case pass"
                                : "what lets the case pass was not looked for to the end",
                         outputs->passing.path);
    }
    return written == TRK_EXIT_OK ? code : written;
}

/* Minimise, with all that is to be written open. An exit code. */
static int minimise_to(const struct trk_options *options,
                       const struct trk_minimise_options *minimise, struct outputs *outputs)
{
    static struct result result; /* some KiB */
    struct trk_minimise_report *report = &result.report;
    const struct going *going = minimise->context;
    bool scenario = is_scenario(options);
    int code;
    if (scenario) {
        snprintf(result.path, sizeof result.path, "%s",
                 options->operand_count > 0 ? options->operands[0] : "-");
        code = from_scenario(options, minimise, outputs, report);
    } else {
        code = from_trace(options, minimise, outputs, &result);
    }
    trk_progress_wipe();
    bool ended = interrupted != 0 || going->right.ended;
    if (code == TRK_EXIT_OK && ended && report->script == NULL) {
        report->not_shown = report->whole = false; /* what it was about to say is not known */
    } else if (code == TRK_EXIT_OK) {
        code = trk_minimise_right_report(&going->right);
    }
    if (code == TRK_EXIT_OK) {
        const struct trk_minimise_printing printing = {result.path, outputs->script.path, !scenario,
                                                       result.lacks != TRK_EXIT_OK};
        code = finish(options, report, outputs, &printing, exit_code_of(report, result.lacks));
    }
    free(report->script);
    free(report->passing);
    return code;
}

static int run_minimise(const struct trk_options *options)
{
    struct trk_minimise_options minimise;
    struct outputs outputs;
    struct going going;
    const char *text = trk_options_text(options, "keep"), *good = trk_options_text(options, "good");
    char *keep = text == NULL ? NULL : strdup(text);
    if (text != NULL && keep == NULL) {
        trk_terminal_say("minimise", "no memory");
        return TRK_EXIT_ENVIRONMENT;
    }
    int code = TRK_EXIT_USAGE;
    if (read_options(options, &minimise, &going, keep)) {
        code = open_outputs(options, &outputs);
    }
    if (code == TRK_EXIT_OK) {
        if (good != NULL) {
            minimise.right = is_right;
            going.right.until_ns = going.until_ns;
            code = trk_minimise_right_open(&going.right, good);
        }
        if (code == TRK_EXIT_OK) {
            code = minimise_to(options, &minimise, &outputs);
        }
        trk_minimise_right_close(&going.right);
        trk_out_file_close(&outputs.script);
        if (outputs.passing_wanted) {
            trk_out_file_close(&outputs.passing);
        }
    }
    free(keep);
    return code;
}

const struct trk_command trk_cmd_minimise = {
    .name = "minimise",
    .about = "make the smallest scenario that breaks a trace's rule",
    .operands = "[F]",
    .text =
        "What a trace did to the pages of its verdict becomes a scenario; then everything is taken "
        "out of it that is not needed: threads, operations, bytes, pages. What is left ends in the "
        "same verdict, at the same operation and for the same cause, in some order of its threads. "
        "A scenario file that does not end in ok is minimised the same way.\n\n"
        "The case is a scenario file whose expectation is ok: it fails as long as what broke the "
        "rule is in it, or in the core that it runs on. A fault of the emulator is carried by the "
        "case itself, by an injected fault, a store that nobody told of, an order of steps; the "
        "report says the one change that lets it pass, and --passing writes the case with it. "
        "A fault of the core is not in the file: there --good names a trk with the right core, and "
        "the case holds on that one.\n\n"
        "An interrupt (SIGINT) ends the search with the best so far.",
    .examples = "trk minimise bad.trk -o case.json\n"
                "trk minimise bad.trk -o case.json --passing fixed.json\n"
                "trk minimise big.json -o small.json --keep read --good /usr/bin/trk",
    .exits =
        "0 when the case is written; 1 when a rule is broken and no scenario of the verdict's "
        "pages shows it; 2 also when no rule breaks; 3 when no rule breaks in what there is of a "
        "damaged trace, or no scenario of that shows it, or the search ended early: then the best "
        "so far is written; 4 also when the trk of --good says nothing of the case.",
    .schema = TRK_MINIMISE_SCHEMA,
    .options = minimise_options,
    .operands_most = 1,
    .run = run_minimise,
};
