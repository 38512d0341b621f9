#include "rewrite.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json_out.h"
#include "progress.h"
#include "terminal.h"

int trk_rewrite_open(struct trk_rewrite *out, const struct trk_options *options,
                     const struct trk_writer_options *writer, const char *header_json)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    *out = (struct trk_rewrite){.options = options,
                                .schema = out->schema,
                                .source = out->source ? out->source : options->operands[0],
                                .clock_shift = writer->clock_shift};
    int code = trk_out_file_open(&out->out, options);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    enum trk_status status =
        trk_writer_create(&out->writer, out->out.fd, writer, header_json, &error);
    return status == TRK_OK ? TRK_EXIT_OK : trk_rewrite_close(out, status, &error);
}

static uint64_t *events_of(const struct trk_rewrite *rewrite, uint32_t stream_id)
{
    for (size_t i = 0; i < rewrite->stream_count; i++) {
        if (rewrite->streams[i].stream_id == stream_id) {
            return &rewrite->streams[i].events;
        }
    }
    return NULL;
}

bool trk_rewrite_has_stream(const struct trk_rewrite *rewrite, uint32_t stream_id)
{
    return events_of(rewrite, stream_id) != NULL;
}

enum trk_status trk_rewrite_stream(struct trk_rewrite *rewrite,
                                   const struct trk_trace_stream *stream, struct trk_error *error)
{
    if (!events_of(rewrite, stream->stream_id)) {
        void *larger =
            realloc(rewrite->streams, (rewrite->stream_count + 1) * sizeof rewrite->streams[0]);
        if (!larger) {
            return trk_error_set(error, TRK_E_MEMORY, "out of memory");
        }
        rewrite->streams = larger;
        rewrite->streams[rewrite->stream_count].stream_id = stream->stream_id;
        rewrite->streams[rewrite->stream_count++].events = 0;
    }
    return trk_writer_stream(rewrite->writer, stream, error);
}

enum trk_status trk_rewrite_event(struct trk_rewrite *rewrite, uint32_t stream_id,
                                  const struct trk_record *record, struct trk_error *error)
{
    uint64_t *events = events_of(rewrite, stream_id);
    struct trk_record kept = *record;
    if (!events) {
        return trk_error_set(error, TRK_E_ARGUMENT, "stream %u has no name", stream_id);
    }
    kept.tsc = kept.tsc >> rewrite->clock_shift << rewrite->clock_shift;
    trk_digest_add(&rewrite->digest, stream_id, (*events)++, &kept);
    rewrite->lost += record->event.type == TRK_EVENT_DROP ? record->event.argument : 0;
    return trk_writer_append(rewrite->writer, stream_id, record, 1, 0, error);
}

enum trk_status trk_rewrite_end(struct trk_rewrite *rewrite, const struct trk_trace_state *source,
                                struct trk_error *error)
{
    if (!source->ended || source->cut) {
        trk_writer_cut(rewrite->writer);
    }
    enum trk_status status = trk_writer_end(rewrite->writer, source->child_status, error);
    rewrite->writer = NULL;
    rewrite->complete = source->complete;
    rewrite->left_out = source->unknown_chunks;
    rewrite->left_kind = source->unknown_kind;
    off_t end = lseek(rewrite->out.fd, 0, SEEK_END);
    rewrite->bytes = end < 0 ? 0 : (uint64_t)end;
    return status == TRK_OK ? trk_trace_verify(rewrite->out.reopen, &rewrite->digest, error)
                            : status;
}

/* The events of the source, which the copy of it has to give. */
static enum trk_status digest_source(struct trk_rewrite *rewrite, struct trk_trace *trace,
                                     struct trk_error *error)
{
    struct trk_trace_event event;
    enum trk_status status = trk_trace_rewind(trace, error);
    rewrite->digest = (struct trk_digest){0};
    for (size_t i = 0; i < rewrite->stream_count; i++) {
        rewrite->streams[i].events = 0;
    }
    while (status == TRK_OK && (status = trk_trace_next(trace, &event, error)) == TRK_OK) {
        uint32_t stream_id = trk_trace_stream(trace, event.stream)->stream_id;
        uint64_t *events = events_of(rewrite, stream_id);
        struct trk_record record = {event.tsc, event.event};
        trk_digest_add(&rewrite->digest, stream_id, (*events)++, &record);
    }
    return status == TRK_E_END ? TRK_OK : status;
}

enum trk_status trk_rewrite_copy(struct trk_rewrite *rewrite, const struct trk_input *source,
                                 struct trk_error *error)
{
    if (ftruncate(rewrite->out.fd, 0) != 0) {
        return trk_error_set_errno(error, TRK_E_SYSTEM, errno, "%s", "");
    }
    enum trk_status status = trk_trace_copy(source->trace, rewrite->out.fd, error);
    rewrite->bytes = source->bytes;
    rewrite->left_out = 0;
    if (status == TRK_OK) {
        status = digest_source(rewrite, source->trace, error);
    }
    /* Of a damaged one the copy is, too. */
    bool sound = trk_trace_state(source->trace).first_damage_offset == TRK_NOT_KNOWN;
    return status == TRK_OK && sound
               ? trk_trace_verify(rewrite->out.reopen, &rewrite->digest, error)
               : status;
}

/* Not when the trace itself goes to standard output. */
static void print_json(const struct trk_rewrite *rewrite, const struct trk_error *error)
{
    if (!trk_options_flag(rewrite->options, "json") || strcmp(rewrite->out.path, "-") == 0) {
        return;
    }
    cJSON *object = trk_json_out_object(rewrite->schema);
    trk_json_out_text(object, "path", rewrite->source);
    trk_json_out_text(object, "output", rewrite->out.path);
    if (error) {
        cJSON_AddBoolToObject(object, "complete", false);
        trk_json_out_error(object, error);
    } else {
        cJSON_AddBoolToObject(object, "complete", rewrite->complete);
        trk_json_out_number(object, "records", rewrite->digest.records);
        trk_json_out_number(object, "bytes", rewrite->bytes);
        trk_json_out_number(object, "unknown_chunks_left_out", rewrite->left_out);
    }
    trk_json_out_print(object);
}

/* [F-41] They may speak of places in the file that they were in. */
static void say_left_out(const struct trk_rewrite *rewrite)
{
    if (rewrite->left_out > 0) {
        trk_terminal_say(rewrite->options->command->name,
                         "%s: %" PRIu64 " chunks of kinds that this version does not know are left "
                         "out, the first of kind %u",
                         rewrite->source, rewrite->left_out, rewrite->left_kind);
    }
}

int trk_rewrite_close(struct trk_rewrite *rewrite, enum trk_status status, struct trk_error *error)
{
    int code;
    trk_progress_wipe();
    trk_writer_destroy(rewrite->writer);
    free(rewrite->streams);
    if (status == TRK_OK) {
        code = trk_out_file_keep(&rewrite->out, rewrite->options);
        if (code == TRK_EXIT_OK) {
            print_json(rewrite, NULL);
            say_left_out(rewrite);
        }
        return code;
    }
    error->status = status;
    print_json(rewrite, error);
    trk_terminal_flush();
    code = trk_terminal_error(rewrite->options->command->name, rewrite->out.path, error);
    trk_out_file_close(&rewrite->out);
    return code;
}

struct trk_writer_options trk_rewrite_options(const struct trk_trace *trace)
{
    struct trk_writer_options options = trk_writer_options_default();
    options.clock_shift = trk_trace_clock_shift(trace);
    trk_trace_marker(trace, options.sync_marker);
    options.types_of = trace;
    return options;
}

int trk_rewrite_check(const struct trk_input *input, const struct trk_options *options,
                      const char *schema)
{
    struct trk_trace_state state = trk_trace_state(input->trace);
    if (state.damaged_chunks == 0) {
        return TRK_EXIT_OK;
    }
    (void)trk_input_report(input, options);
    trk_terminal_say(options->command->name, "%s: trk recover makes a whole trace of it first",
                     input->path);
    struct trk_error error = {.event_number = TRK_NOT_KNOWN};
    (void)trk_error_set(&error, TRK_E_DAMAGED, "%s", state.damage);
    error.file_offset = state.first_damage_offset;
    trk_input_print_refusal(input, options, schema, &error);
    return TRK_EXIT_DAMAGED;
}
