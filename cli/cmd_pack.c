/* trk pack, trk unpack: a trace with other chunks: small for sharing, or as the recorder makes it.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "kept_checkpoints.h"
#include "progress.h"
#include "recorder/blobs.h"
#include "recorder/checkpoint.h"
#include "redact.h"
#include "rewrite.h"
#include "simulator/checkpoints.h"
#include "simulator/snapshot.h"
#include "terminal.h"

#define SCHEMA "trk-pack/1"

#define PACK_EVENTS 131072u
/* So many threads, and smaller chunks keep the memory that is needed bounded. */
#define MANY_STREAMS     64u
#define PACK_EVENTS_MANY 16384u
/* So many checkpoints, and one says all. */
#define FULL_EVERY 16u

#define ABOUT_REDACT                                                                               \
    "Leave out command line, environment, host, paths, contents of pages and what a newer "        \
    "version "                                                                                     \
    "says of the machine, and move addresses down."

static const struct trk_option pack_options[] = {
    TRK_OUT_FILE_OPTIONS,
    {.name = "level",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "19",
     .least = 1,
     .most = 22,
     .about = "zstd's level, 1 to 22."},
    {.name = "checkpoints",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "0",
     .most = UINT32_MAX,
     .about =
         "Put in the state of the trackers about every N events, found by re-executing F: G can "
         "then be read from the middle, and trk sim goes on behind damage. 0: none."},
    {.name = "redact", .about = ABOUT_REDACT},
    TRK_REWRITE_JSON(SCHEMA),
    TRK_PROGRESS_OPTION,
    {.name = NULL},
};

static const struct trk_option unpack_options[] = {
    TRK_OUT_FILE_OPTIONS,     {.name = "redact", .about = ABOUT_REDACT},
    TRK_REWRITE_JSON(SCHEMA), TRK_PROGRESS_OPTION,
    {.name = NULL},
};

struct pack {
    struct trk_input input;
    struct trk_rewrite rewrite;
    struct trk_redact redact;
    bool redacted;
    bool looking;                /* events are only noted: the first pass of a redaction */
    struct trk_record *operands; /* one a stream: what it means is said by the event behind it */
    bool *has_operand;
    uint64_t every; /* events between checkpoints; 0: there are none */
    uint64_t next;  /* event from which on one is due */
    uint64_t made;
    struct trk_sim_checkpoints *checkpoints;
    struct trk_kept_checkpoints kept; /* those of the source, when none are made */
};

static enum trk_status take_one(struct pack *pack, uint32_t stream, struct trk_record *record,
                                const struct trk_event *begin, struct trk_error *error)
{
    if (pack->looking) {
        trk_redact_note(&pack->redact, &record->event, begin);
        return TRK_OK;
    }
    if (pack->redacted) {
        trk_redact_event(&pack->redact, &record->event, begin);
    }
    return trk_rewrite_event(&pack->rewrite, trk_trace_stream(pack->input.trace, stream)->stream_id,
                             record, error);
}

/* begin: of its operation; NULL: none follows. */
static enum trk_status take_operand(struct pack *pack, uint32_t stream,
                                    const struct trk_event *begin, struct trk_error *error)
{
    if (!pack->has_operand[stream]) {
        return TRK_OK;
    }
    pack->has_operand[stream] = false;
    return take_one(pack, stream, &pack->operands[stream], begin, error);
}

static enum trk_status take_event(struct pack *pack, const struct trk_trace_event *event,
                                  struct trk_error *error)
{
    struct trk_record record = {event->tsc, event->event};
    bool begins = event->event.type == TRK_EVENT_OP_BEGIN;
    enum trk_status status =
        take_operand(pack, event->stream, begins ? &event->event : NULL, error);
    if (status == TRK_OK && event->event.type == TRK_EVENT_OPERAND) {
        pack->operands[event->stream] = record;
        pack->has_operand[event->stream] = true;
        return TRK_OK;
    }
    return status == TRK_OK ? take_one(pack, event->stream, &record, NULL, error) : status;
}

static enum trk_status take_last_operands(struct pack *pack, struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    for (size_t i = 0; i < trk_trace_stream_count(pack->input.trace) && status == TRK_OK; i++) {
        status = take_operand(pack, (uint32_t)i, NULL, error);
    }
    return status;
}

static uint32_t move_region(void *context, uint32_t region)
{
    struct pack *pack = context;
    if (pack->looking) {
        trk_redact_note_region(&pack->redact, region);
        return region;
    }
    return trk_redact_region(&pack->redact, region);
}

static enum trk_status look_at_snapshot(struct pack *pack, struct trk_error *error)
{
    const uint8_t *end;
    const uint8_t *snapshot = trk_trace_snapshot(pack->input.trace, &end);
    struct trk_packing same = {0};
    enum trk_status status =
        snapshot ? trk_sim_snapshot_move(snapshot, end, move_region, pack, &same, error) : TRK_OK;
    free(same.bytes);
    return status;
}

/* [F-36] What says something that this version does not know may say where or when it was. */
static enum trk_status check_certain(const struct pack *pack, const struct trk_trace_event *event,
                                     struct trk_error *error)
{
    struct trk_trace_type type;
    if (trk_redact_certain(&pack->redact, &event->event)) {
        return TRK_OK;
    }
    (void)trk_trace_type(pack->input.trace, event->event.type, &type);
    (void)trk_error_set(error, TRK_E_UNSUPPORTED,
                        "an event of type %u (%.32s) cannot be redacted: this version does not "
                        "know all that it says",
                        event->event.type, type.name);
    error->event_number = event->number;
    return TRK_E_UNSUPPORTED;
}

/* For redaction: how far the addresses can move is known when all were seen. */
static enum trk_status look_first(struct pack *pack, struct trk_error *error)
{
    struct trk_trace_event event;
    trk_redact_init(&pack->redact, pack->input.trace);
    pack->looking = true;
    enum trk_status status = look_at_snapshot(pack, error);
    while (status == TRK_OK &&
           (status = trk_trace_next(pack->input.trace, &event, error)) == TRK_OK &&
           (status = check_certain(pack, &event, error)) == TRK_OK &&
           (status = take_event(pack, &event, error)) == TRK_OK) {
    }
    if (status == TRK_E_END) {
        status = take_last_operands(pack, error);
    }
    pack->looking = false;
    trk_redact_decide(&pack->redact);
    if (status == TRK_OK && pack->redact.other.full) {
        status = trk_error_set(error, TRK_E_UNSUPPORTED,
                               "its addresses outside of guest memory are in too many places to be "
                               "moved");
    }
    return status == TRK_OK ? trk_trace_rewind(pack->input.trace, error) : status;
}

/* Behind an event: the state, when it is time and nothing is under way. */
static enum trk_status write_checkpoint(struct pack *pack, const struct trk_trace_event *event,
                                        struct trk_error *error)
{
    struct trk_packing payload;
    if (pack->every == 0) {
        return TRK_OK;
    }
    enum trk_status status = trk_sim_checkpoints_event(pack->checkpoints, event, error);
    if (status != TRK_OK || event->number + 1 < pack->next) {
        return status;
    }
    status =
        trk_sim_checkpoints_pack(pack->checkpoints, pack->made % FULL_EVERY == 0, &payload, error);
    if (status == TRK_OK) {
        status = trk_writer_checkpoint(pack->rewrite.writer, event->number + 1, payload.bytes,
                                       payload.size_bytes, error);
        free(payload.bytes);
        pack->made++;
        pack->next = event->number + 1 + pack->every;
    }
    return status == TRK_E_UNSUPPORTED ? TRK_OK : status;
}

/* What the source's events begin with: a part that trk trim made is nothing without it. */
static enum trk_status write_snapshot(struct pack *pack, struct trk_error *error)
{
    const uint8_t *end;
    const uint8_t *snapshot = trk_trace_snapshot(pack->input.trace, &end);
    struct trk_packing other = {0};
    enum trk_status status = TRK_OK;
    if (!snapshot) {
        return TRK_OK;
    }
    if (pack->redacted) {
        status = trk_sim_snapshot_move(snapshot, end, move_region, pack, &other, error);
        snapshot = other.bytes;
        end = other.bytes ? other.bytes + other.size_bytes : NULL;
    }
    if (status == TRK_OK) {
        status =
            trk_writer_snapshot(pack->rewrite.writer, snapshot, (size_t)(end - snapshot), error);
    }
    free(other.bytes);
    return status;
}

static enum trk_status write_all(struct pack *pack, struct trk_error *error)
{
    struct trk_trace *trace = pack->input.trace;
    size_t streams = trk_trace_stream_count(trace);
    enum trk_status status = write_snapshot(pack, error);
    if (status == TRK_OK && !pack->redacted) {
        status = trk_writer_copy_blobs(pack->rewrite.writer, trace, NULL, NULL, error);
    }
    for (size_t i = 0; i < streams && status == TRK_OK; i++) {
        struct trk_trace_stream stream = *trk_trace_stream(trace, i);
        if (pack->redacted) {
            trk_redact_name(stream.name);
            stream.thread_id = 0;
            stream.clocks.realtime_ns = 0;
            stream.more = NULL; /* it may say anything */
        }
        status = trk_rewrite_stream(&pack->rewrite, &stream, error);
    }
    struct trk_trace_event event;
    while (status == TRK_OK && (status = trk_trace_next(trace, &event, error)) == TRK_OK) {
        status = trk_kept_checkpoints_event(&pack->kept, &pack->rewrite, &event, error);
        if (status == TRK_OK) {
            status = take_event(pack, &event, error);
        }
        if (status == TRK_OK) {
            status = write_checkpoint(pack, &event, error);
        }
    }
    return status == TRK_E_END ? take_last_operands(pack, error) : status;
}

static enum trk_status make_room(struct pack *pack, struct trk_error *error)
{
    size_t streams = trk_trace_stream_count(pack->input.trace);
    pack->operands = calloc(streams + 1, sizeof *pack->operands);
    pack->has_operand = calloc(streams + 1, sizeof *pack->has_operand);
    return pack->operands && pack->has_operand
               ? TRK_OK
               : trk_error_set(error, TRK_E_MEMORY, "out of memory");
}

/* What of the state in the middle is not in the new trace. */
static void say_checkpoints(const struct pack *pack, const struct trk_options *options)
{
    const char *path = pack->input.path;
    if (pack->redacted) {
        trk_kept_checkpoints_say(options, path, trk_trace_checkpoint_count(pack->input.trace),
                                 "the state has the addresses that are to be left out");
    } else if (pack->every > 0 && pack->made == 0) {
        trk_terminal_say(options->command->name,
                         "%s: no checkpoint was made: nowhere behind so many events is a state "
                         "that can be kept",
                         path);
    }
    trk_kept_checkpoints_say(options, path, pack->kept.left_out,
                             "events are missing before, and the order is a guess");
}

static int rewrite(struct pack *pack, const struct trk_options *options,
                   const struct trk_writer_options *writer)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    const char *header = trk_trace_header_json(pack->input.trace);
    char *redacted = NULL;
    enum trk_status status = make_room(pack, &error);
    if (status == TRK_OK && pack->redacted) {
        status = look_first(pack, &error);
        redacted = trk_redact_header(&pack->redact, header);
        if (status == TRK_OK && !redacted) {
            status = trk_error_set(&error, TRK_E_MEMORY, "out of memory");
        }
    }
    int code = trk_rewrite_open(&pack->rewrite, options, writer, redacted ? redacted : header);
    cJSON_free(redacted);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    if (status == TRK_OK && !pack->redacted && pack->every == 0) {
        status = trk_kept_checkpoints_find(&pack->kept, pack->input.trace, 0, UINT64_MAX, &error);
    }
    if (status == TRK_OK) {
        status = write_all(pack, &error);
    }
    struct trk_trace_state state = trk_trace_state(pack->input.trace);
    if (status == TRK_OK && state.damaged_chunks > 0) {
        status = trk_error_set(&error, TRK_E_DAMAGED,
                               "events of a chunk are not readable: trk "
                               "recover makes a whole trace of it first");
    }
    if (status == TRK_OK) {
        state.cut = state.cut || state.dropped > pack->rewrite.lost; /* which nothing tells */
        status = trk_rewrite_end(&pack->rewrite, &state, &error);
    }
    code = trk_rewrite_close(&pack->rewrite, status, &error);
    if (code == TRK_EXIT_OK) {
        say_checkpoints(pack, options);
    }
    return code == TRK_EXIT_OK ? trk_input_report(&pack->input, options) : code;
}

/* False: there can be none, and the exit code says why. */
static bool begin_checkpoints(struct pack *pack, const struct trk_options *options, int *code)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    pack->every = trk_options_number(options, "checkpoints");
    pack->next = pack->every;
    if (pack->every == 0) {
        return true;
    }
    if (pack->redacted) {
        trk_terminal_say("pack",
                         "--checkpoints and --redact: the state has the addresses that are to "
                         "be left out");
        *code = TRK_EXIT_USAGE;
        return false;
    }
    enum trk_status status =
        trk_sim_checkpoints_create(&pack->checkpoints, pack->input.trace, &error);
    if (status != TRK_OK) {
        error.status = status;
        *code = trk_input_fail(&pack->input, options, SCHEMA, &error);
    }
    return status == TRK_OK;
}

static int run(const struct trk_options *options, bool small)
{
    struct pack pack = {.redacted = trk_options_flag(options, "redact"), .rewrite.schema = SCHEMA};
    int code = trk_input_open(&pack.input, options, SCHEMA);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    struct trk_writer_options writer = trk_rewrite_options(pack.input.trace);
    if (small) {
        writer.zstd_level = (int)trk_options_number(options, "level");
        writer.chunk_events = trk_trace_stream_count(pack.input.trace) > MANY_STREAMS
                                  ? PACK_EVENTS_MANY
                                  : PACK_EVENTS;
    }
    pack.rewrite.source = pack.input.path;
    code = trk_rewrite_check(&pack.input, options, SCHEMA);
    if (code == TRK_EXIT_OK && (!small || begin_checkpoints(&pack, options, &code))) {
        code = rewrite(&pack, options, &writer);
    }
    trk_sim_checkpoints_destroy(pack.checkpoints);
    trk_kept_checkpoints_deinit(&pack.kept);
    free(pack.operands);
    free(pack.has_operand);
    trk_input_close(&pack.input);
    return code;
}

static int run_pack(const struct trk_options *options)
{
    return run(options, true);
}

static int run_unpack(const struct trk_options *options)
{
    return run(options, false);
}

const struct trk_command trk_cmd_pack = {
    .name = "pack",
    .about = "make a trace small for sharing",
    .operands = "[F] -o G",
    .text =
        "Writes the events of F to G in larger chunks that are compressed harder. Nothing is "
        "lost: trk unpack gives chunks as the recorder makes them. With --redact, what is about "
        "the machine and not about the tracker is left out; the events say the same, at other "
        "addresses: guest memory moves to the beginning of its band, what lies outside of it, such "
        "as "
        "the host's own, behind the bands. Events that this version does not know are refused "
        "there, "
        "unless the file says which of their fields are addresses. Of a trace of a newer version, "
        "chunks of unknown kinds are left out, and told. What trk trim put before a part stays "
        "with it, and so do checkpoints, but not "
        "with --redact; where events are missing, one whose place is a guess is left out, and "
        "told.\n\n"
        "A trace with damaged chunks is refused: see trk recover.",
    .examples = "trk pack trace.trk -o small.trk\ntrk pack --redact trace.trk -o for-others.trk",
    .schema = SCHEMA,
    .options = pack_options,
    .operands_most = 1,
    .judges_nothing = true,
    .run = run_pack,
};

const struct trk_command trk_cmd_unpack = {
    .name = "unpack",
    .about = "give a packed trace the recorder's chunks",
    .operands = "[F] -o G",
    .text =
        "Writes the events of F to G in chunks as trk record makes them, which are opened and "
        "read faster than those of trk pack. Checkpoints stay, but not with --redact. Of a trace "
        "of a newer version, chunks of unknown kinds are left out, and told.",
    .examples = "trk unpack small.trk -o trace.trk",
    .schema = SCHEMA,
    .options = unpack_options,
    .operands_most = 1,
    .judges_nothing = true,
    .run = run_unpack,
};
