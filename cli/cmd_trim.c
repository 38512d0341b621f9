/* trk trim: a part of a trace that can be re-executed by itself. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "command.h"
#include "kept_checkpoints.h"
#include "kept_pages.h"
#include "progress.h"
#include "range.h"
#include "recorder/checkpoint.h"
#include "rewrite.h"
#include "simulator/rest.h"
#include "simulator/selection.h"
#include "simulator/snapshot.h"
#include "terminal.h"

#define SCHEMA "trk-trim/1"
/* Harder than the recorder, though not as hard as trk pack: a part is for keeping and sharing. */
#define TRIM_LEVEL  12
#define TRIM_EVENTS 65536u

static const struct trk_option trim_options[] = {
    TRK_OUT_FILE_OPTIONS,
    TRK_REWRITE_JSON(SCHEMA),
    TRK_PROGRESS_OPTION,
    {.name = NULL},
};

struct trim {
    const struct trk_options *options;
    struct trk_input input;
    struct trk_range range;
    struct trk_rewrite rewrite;
    struct trk_packing snapshot;
    struct trk_kept_pages pages;             /* that the kept events name */
    struct trk_kept_checkpoints checkpoints; /* of the window */
    bool whole;                              /* the source is smaller, and kept as it is */
    struct trk_selection selection;          /* of a region; no bits: all of the window */
    uint64_t first, end;                     /* the window in event numbers, end excluded */
    uint64_t events;                         /* of the source */
    uint64_t lost;                           /* of the source, by the losses that it tells */
    uint64_t frame;                          /* event that began the frame the window begins in */
};

static enum trk_status nothing_in(const struct trk_range *range, struct trk_error *error)
{
    char closest[TRK_RANGE_CLOSEST_BYTES];
    trk_range_closest(range, closest);
    return trk_error_set(error, TRK_E_ARGUMENT, "nothing is in the range: %s", closest);
}

/* Of a region that no operation touches: something else may be about it. */
static enum trk_status look_for_region(struct trim *trim, struct trk_error *error)
{
    struct trk_trace_event event;
    enum trk_status status = trk_trace_rewind(trim->input.trace, error);
    while (status == TRK_OK &&
           (status = trk_trace_next(trim->input.trace, &event, error)) == TRK_OK) {
        if (trk_range_has(&trim->range, &event)) {
            return trk_trace_rewind(trim->input.trace, error);
        }
    }
    return status == TRK_E_END ? nothing_in(&trim->range, error) : status;
}

/* The places before and behind the range where nothing is under way. */
static enum trk_status find_window(struct trim *trim, struct trk_error *error)
{
    struct trk_rest rest;
    struct trk_trace_event event;
    enum trk_status status;
    uint64_t resting = 0, frame = TRK_NOT_KNOWN, resting_frame = TRK_NOT_KNOWN, count = 0;
    bool found = false;
    trim->end = 0;
    if (trk_rest_init(&rest, trim->input.trace) != TRK_OK) {
        return trk_error_set(error, TRK_E_MEMORY, "out of memory");
    }
    while ((status = trk_trace_next(trim->input.trace, &event, error)) == TRK_OK) {
        count = event.number + 1;
        if (trk_rest_is(&rest)) {
            resting = event.number;
            resting_frame = frame;
            if (found && trim->end == 0) {
                trim->end = event.number; /* unless more of the range comes */
            }
        }
        if (event.event.type == TRK_EVENT_FRAME) {
            frame = event.number;
        }
        if (trk_range_has(&trim->range, &event)) {
            if (!found) {
                trim->first = resting;
                trim->frame = resting_frame;
            }
            found = true;
            trim->end = 0;
        }
        trk_rest_take(&rest, &event);
    }
    trk_rest_deinit(&rest);
    if (status != TRK_E_END) {
        return status;
    }
    if (!found) {
        return nothing_in(&trim->range, error);
    }
    trim->events = count;
    trim->end = trim->end > 0 ? trim->end : count;
    return trk_trace_rewind(trim->input.trace, error);
}

/* The state that the window begins with; without one it begins with the trace. */
static enum trk_status take_snapshot(struct trim *trim, struct trk_error *error)
{
    if (trim->first == 0) {
        return TRK_OK;
    }
    enum trk_status status =
        trk_sim_snapshot(trim->input.trace, trim->first, &trim->snapshot, error);
    trk_trace_judge(trim->input.trace, false); /* the re-execution does */
    if (status == TRK_E_UNSUPPORTED || status == TRK_E_VERSION) {
        trk_terminal_say("trim", "%s: kept from its beginning: %s", trim->input.path, error->text);
        trim->first = 0;
        status = TRK_OK;
    }
    return status == TRK_OK ? trk_trace_rewind(trim->input.trace, error) : status;
}

/* What must stay of the time before the window: what exists, and the frame that it begins in. */
static bool is_prologue(const struct trim *trim, const struct trk_trace_event *event)
{
    return event->number == trim->frame || event->event.type == TRK_EVENT_TRACKER ||
           event->event.type == TRK_EVENT_FOREIGN || event->event.type == TRK_EVENT_LOCKS ||
           event->event.type == TRK_EVENT_MAP || event->event.type == TRK_EVENT_UNMAP;
}

static bool is_kept(const struct trim *trim, const struct trk_trace_event *event)
{
    if (trim->selection.bits) {
        return trk_selection_has(&trim->selection, event->number);
    }
    return event->number < trim->first ? is_prologue(trim, event) : event->number < trim->end;
}

static enum trk_status write_window(struct trim *trim, struct trk_error *error)
{
    struct trk_trace *trace = trim->input.trace;
    enum trk_status status = TRK_OK;
    if (trim->snapshot.size_bytes > 0) {
        status = trk_writer_snapshot(trim->rewrite.writer, trim->snapshot.bytes,
                                     trim->snapshot.size_bytes, error);
    }
    for (size_t i = 0; i < trk_trace_stream_count(trace) && status == TRK_OK; i++) {
        status = trk_rewrite_stream(&trim->rewrite, trk_trace_stream(trace, i), error);
    }
    struct trk_trace_event event;
    while (status == TRK_OK && (status = trk_trace_next(trace, &event, error)) == TRK_OK) {
        trim->lost += event.event.type == TRK_EVENT_DROP ? event.event.argument : 0;
        status = trk_kept_checkpoints_event(&trim->checkpoints, &trim->rewrite, &event, error);
        if (status != TRK_OK || !is_kept(trim, &event)) {
            continue;
        }
        struct trk_record record = {event.tsc, event.event};
        status = trk_rewrite_event(&trim->rewrite, trk_trace_stream(trace, event.stream)->stream_id,
                                   &record, error);
        if (status == TRK_OK && !trk_kept_pages_note(&trim->pages, &event.event)) {
            status = trk_error_set(error, TRK_E_MEMORY, "out of memory");
        }
    }
    return status == TRK_E_END
               ? trk_kept_pages_copy(&trim->pages, trim->rewrite.writer, trace, error)
               : status;
}

/* A small trace has no room for a snapshot: the whole is then the smaller part. */
static enum trk_status keep_smaller(struct trim *trim, struct trk_error *error)
{
    if (trim->rewrite.bytes <= trim->input.bytes) {
        return TRK_OK;
    }
    trk_terminal_say("trim", "%s: the whole is smaller than the part: it is kept as it is",
                     trim->input.path);
    trim->whole = true;
    return trk_rewrite_copy(&trim->rewrite, &trim->input, error);
}

static void say_checkpoints(const struct trim *trim)
{
    if (trim->whole) {
        return;
    }
    if (trim->selection.bits) {
        trk_kept_checkpoints_say(trim->options, trim->input.path,
                                 trk_trace_checkpoint_count(trim->input.trace),
                                 "the state is of all regions");
    }
    trk_kept_checkpoints_say(trim->options, trim->input.path, trim->checkpoints.left_out,
                             "events are missing before, and the order is a guess");
}

/* The source's header, and that this is a part. NULL: it is no object, or there is no memory. */
static char *part_header(const struct trim *trim)
{
    cJSON *header = cJSON_Parse(trk_trace_header_json(trim->input.trace));
    const cJSON *before = cJSON_GetObjectItemCaseSensitive(header, "part");
    bool region = trim->selection.bits != NULL ||
                  (cJSON_IsString(before) && strcmp(before->valuestring, "region") == 0);
    cJSON_DeleteItemFromObjectCaseSensitive(header, "part");
    cJSON_AddStringToObject(header, "part", region ? "region" : "events");
    char *text = cJSON_IsObject(header) ? cJSON_PrintUnformatted(header) : NULL;
    cJSON_Delete(header);
    return text;
}

static int write_trace(struct trim *trim)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_writer_options writer = trk_rewrite_options(trim->input.trace);
    writer.zstd_level = TRIM_LEVEL;
    writer.chunk_events = TRIM_EVENTS;
    char *header = part_header(trim);
    int code = trk_rewrite_open(&trim->rewrite, trim->options, &writer,
                                header != NULL ? header : trk_trace_header_json(trim->input.trace));
    cJSON_free(header);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    enum trk_status status = write_window(trim, &error);
    struct trk_trace_state state = trk_trace_state(trim->input.trace);
    if (status == TRK_OK) {
        state.cut = state.cut || state.dropped > trim->lost; /* which nothing tells */
        /* A part that ends before its source ends as a part does, not as the program did. */
        if (!trim->selection.bits && trim->end < trim->events) {
            state.child_status = -1;
        }
        status = trk_rewrite_end(&trim->rewrite, &state, &error);
    }
    if (status == TRK_OK) {
        status = keep_smaller(trim, &error);
    }
    code = trk_rewrite_close(&trim->rewrite, status, &error);
    if (code == TRK_EXIT_OK) {
        say_checkpoints(trim);
    }
    return code;
}

static enum trk_status plan(struct trim *trim, struct trk_error *error)
{
    struct trk_trace *trace = trim->input.trace;
    struct trk_clock clock = trk_clock_from_header(trk_trace_header_json(trace));
    trim->range.ticks_a_microsecond = clock.ticks_a_microsecond;
    trim->range.trace = trace;
    if (trim->range.kind == TRK_RANGE_TIME && clock.ticks_a_microsecond <= 0) {
        return trk_error_set(error, TRK_E_ARGUMENT, "the header does not say how long a tick is");
    }
    enum trk_status joined = trk_range_join(&trim->range, error);
    if (joined != TRK_OK) {
        return joined;
    }
    if (trk_trace_snapshot(trace, &(const uint8_t *){NULL}) != NULL) {
        return trk_error_set(error, TRK_E_UNSUPPORTED, "it is a part already: trim its source");
    }
    if (trim->range.kind == TRK_RANGE_REGION) {
        enum trk_status status =
            trk_selection_region(&trim->selection, trace, trim->range.first, error);
        return status == TRK_OK && trim->selection.regions == trim->selection.regions_left
                   ? look_for_region(trim, error)
                   : status;
    }
    enum trk_status status = find_window(trim, error);
    if (status == TRK_OK) {
        status = take_snapshot(trim, error);
    }
    return status == TRK_OK
               ? trk_kept_checkpoints_find(&trim->checkpoints, trace, trim->first, trim->end, error)
               : status;
}

static int run_trim(const struct trk_options *options)
{
    struct trim trim = {.options = options, .frame = TRK_NOT_KNOWN, .rewrite.schema = SCHEMA};
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    enum trk_status status = trk_range_parse(options->operands[1], &trim.range, &error);
    if (status != TRK_OK) {
        return trk_terminal_error("trim", NULL, &error);
    }
    int code = trk_input_open(&trim.input, options, SCHEMA);
    if (code == TRK_EXIT_OK) {
        code = trk_rewrite_check(&trim.input, options, SCHEMA);
        status = code == TRK_EXIT_OK ? plan(&trim, &error) : TRK_OK;
        if (status != TRK_OK) {
            error.status = status;
            code = trk_input_fail(&trim.input, options, SCHEMA, &error);
        } else if (code == TRK_EXIT_OK) {
            code = write_trace(&trim);
            code = code == TRK_EXIT_OK ? trk_input_report(&trim.input, options) : code;
        }
        trk_input_close(&trim.input);
    }
    trk_selection_deinit(&trim.selection);
    trk_range_free(&trim.range);
    trk_kept_pages_deinit(&trim.pages);
    trk_kept_checkpoints_deinit(&trim.checkpoints);
    free(trim.snapshot.bytes);
    return code;
}

const struct trk_command trk_cmd_trim = {
    .name = "trim",
    .about = "keep a part of a trace that can be re-executed by itself",
    .operands = "F RANGE -o G",
    .text =
        "Writes the events of RANGE, and around them what belongs to the operations that it cuts, "
        "to "
        "G. G begins with the state of the trackers at that place, which is found by re-executing "
        "F "
        "up to there, so that trk sim G judges the part alone. What was before is not known there: "
        "stale bytes are found only by stamps.\n\n"
        "RANGE is by event (100-2000, or @FILE, a list of them without gaps), frame:5-9 or "
        "time:1.2s-1.5s; or region:0x200000000, which "
        "keeps that region from beginning to end, with all that operations tie to it and all "
        "that shows the same frames. A trace whose "
        "state cannot be kept (generations, shared views) is kept from its beginning. G is never "
        "larger than F. A part that begins with such a state cannot be trimmed again: trim its "
        "source.",
    .examples = "trk trim trace.trk frame:100-110 -o part.trk\n"
                "trk trim trace.trk region:0x200000000 -o region.trk",
    .schema = SCHEMA,
    .options = trim_options,
    .operands_least = 2,
    .operands_most = 2,
    .judges_nothing = true,
    .run = run_trim,
};
