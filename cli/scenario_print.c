/* Scenario runs for people and for programs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "json_out.h"
#include "scenario_files.h"
#include "scenario_story_print.h"
#include "terminal.h"

#define SCHEMA_FILE   "trk-sim-scenario/1"
#define SCHEMA_FOLDER "trk-sim-scenarios/1"

/* ---- text ------------------------------------------------------------------------------------ */

static void print_place(const struct trk_scenario_report *report)
{
    if (report->thread[0] == '\0') {
        return;
    }
    fputs("  at: thread ", stdout);
    trk_terminal_text(stdout, report->thread);
    printf(", operation %" PRIu32, report->operation);
    if (report->column > 1) {
        printf(", column %" PRIu32, report->column);
    }
    if (report->label[0] != '\0') {
        fputs(", label ", stdout);
        trk_terminal_text(stdout, report->label);
    }
    fputs(": ", stdout);
    trk_terminal_text(stdout, report->operation_text);
    putchar('\n');
}

/* How likely it is: of all schedules, those that break a rule. */
static void print_shares(const struct trk_scenario_report *report)
{
    if (report->failing[0] != '\0' && strcmp(report->failing, "0") != 0) {
        printf("  fails in %s of %s interleavings:", report->failing, report->interleavings);
        const char *between = "";
        for (uint32_t i = 0; i < report->share_count; i++) {
            if (strcmp(report->shares[i].verdict, "ok") != 0) {
                printf("%s %s in %s", between, report->shares[i].verdict,
                       report->shares[i].schedules);
                between = ",";
            }
        }
        putchar('\n');
    } else if (report->failing_percent == 0 && strcmp(report->verdict, "ok") != 0) {
        puts("  fails in fewer than about 1 % of the interleavings");
    } else if (report->failing_percent != 0 && report->failing_percent != TRK_NOT_KNOWN) {
        printf("  fails in about %" PRIu64 " %% of the interleavings\n", report->failing_percent);
    }
}

static void print_schedules(const struct trk_scenario_report *report)
{
    if (report->schedule[0] != '\0' && report->text[0] != '\0') {
        printf("  again, with %" PRIu64 " preemption%s: --schedule %s\n", report->preemptions,
               report->preemptions == 1 ? "" : "s", report->schedule);
    }
    if (report->interleavings[0] != '\0') {
        printf("  schedules: %" PRIu64 " run, for all of %s\n", report->schedules,
               report->interleavings);
    } else if (report->schedules != 1) {
        printf("  schedules: %" PRIu64 " run\n", report->schedules);
    }
    print_shares(report);
    if (report->fell_back) {
        puts("  dpor cannot tell apart all that these threads wait for: states were searched "
             "instead");
    }
    if (report->classes != 0) {
        printf("  classes: %" PRIu64 "\n", report->classes);
    }
}

static void print_step(const struct trk_scenario_step *step)
{
    putchar('\'');
    trk_terminal_text(stdout, step->operation_text);
    fputs("' of ", stdout);
    trk_terminal_text(stdout, step->thread);
}

static void print_passing(const struct trk_scenario_passing *passing)
{
    if (!passing->there) {
        return;
    }
    fputs("  passes: with ", stdout);
    print_step(&passing->first);
    fputs(" before ", stdout);
    print_step(&passing->then);
    printf(": --schedule %s\n", passing->schedule);
}

static void print_verdict(const struct trk_scenario_file *file)
{
    const struct trk_scenario_report *report = &file->report;
    /* What was seen is as expected, and still the file fails: the reason is what there is to say.
     */
    bool but = file->end == TRK_SCENARIO_FAILED && report->text[0] != '\0' &&
               strcmp(report->verdict, report->expected) == 0;
    printf("  verdict: %s, expected %s%s", report->verdict, report->expected,
           but ? ", but " : "\n");
    if (but) {
        trk_terminal_text(stdout, report->text);
        putchar('\n');
    }
    print_place(report);
    if (report->text[0] != '\0' && !but) {
        fputs("  ", stdout);
        trk_terminal_text(stdout, report->text);
        putchar('\n');
    }
    print_schedules(report);
    print_passing(&file->passing);
}

static void print_fault(const struct trk_scenario_fault *fault)
{
    fputs("  ", stdout);
    if (fault->where[0] != '\0') {
        trk_terminal_text(stdout, fault->where);
        if (fault->column > 0) {
            printf(", column %" PRIu32, fault->column);
        }
        fputs(": ", stdout);
    }
    trk_terminal_text(stdout, fault->text);
    putchar('\n');
}

static void print_file(const struct trk_scenario_file *file, bool folder)
{
    trk_terminal_word(file->end == TRK_SCENARIO_HELD ? TRK_TONE_GOOD
                      : file->end == TRK_SCENARIO_FAILED || file->end == TRK_SCENARIO_CRASHED
                          ? TRK_TONE_BAD
                          : TRK_TONE_DOUBT,
                      trk_scenario_end_name(file->end));
    fputs(": ", stdout);
    trk_terminal_text(stdout, file->path);
    switch (file->end) {
    case TRK_SCENARIO_REFUSED:
        printf(": %s\n", file->needs);
        break;
    case TRK_SCENARIO_BROKEN:
    case TRK_SCENARIO_CRASHED:
        putchar('\n');
        print_fault(&file->fault);
        break;
    default:
        putchar('\n');
        print_verdict(file);
        trk_scenario_story_print(file, folder);
        break;
    }
}

/* How a plug-in's core was tried, where that is less than could be. */
static void print_core(const struct trk_scenario_files *files)
{
    if (!files->core.inside) {
        fputs("core ", stdout);
        trk_terminal_text(stdout, files->core.name);
        puts(": tried operation by operation, since it does not take its locks through the host");
    }
}

void trk_scenario_files_print(const struct trk_scenario_files *files, const char *path)
{
    (void)path;
    for (size_t i = 0; i < files->count; i++) {
        if (!files->folder || files->files[i].end != TRK_SCENARIO_HELD) {
            print_file(&files->files[i], files->folder);
        }
    }
    print_core(files);
    if (!files->folder) {
        return;
    }
    printf("%zu files:", files->count);
    for (int end = 0; end < TRK_SCENARIO_END_COUNT; end++) {
        if (end == TRK_SCENARIO_CRASHED && files->ends[end] == 0) {
            continue; /* only plug-ins do */
        }
        printf("%s %zu %s", end > 0 ? "," : "", files->ends[end],
               trk_scenario_end_name((enum trk_scenario_end)end));
    }
    putchar('\n');
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_shares(cJSON *object, const struct trk_scenario_report *report, bool ran)
{
    bool known = ran && report->failing[0] != '\0';
    trk_json_out_text(object, "failing", known ? report->failing : NULL);
    trk_json_out_number(object, "failing_percent", ran ? report->failing_percent : TRK_NOT_KNOWN);
    if (!known) {
        cJSON_AddNullToObject(object, "endings");
        return;
    }
    cJSON *endings = cJSON_AddObjectToObject(object, "endings");
    for (uint32_t i = 0; i < report->share_count; i++) {
        trk_json_out_text(endings, report->shares[i].verdict, report->shares[i].schedules);
    }
}

static void add_verdict(cJSON *object, const struct trk_scenario_file *file)
{
    const struct trk_scenario_report *report = &file->report;
    bool ran = file->end == TRK_SCENARIO_HELD || file->end == TRK_SCENARIO_FAILED;
    bool placed = ran && report->thread[0] != '\0';
    trk_json_out_text(object, "verdict", ran ? report->verdict : NULL);
    trk_json_out_text(object, "expected", ran ? report->expected : NULL);
    trk_json_out_text(object, "text", ran && report->text[0] != '\0' ? report->text : NULL);
    trk_json_out_text(object, "thread", placed ? report->thread : NULL);
    trk_json_out_number(object, "operation", placed ? report->operation : TRK_NOT_KNOWN);
    trk_json_out_number(object, "column", placed ? report->column : TRK_NOT_KNOWN);
    trk_json_out_text(object, "label", placed && report->label[0] != '\0' ? report->label : NULL);
    trk_json_out_text(object, "operation_text", placed ? report->operation_text : NULL);
    trk_json_out_address(object, "guest_addr", ran ? report->guest_addr : TRK_NOT_KNOWN);
    const struct {
        const char *key;
        uint64_t number;
    } counts[] = {
        {"schedules", report->schedules},
        {"operations", report->operations},
        {"faults", report->faults},
        {"host_calls", report->host_calls},
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        trk_json_out_number(object, counts[i].key, ran ? counts[i].number : TRK_NOT_KNOWN);
    }
    trk_json_out_text(object, "schedule",
                      ran && report->schedule[0] != '\0' ? report->schedule : NULL);
    trk_json_out_number(object, "preemptions",
                        ran && report->schedule[0] != '\0' ? report->preemptions : TRK_NOT_KNOWN);
    trk_json_out_text(object, "interleavings",
                      ran && report->interleavings[0] != '\0' ? report->interleavings : NULL);
    add_shares(object, report, ran);
    trk_json_out_number(object, "states",
                        ran && report->states != 0 ? report->states : TRK_NOT_KNOWN);
    trk_json_out_number(object, "classes",
                        ran && report->classes != 0 ? report->classes : TRK_NOT_KNOWN);
    cJSON_AddBoolToObject(object, "fell_back", ran && report->fell_back);
    trk_json_out_number(object, "covered_percent", ran ? report->covered_percent : TRK_NOT_KNOWN);
}

static void add_passing(cJSON *object, const struct trk_scenario_passing *passing)
{
    if (!passing->there) {
        cJSON_AddNullToObject(object, "passing");
        return;
    }
    cJSON *its = cJSON_AddObjectToObject(object, "passing");
    trk_scenario_step_json(its, "first", &passing->first);
    trk_scenario_step_json(its, "then", &passing->then);
    trk_json_out_text(its, "schedule", passing->schedule);
}

static void add_file(cJSON *object, const struct trk_scenario_file *file, bool folder)
{
    trk_json_out_text(object, "path", file->path);
    trk_json_out_text(object, "name", file->end != TRK_SCENARIO_BROKEN ? file->name : NULL);
    trk_json_out_text(object, "outcome", trk_scenario_end_name(file->end));
    trk_json_out_text(object, "needs", file->end == TRK_SCENARIO_REFUSED ? file->needs : NULL);
    add_verdict(object, file);
    trk_scenario_story_json(object, file, folder);
    add_passing(object, &file->passing);
    if (file->end != TRK_SCENARIO_BROKEN && file->end != TRK_SCENARIO_CRASHED) {
        cJSON_AddNullToObject(object, "error");
        return;
    }
    cJSON *error = cJSON_AddObjectToObject(object, "error");
    trk_json_out_text(error, "where", file->fault.where);
    trk_json_out_number(error, "column",
                        file->fault.column > 0 ? file->fault.column : TRK_NOT_KNOWN);
    trk_json_out_text(error, "text", file->fault.text);
}

const char *trk_scenario_files_schema(const struct trk_scenario_files *files)
{
    return files->folder ? SCHEMA_FOLDER : SCHEMA_FILE;
}

static void add_core(cJSON *object, const struct trk_scenario_files *files)
{
    if (!files->core.inside) {
        cJSON *core = cJSON_AddObjectToObject(object, "core");
        trk_json_out_text(core, "name", files->core.name);
        cJSON_AddBoolToObject(core, "inside", false);
    }
}

void trk_scenario_files_print_json(const struct trk_scenario_files *files, const char *path)
{
    cJSON *object = trk_json_out_object(files->folder ? SCHEMA_FOLDER : SCHEMA_FILE);
    if (!files->folder) {
        add_file(object, &files->files[0], false);
        add_core(object, files);
        trk_json_out_print(object);
        return;
    }
    trk_json_out_text(object, "path", path);
    for (int end = 0; end < TRK_SCENARIO_END_COUNT; end++) {
        if (end == TRK_SCENARIO_CRASHED && files->ends[end] == 0) {
            continue;
        }
        trk_json_out_number(object, trk_scenario_end_name((enum trk_scenario_end)end),
                            files->ends[end]);
    }
    add_core(object, files);
    cJSON *list = cJSON_AddArrayToObject(object, "files");
    for (size_t i = 0; i < files->count; i++) {
        cJSON *file = cJSON_CreateObject();
        add_file(file, &files->files[i], true);
        cJSON_AddItemToArray(list, file);
    }
    trk_json_out_print(object);
}
