/* What two builds of a tracker have otherwise, for people and for programs. */
#include "bisect_cores.h"

#include <inttypes.h>
#include <stdio.h>

#include "json_out.h"
#include "sim_print.h"
#include "terminal.h"

#define TEXT_BYTES 640

static const char *const names[] = {"good", "bad"};

/* ---- words ----------------------------------------------------------------------------------- */

static const char *rights(unsigned bits)
{
    static const char *const words[] = {"none", "r", "w", "rw", "x", "rx", "wx", "rwx"};
    return words[bits & 7u];
}

/* A page as a core has it. */
static void say_page(const struct trk_page_view *page, char out[TEXT_BYTES])
{
    snprintf(out, TEXT_BYTES, "%s, %s, %u write watches%s, guest %s, host %s%s",
             page->cpu_dirty && page->gpu_dirty ? "the CPU's and the GPU's"
             : page->cpu_dirty                  ? "the CPU's"
             : page->gpu_dirty                  ? "the GPU's"
                                                : "clean",
             page->registered ? "registered" : "not registered", page->write_watches,
             page->read_watch ? " and a read watch" : "", rights(page->guest_rights),
             rights(page->host_rights), page->armed ? ", generations armed" : "");
}

/* How a side ended at the step, or that it did not. */
static void say_end(const struct trk_cores *cores, const struct trk_cores_side *side,
                    char out[TEXT_BYTES])
{
    bool scenario = cores->scenario != NULL;
    const char *verdict = scenario ? side->scenario.verdict : trk_verdict_name(&side->report);
    const char *text = scenario ? side->scenario.text : side->report.text;
    if (!side->over || side->reached > cores->step) {
        snprintf(out, TEXT_BYTES, "goes on%s", scenario ? "" : " as the trace does");
    } else if (side->crashed) {
        snprintf(out, TEXT_BYTES, "%s",
                 side->complaint[0] != '\0' ? side->complaint : side->error.text);
    } else if (side->status != TRK_OK) {
        snprintf(out, TEXT_BYTES, "%s", scenario ? side->fault.text : side->error.text);
    } else {
        snprintf(out, TEXT_BYTES, "%s%s%s", verdict, text[0] != '\0' ? ": " : "", text);
    }
}

static void say_side(const struct trk_cores *cores, int which, char out[TEXT_BYTES])
{
    const struct trk_cores_side *side = cores->sides[which];
    if (cores->state) {
        say_page(&side->pages[cores->page].view, out);
    } else {
        say_end(cores, side, out);
    }
}

/* The story of the side that broke a rule there, the bad one's first; NULL: none did. */
static const struct trk_sim_report *story_of(const struct trk_cores *cores)
{
    for (int which = 1; which >= 0 && !cores->state && cores->scenario == NULL; which--) {
        const struct trk_cores_side *side = cores->sides[which];
        bool here = side->over && !side->crashed && side->reached <= cores->step;
        if (here && side->status == TRK_OK && side->report.verdict != TRK_VERDICT_OK) {
            return &side->report;
        }
    }
    return NULL;
}

/* Of a scenario: where in it the step is. */
static const char *operation_of(const struct trk_cores *cores, const char **thread)
{
    const struct trk_cores_side *side = cores->sides[1];
    bool verdict = !cores->state && side->scenario.operation_text[0] != '\0';
    *thread = verdict ? side->scenario.thread : side->thread;
    return verdict ? side->scenario.operation_text : side->operation_text;
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void add_story(cJSON *object, const struct trk_cores *cores)
{
    const struct trk_sim_report *report = story_of(cores);
    cJSON *story = cJSON_AddArrayToObject(object, "story");
    for (size_t i = 0; report != NULL && i < report->story_count; i++) {
        cJSON *line = cJSON_CreateObject();
        trk_json_out_number(line, "event", report->story[i].event);
        trk_json_out_text(line, "thread", report->story[i].thread);
        trk_json_out_text(line, "text", report->story[i].text);
        cJSON_AddItemToArray(story, line);
    }
    bool why = cores->state && cores->scenario == NULL;
    trk_json_out_text(object, "state", why ? cores->story.state : NULL);
    trk_json_out_text(object, "under_way",
                      why && cores->story.under_way[0] ? cores->story.under_way : NULL);
    trk_json_out_text(object, "writer", why ? cores->story.writer : NULL);
}

static void print_json(const struct trk_cores *cores)
{
    cJSON *object = trk_json_out_object(TRK_BISECT_CORES_SCHEMA);
    const char *thread = NULL, *operation = NULL, *type = NULL;
    bool scenario = cores->scenario != NULL;
    trk_json_out_text(object, "path", cores->path);
    cJSON_AddBoolToObject(object, "found", cores->found);
    trk_json_out_text(object, "why", cores->why);
    trk_json_out_number(object, "probes", cores->probes);
    trk_json_out_number(object, "runs", cores->runs);
    trk_json_out_text(object, "schedule", scenario ? cores->schedule : NULL);
    trk_json_out_text(object, "good_verdict", scenario ? cores->verdicts[0] : NULL);
    trk_json_out_text(object, "bad_verdict", scenario ? cores->verdicts[1] : NULL);
    trk_json_out_text(object, "what", !cores->found ? NULL : cores->state ? "state" : "end");
    trk_json_out_number(object, "event",
                        cores->found && cores->has_event ? cores->step : TRK_NOT_KNOWN);
    if (cores->has_event) {
        thread = trk_trace_stream(cores->input.trace, cores->event.stream)->name;
        type = trk_event_type_name(cores->event.event.type);
    } else if (scenario && cores->found) {
        operation = operation_of(cores, &thread);
    }
    trk_json_out_text(object, "thread", thread);
    trk_json_out_text(object, "type", type);
    trk_json_out_text(object, "operation_text", operation);
    trk_json_out_address(object, "guest_addr",
                         cores->state ? cores->sides[0]->pages[cores->page].guest_addr
                                      : TRK_NOT_KNOWN);
    for (int which = 0; which < 2; which++) {
        char text[TEXT_BYTES] = "";
        if (cores->found) {
            say_side(cores, which, text);
        }
        trk_json_out_text(object, names[which], cores->found ? text : NULL);
    }
    add_story(object, cores);
    trk_json_out_print(object);
}

/* ---- for people ------------------------------------------------------------------------------ */

static void print_line(const char *label, const char *text)
{
    printf("%-14s ", label);
    trk_terminal_text(stdout, text);
    putchar('\n');
}

static void print_place(const struct trk_cores *cores)
{
    const char *thread = "";
    if (cores->scenario != NULL) {
        const char *operation = operation_of(cores, &thread);
        printf("%-14s operation %" PRIu64 " to end%s", "they part", cores->step + 1,
               operation[0] != '\0' ? ", " : "");
        trk_terminal_text(stdout, thread);
        fputs(thread[0] != '\0' ? ": " : "", stdout);
        trk_terminal_text(stdout, operation);
    } else if (cores->has_event) {
        printf("%-14s event %" PRIu64 ", thread ", "they part", cores->step);
        trk_terminal_text(stdout, trk_trace_stream(cores->input.trace, cores->event.stream)->name);
        printf(": %s", trk_event_type_name(cores->event.event.type));
    } else {
        printf("%-14s behind the last event", "they part");
    }
    putchar('\n');
}

static void print_story(const struct trk_cores *cores)
{
    const struct trk_sim_report *report = story_of(cores);
    for (size_t i = 0; report != NULL && i < report->story_count; i++) {
        const struct trk_story_line *line = &report->story[i];
        printf("%s%4zu  event %" PRIu64 ", ", i == 0 ? "what happened:\n" : "", i + 1, line->event);
        trk_terminal_text(stdout, line->thread);
        fputs(": ", stdout);
        trk_terminal_text(stdout, line->text);
        putchar('\n');
    }
    if (cores->state && cores->scenario == NULL) {
        print_line("by the trace", cores->story.state);
        if (cores->story.under_way[0] != '\0') {
            print_line("under way", cores->story.under_way);
        }
        print_line("last writer", cores->story.writer);
    }
}

static void print_text(const struct trk_cores *cores)
{
    if (!cores->found) {
        print_line("no difference", cores->why != NULL ? cores->why : "to the end");
    } else {
        print_place(cores);
        if (cores->state) {
            printf("%-14s 0x%" PRIx64 "\n", "page", cores->sides[0]->pages[cores->page].guest_addr);
        }
        for (int which = 0; which < 2; which++) {
            char text[TEXT_BYTES];
            say_side(cores, which, text);
            print_line(names[which], text);
        }
        print_story(cores);
    }
    if (cores->scenario != NULL) {
        printf("%-14s %s with the good one, %s with the bad one\n", "verdict", cores->verdicts[0],
               cores->verdicts[1]);
    }
    printf("%-14s %" PRIu64 " hashes compared, %" PRIu64 " runs of a build\n", "probes",
           cores->probes, cores->runs);
    if (cores->found && cores->schedule != NULL) {
        printf("%-14s --schedule %s\n", "order", cores->schedule);
    }
    if (cores->found && cores->has_event) {
        uint64_t from = cores->step < 10 ? 0 : cores->step - 10;
        printf("%-14s trk dump ", "around it");
        trk_terminal_quote(stdout, cores->path);
        printf(" %" PRIu64 "-%" PRIu64 "\n", from, cores->step + 10);
    }
}

void trk_cores_print(struct trk_cores *cores)
{
    (trk_options_flag(cores->options, "json") ? print_json : print_text)(cores);
}
