/* trk doctor: whether a trace is whole, and all that is wrong with it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "input.h"
#include "json_out.h"
#include "options.h"
#include "progress.h"
#include "recorder/trace.h"
#include "terminal.h"
#include "track/address.h"

#define SCHEMA "trk-doctor/1"
/* A file of noise has damage everywhere; the rest is only counted. */
#define FINDINGS_SHOWN 200u

static const struct trk_option doctor_options[] = {
    {.name = "json", .about = "One JSON object, schema " SCHEMA "."},
    TRK_PROGRESS_OPTION,
    {.name = NULL},
};

struct doctor {
    const char *path;
    cJSON *findings; /* NULL: text */
    uint64_t count;  /* of findings */
    uint64_t events; /* read, without the marks of losses */
};

static void on_damage(void *context, const struct trk_trace_damage *damage)
{
    struct doctor *doctor = context;
    trk_progress_wipe();
    if (doctor->count++ >= FINDINGS_SHOWN) {
        return;
    }
    if (doctor->findings == NULL) {
        printf("damage     at byte %" PRIu64 ", chunk %" PRIu32 ": %s\n", damage->file_offset,
               damage->chunk, damage->text);
        return;
    }
    cJSON *finding = cJSON_CreateObject();
    trk_json_out_number(finding, "file_offset", damage->file_offset);
    trk_json_out_number(finding, "chunk", damage->chunk);
    trk_json_out_text(finding, "text", damage->text);
    cJSON_AddItemToArray(doctor->findings, finding);
}

/* Every event, so that columns and order are looked at too. */
static enum trk_status read_events(struct doctor *doctor, struct trk_trace *trace,
                                   struct trk_error *error)
{
    enum trk_status status = trk_trace_scan(trace, error);
    struct trk_trace_event event;
    while (status == TRK_OK) {
        status = trk_trace_next(trace, &event, error);
        doctor->events += status == TRK_OK && event.event.type != TRK_EVENT_DROP;
    }
    return status == TRK_E_END ? TRK_OK : status;
}

static void print_json(const struct doctor *doctor, cJSON *object,
                       const struct trk_trace_state *state, bool good)
{
    cJSON_AddBoolToObject(object, "complete", good);
    cJSON_AddBoolToObject(object, "ended", state->ended);
    cJSON_AddBoolToObject(object, "cut", state->cut);
    trk_json_out_number(object, "chunks", state->chunks);
    trk_json_out_number(object, "damaged_chunks", state->damaged_chunks);
    trk_json_out_number(object, "unknown_chunks", state->unknown_chunks);
    trk_json_out_number(object, "events", doctor->events);
    trk_json_out_number(object, "dropped", state->dropped);
    trk_json_out_number(object, "order_gaps", state->order_gaps);
    trk_json_out_number(object, "unwritten_holds", state->unwritten_holds);
    trk_json_out_number(object, "damage_count", doctor->count);
    cJSON_AddBoolToObject(object, "header_lost", state->header_lost);
}

static void print_text(const struct doctor *doctor, const struct trk_trace_state *state, bool good)
{
    if (doctor->count > FINDINGS_SHOWN) {
        printf("damage     and %" PRIu64 " more\n", doctor->count - FINDINGS_SHOWN);
    }
    printf("chunks     %" PRIu64 " found, %" PRIu64 " damaged or missing\n", state->chunks,
           state->damaged_chunks);
    if (state->unknown_chunks > 0) {
        printf("newer      %" PRIu64
               " chunks of kinds that this version does not know, the first of "
               "kind %u\n",
               state->unknown_chunks, state->unknown_kind);
    }
    if (state->header_lost) {
        puts("header     lost before a repair: the trace does not say what it is of");
    }
    printf("events     %" PRIu64 " read, %" PRIu64 " missing as far as known\n", doctor->events,
           state->dropped);
    if (state->order_gaps > 0) {
        printf("order      %" PRIu64 " events come before what they must follow%s\n",
               state->order_gaps,
               state->dropped == 0 && state->damaged_chunks == 0 && state->ended && !state->cut
                   ? ", and nothing is missing: a fault of the recorder"
                   : "");
    }
    if (state->unwritten_holds > 0) {
        printf("unwritten  %" PRIu64
               " holds: their threads were ended before they had noted them\n",
               state->unwritten_holds);
    }
    printf("end        %s\n", !state->ended ? "not there"
                              : state->cut  ? "made by a repair: the recording was cut off"
                                            : "there");
    fputs("whole      ", stdout);
    trk_terminal_word(good ? TRK_TONE_GOOD : TRK_TONE_BAD, good ? "yes" : "no");
    putchar('\n');
}

/* Which domains the losses are of, where the summaries tell. */
static void tell_gaps(const struct trk_trace *trace, cJSON *object)
{
    struct trk_trace_gap *gaps;
    size_t count;
    if (trk_trace_gaps(trace, &gaps, &count) != TRK_OK) {
        if (object) {
            cJSON_AddNullToObject(object, "gaps");
        }
        return;
    }
    cJSON *list = object ? cJSON_AddArrayToObject(object, "gaps") : NULL;
    for (size_t i = 0; i < count && i < FINDINGS_SHOWN; i++) {
        uint64_t guest_addr = trk_region_address(trk_domain_region(gaps[i].domain));
        if (!list) {
            printf("gap        %" PRIu64 " holds of domain 0x%" PRIx32 " (region 0x%" PRIx64
                   ") are missing\n",
                   gaps[i].holds, gaps[i].domain, guest_addr);
            continue;
        }
        cJSON *gap = cJSON_CreateObject();
        trk_json_out_number(gap, "domain", gaps[i].domain);
        trk_json_out_address(gap, "region", guest_addr);
        trk_json_out_number(gap, "holds", gaps[i].holds);
        cJSON_AddItemToArray(list, gap);
    }
    free(gaps);
}

static int examine(struct doctor *doctor, struct trk_trace *trace, cJSON *object)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    trk_trace_on_damage(trace, on_damage, doctor);
    enum trk_status status = read_events(doctor, trace, &error);
    trk_progress_wipe();
    struct trk_trace_state state = trk_trace_state(trace);
    bool good = status == TRK_OK && state.complete && state.order_gaps == 0;
    tell_gaps(trace, object);
    if (object) {
        print_json(doctor, object, &state, good);
    } else {
        print_text(doctor, &state, good);
    }
    if (status != TRK_OK) {
        error.status = status;
        if (object) {
            trk_json_out_error(object, &error);
        }
        trk_terminal_flush();
        return trk_terminal_error("doctor", doctor->path, &error);
    }
    return good ? TRK_EXIT_OK : TRK_EXIT_DAMAGED;
}

static int run_doctor(const struct trk_options *options)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_input input;
    const char *name = options->operand_count > 0 ? options->operands[0] : NULL;
    enum trk_status status = trk_input_open_named(&input, name, &error);
    struct doctor doctor = {.path = input.path[0] ? input.path : NULL};
    cJSON *object = NULL;
    if (trk_options_flag(options, "json")) {
        object = trk_json_out_object(SCHEMA);
        trk_json_out_text(object, "path", doctor.path);
        doctor.findings = cJSON_AddArrayToObject(object, "damage");
    }
    int code;
    if (status == TRK_OK) {
        code = examine(&doctor, input.trace, object);
    } else {
        error.status = status;
        if (object) {
            cJSON_AddBoolToObject(object, "complete", false);
            trk_json_out_error(object, &error);
        }
        code = trk_terminal_error("doctor", doctor.path, &error);
    }
    if (object) {
        trk_json_out_print(object);
    }
    trk_input_close(&input);
    return code;
}

const struct trk_command trk_cmd_doctor = {
    .name = "doctor",
    .about = "check that a trace is whole, and say all that is wrong with it",
    .operands = "[F]",
    .text =
        "Reads every byte of a trace: frames, checksums, columns, checkpoints, numbering, totals "
        "and "
        "the order of events. Each damage is told with its place in the file and the chunk it is "
        "in. What is "
        "missing is counted as far as that is known. Nothing is changed: see trk recover.\n\n"
        "An order that cannot be although nothing is missing is a fault of the recorder. A program "
        "that is killed may leave one hold a thread that the thread had no time to note: such a "
        "hold is named, and the trace is whole.",
    .examples = "trk doctor trace.trk\ntrk doctor --json trace.trk",
    .exits = "0 when the trace is whole, 3 when it is not.",
    .schema = SCHEMA,
    .options = doctor_options,
    .operands_most = 1,
    .run = run_doctor,
};
