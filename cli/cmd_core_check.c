/* trk core-check: a tracker's plug-in against the cases. */
#include <string.h>

#include "cases.h"
#include "command.h"
#include "core_check.h"
#include "jobs.h"
#include "options.h"
#include "progress.h"
#include "refusal.h"
#include "terminal.h"

static const struct trk_option core_check_options[] = {
    {.name = "json", .about = "One JSON object, schema " TRK_CORE_CHECK_SCHEMA "."},
    TRK_JOBS_OPTION("Run cases in N processes"),
    {.name = "schedules",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "20000",
     .least = 1,
     .most = 1000000,
     .about = "Schedules that are tried of one case, at most."},
    {.name = "core-limit",
     .kind = TRK_OPTION_NUMBER,
     .value = "S",
     .fallback = "20",
     .least = 1,
     .most = 86400,
     .about = "Seconds that one case may take."},
    TRK_PROGRESS_OPTION,
    {.name = NULL},
};

static enum trk_status add_cases(struct trk_scenario_files *files, struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    for (size_t i = 0; i < trk_case_count && status == TRK_OK; i++) {
        const struct trk_case *one = &trk_cases[i];
        status = trk_scenario_files_add(files, one->name, one->json, (size_t)(one->end - one->json),
                                        error);
    }
    return status;
}

static int run_core_check(const struct trk_options *options)
{
    const char *path = options->operands[0];
    const struct trk_scenario_asked asked = {
        .jobs = (unsigned)trk_options_number(options, "jobs"),
        .options = {.size = sizeof asked.options,
                    .schedules = trk_options_number(options, "schedules")},
        .core = {.core = path, .seconds = (unsigned)trk_options_number(options, "core-limit")},
        .brief = true,
        .scale = true,
    };
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_scenario_files files = {0};
    struct trk_core_report report;
    enum trk_status status;
    if (options->operand_count > 1) {
        status = trk_scenario_files_run(&files, options->operands[1], &asked, &error);
    } else {
        status = add_cases(&files, &error);
        if (status == TRK_OK) {
            status = trk_scenario_files_run_added(&files, &asked, &error);
        }
    }
    int code;
    error.status = status;
    if (status == TRK_E_UNSUPPORTED || status == TRK_E_INCOMPLETE) { /* of the plug-in */
        (void)trk_terminal_error("core-check", path, &error);
        code = trk_contained_exit_code(status);
    } else if (status != TRK_OK) {
        const char *subject = options->operand_count > 1 ? options->operands[1] : path;
        trk_refusal_path(subject);
        code = trk_terminal_error("core-check", subject, &error);
    } else {
        trk_core_report_fill(&report, &files, path);
        (trk_options_flag(options, "json") ? trk_core_report_print_json
                                           : trk_core_report_print)(&report);
        code = trk_core_report_exit_code(&report);
    }
    trk_scenario_files_destroy(&files);
    return code;
}

const struct trk_command trk_cmd_core_check = {
    .name = "core-check",
    .about = "hold a tracker's plug-in against the cases",
    .operands = "X.so [FILE.json | DIR]",
    .text =
        "Runs scenario files against the tracker in the plug-in X.so, as trk sim --core does: the "
        "cases that are inside this program, or FILE.json, or every *.json below DIR. The report "
        "says which of them hold, where the tracker departs and what it lacks, by policy, and the "
        "policy with a name that it matches best. Each case runs in a process of its own: one that "
        "crashes or takes too long is a part of the report.\n\n"
        "Most cases are of pages of 4 KiB. A tracker that takes larger ones only (16 or 64 KiB) "
        "gets "
        "them scaled: each page of the case becomes one of the tracker's, and ranges keep how they "
        "lie in pages and to each other. What has no meaning then is left out: ranges over several "
        "regions, masks of 4 KiB pages, counts of host calls. The report says how many cases were "
        "scaled and what kept others from it. That is this command's own way; trk sim runs a file "
        "as it is.\n\n"
        "A tracker may have less than a case needs, or say that it is of another design (loads of "
        "the GPU's pages that never fault, a lock for each page, watches of its own): such cases "
        "are left out and counted. One that "
        "takes its locks through the host is tried inside its operations, any other operation by "
        "operation.",
    .examples = "trk core-check ./mine.so\ntrk core-check --json -j 8 ./mine.so\n"
                "trk core-check ./mine.so scenarios",
    .exits = "0 all that it has holds; 1 it departs, crashes, or could not be tried whole, or "
             "nothing could be run; 2 the command line cannot be meant, or a file is no scenario; "
             "4 it is no plug-in, or one "
             "of another version",
    .schema = TRK_CORE_CHECK_SCHEMA,
    .options = core_check_options,
    .operands_least = 1,
    .operands_most = 2,
    .run = run_core_check,
};
