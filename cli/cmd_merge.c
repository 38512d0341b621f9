/* trk merge: parts of one recording, such as the dumps of a flight ring, as one trace. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "kept_checkpoints.h"
#include "merge_parts.h"
#include "merge_streams.h"
#include "progress.h"
#include "recorder/blobs.h"
#include "recorder/checkpoint.h"
#include "rewrite.h"
#include "terminal.h"

#define SCHEMA "trk-merge/1"

static const struct trk_option merge_options[] = {
    TRK_OUT_FILE_OPTIONS,
    TRK_REWRITE_JSON(SCHEMA),
    TRK_PROGRESS_OPTION,
    {.name = NULL},
};

struct merge {
    const struct trk_options *options;
    struct trk_merge_parts parts;
    const struct trk_merge_part *at; /* what an error is about; NULL: the output */
    struct trk_rewrite rewrite;
    struct trk_merge_streams streams;
};

static bool take_before(struct merge *merge, const struct trk_merge_part *part)
{
    const cJSON *entry;
    uint32_t stream_id;
    uint64_t events;
    bool room = true;
    cJSON_ArrayForEach(entry, part->before)
    {
        if (trk_merge_part_before(entry, &stream_id, &events)) {
            room = room && trk_merge_streams_before(&merge->streams, stream_id, events,
                                                    part == merge->parts.list);
        }
    }
    cJSON_ArrayForEach(entry, part->forgotten)
    {
        if (trk_merge_part_before(entry, &stream_id, &events)) {
            room = room && trk_merge_streams_tell(&merge->streams, stream_id, events);
        }
    }
    return room;
}

/* What stands for threads that are named one by one: they are looked at instead. */
static bool is_told(const struct trk_merge_part *part, uint32_t stream_id)
{
    return part->forgotten && stream_id == TRK_FORGOTTEN_STREAM;
}

static enum trk_status look(struct merge *merge, const struct trk_merge_part *part,
                            struct trk_error *error)
{
    struct trk_trace_event event;
    enum trk_status status;
    trk_merge_streams_begin(&merge->streams);
    if (!take_before(merge, part)) {
        return trk_error_set(error, TRK_E_MEMORY, "out of memory");
    }
    while ((status = trk_trace_next(part->trace, &event, error)) == TRK_OK) {
        struct trk_record record = {event.tsc, event.event};
        uint32_t id = trk_trace_stream(part->trace, event.stream)->stream_id;
        if (!is_told(part, id) && !trk_merge_streams_look(&merge->streams, id, &record)) {
            return trk_error_set(error, TRK_E_MEMORY, "out of memory");
        }
    }
    if (status != TRK_E_END) {
        return status;
    }
    uint32_t stream_id;
    if (!trk_merge_streams_fit(&merge->streams, &stream_id)) {
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "stream %" PRIu32 " does not go on from the part before", stream_id);
    }
    return trk_trace_rewind(part->trace, error);
}

/* What all begins with is what the first part begins with. */
static enum trk_status write_state(struct merge *merge, const struct trk_merge_part *part,
                                   struct trk_error *error)
{
    const uint8_t *end;
    const uint8_t *snapshot = trk_trace_snapshot(part->trace, &end);
    return snapshot && part == merge->parts.list
               ? trk_writer_snapshot(merge->rewrite.writer, snapshot, (size_t)(end - snapshot),
                                     error)
               : TRK_OK;
}

static enum trk_status write_part(struct merge *merge, const struct trk_merge_part *part,
                                  struct trk_error *error)
{
    struct trk_trace_event event;
    enum trk_status status = look(merge, part, error);
    if (status == TRK_OK) {
        status = write_state(merge, part, error);
    }
    if (status == TRK_OK) {
        status = trk_writer_copy_blobs(merge->rewrite.writer, part->trace, NULL, NULL, error);
    }
    for (size_t i = 0; i < trk_trace_stream_count(part->trace) && status == TRK_OK; i++) {
        const struct trk_trace_stream *stream = trk_trace_stream(part->trace, i);
        if (!is_told(part, stream->stream_id)) {
            status = trk_rewrite_stream(&merge->rewrite, stream, error);
        }
    }
    while (status == TRK_OK && (status = trk_trace_next(part->trace, &event, error)) == TRK_OK) {
        struct trk_record records[2] = {{event.tsc, event.event}};
        uint32_t id = trk_trace_stream(part->trace, event.stream)->stream_id;
        unsigned count =
            is_told(part, id) ? 0 : trk_merge_streams_take(&merge->streams, id, records);
        for (unsigned i = 0; i < count && status == TRK_OK; i++) {
            status = trk_rewrite_event(&merge->rewrite, id, &records[i], error);
        }
    }
    return status == TRK_E_END ? TRK_OK : status;
}

/* As the newest part ended; whole when all are, and nothing is between them. */
static struct trk_trace_state state_of(const struct merge *merge)
{
    struct trk_trace_state state = trk_trace_state(merge->parts.newest->trace);
    state.complete = state.ended && !state.cut && !merge->streams.any_loss;
    state.unknown_chunks = 0;
    for (size_t i = merge->parts.count; i > 0; i--) {
        struct trk_trace_state part = trk_trace_state(merge->parts.list[i - 1].trace);
        state.unknown_kind = part.unknown_chunks > 0 ? part.unknown_kind : state.unknown_kind;
        state.unknown_chunks += part.unknown_chunks;
    }
    return state;
}

/*
 * Of threads that did something before a part's state, or that it had forgotten, and of which no
 * part has anything behind. Those of which no part has anything at all are told as one.
 */
static enum trk_status write_losses(struct merge *merge, struct trk_error *error)
{
    struct trk_trace_stream rest = {.stream_id = TRK_FORGOTTEN_STREAM, .name = "(forgotten)"};
    struct trk_record gone = {merge->streams.first_tsc, {.type = TRK_EVENT_DROP}};
    struct trk_record loss;
    uint32_t id;
    enum trk_status status = TRK_OK;
    while (status == TRK_OK && trk_merge_streams_end(&merge->streams, &id, &loss)) {
        if (trk_rewrite_has_stream(&merge->rewrite, id)) {
            status = trk_rewrite_event(&merge->rewrite, id, &loss, error);
        } else {
            gone.event.argument += loss.event.argument;
        }
    }
    if (status != TRK_OK || gone.event.argument == 0) {
        return status;
    }
    if (!trk_rewrite_has_stream(&merge->rewrite, rest.stream_id)) {
        status = trk_rewrite_stream(&merge->rewrite, &rest, error);
    }
    return status == TRK_OK ? trk_rewrite_event(&merge->rewrite, rest.stream_id, &gone, error)
                            : status;
}

static enum trk_status write_all(struct merge *merge, struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    merge->streams.first_tsc = merge->parts.list[0].first_tsc;
    for (size_t i = 0; i < merge->parts.count && status == TRK_OK; i++) {
        merge->at = &merge->parts.list[i];
        status = write_part(merge, merge->at, error);
    }
    merge->at = NULL;
    if (status == TRK_OK) {
        status = write_losses(merge, error);
    }
    struct trk_trace_state state = state_of(merge);
    return status == TRK_OK ? trk_rewrite_end(&merge->rewrite, &state, error) : status;
}

static int say_error(const struct merge *merge, struct trk_error *error, enum trk_status status)
{
    error->status = status;
    return trk_terminal_error("merge", merge->at ? merge->at->path : NULL, error);
}

/* [F-36] What any part says of types that this version does not know is said of all. */
static enum trk_status join_types(struct merge *merge, struct trk_trace *newest,
                                  struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    for (size_t i = 0; i < merge->parts.count && status == TRK_OK; i++) {
        merge->at = &merge->parts.list[i];
        status = trk_trace_add_types(newest, merge->parts.list[i].trace, error);
    }
    return status;
}

/* The newest part's header, but for what is of the state that all begins with. NULL: no memory. */
static char *joined_header(const struct merge *merge)
{
    const struct trk_merge_part *newest = merge->parts.newest;
    const struct trk_merge_part *oldest = &merge->parts.list[0];
    bool same_state = oldest->before == newest->before; /* neither has one, or one is all */
    if (same_state && !newest->forgotten) {
        return strdup(trk_trace_header_json(newest->trace));
    }
    cJSON *header = cJSON_Duplicate(newest->header, true);
    cJSON *flight = cJSON_GetObjectItemCaseSensitive(header, "flight");
    if (!flight) {
        flight = cJSON_AddObjectToObject(header, "flight");
    }
    cJSON_DeleteItemFromObjectCaseSensitive(flight, "forgotten_streams"); /* G knows of others */
    cJSON_DeleteItemFromObjectCaseSensitive(flight, "before_state");
    cJSON *before = cJSON_Duplicate(oldest->before, true);
    if (before && !cJSON_AddItemToObject(flight, "before_state", before)) {
        cJSON_Delete(before);
    }
    char *text = cJSON_PrintUnformatted(header);
    cJSON_Delete(header);
    return text;
}

/* Open the output: an exit code, after a message. */
static int open_output(struct merge *merge)
{
    const struct trk_trace *newest = merge->parts.newest->trace;
    struct trk_writer_options writer = trk_rewrite_options(newest);
    for (size_t i = 0; i < merge->parts.count; i++) {
        unsigned shift = trk_trace_clock_shift(merge->parts.list[i].trace);
        writer.clock_shift = shift < writer.clock_shift ? shift : writer.clock_shift;
    }
    char *header = joined_header(merge);
    if (!header) {
        struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
        merge->at = NULL;
        (void)trk_error_set(&error, TRK_E_MEMORY, "out of memory");
        return say_error(merge, &error, TRK_E_MEMORY);
    }
    int code = trk_rewrite_open(&merge->rewrite, merge->options, &writer, header);
    free(header);
    return code;
}

static int merge_parts(struct merge *merge)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    enum trk_status status = trk_merge_parts_open(&merge->parts, &merge->at, &error);
    if (status == TRK_OK) {
        /* The newest has looked at the clock over the longest time. */
        status = join_types(merge, merge->parts.newest->trace, &error);
    }
    if (status != TRK_OK) {
        return say_error(merge, &error, status);
    }
    int code = open_output(merge);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    status = write_all(merge, &error);
    const struct trk_merge_part *at = merge->at;
    code = trk_rewrite_close(&merge->rewrite, status, &error);
    if (at && status != TRK_OK) {
        trk_terminal_say("merge", "that was in %s", at->path);
    }
    for (size_t i = 0; i < merge->parts.count && code == TRK_EXIT_OK; i++) {
        trk_kept_checkpoints_say(merge->options, merge->parts.list[i].path,
                                 trk_trace_checkpoint_count(merge->parts.list[i].trace),
                                 "what is merged is another trace: trk pack --checkpoints makes "
                                 "others");
    }
    if (code == TRK_EXIT_OK && !state_of(merge).complete) {
        trk_terminal_say("merge", "events are missing in or between the parts");
        code = TRK_EXIT_DAMAGED;
    }
    return code;
}

static int run_merge(const struct trk_options *options)
{
    struct merge merge = {.options = options, .rewrite.schema = SCHEMA};
    merge.parts.list = calloc(options->operand_count + 1, sizeof merge.parts.list[0]);
    if (!merge.parts.list) {
        struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
        (void)trk_error_set(&error, TRK_E_MEMORY, "out of memory");
        return say_error(&merge, &error, TRK_E_MEMORY);
    }
    while (merge.parts.count < options->operand_count) {
        struct trk_merge_part *part = &merge.parts.list[merge.parts.count++];
        part->path = options->operands[merge.parts.count - 1];
        part->input.fd = -1;
    }
    int code = merge_parts(&merge);
    trk_merge_parts_close(&merge.parts);
    trk_merge_streams_deinit(&merge.streams);
    return code;
}

const struct trk_command trk_cmd_merge = {
    .name = "merge",
    .about = "make one trace of parts of a recording",
    .operands = "F F... -o G",
    .text =
        "Writes the events of all F to G: what several have, once; what none has, as a loss of so "
        "many events at its place. The parts are of one recording, as the dumps of trk record "
        "--flight are, in any order; their threads are known by their streams.\n\n"
        "Where the first one begins with a state, so does G. Checkpoints are left out.\n\n"
        "Refused are traces of different recordings (their clocks, addresses and trackers are "
        "not the same ones), parts whose header was lost, parts that were redacted one by one, "
        "which moves each by another distance (merge first, then redact), parts that trk trim "
        "made, which begin with a state of their own, "
        "parts that describe events of a newer version in different ways, and damaged traces: see "
        "trk recover. Chunks of unknown kinds are left out, and told.",
    .exits =
        "0 when nothing is missing in or between the parts; 3 when something is, and G stands, "
        "or when a part is damaged.",
    .examples = "trk merge dump.trk dump-2.trk dump-3.trk -o all.trk",
    .schema = SCHEMA,
    .options = merge_options,
    .operands_least = 2,
    .operands_most = TRK_OPTIONS_OPERANDS_MOST,
    .run = run_merge,
};
