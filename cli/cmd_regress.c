/* trk regress: stored traces and scenarios against a build of a tracker. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "jobs.h"
#include "options.h"
#include "out_file.h"
#include "progress.h"
#include "refusal.h"
#include "regress.h"
#include "terminal.h"

static const struct trk_option regress_options[] = {
    {.name = "core",
     .kind = TRK_OPTION_TEXT,
     .value = "X.so",
     .about = "The tracker in this plug-in (simulator/core_plugin.h). Default: the built-in core."},
    {.name = "against",
     .kind = TRK_OPTION_TEXT,
     .value = "Y",
     .about = "Compare with another plug-in (Y.so), with the core that is built in (built-in), or "
              "with an earlier run: a file of what --json printed or, for a catalogue, the id of "
              "a run that it keeps (trk catalogue runs)."},
    TRK_JOBS_OPTION("Run N"),
    {.name = "repeat",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "1",
     .least = 1,
     .most = 1000,
     .about = "Run each N times; a verdict that is not the same each time is an error."},
    {.name = "limit",
     .kind = TRK_OPTION_NUMBER,
     .value = "S",
     .fallback = "120",
     .least = 1,
     .most = 86400,
     .about =
         "Seconds that one trace or scenario may take, the loading of a plug-in, and a command "
         "of --make. But for the last, time in which a busy machine has no processor for it "
         "does not count."},
    {.name = "budget",
     .kind = TRK_OPTION_NUMBER,
     .value = "S",
     .fallback = "0",
     .most = 1000000,
     .about = "Begin nothing new after S seconds; what is left out is told. 0: no bound."},
    {.name = "events",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "0",
     .most = UINT64_MAX,
     .about = "Leave out traces of more than N events. 0: none."},
    {.name = "walk",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "0",
     .most = 1000000000,
     .about = "Of scenarios with many schedules run N random ones. 0: as their files say."},
    {.name = "seed",
     .kind = TRK_OPTION_NUMBER,
     .value = "S",
     .fallback = "0",
     .most = UINT64_MAX,
     .about = "Of --walk."},
    {.name = "junit",
     .kind = TRK_OPTION_TEXT,
     .value = "F",
     .about = "Write the outcome to a new file F as JUnit XML, too."},
    {.name = "make",
     .kind = TRK_OPTION_TEXT,
     .value = "OUT",
     .about = "First record each trace of DIR's manifest again, by its command, into the new "
              "folder OUT, and run that instead."},
    {.name = "init",
     .about = "Run nothing: write trk-regress.cmake, a CTest entry, and a job for GitHub Actions "
              "below the working folder, for DIR and --core."},
    {.name = "json", .about = "One JSON object, schema " TRK_REGRESS_SCHEMA "."},
    TRK_PROGRESS_OPTION,
    {.name = NULL},
};

/* Say why there is no report. */
static int refuse(const char *path, enum trk_status status, struct trk_error *error)
{
    error->status = status;
    if (path != NULL) {
        trk_refusal_path(path);
    }
    return trk_terminal_error("regress", path, error);
}

/* An error of a core before anything was run: its exit code. */
static int core_failed(const char *path, enum trk_status status, struct trk_error *error)
{
    int code = refuse(path, status, error);
    return status == TRK_E_UNSUPPORTED || status == TRK_E_INCOMPLETE ? TRK_EXIT_ENVIRONMENT : code;
}

static bool is_plugin(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".so") == 0;
}

/* Both sides; an exit code. */
static int open_cores(struct trk_regress *regress, const struct trk_options *options)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    const char *against = trk_options_text(options, "against");
    regress->core.path = trk_options_text(options, "core");
    enum trk_status status = trk_regress_name_trk(regress, &error);
    if (status == TRK_OK) {
        status = trk_regress_core_open(&regress->core, regress->limit_s, &error);
    }
    if (status != TRK_OK) {
        return core_failed(regress->core.path, status, &error);
    }
    if (against == NULL) {
        return TRK_EXIT_OK;
    }
    bool built_in = strcmp(against, "built-in") == 0;
    if (!built_in && !is_plugin(against)) {
        regress->run = against;
        return TRK_EXIT_OK;
    }
    regress->two_cores = true;
    regress->other.path = built_in ? NULL : against;
    status = trk_regress_core_open(&regress->other, regress->limit_s, &error);
    return status == TRK_OK ? TRK_EXIT_OK : core_failed(against, status, &error);
}

/* What an earlier run says nothing of is told; one that says nothing of all is the wrong one. */
static enum trk_status check_compared(const struct trk_regress *regress, struct trk_error *error)
{
    size_t judged = 0, compared = 0;
    for (size_t i = 0; i < regress->count; i++) {
        const struct trk_regress_item *item = &regress->items[i];
        judged += item->outcome.verdict[0] != '\0';
        compared += item->outcome.verdict[0] != '\0' && item->compared;
    }
    if (judged > 0 && compared == 0) {
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "the earlier run has no verdict of any of these");
    }
    if (compared < judged) {
        trk_terminal_say("regress", "%s: the earlier run has no verdict of %zu of them",
                         regress->run, judged - compared);
    }
    return TRK_OK;
}

/* Run, compare, tell; an exit code. */
static int run_all(struct trk_regress *regress, const struct trk_options *options,
                   struct trk_out_file *junit)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    const char *subject = NULL;
    enum trk_status status =
        trk_regress_list(regress, regress->folders, regress->folder_count, &error);
    bool by_id = status == TRK_OK && regress->run != NULL && regress->catalogue != NULL &&
                 access(regress->run, F_OK) != 0;
    if (by_id) {
        subject = regress->run;
        status = trk_regress_find_run(regress, &error);
    }
    if (status == TRK_OK && regress->catalogue != NULL && !regress->keeps) {
        trk_terminal_say("regress", "%s may only be read: the verdicts are not kept",
                         regress->catalogue);
    }
    if (status == TRK_OK) {
        subject = NULL;
        status = trk_regress_run(regress, &error);
    }
    if (status == TRK_OK && regress->run != NULL) {
        subject = regress->run;
        status = by_id ? trk_regress_take_run(regress, &error)
                       : trk_regress_read_run(regress, regress->run, &error);
        if (status == TRK_OK) {
            status = check_compared(regress, &error);
        }
    }
    if (status != TRK_OK) {
        return refuse(subject, status, &error);
    }
    trk_regress_judge(regress);
    (trk_options_flag(options, "json") ? trk_regress_print_json : trk_regress_print)(regress);
    int code = trk_regress_exit_code(regress);
    if (junit->fd >= 0) {
        trk_terminal_flush();
        if (trk_regress_junit(regress, junit->fd, &error) != TRK_OK) {
            return trk_terminal_error("regress", junit->path, &error);
        }
        int kept = trk_out_file_keep(junit, options);
        code = kept != TRK_EXIT_OK ? kept : code;
    }
    return code;
}

/* The report as JUnit XML, if it is asked for. */
static int open_junit(struct trk_out_file *junit, const struct trk_options *options)
{
    const char *path = trk_options_text(options, "junit");
    if (path == NULL) {
        return TRK_EXIT_OK;
    }
    if (strcmp(path, "-") == 0) {
        trk_terminal_say("regress", "--junit: standard output has the report; name a file");
        return TRK_EXIT_USAGE;
    }
    return trk_out_file_open_at(junit, path, false, options);
}

static int run_regress(const struct trk_options *options)
{
    const char *make = trk_options_text(options, "make");
    struct trk_out_file junit = {.fd = -1, .through_fd = -1};
    struct trk_regress regress = {
        .folders = options->operands,
        .folder_count = options->operand_count,
        .jobs = (unsigned)trk_options_number(options, "jobs"),
        .repeat = (unsigned)trk_options_number(options, "repeat"),
        .limit_s = (unsigned)trk_options_number(options, "limit"),
        .budget_s = trk_options_number(options, "budget"),
        .events_most = trk_options_number(options, "events"),
        .walks = trk_options_number(options, "walk"),
        .seed = trk_options_number(options, "seed"),
    };
    if (regress.folder_count > 1) {
        trk_refusal_path(NULL); /* which of them it is stands in the text */
    }
    if (trk_options_given(options, "seed") && regress.walks == 0) {
        trk_terminal_say("regress", "--seed goes with --walk");
        return TRK_EXIT_USAGE;
    }
    bool init = trk_options_flag(options, "init");
    if ((make != NULL || init) && regress.folder_count > 1) {
        trk_terminal_say("regress", "--%s goes with one folder", init ? "init" : "make");
        return TRK_EXIT_USAGE;
    }
    if (init) {
        static const char *const of_runs[] = {"against", "jobs",   "repeat", "limit",
                                              "budget",  "events", "walk",   "seed",
                                              "junit",   "make",   "json",   NULL};
        return trk_terminal_refuse(options, of_runs, "does not go with --init, which runs nothing")
                   ? TRK_EXIT_USAGE
                   : trk_regress_init(regress.folders[0], trk_options_text(options, "core"));
    }
    int code = open_junit(&junit, options);
    if (code == TRK_EXIT_OK) {
        code = open_cores(&regress, options);
    }
    if (code == TRK_EXIT_OK && make != NULL) {
        code = trk_regress_make(regress.folders[0], make, regress.limit_s);
        regress.folders = &make;
    }
    if (code == TRK_EXIT_OK) {
        code = run_all(&regress, options, &junit);
    }
    trk_out_file_close(&junit);
    trk_regress_free(&regress);
    return code;
}

const struct trk_command trk_cmd_regress = {
    .name = "regress",
    .about = "run stored traces and scenarios against a build of a tracker",
    .operands = "DIR...",
    .text =
        "Runs every trace (*.trk) and scenario (*.json) below the folders DIR against the built-in "
        "core, or "
        "the "
        "plug-in of --core, each in a process of its own, and prints a table: pass, fail, changed, "
        "unstable, left-out, unreadable. What is expected of a trace stands in "
        "DIR/manifest.json, or that of a folder below; "
        "of a trace that is not in there, the verdict ok. A scenario file says itself what must "
        "come out.\n\n"
        "With --against each is also held against another build of the tracker, or an earlier "
        "run. For each change the table names the first event at which the two went different "
        "ways.\n\n"
        "Two runs with the same content, core, schedule, seeds and trk must give the same verdict: "
        "if not, the outcome is unstable and the exit code 70, whatever else was found.",
    .examples =
        "trk regress traces/corpus\ntrk regress -j 4 --core ./mine.so --junit out.xml traces\n"
        "trk regress --core ./new.so --against ./old.so traces\n"
        "trk regress --init --core build/mine.so traces",
    .exits = "0 all pass; 1 one fails or has changed; 2 the command line cannot be meant; 3 one is "
             "unreadable or was left out, and all others pass; 4 a plug-in that is none, or that "
             "ends or takes too long "
             "while it is loaded; 70 two runs of the same gave different verdicts",
    .schema = TRK_REGRESS_SCHEMA,
    .options = regress_options,
    .operands_least = 1,
    .operands_most = TRK_OPTIONS_OPERANDS_MOST,
    .run = run_regress,
};
