/*
 * The event that broke a trace, and the point of no return: by one pass of the oracle, and by
 * halving the failing schedule of the trace's smallest case.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bisect_probe.h"
#include "json_out.h"
#include "progress.h"
#include "scenario_files.h"
#include "scenario_story_print.h"
#include "sim_print.h"
#include "simulator/bisect.h"
#include "simulator/minimise.h"
#include "terminal.h"

/* What was found of the schedules of a case. */
struct schedules {
    bool there;
    const char *why; /* there is nothing; or NULL */
    struct trk_scenario_report report;
    struct trk_scenario_no_return no_return;
    struct trk_scenario_between between;
};

/* ---- printing -------------------------------------------------------------------------------- */

static void print_step(const char *label, const struct trk_scenario_step *step)
{
    printf("%s", label);
    trk_terminal_text(stdout, step->thread);
    fputs(": ", stdout);
    trk_terminal_text(stdout, step->operation_text[0] ? step->operation_text : "its first step");
    putchar('\n');
}

static void print_schedules(const struct schedules *schedules)
{
    const struct trk_scenario_no_return *point = &schedules->no_return;
    const struct trk_scenario_between *between = &schedules->between;
    if (!schedules->there) {
        printf("no return:  not known: %s\n", schedules->why);
    } else if (point->step == 0) {
        puts("no return:  every order of the case fails: it is no matter of order");
    } else {
        printf("no return:  step %" PRIu64 " of %" PRIu64 ", ", point->step, point->steps);
        print_step("", &point->at);
        if (point->label[0] != '\0') {
            printf("            label %s\n", point->label);
        }
        printf("            %" PRIu64 " searches%s\n", point->probes,
               point->whole ? "" : "; not every order was tried behind it");
    }
    if (between->there) {
        print_step("it passes:  ", &between->first);
        print_step("  then      ", &between->then);
        puts("            and fails the other way round");
        printf("            %" PRIu64 " schedules run, for %" PRIu64 " swaps\n", between->probes,
               between->swaps);
        printf("passes:     --schedule %s\nfails:      --schedule %s\n", between->passes,
               between->fails);
    }
}

static void add_schedules(cJSON *object, const struct schedules *schedules)
{
    const struct trk_scenario_no_return *point = &schedules->no_return;
    const struct trk_scenario_between *between = &schedules->between;
    if (!schedules->there) {
        cJSON_AddNullToObject(object, "no_return");
    } else {
        cJSON *its = cJSON_AddObjectToObject(object, "no_return");
        trk_json_out_number(its, "step", point->step);
        trk_json_out_number(its, "steps", point->steps);
        trk_scenario_step_json(its, "at", &point->at);
        trk_json_out_text(its, "label", point->label[0] ? point->label : NULL);
        trk_json_out_number(its, "probes", point->probes);
        cJSON_AddBoolToObject(its, "whole", point->whole);
    }
    if (!between->there) {
        cJSON_AddNullToObject(object, "swap");
        return;
    }
    cJSON *its = cJSON_AddObjectToObject(object, "swap");
    trk_scenario_step_json(its, "first", &between->first);
    trk_scenario_step_json(its, "then", &between->then);
    trk_json_out_text(its, "passes", between->passes);
    trk_json_out_text(its, "fails", between->fails);
    trk_json_out_number(its, "probes", between->probes);
    trk_json_out_number(its, "swaps", between->swaps);
}

/* ---- a scenario ------------------------------------------------------------------------------ */

static void say_fault(const char *path, const struct trk_scenario_fault *fault)
{
    trk_terminal_say("bisect", "%s: %s%s%s", path, fault->where, fault->where[0] ? ": " : "",
                     fault->text);
}

/* An exit code. passing and failing: two lines, or NULL. */
static int ask_schedules(const struct trk_scenario *scenario, const char *path,
                         const char *const lines[2], struct schedules *out)
{
    struct trk_scenario_fault fault = {0};
    enum trk_status status = trk_scenario_run(scenario, &out->report);
    const char *failing = lines[1] != NULL ? lines[1] : out->report.schedule;
    if (status == TRK_OK && lines[0] != NULL) {
        status = trk_scenario_between(scenario, lines[0], lines[1], &out->between, &fault);
        if (status == TRK_OK && !out->between.there) {
            trk_terminal_say("bisect", "%s: the first schedule does not pass, or the second does",
                             path);
            return TRK_EXIT_USAGE;
        }
    }
    if (status == TRK_OK && failing[0] == '\0') {
        out->why = "the case has one schedule only";
    } else if (status == TRK_OK && strcmp(out->report.verdict, "ok") != 0) {
        status = trk_scenario_no_return(scenario, failing, &out->no_return, &fault);
        out->there = status == TRK_OK;
    }
    if (status == TRK_E_ARGUMENT) {
        say_fault(path, &fault);
        return TRK_EXIT_USAGE;
    }
    if (status != TRK_OK) {
        trk_terminal_say("bisect", "%s: it cannot be run: %s", path, trk_status_name(status));
        return status == TRK_E_UNSUPPORTED ? TRK_EXIT_ENVIRONMENT : TRK_EXIT_INTERNAL;
    }
    return TRK_EXIT_OK;
}

static int bisect_scenario(const struct trk_options *options)
{
    static struct schedules schedules;
    struct trk_scenario_fault fault;
    struct trk_scenario *scenario = NULL;
    const char *path = options->operands[0];
    const char *const lines[2] = {trk_options_text(options, "schedule"),
                                  options->operand_count > 1 ? options->operands[1] : NULL};
    if ((lines[0] == NULL) != (lines[1] == NULL)) {
        trk_terminal_say("bisect", "expected two schedules: --schedule PASS FAIL");
        return TRK_EXIT_USAGE;
    }
    if (trk_scenario_load(&scenario, path, &fault) != TRK_OK) {
        say_fault(path, &fault);
        return TRK_EXIT_USAGE;
    }
    int code = ask_schedules(scenario, path, lines, &schedules);
    bool broken = code == TRK_EXIT_OK && strcmp(schedules.report.verdict, "ok") != 0;
    if (code == TRK_EXIT_OK && trk_options_flag(options, "json")) {
        cJSON *object = trk_json_out_object(TRK_BISECT_SCHEMA);
        trk_json_out_text(object, "path", path);
        trk_json_out_text(object, "verdict", schedules.report.verdict);
        trk_json_out_text(object, "text", schedules.report.text);
        add_schedules(object, &schedules);
        trk_json_out_print(object);
    } else if (code == TRK_EXIT_OK) {
        printf("verdict:    ");
        trk_terminal_word(broken ? TRK_TONE_BAD : TRK_TONE_GOOD, schedules.report.verdict);
        putchar('\n');
        if (broken) {
            print_schedules(&schedules);
        }
    }
    trk_scenario_destroy(scenario);
    return code != TRK_EXIT_OK ? code : broken ? TRK_EXIT_BROKEN : TRK_EXIT_OK;
}

/* ---- a trace --------------------------------------------------------------------------------- */

/* The schedules of the trace's smallest case. */
static void ask_case(struct trk_input *input, struct schedules *out)
{
    static struct trk_minimise_report report;
    struct trk_minimise_options minimise = trk_minimise_options_default();
    struct trk_error error;
    struct trk_scenario_fault fault;
    struct trk_scenario *scenario = NULL;
    const char *const lines[2] = {NULL, NULL};
    out->why = "no scenario of these pages shows it";
    if (trk_trace_rewind(input->trace, &error) != TRK_OK ||
        trk_minimise_trace(input->trace, &minimise, &report, &error) != TRK_OK) {
        out->why = "the trace cannot be minimised";
    } else if (report.script != NULL &&
               trk_scenario_parse(&scenario, report.script, strlen(report.script), &fault) ==
                   TRK_OK &&
               ask_schedules(scenario, "the case", lines, out) != TRK_EXIT_OK) {
        out->why = "its case cannot be run";
    }
    trk_scenario_destroy(scenario);
    free(report.script);
    free(report.passing);
}

static void print_json(const struct trk_input *input, const struct trk_sim_report *report,
                       const struct schedules *schedules)
{
    cJSON *object = trk_json_out_object(TRK_BISECT_SCHEMA);
    trk_json_out_text(object, "path", input->path);
    trk_json_out_text(object, "verdict", trk_verdict_name(report));
    trk_json_out_text(object, "detail", report->detail[0] ? report->detail : NULL);
    trk_json_out_text(object, "text", report->text);
    cJSON_AddBoolToObject(object, "complete", report->complete);
    trk_json_out_number(object, "events", report->events);
    trk_json_out_number(object, "probes", 1);
    trk_json_out_number(object, "event_at", report->event_at);
    trk_json_out_number(object, "event_visible", report->event_visible);
    trk_json_out_address(object, "guest_addr", report->guest_addr);
    trk_json_out_text(object, "writer", report->writer[0] ? report->writer : NULL);
    trk_json_out_text(object, "missing", report->missing[0] ? report->missing : NULL);
    trk_json_out_text(object, "passes", report->passes[0] ? report->passes : NULL);
    add_schedules(object, schedules);
    trk_json_out_print(object);
}

static int bisect_trace(const struct trk_options *options)
{
    static struct trk_sim_report report;
    static struct schedules schedules;
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_sim_options sim = trk_sim_options_default();
    struct trk_input input;
    int code = trk_input_open(&input, options, TRK_BISECT_SCHEMA);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    enum trk_status status = trk_sim_trace_with(input.trace, &sim, &report, &error);
    if (status != TRK_OK) {
        error.status = status;
        code = trk_input_fail(&input, options, TRK_BISECT_SCHEMA, &error);
        trk_input_close(&input);
        return code;
    }
    trk_progress_wipe();
    code = trk_sim_exit_code(&report);
    if (code == TRK_EXIT_BROKEN) {
        ask_case(&input, &schedules);
        trk_progress_wipe();
    }
    if (trk_options_flag(options, "json")) {
        print_json(&input, &report, &schedules);
    } else {
        const struct trk_sim_printed printed = {.input = &input, .sim = &sim};
        trk_sim_print(&printed, &report);
        printf("probes:     1 for %" PRIu64 " events: the oracle finds it in one pass\n",
               report.events);
        if (code == TRK_EXIT_BROKEN) {
            print_schedules(&schedules);
        }
    }
    trk_terminal_flush();
    if (code != TRK_EXIT_BROKEN && !report.complete) {
        (void)trk_input_report(&input, options);
    }
    trk_input_close(&input);
    return code;
}

int trk_bisect_trace(const struct trk_options *options)
{
    if (options->operand_count > 0 && trk_scenario_files_named(options->operands[0])) {
        return bisect_scenario(options);
    }
    if (trk_options_text(options, "schedule") != NULL || options->operand_count > 1) {
        trk_terminal_say("bisect", "--schedule PASS FAIL goes with a scenario file, *.json");
        return TRK_EXIT_USAGE;
    }
    return bisect_trace(options);
}
