/* What trk sim says of a trace, for people and for programs. */
#define _GNU_SOURCE /* open_memstream */
#include "sim_print.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "json_out.h"
#include "terminal.h"

int trk_sim_exit_code(const struct trk_sim_report *report)
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

/* The sentences that go with a verdict, in the order in which they are read. */
static const struct {
    const char *key, *label;
    size_t offset;
} sentences[] = {
    {"writer", "last writer:", offsetof(struct trk_sim_report, writer)},
    {"holder", "its bytes now:", offsetof(struct trk_sim_report, holder)},
    {"teller", "should have told:", offsetof(struct trk_sim_report, teller)},
    {"missing", "missing edge:", offsetof(struct trk_sim_report, missing)},
    {"passes", "would pass:", offsetof(struct trk_sim_report, passes)},
};

#define SENTENCES (sizeof sentences / sizeof sentences[0])

static const char *sentence(const struct trk_sim_report *report, size_t i)
{
    return (const char *)report + sentences[i].offset;
}

static const char *or_null(const char *text)
{
    return *text ? text : NULL;
}

/* The command that gives this report again; to be freed. NULL: no memory. */
static char *again_line(const struct trk_sim_printed *run)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) {
        return NULL;
    }
    fprintf(out, "trk sim%s", run->sim->mode == TRK_SIM_ORACLE_ONLY ? " --oracle-only" : "");
    if (run->sim->granule_bytes != 0) {
        fprintf(out, " --granule %" PRIu32, run->sim->granule_bytes);
    }
    if (run->core.core != NULL) {
        fputs(" --core ", out);
        trk_terminal_quote(out, run->core.core);
        if (run->core.seconds != TRK_CORE_LIMIT_S) {
            fprintf(out, " --core-limit %u", run->core.seconds);
        }
    }
    fputc(' ', out);
    trk_terminal_quote(out, run->input->path);
    fclose(out);
    return text;
}

static void print_story(const struct trk_sim_report *report)
{
    if (report->story_count > 0) {
        puts("what happened:");
    }
    for (size_t i = 0; i < report->story_count; i++) {
        const struct trk_story_line *line = &report->story[i];
        printf("%4zu  event %" PRIu64 ", ", i + 1, line->event);
        trk_terminal_text(stdout, line->thread);
        fputs(": ", stdout);
        trk_terminal_text(stdout, line->text);
        if (line->role[0]) {
            printf("  <- %s", line->role);
        }
        putchar('\n');
    }
    for (size_t i = 0; i < SENTENCES; i++) {
        if (*sentence(report, i)) {
            printf("%-18s ", sentences[i].label);
            trk_terminal_text(stdout, sentence(report, i));
            putchar('\n');
        }
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

static const char *judged_word(const struct trk_sim_judged *judged)
{
    return judged->broken ? "broken" : judged->judged > 0 ? "ok" : "unknown";
}

/* What could be judged of trackers that are not the core's. */
static void add_judged(cJSON *object, const struct trk_sim_report *report)
{
    if (report->foreign_trackers == 0) {
        cJSON_AddNullToObject(object, "foreign");
        return;
    }
    cJSON *foreign = cJSON_AddObjectToObject(object, "foreign");
    cJSON *trackers = cJSON_AddArrayToObject(foreign, "trackers");
    for (uint32_t id = 0; report->foreign_trackers >> id != 0; id++) {
        if (report->foreign_trackers >> id & 1u) {
            cJSON_AddItemToArray(trackers, cJSON_CreateNumber(id));
        }
    }
    cJSON *list = cJSON_AddObjectToObject(foreign, "judged");
    for (int i = 0; i < TRK_SIM_JUDGEMENTS; i++) {
        const struct trk_sim_judged *judged = &report->judged[i];
        cJSON *one =
            cJSON_AddObjectToObject(list, trk_sim_judgement_name((enum trk_sim_judgement)i));
        trk_json_out_text(one, "word", judged_word(judged));
        trk_json_out_number(one, "judged", judged->judged);
        trk_json_out_number(one, "unknown", judged->unknown);
        trk_json_out_text(one, "why", or_null(judged->why));
    }
}

void trk_sim_print_json(const struct trk_sim_printed *run, const struct trk_sim_report *report)
{
    const struct trk_input *input = run->input;
    cJSON *object = trk_json_out_object(TRK_SIM_SCHEMA);
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
        trk_json_out_number(line, "step", i + 1);
        trk_json_out_number(line, "event", report->story[i].event);
        trk_json_out_text(line, "thread", report->story[i].thread);
        trk_json_out_text(line, "text", report->story[i].text);
        trk_json_out_text(line, "role", or_null(report->story[i].role));
        cJSON_AddItemToArray(story, line);
    }
    for (size_t i = 0; i < SENTENCES; i++) {
        trk_json_out_text(object, sentences[i].key, or_null(sentence(report, i)));
    }
    char *again = again_line(run);
    trk_json_out_text(object, "again", again);
    free(again);
    const struct {
        const char *key;
        uint64_t number;
    } counts[] = {
        {"events", report->events},           {"operations", report->operations},
        {"divergences", report->divergences}, {"faults", report->faults},
        {"copies", report->copies},           {"checks", report->checks},
        {"unknown", report->unknown},         {"frames", report->frames},
        {"ranges", report->ranges},           {"protect_calls", report->protect_calls},
        {"threads", report->threads},         {"regions", report->regions},
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        trk_json_out_number(object, counts[i].key, counts[i].number);
    }
    add_judged(object, report);
    trk_json_out_print(object);
}

static void print_judged(const struct trk_sim_report *report)
{
    for (int i = 0; report->foreign_trackers != 0 && i < TRK_SIM_JUDGEMENTS; i++) {
        const struct trk_sim_judged *judged = &report->judged[i];
        printf("%-12s %-8s %" PRIu64 " judged, %" PRIu64 " unknown%s%s\n",
               trk_sim_judgement_name((enum trk_sim_judgement)i), judged_word(judged),
               judged->judged, judged->unknown, judged->why[0] ? ": " : "", judged->why);
    }
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

void trk_sim_print(const struct trk_sim_printed *run, const struct trk_sim_report *report)
{
    const struct trk_input *input = run->input;
    int code = trk_sim_exit_code(report);
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
    print_story(report);
    print_judged(report);
    if (run->sim->mode == TRK_SIM_ORACLE_ONLY) {
        printf("%" PRIu64 " events, nothing run again\n", report->events);
    } else {
        printf("%" PRIu64 " events, %" PRIu64 " operations run again, %" PRIu64 " divergences\n",
               report->events, report->operations, report->divergences);
    }
    printf("%" PRIu64 " faults, %" PRIu64 " ranges, %" PRIu64 " protection calls, %" PRIu64
           " copies, %" PRIu64 " checks (%" PRIu64 " unknown), %" PRIu64 " frames\n",
           report->faults, report->ranges, report->protect_calls, report->copies, report->checks,
           report->unknown, report->frames);
    printf("%" PRIu32 " threads, %" PRIu32 " regions, trace %s\n", report->threads, report->regions,
           report->complete ? "complete" : "incomplete");
    uint64_t at = report->event_at != TRK_NOT_KNOWN ? report->event_at : report->event_visible;
    if (code == TRK_EXIT_BROKEN && at != TRK_NOT_KNOWN) {
        uint64_t from = at < 10 ? 0 : at - 10;
        char *again = again_line(run);
        printf("%-18s %s\n%-18s trk dump ", "again:", again != NULL ? again : "", "around it:");
        free(again);
        trk_terminal_quote(stdout, input->path);
        printf(" %" PRIu64 "-%" PRIu64 "\n", from, at + 10);
    }
}
