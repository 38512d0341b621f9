/*
 * From bytes that look wrong in a frame to the event that let them get out of step: halving over
 * the trace's moments, each time with the question what a full synchronisation then would bring.
 *
 * A full synchronisation copies what the tracker knows to be newer. So it mends all that is behind
 * a dirty bit, and leaves what is older on one side while the page looks clean from there.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bisect_probe.h"
#include "contents.h"
#include "json_out.h"
#include "progress.h"
#include "simulator/symptom.h"
#include "simulator/why.h"
#include "symptom_text.h"
#include "terminal.h"

struct search {
    const struct trk_options *options;
    struct trk_input input;
    /* What looks wrong: a range, or lines of a file. */
    uint64_t frame;
    struct trk_symptom_range range;
    struct trk_symptom_range *ranges; /* of lines, NULL: the one */
    struct trk_symptom_asked asked;
    struct trk_contents contents;
    bool lines;
    struct trk_contents_compared compared;
    /* What was found. */
    struct trk_symptom *symptom;
    struct trk_symptom_found found;
    struct trk_bisect bisect;
    uint64_t forced, from_checkpoint, events; /* of the probes */
    struct trk_why_report report;             /* behind the event; else behind the frame */
    const char *why;                          /* nothing is out of step; or NULL */
    char why_text[320];
    bool busy;  /* it could not be asked */
    bool lossy; /* the trace is not whole */
    struct trk_error error;
};

/* ---- what looks wrong ------------------------------------------------------------------------ */

/* The last event before the next frame. TRK_E_ARGUMENT: there is no such frame. */
static enum trk_status find_frame(struct search *search)
{
    struct trk_trace_event event;
    uint64_t highest = 0;
    bool inside = false, over = false, any = false;
    enum trk_status status;
    while ((status = trk_trace_next(search->input.trace, &event, &search->error)) == TRK_OK) {
        if (event.event.type == TRK_EVENT_FRAME) {
            over |= inside;
            if (!inside && event.event.argument == search->frame) {
                search->range.first_event = event.number;
                inside = true;
            }
            highest = event.event.argument;
            any = true;
        }
        if (inside && !over) {
            search->range.last_event = event.number;
        }
    }
    if (status != TRK_E_END) {
        return status;
    }
    if (!inside && any) {
        return trk_error_set(&search->error, TRK_E_ARGUMENT,
                             "no frame %" PRIu64 ": the last one is %" PRIu64, search->frame,
                             highest);
    }
    return inside ? TRK_OK
                  : trk_error_set(&search->error, TRK_E_ARGUMENT,
                                  "no frame %" PRIu64 ": the trace has none", search->frame);
}

static enum trk_status find_byte(struct search *search)
{
    return trk_symptom_create(&search->symptom, search->input.trace, &search->asked, &search->found,
                              &search->error);
}

/* The pages with other contents than recorded, frame by frame. */
static enum trk_status find_lines(struct search *search)
{
    struct trk_contents_compared *compared = &search->compared;
    compared->others = calloc(search->contents.count, sizeof *compared->others);
    search->ranges = calloc(search->contents.count, sizeof *search->ranges);
    if (compared->others == NULL || search->ranges == NULL) {
        return trk_error_set(&search->error, TRK_E_MEMORY, "no memory for the contents");
    }
    enum trk_status status =
        trk_contents_compare(&search->contents, search->input.trace, compared, &search->error);
    for (size_t i = 0; i < compared->other_count; i++) {
        const struct trk_content_other *other = &compared->others[i];
        search->ranges[i] = (struct trk_symptom_range){
            search->contents.list[other->line].guest_addr, TRK_CONTENTS_PAGE_BYTES,
            other->first_event, other->last_event};
    }
    search->asked =
        (struct trk_symptom_asked){.ranges = search->ranges, .range_count = compared->other_count};
    return status;
}

/* ---- the search ------------------------------------------------------------------------------ */

static enum trk_bisect_answer ask_moment(void *context, uint64_t moment)
{
    struct search *search = context;
    struct trk_symptom_probe probe;
    search->error.status = trk_symptom_ask(search->symptom, moment, &probe, &search->error);
    if (search->error.status != TRK_OK) {
        return TRK_BISECT_FAILED;
    }
    search->forced += probe.forced;
    search->from_checkpoint += probe.from_checkpoint;
    search->events += probe.events;
    return probe.answer == TRK_SYMPTOM_LEFT     ? TRK_BISECT_BAD
           : probe.answer == TRK_SYMPTOM_MENDED ? TRK_BISECT_GOOD
                                                : TRK_BISECT_SKIP;
}

/* Once where it was seen, then by halving. */
static enum trk_status halve(struct search *search)
{
    struct trk_bisect *bisect = &search->bisect;
    *bisect = (struct trk_bisect){
        .bad = trk_symptom_moments(search->symptom), .ask = ask_moment, .context = search};
    enum trk_bisect_answer answer =
        bisect->bad == 0 ? TRK_BISECT_GOOD : ask_moment(search, bisect->bad);
    bisect->probes = 1;
    if (answer == TRK_BISECT_GOOD || answer == TRK_BISECT_SKIP) {
        search->found.there = false;
        search->busy = answer == TRK_BISECT_SKIP;
        search->why = search->busy ? "a lock is held at that moment"
                                   : "by the tracker's own state a full synchronisation mends it";
        return TRK_OK;
    }
    if (answer == TRK_BISECT_BAD) {
        answer = trk_bisect_search(bisect);
    }
    return answer == TRK_BISECT_FAILED ? search->error.status : TRK_OK;
}

static enum trk_status look(struct search *search, uint64_t guest_addr, uint64_t event)
{
    return trk_why_trace(search->input.trace, guest_addr, event, &search->report, &search->error);
}

static uint64_t event_of(const struct search *search)
{
    return trk_symptom_event(search->symptom, search->bisect.bad);
}

/* Say why nothing is out of step. */
static void explain(struct search *search, const char *format, ...) TRK_PRINTF(2, 3);

static void explain(struct search *search, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(search->why_text, sizeof search->why_text, format, arguments);
    va_end(arguments);
    search->why = search->why_text;
}

/* Nothing is out of step in the range: the exit code. */
static int judge_range(struct search *search)
{
    const struct trk_symptom_found *found = &search->found;
    if (search->why != NULL) {
        return search->busy || search->lossy ? TRK_EXIT_DAMAGED : TRK_EXIT_OK;
    }
    if (!found->known) {
        search->why = "it cannot be told: no store to the range, no copy of it and no operation on "
                      "it is known until then";
    } else if (found->doubted) {
        explain(search,
                "it cannot be told: behind event %" PRIu64 " %s has older bytes at 0x%" PRIx64
                ", and no synchronisation mends it, but what did may be among the events that are "
                "missing or before the trace",
                found->event, found->gpu ? "the GPU's copy" : "guest memory", found->guest_addr);
    } else if (search->lossy) {
        search->why = "it cannot be told: events are missing, and by the others whoever reads the "
                      "range in the frame has its newest bytes";
    } else if (found->unknown_bytes > 0) {
        const uint8_t *end;
        bool middle = trk_trace_snapshot(search->input.trace, &end) != NULL;
        explain(search,
                "it cannot be told of %" PRIu64 " of the %" PRIu64
                " bytes: %s; of the others, whoever reads them in the frame has the newest",
                found->unknown_bytes, search->range.size_bytes,
                middle ? "the trace begins in the middle, and has no store to them until then"
                       : "until then they are in no mapping, and no store to them, no copy of them "
                         "and no operation on them is known");
    } else {
        search->why = "whoever reads the range in the frame has its newest bytes, and a full "
                      "synchronisation at its end brings all of them up to date";
        return TRK_EXIT_OK;
    }
    return TRK_EXIT_DAMAGED;
}

/* Lines, of which some have another content. */
static int judge_other(struct search *search)
{
    if (search->found.doubted) {
        explain(search,
                "other bytes were written, or did not get to both sides: that cannot be told, for "
                "events are missing");
    } else {
        search->why = "other bytes were written: both sides have them, or a full synchronisation "
                      "brings them there";
    }
    return TRK_EXIT_BROKEN;
}

/* Lines, of which none has another content for sure. */
static int judge_lines(struct search *search)
{
    const struct trk_contents_compared *compared = &search->compared;
    uint64_t lines = search->contents.count;
    if (compared->doubted > 0) {
        explain(search,
                "it cannot be told: %" PRIu64 " of %" PRIu64
                " lines have another content, and what "
                "was uploaded later in their frames may be among the events that are missing",
                compared->doubted, lines);
    } else if (compared->same == 0) {
        search->why = compared->unknown > 0
                          ? "the trace has no contents of these pages (trk record --payload hash)"
                          : "the trace has none of these frames";
    } else if (compared->absent > 0 || compared->unknown > 0) {
        explain(search,
                "it cannot be told of all: the contents of %" PRIu64 " of %" PRIu64
                " lines are as recorded; of %" PRIu64 " the trace has no such frame, of %" PRIu64
                " no content of the page until then",
                compared->same, lines, compared->absent, compared->unknown);
    } else {
        search->why = "the contents are as recorded";
        return search->lossy ? TRK_EXIT_DAMAGED : TRK_EXIT_OK;
    }
    return TRK_EXIT_DAMAGED;
}

/* The exit code of a search that came to its end. */
static int judge(struct search *search)
{
    if (search->found.there) {
        return TRK_EXIT_BROKEN;
    }
    if (!search->lines) {
        return judge_range(search);
    }
    return search->compared.other_count > 0 ? judge_other(search) : judge_lines(search);
}

static enum trk_status run(struct search *search, int *code)
{
    search->asked.ranges = &search->range;
    search->asked.range_count = search->lines ? 0 : 1;
    enum trk_status status = search->lines ? find_lines(search) : find_frame(search);
    if (status == TRK_OK && search->asked.range_count > 0) {
        status = find_byte(search);
    }
    if (status == TRK_OK && search->found.there) {
        status = halve(search);
    }
    if (status == TRK_OK && search->found.there) {
        status = look(search, search->found.guest_addr, event_of(search));
    } else if (status == TRK_OK && search->compared.other_count > 0) {
        status = look(search, search->ranges[0].guest_addr, search->ranges[0].last_event);
    }
    search->lossy = trk_input_report(&search->input, search->options) != TRK_EXIT_OK;
    if (status == TRK_OK) {
        *code = judge(search);
    }
    return status;
}

/* ---- printing -------------------------------------------------------------------------------- */

/* The line with another content: of all the one that is out of step, else the first. */
static const struct trk_content *line_of(const struct search *search)
{
    const struct trk_contents_compared *compared = &search->compared;
    size_t at = search->found.there ? search->found.range : 0;
    return compared->other_count > 0 ? &search->contents.list[compared->others[at].line] : NULL;
}

static void add_lines(cJSON *object, const struct search *search)
{
    const struct trk_contents_compared *compared = &search->compared;
    if (!search->lines) {
        cJSON_AddNullToObject(object, "contents");
        return;
    }
    cJSON *its = cJSON_AddObjectToObject(object, "contents");
    trk_json_out_number(its, "same", compared->same);
    trk_json_out_number(its, "different", compared->other_count);
    trk_json_out_number(its, "unknown", compared->unknown);
    trk_json_out_number(its, "absent", compared->absent);
    trk_json_out_number(its, "doubted", compared->doubted);
    const struct trk_content *line = line_of(search);
    trk_json_out_number(its, "frame", line != NULL ? line->frame : TRK_NOT_KNOWN);
    trk_json_out_address(its, "guest_addr", line != NULL ? line->guest_addr : TRK_NOT_KNOWN);
}

static void print_json(const struct search *search)
{
    const struct trk_why_report *report = &search->report;
    bool found = search->found.there, looked = found || search->compared.other_count > 0;
    uint64_t good = search->bisect.good;
    cJSON *object = trk_json_out_object(TRK_BISECT_SYMPTOM_SCHEMA);
    trk_json_out_text(object, "path", search->input.path);
    cJSON_AddBoolToObject(object, "found", found);
    trk_json_out_text(object, "why", search->why);
    cJSON_AddBoolToObject(object, "doubted", !found && search->found.doubted);
    trk_json_out_number(object, "unknown_bytes", search->found.unknown_bytes);
    add_lines(object, search);
    trk_json_out_number(object, "moments",
                        search->symptom != NULL ? trk_symptom_moments(search->symptom)
                                                : TRK_NOT_KNOWN);
    trk_json_out_number(object, "probes", search->bisect.probes);
    trk_json_out_number(object, "forced", search->forced);
    trk_json_out_number(object, "from_checkpoint", search->from_checkpoint);
    trk_json_out_number(object, "events_again", search->events);
    trk_json_out_number(object, "event", found ? event_of(search) : TRK_NOT_KNOWN);
    trk_json_out_number(object, "good_until",
                        found ? trk_symptom_event(search->symptom, good) : TRK_NOT_KNOWN);
    trk_json_out_address(object, "guest_addr", found ? search->found.guest_addr : TRK_NOT_KNOWN);
    cJSON_AddBoolToObject(object, "all_threads", trk_why_all_threads(search->input.trace));
    trk_json_out_text(object, "side", !found ? NULL : search->found.gpu ? "gpu" : "cpu");
    trk_json_out_text(object, "state", looked ? report->state : NULL);
    trk_json_out_text(object, "writer", looked ? report->writer : NULL);
    trk_json_out_text(object, "guest_text", looked ? report->guest_text : NULL);
    trk_json_out_text(object, "gpu_text", looked ? report->gpu_text : NULL);
    trk_json_out_text(object, "for_gpu", looked ? report->for_gpu : NULL);
    trk_json_out_text(object, "for_cpu", looked ? report->for_cpu : NULL);
    trk_json_out_print(object);
}

static void print_report(const struct trk_why_report *report)
{
    const char *const lines[][2] = {{"page", report->state},
                                    {"last writer", report->writer},
                                    {"guest memory", report->guest_text},
                                    {"the GPU's copy", report->gpu_text},
                                    {"for the GPU", report->for_gpu},
                                    {"for the CPU", report->for_cpu}};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        printf("%-14s ", lines[i][0]);
        trk_terminal_text(stdout, lines[i][1]);
        putchar('\n');
    }
}

static void print_probes(const struct search *search)
{
    printf("probes         %" PRIu64 " of %" PRIu64 " moments", search->bisect.probes,
           trk_symptom_moments(search->symptom));
    if (search->forced > 0) {
        printf(", %" PRIu64 " by the core, %" PRIu64 " from a checkpoint; %" PRIu64
               " events run again",
               search->forced, search->from_checkpoint, search->events);
    } else {
        fputs(", by the log alone: the core cannot be followed", stdout);
    }
    putchar('\n');
}

static void print_text(const struct search *search)
{
    trk_progress_wipe();
    if (!trk_why_all_threads(search->input.trace)) {
        puts("threads        those that are in the file; it has no end, so others may be missing");
    }
    const struct trk_contents_compared *compared = &search->compared;
    if (compared->other_count > 0) {
        printf("other content  frame %" PRIu64 ", page 0x%" PRIx64 "; %zu lines differ\n",
               line_of(search)->frame, line_of(search)->guest_addr, compared->other_count);
    }
    if (search->found.there) {
        uint64_t event = event_of(search);
        printf("out of step    event %" PRIu64 ": byte 0x%" PRIx64 ", %s has older bytes, and no "
               "synchronisation mends it\n",
               event, search->found.guest_addr,
               search->found.gpu ? "the GPU's copy" : "guest memory");
        print_report(&search->report);
        print_probes(search);
        return;
    }
    printf("%s%s\n", compared->other_count > 0 ? "" : "nothing: ", search->why);
    if (compared->other_count > 0) {
        print_report(&search->report);
    }
}

/* ---- the commands ---------------------------------------------------------------------------- */

int trk_bisect_symptom(const struct trk_options *options)
{
    static struct search search; /* some KiB */
    const char *asked = trk_options_text(options, "symptom");
    search = (struct search){
        .options = options, .error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN}};
    search.lines = strncmp(asked, "frame:", 6) != 0;
    if (!search.lines && !trk_symptom_text_read(asked, &search.frame, &search.range)) {
        return TRK_EXIT_USAGE;
    }
    int code = search.lines ? trk_contents_load(&search.contents, asked) : TRK_EXIT_OK;
    if (code == TRK_EXIT_OK) {
        code = trk_input_open(&search.input, options, TRK_BISECT_SYMPTOM_SCHEMA);
        if (code == TRK_EXIT_OK) {
            enum trk_status status = run(&search, &code);
            if (status != TRK_OK) {
                search.error.status = status;
                code = trk_input_fail(&search.input, options, TRK_BISECT_SYMPTOM_SCHEMA,
                                      &search.error);
                /* The frame may be among what is missing. */
                bool lost = status == TRK_E_ARGUMENT && search.lossy;
                code = lost ? TRK_EXIT_DAMAGED : code;
            } else {
                (trk_options_flag(options, "json") ? print_json : print_text)(&search);
            }
            trk_terminal_flush();
            trk_input_close(&search.input);
        }
    }
    trk_symptom_destroy(search.symptom);
    trk_contents_deinit(&search.contents);
    free(search.compared.others);
    free(search.ranges);
    return code;
}
