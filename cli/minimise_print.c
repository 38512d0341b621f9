#include "minimise_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "json_out.h"
#include "progress.h"
#include "scenario_story_print.h"
#include "terminal.h"

static const char *recorded_verdict(const struct trk_minimise_report *report, bool trace)
{
    return trace ? trk_verdict_name(&report->recorded) : NULL;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_size(const struct trk_minimise_size *size)
{
    printf("%" PRIu32 " thread%s, %" PRIu32 " operation%s, %" PRIu32 " page%s", size->threads,
           size->threads == 1 ? "" : "s", size->operations, size->operations == 1 ? "" : "s",
           size->pages, size->pages == 1 ? "" : "s");
}

static void print_trail(const struct trk_minimise_report *report)
{
    fputs("sizes:\n  window: ", stdout);
    print_size(&report->from);
    putchar('\n');
    for (uint32_t i = 0; i < report->trail_count; i++) {
        printf("  %s: ", report->trail[i].pass);
        print_size(&report->trail[i].size);
        printf(", after %" PRIu64 " replays\n", report->trail[i].replays);
    }
    printf("%" PRIu64 " replays%s\n", report->replays,
           report->whole ? "" : ", ended before all passes were done");
}

static void print_case(const struct trk_minimise_report *report,
                       const struct trk_minimise_printing *printing)
{
    const struct trk_scenario_report *verdict = &report->verdict;
    fputs("verdict: ", stdout);
    trk_terminal_word(TRK_TONE_BAD, verdict->verdict);
    if (report->story.detail[0] != '\0') {
        printf(" (%s)", report->story.detail);
    }
    putchar('\n');
    if (!report->same_detail) {
        fputs("  the trace breaks the rule in another way", stdout);
        printf(report->recorded.detail[0] ? ": %s\n" : "\n", report->recorded.detail);
    }
    fputs("  ", stdout);
    trk_terminal_text(stdout, verdict->text);
    putchar('\n');
    if (verdict->failing[0] != '\0') {
        printf("  fails in %s of %s\n", verdict->failing, verdict->interleavings);
    }
    trk_scenario_story_print_one(&report->story);
    if (report->passing_how[0] != '\0') {
        fputs("  the case passes ", stdout);
        trk_terminal_text(stdout, report->passing_how);
        putchar('\n');
    }
    if (printing->output != NULL && strcmp(printing->output, "-") != 0) {
        fputs("  again: trk sim ", stdout);
        trk_terminal_quote(stdout, printing->output);
        if (verdict->schedule[0] != '\0') {
            printf(" --schedule %s", verdict->schedule);
        }
        putchar('\n');
    }
    print_trail(report);
}

void trk_minimise_print(const struct trk_minimise_report *report,
                        const struct trk_minimise_printing *printing)
{
    if (report->nothing) {
        printf("verdict: %s\nnothing to minimise: no rule breaks\n",
               printing->trace ? trk_verdict_name(&report->recorded) : "ok");
    } else if (report->script == NULL) {
        printf("verdict: %s\nno case: %s%s\n",
               printing->trace ? trk_verdict_name(&report->recorded) : "unknown",
               report->not_shown ? report->why : "ended before one was found",
               report->not_shown && printing->lacks ? "; it may need events that are missing" : "");
    } else {
        print_case(report, printing);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_size(cJSON *object, const struct trk_minimise_size *size)
{
    trk_json_out_number(object, "threads", size->threads);
    trk_json_out_number(object, "operations", size->operations);
    trk_json_out_number(object, "pages", size->pages);
}

static void add_trail(cJSON *object, const struct trk_minimise_report *report)
{
    cJSON *from = cJSON_AddObjectToObject(object, "from");
    add_size(from, &report->from);
    add_size(cJSON_AddObjectToObject(object, "to"), &report->to);
    cJSON *trail = cJSON_AddArrayToObject(object, "trail");
    for (uint32_t i = 0; i < report->trail_count; i++) {
        cJSON *step = cJSON_CreateObject();
        trk_json_out_text(step, "pass", report->trail[i].pass);
        add_size(step, &report->trail[i].size);
        trk_json_out_number(step, "replays", report->trail[i].replays);
        cJSON_AddItemToArray(trail, step);
    }
}

void trk_minimise_print_json(const struct trk_minimise_report *report,
                             const struct trk_minimise_printing *printing)
{
    cJSON *object = trk_json_out_object(TRK_MINIMISE_SCHEMA);
    const struct trk_scenario_report *verdict = &report->verdict;
    bool there = report->script != NULL;
    trk_json_out_text(object, "path", printing->path);
    trk_json_out_text(object, "recorded", recorded_verdict(report, printing->trace));
    trk_json_out_text(object, "output", there ? printing->output : NULL);
    cJSON_AddBoolToObject(object, "nothing", report->nothing);
    cJSON_AddBoolToObject(object, "complete", there && report->whole);
    trk_json_out_text(object, "why", report->why[0] ? report->why : NULL);
    cJSON_AddBoolToObject(object, "lacks", printing->lacks);
    trk_json_out_number(object, "replays", report->replays);
    trk_json_out_text(object, "verdict", there ? verdict->verdict : NULL);
    trk_json_out_text(object, "detail", report->story.detail[0] ? report->story.detail : NULL);
    cJSON_AddBoolToObject(object, "same_detail", report->same_detail);
    trk_json_out_text(object, "text", there ? verdict->text : NULL);
    trk_json_out_text(object, "thread", verdict->thread[0] ? verdict->thread : NULL);
    trk_json_out_text(object, "operation",
                      verdict->operation_text[0] ? verdict->operation_text : NULL);
    trk_json_out_text(object, "label", verdict->label[0] ? verdict->label : NULL);
    trk_json_out_number(object, "preemptions", verdict->preemptions);
    trk_json_out_text(object, "failing", verdict->failing[0] ? verdict->failing : NULL);
    trk_json_out_text(object, "interleavings",
                      verdict->interleavings[0] ? verdict->interleavings : NULL);
    trk_json_out_text(object, "schedule", verdict->schedule[0] ? verdict->schedule : NULL);
    trk_json_out_text(object, "passing", report->passing_how[0] ? report->passing_how : NULL);
    trk_scenario_story_json_one(object, &report->story);
    add_trail(object, report);
    trk_json_out_print(object);
}

void trk_minimise_show(const struct trk_minimise_report *so_far, struct trk_minimise_size *shown)
{
    const struct trk_minimise_size *from = &so_far->from, *to = &so_far->to;
    char text[160], json[160];
    if (from->operations == 0 || !trk_progress_is_shown()) {
        return;
    }
    snprintf(text, sizeof text,
             "%" PRIu32 " of %" PRIu32 " operations, %" PRIu32 " threads, %" PRIu32
             " pages, %" PRIu64 " replays",
             to->operations, from->operations, to->threads, to->pages, so_far->replays);
    snprintf(json, sizeof json,
             ", \"replays\": %" PRIu64 ", \"threads\": %" PRIu32 ", \"operations\": %" PRIu32
             ", \"pages\": %" PRIu32,
             so_far->replays, to->threads, to->operations, to->pages);
    trk_progress_show(&(struct trk_progress){
        .unit = "operations",
        .done = from->operations > to->operations ? from->operations - to->operations : 0,
        .total = from->operations,
        .text = text,
        .json = json,
        .step = memcmp(shown, to, sizeof *to) != 0,
    });
    *shown = *to;
}
