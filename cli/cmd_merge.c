/* trk merge: parts of one recording, such as the dumps of a flight ring, as one trace. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "kept_checkpoints.h"
#include "merge_streams.h"
#include "number.h"
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

struct part {
    const char *path;
    struct trk_input input;
    struct trk_trace *trace; /* of the input */
    cJSON *header;
    const cJSON *before; /* in the header: events that its state is of; NULL: it is no such dump */
    uint64_t last_tsc;
};

struct merge {
    const struct trk_options *options;
    struct part *parts;
    size_t count;
    const struct part *at; /* what an error is about; NULL: the output */
    struct trk_rewrite rewrite;
    struct trk_merge_streams streams;
};

/* ---- which traces go together ---------------------------------------------------------------- */

static const cJSON *first_anchor(const cJSON *header)
{
    const cJSON *clock = cJSON_GetObjectItemCaseSensitive(header, "clock");
    return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(clock, "anchors"), 0);
}

/* Of one recording: its clock was looked at once when it began; without that all must be the same.
 */
static bool same_recording(const struct trk_trace *a, const struct trk_trace *b)
{
    cJSON *one = cJSON_Parse(trk_trace_header_json(a));
    cJSON *other = cJSON_Parse(trk_trace_header_json(b));
    const cJSON *anchors[2] = {first_anchor(one), first_anchor(other)};
    bool same = anchors[0] && anchors[1] ? cJSON_Compare(anchors[0], anchors[1], true)
                                         : cJSON_Compare(one, other, true);
    cJSON_Delete(one);
    cJSON_Delete(other);
    return same;
}

static bool is_marked(const cJSON *header, const char *key)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(header, key));
}

/* [F-14] By a distance of its own: what lay together in two parts does so no longer. */
static bool has_moved(const cJSON *header)
{
    const cJSON *moved = cJSON_GetObjectItemCaseSensitive(header, "moved");
    return is_marked(header, "redacted") &&
           (!cJSON_IsArray(moved) || cJSON_GetArraySize(moved) > 0);
}

static enum trk_status check_part(const struct merge *merge, const struct part *part,
                                  struct trk_error *error)
{
    const uint8_t *end;
    struct trk_trace_state state = trk_trace_state(part->trace);
    if (state.damaged_chunks > 0) {
        error->file_offset = state.first_damage_offset;
        return trk_error_set(error, TRK_E_DAMAGED, "trk recover makes a whole trace of it first");
    }
    if (is_marked(part->header, "recovered")) {
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "its header was lost: what recording it is of is not known");
    }
    if (has_moved(part->header)) {
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "its addresses were moved: merge the parts first, then redact");
    }
    if (trk_trace_snapshot(part->trace, &end) && !part->before) {
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "it begins with a state of its own and does not say where that is: a "
                             "part that trk trim made, or a redacted dump");
    }
    return same_recording(merge->parts[0].trace, part->trace)
               ? TRK_OK
               : trk_error_set(error, TRK_E_ARGUMENT, "it is of another recording than %.60s",
                               merge->parts[0].path);
}

/* A dump of a flight ring that begins with a state says how many events that is of. */
static void read_header(struct part *part)
{
    part->header = cJSON_Parse(trk_trace_header_json(part->trace));
    const cJSON *flight = cJSON_GetObjectItemCaseSensitive(part->header, "flight");
    part->before = cJSON_GetObjectItemCaseSensitive(flight, "before_state");
}

static enum trk_status find_last(struct part *part, struct trk_error *error)
{
    struct trk_trace_event event;
    enum trk_status status;
    while ((status = trk_trace_next(part->trace, &event, error)) == TRK_OK) {
        part->last_tsc = event.tsc > part->last_tsc ? event.tsc : part->last_tsc;
    }
    return status == TRK_E_END ? trk_trace_rewind(part->trace, error) : status;
}

static enum trk_status open_parts(struct merge *merge, struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    for (size_t i = 0; i < merge->count && status == TRK_OK; i++) {
        struct part *part = &merge->parts[i];
        merge->at = part;
        status = trk_input_open_named(&part->input, part->path, error);
        part->trace = part->input.trace;
        if (status == TRK_OK) {
            status = trk_trace_scan(part->trace, error);
        }
        if (status == TRK_OK) {
            read_header(part);
            status = check_part(merge, part, error);
        }
        if (status == TRK_OK) {
            status = find_last(part, error);
        }
    }
    return status;
}

static int by_time(const void *left, const void *right)
{
    const struct part *a = left;
    const struct part *b = right;
    return (a->last_tsc > b->last_tsc) - (a->last_tsc < b->last_tsc);
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool number_of(const cJSON *item, uint64_t *out)
{
    return cJSON_IsString(item) && trk_number_parse(item->valuestring, out);
}

static bool take_before(struct merge *merge, const struct part *part)
{
    const cJSON *entry;
    bool room = true;
    cJSON_ArrayForEach(entry, part->before)
    {
        const cJSON *stream = cJSON_GetObjectItemCaseSensitive(entry, "stream");
        uint64_t events;
        if (cJSON_IsNumber(stream) && stream->valuedouble >= 0 &&
            stream->valuedouble < UINT32_MAX &&
            number_of(cJSON_GetObjectItemCaseSensitive(entry, "events"), &events)) {
            room = room && trk_merge_streams_before(&merge->streams, (uint32_t)stream->valuedouble,
                                                    events, part == merge->parts);
        }
    }
    return room;
}

static enum trk_status look(struct merge *merge, const struct part *part, struct trk_error *error)
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
        if (!trk_merge_streams_look(&merge->streams, id, &record)) {
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
static enum trk_status write_state(struct merge *merge, const struct part *part,
                                   struct trk_error *error)
{
    const uint8_t *end;
    const uint8_t *snapshot = trk_trace_snapshot(part->trace, &end);
    return snapshot && part == merge->parts ? trk_writer_snapshot(merge->rewrite.writer, snapshot,
                                                                  (size_t)(end - snapshot), error)
                                            : TRK_OK;
}

static enum trk_status write_part(struct merge *merge, const struct part *part,
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
        status = trk_rewrite_stream(&merge->rewrite, trk_trace_stream(part->trace, i), error);
    }
    while (status == TRK_OK && (status = trk_trace_next(part->trace, &event, error)) == TRK_OK) {
        struct trk_record records[2] = {{event.tsc, event.event}};
        uint32_t id = trk_trace_stream(part->trace, event.stream)->stream_id;
        unsigned count = trk_merge_streams_take(&merge->streams, id, records);
        for (unsigned i = 0; i < count && status == TRK_OK; i++) {
            status = trk_rewrite_event(&merge->rewrite, id, &records[i], error);
        }
    }
    return status == TRK_E_END ? TRK_OK : status;
}

/* As the last part ended; whole when all are, and nothing is between them. */
static struct trk_trace_state state_of(const struct merge *merge)
{
    struct trk_trace_state state = trk_trace_state(merge->parts[merge->count - 1].trace);
    state.complete = state.ended && !state.cut && !merge->streams.any_loss;
    state.unknown_chunks = 0;
    for (size_t i = merge->count; i > 0; i--) {
        struct trk_trace_state part = trk_trace_state(merge->parts[i - 1].trace);
        state.unknown_kind = part.unknown_chunks > 0 ? part.unknown_kind : state.unknown_kind;
        state.unknown_chunks += part.unknown_chunks;
    }
    return state;
}

static enum trk_status write_all(struct merge *merge, struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    for (size_t i = 0; i < merge->count && status == TRK_OK; i++) {
        merge->at = &merge->parts[i];
        status = write_part(merge, merge->at, error);
    }
    merge->at = NULL;
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
    for (size_t i = 0; i < merge->count && status == TRK_OK; i++) {
        merge->at = &merge->parts[i];
        status = trk_trace_add_types(newest, merge->parts[i].trace, error);
    }
    return status;
}

/* The newest part's header, but for what is of the state that all begins with. NULL: no memory. */
static char *joined_header(const struct merge *merge)
{
    const struct part *newest = &merge->parts[merge->count - 1];
    const struct part *oldest = &merge->parts[0];
    if (oldest->before == newest->before) { /* neither has one, or one is all */
        return strdup(trk_trace_header_json(newest->trace));
    }
    cJSON *header = cJSON_Duplicate(newest->header, true);
    cJSON *flight = cJSON_GetObjectItemCaseSensitive(header, "flight");
    if (!flight) {
        flight = cJSON_AddObjectToObject(header, "flight");
    }
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
    const struct trk_trace *newest = merge->parts[merge->count - 1].trace;
    struct trk_writer_options writer = trk_rewrite_options(newest);
    for (size_t i = 0; i < merge->count; i++) {
        unsigned shift = trk_trace_clock_shift(merge->parts[i].trace);
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
    enum trk_status status = open_parts(merge, &error);
    if (status == TRK_OK) {
        qsort(merge->parts, merge->count, sizeof merge->parts[0], by_time);
        /* The newest has looked at the clock over the longest time. */
        status = join_types(merge, merge->parts[merge->count - 1].trace, &error);
    }
    if (status != TRK_OK) {
        return say_error(merge, &error, status);
    }
    int code = open_output(merge);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    status = write_all(merge, &error);
    const struct part *at = merge->at;
    code = trk_rewrite_close(&merge->rewrite, status, &error);
    if (at && status != TRK_OK) {
        trk_terminal_say("merge", "that was in %s", at->path);
    }
    for (size_t i = 0; i < merge->count && code == TRK_EXIT_OK; i++) {
        trk_kept_checkpoints_say(merge->options, merge->parts[i].path,
                                 trk_trace_checkpoint_count(merge->parts[i].trace),
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
    merge.parts = calloc(options->operand_count + 1, sizeof merge.parts[0]);
    if (!merge.parts) {
        struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
        (void)trk_error_set(&error, TRK_E_MEMORY, "out of memory");
        return say_error(&merge, &error, TRK_E_MEMORY);
    }
    while (merge.count < options->operand_count) {
        merge.parts[merge.count].path = options->operands[merge.count];
        merge.parts[merge.count].input.fd = -1;
        merge.count++;
    }
    int code = merge_parts(&merge);
    for (size_t i = 0; i < merge.count; i++) {
        trk_input_close(&merge.parts[i].input);
        cJSON_Delete(merge.parts[i].header);
    }
    trk_merge_streams_deinit(&merge.streams);
    free(merge.parts);
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
