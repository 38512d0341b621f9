/*
 * From bytes that look wrong in a frame to the event that let them get out of step: halving over
 * the trace's moments, each time with the question what a full synchronisation then would bring.
 *
 * A full synchronisation copies what the tracker knows to be newer. So it mends all that is behind
 * a dirty bit, and leaves what is older on one side while the page looks clean from there.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bisect_probe.h"
#include "contents.h"
#include "json_out.h"
#include "simulator/symptom.h"
#include "simulator/why.h"
#include "terminal.h"

#define SCHEMA     "trk-bisect-symptom/1"
#define PAGE_BYTES 4096u
#define ADDRESSES  (UINT64_C(1) << 46) /* guest addresses are below */
#define SIZE_MOST  (UINT64_C(1) << 32)

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
    bool busy;                                /* it could not be asked */
    bool lossy;                               /* the trace is not whole */
    struct trk_error error;
};

/* ---- what looks wrong ------------------------------------------------------------------------ */

static bool read_numbers(const char *text, struct search *search)
{
    char copy[128];
    struct trk_content_place place;
    if (strlen(text) >= sizeof copy) {
        return false;
    }
    snprintf(copy, sizeof copy, "%s", text);
    if (trk_contents_place(copy, &place) != TRK_CONTENT_GOOD) {
        return false;
    }
    search->frame = place.frame;
    search->range.guest_addr = place.guest_addr;
    search->range.size_bytes = place.size_bytes;
    return true;
}

/* frame:N,range:A+S; false: it is not, and that is said. */
static bool read_range(const char *text, struct search *search)
{
    const struct trk_symptom_range *range = &search->range;
    if (!read_numbers(text, search)) {
        trk_terminal_say("bisect", "--symptom: expected frame:N,range:A+S, such as "
                                   "frame:12,range:0x200010000+4096");
        return false;
    }
    bool sized = range->size_bytes > 0 && range->size_bytes <= SIZE_MOST;
    bool below =
        range->guest_addr < ADDRESSES && range->size_bytes <= ADDRESSES - range->guest_addr;
    if (!sized || !below) {
        trk_terminal_say("bisect", "--symptom: the range 0x%" PRIx64 "+%" PRIu64 ": expected %s",
                         range->guest_addr, range->size_bytes,
                         sized ? "one below 2^46" : "1 to 2^32 bytes");
    }
    return sized && below;
}

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
        search->ranges[i] =
            (struct trk_symptom_range){search->contents.list[other->line].guest_addr, PAGE_BYTES,
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

/* Nothing is out of step in the range: the exit code. */
static int judge_range(struct search *search)
{
    if (search->why == NULL && !search->found.known) {
        search->why = "it cannot be told: no store to the range, no copy of it and no operation on "
                      "it is known until then";
        return TRK_EXIT_DAMAGED;
    }
    if (search->why == NULL) {
        search->why = search->lossy
                          ? "it cannot be told: events are missing, and by the others whoever "
                            "reads the range in the frame has its newest bytes"
                          : "whoever reads the range in the frame has its newest bytes, and a full "
                            "synchronisation at its end brings all of them up to date";
    }
    return search->busy || search->lossy ? TRK_EXIT_DAMAGED : TRK_EXIT_OK;
}

/* The exit code of a search that came to its end. */
static int judge(struct search *search)
{
    const struct trk_contents_compared *compared = &search->compared;
    if (search->found.there) {
        return TRK_EXIT_BROKEN;
    }
    if (!search->lines) {
        return judge_range(search);
    }
    if (compared->other_count > 0) {
        search->why = "other bytes were written: both sides have them, or a full synchronisation "
                      "brings them there";
        return TRK_EXIT_BROKEN;
    }
    search->why = compared->same > 0      ? "the contents are as recorded"
                  : compared->unknown > 0 ? "the trace has no contents of these pages (trk record "
                                            "--payload hash)"
                                          : "the trace has none of these frames";
    return compared->same > 0 && !search->lossy ? TRK_EXIT_OK : TRK_EXIT_DAMAGED;
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
    const struct trk_content *line = line_of(search);
    trk_json_out_number(its, "frame", line != NULL ? line->frame : TRK_NOT_KNOWN);
    trk_json_out_address(its, "guest_addr", line != NULL ? line->guest_addr : TRK_NOT_KNOWN);
}

static void print_json(const struct search *search)
{
    const struct trk_why_report *report = &search->report;
    bool found = search->found.there, looked = found || search->compared.other_count > 0;
    uint64_t good = search->bisect.good;
    cJSON *object = trk_json_out_object(SCHEMA);
    trk_json_out_text(object, "path", search->input.path);
    cJSON_AddBoolToObject(object, "found", found);
    trk_json_out_text(object, "why", search->why);
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
    if (!search.lines && !read_range(asked, &search)) {
        return TRK_EXIT_USAGE;
    }
    int code = search.lines ? trk_contents_load(&search.contents, asked) : TRK_EXIT_OK;
    if (code == TRK_EXIT_OK) {
        code = trk_input_open(&search.input, options, SCHEMA);
        if (code == TRK_EXIT_OK) {
            enum trk_status status = run(&search, &code);
            if (status != TRK_OK) {
                search.error.status = status;
                code = trk_input_fail(&search.input, options, SCHEMA, &search.error);
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

int trk_bisect_hashes(const struct trk_options *options)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_contents contents;
    struct trk_options shifted = *options; /* the trace is the first operand */
    struct trk_input input;
    if (options->operand_count != 2) {
        trk_terminal_say("bisect", "hashes: expected a trace: trk bisect hashes F");
        return TRK_EXIT_USAGE;
    }
    shifted.operands[0] = options->operands[1];
    shifted.operand_count = 1;
    int code = trk_input_open(&input, &shifted, SCHEMA);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    enum trk_status status = trk_contents_of_trace(&contents, input.trace, &error);
    if (status != TRK_OK) {
        error.status = status;
        code = trk_input_fail(&input, &shifted, SCHEMA, &error);
    } else if (contents.count == 0) {
        trk_terminal_say("bisect",
                         "%s: it has no contents of pages in a frame (trk record "
                         "--payload hash)",
                         input.path);
        code = TRK_EXIT_DAMAGED;
    } else {
        for (size_t i = 0; i < contents.count; i++) {
            printf("frame:%" PRIu64 ",range:0x%" PRIx64 "+%u,hash:0x%016" PRIx64 "\n",
                   contents.list[i].frame, contents.list[i].guest_addr, PAGE_BYTES,
                   contents.list[i].hash);
        }
        trk_terminal_flush();
        code = trk_input_report(&input, &shifted);
    }
    trk_contents_deinit(&contents);
    trk_input_close(&input);
    return code;
}
