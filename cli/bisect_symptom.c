/*
 * From bytes that look wrong in a frame to the event that let them get out of step: halving over
 * events, each time with the question what a full synchronisation at that moment would bring.
 *
 * A full synchronisation copies what the tracker knows to be newer. So it mends all that is behind
 * a dirty bit, and leaves what is older on one side while the page looks clean from there.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bisect_probe.h"
#include "json_out.h"
#include "number.h"
#include "simulator/why.h"
#include "terminal.h"

struct symptom {
    const struct trk_options *options;
    struct trk_input input;
    uint64_t frame, guest_addr, size_bytes;
    uint64_t last_event; /* of the frame */
    uint64_t bad_addr;   /* first byte that a synchronisation at its end leaves wrong */
    bool gpu;            /* the GPU's copy is the older one */
    struct trk_error error;
};

/* frame:N,range:A+S */
static bool read_symptom(const char *text, struct symptom *symptom)
{
    char copy[128];
    if (strncmp(text, "frame:", 6) != 0 || strlen(text) >= sizeof copy) {
        return false;
    }
    snprintf(copy, sizeof copy, "%s", text);
    char *range = strstr(copy, ",range:");
    char *plus = range != NULL ? strchr(range, '+') : NULL;
    if (plus == NULL) {
        return false;
    }
    *range = *plus = '\0';
    return trk_number_parse(copy + 6, &symptom->frame) &&
           trk_number_parse(range + 7, &symptom->guest_addr) &&
           trk_number_parse(plus + 1, &symptom->size_bytes) && symptom->size_bytes > 0 &&
           symptom->guest_addr < UINT64_C(1) << 46 && symptom->size_bytes <= UINT64_C(1) << 32;
}

/* The last event before the next frame. TRK_E_ARGUMENT: there is no such frame. */
static enum trk_status find_frame(struct symptom *symptom)
{
    struct trk_trace_event event;
    uint64_t count = 0, highest = 0;
    bool inside = false, over = false, any = false;
    enum trk_status status;
    while ((status = trk_trace_next(symptom->input.trace, &event, &symptom->error)) == TRK_OK) {
        count++;
        if (event.event.type == TRK_EVENT_FRAME) {
            over |= inside;
            inside |= event.event.argument == symptom->frame;
            highest = event.event.argument;
            any = true;
        }
        if (inside && !over) {
            symptom->last_event = event.number;
        }
    }
    if (status != TRK_E_END) {
        return status;
    }
    if (!inside && any) {
        return trk_error_set(&symptom->error, TRK_E_ARGUMENT,
                             "no frame %" PRIu64 ": the last one is %" PRIu64, symptom->frame,
                             highest);
    }
    return inside ? TRK_OK
                  : trk_error_set(&symptom->error, TRK_E_ARGUMENT,
                                  "no frame %" PRIu64 ": the trace has none", symptom->frame);
}

/* What stays older behind a full synchronisation. */
static bool stays_older(const struct trk_why_report *report, bool *gpu)
{
    bool clean = strcmp(report->state_word, "cpu") != 0;
    bool not_gpu = strcmp(report->state_word, "gpu") != 0;
    *gpu = report->gpu == TRK_WHY_OLDER && clean;
    return (*gpu || (report->guest == TRK_WHY_OLDER && not_gpu)) && report->under_way[0] == '\0';
}

static enum trk_status look(struct symptom *symptom, uint64_t guest_addr, uint64_t event,
                            struct trk_why_report *report)
{
    enum trk_status status = trk_trace_rewind(symptom->input.trace, &symptom->error);
    return status == TRK_OK
               ? trk_why_trace(symptom->input.trace, guest_addr, event, report, &symptom->error)
               : status;
}

/* The first byte of the range that is wrong at the end of the frame. */
static enum trk_status find_byte(struct symptom *symptom, bool *found)
{
    static struct trk_why_report report;
    uint64_t end = symptom->guest_addr + symptom->size_bytes;
    for (uint64_t at = symptom->guest_addr; at < end && !*found;) {
        enum trk_status status = look(symptom, at, symptom->last_event, &report);
        if (status != TRK_OK) {
            return status;
        }
        *found = stays_older(&report, &symptom->gpu);
        symptom->bad_addr = at;
        uint64_t next = report.first_addr + report.size_bytes;
        at = next > at ? next : at + 1;
    }
    return TRK_OK;
}

static enum trk_bisect_answer ask_event(void *context, uint64_t at)
{
    static struct trk_why_report report;
    struct symptom *symptom = context;
    bool gpu;
    symptom->error.status = look(symptom, symptom->bad_addr, at - 1, &report);
    if (symptom->error.status != TRK_OK) {
        return TRK_BISECT_FAILED;
    }
    return report.under_way[0] != '\0'  ? TRK_BISECT_SKIP
           : stays_older(&report, &gpu) ? TRK_BISECT_BAD
                                        : TRK_BISECT_GOOD;
}

static void print(struct symptom *symptom, const struct trk_bisect *bisect, bool found,
                  const struct trk_why_report *report)
{
    uint64_t event = bisect->bad - 1;
    if (trk_options_flag(symptom->options, "json")) {
        cJSON *object = trk_json_out_object("trk-bisect-symptom/1");
        trk_json_out_text(object, "path", symptom->input.path);
        cJSON_AddBoolToObject(object, "found", found);
        trk_json_out_number(object, "probes", bisect->probes);
        trk_json_out_number(object, "event", found ? event : TRK_NOT_KNOWN);
        trk_json_out_address(object, "guest_addr", found ? symptom->bad_addr : TRK_NOT_KNOWN);
        trk_json_out_text(object, "side", !found ? NULL : symptom->gpu ? "gpu" : "cpu");
        trk_json_out_text(object, "state", found ? report->state : NULL);
        trk_json_out_text(object, "writer", found ? report->writer : NULL);
        trk_json_out_text(object, "guest_text", found ? report->guest_text : NULL);
        trk_json_out_text(object, "gpu_text", found ? report->gpu_text : NULL);
        trk_json_out_text(object, "for_gpu", found ? report->for_gpu : NULL);
        trk_json_out_text(object, "for_cpu", found ? report->for_cpu : NULL);
        trk_json_out_print(object);
        return;
    }
    if (!found) {
        puts("nothing: at the end of the frame a full synchronisation brings every byte of the "
             "range up to date");
        return;
    }
    printf("out of step    event %" PRIu64 ": byte 0x%" PRIx64 ", %s has older bytes, and no "
           "synchronisation mends it\n",
           event, symptom->bad_addr, symptom->gpu ? "the GPU's copy" : "guest memory");
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
    printf("probes         %" PRIu64 "\n", bisect->probes);
}

static enum trk_status search(struct symptom *symptom, int *code)
{
    static struct trk_why_report report;
    bool found = false;
    enum trk_status status = find_frame(symptom);
    if (status == TRK_OK) {
        status = find_byte(symptom, &found);
    }
    struct trk_bisect bisect = {
        .bad = symptom->last_event + 1, .ask = ask_event, .context = symptom};
    enum trk_bisect_answer answer = TRK_BISECT_GOOD;
    if (status == TRK_OK && found) {
        answer = trk_bisect_search(&bisect);
        status = answer == TRK_BISECT_FAILED
                     ? symptom->error.status
                     : look(symptom, symptom->bad_addr, bisect.bad - 1, &report);
    }
    if (status == TRK_OK) {
        print(symptom, &bisect, found, &report);
        *code = found ? TRK_EXIT_BROKEN : TRK_EXIT_OK;
    }
    return status;
}

int trk_bisect_symptom(const struct trk_options *options)
{
    static struct symptom symptom;
    symptom = (struct symptom){
        .options = options, .error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN}};
    if (!read_symptom(trk_options_text(options, "symptom"), &symptom)) {
        trk_terminal_say("bisect", "--symptom: expected frame:N,range:A+S, such as "
                                   "frame:12,range:0x200010000+4096");
        return TRK_EXIT_USAGE;
    }
    int code = trk_input_open(&symptom.input, options, TRK_BISECT_SCHEMA);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    enum trk_status status = search(&symptom, &code);
    if (status != TRK_OK) {
        symptom.error.status = status;
        code = trk_input_fail(&symptom.input, options, TRK_BISECT_SCHEMA, &symptom.error);
    }
    trk_terminal_flush();
    trk_input_close(&symptom.input);
    return code;
}
