/*
 * Traces that are made from other traces: pack, unpack, trim.
 *
 * Events are read in canonical order and written stream by stream; the new file is read again
 * before it gets its name.
 */
#ifndef CLI_REWRITE_H
#define CLI_REWRITE_H

#include "input.h"
#include "out_file.h"
#include "recorder/digest.h"
#include "recorder/writer.h"

struct trk_rewrite {
    const struct trk_options *options;
    struct trk_out_file out;
    struct trk_writer *writer;
    struct trk_digest digest;
    struct {
        uint32_t stream_id;
        uint64_t events;
    } * streams;
    size_t stream_count;
    unsigned clock_shift; /* of the new file */
    const char *schema;   /* of the command's JSON */
    const char *source;   /* the input's name; NULL: the first operand */
    uint64_t lost;        /* events, by the losses that were written */
    uint64_t bytes;       /* of the finished file */
    bool complete;        /* the source was */
    uint64_t left_out;    /* chunks of the source, of kinds that nobody here knows [F-41] */
    uint8_t left_kind;    /* of the first of them */
};

/* Open the output and begin the trace. Exit codes, after a message. */
int trk_rewrite_open(struct trk_rewrite *out, const struct trk_options *options,
                     const struct trk_writer_options *writer, const char *header_json);

/* The option that the commands have for that. */
#define TRK_REWRITE_JSON(schema)                                                                   \
    {                                                                                              \
        .name = "json", .about = "Say what was written as one JSON object, schema " schema "."     \
    }

/* Name a stream, before its first event. */
TRK_MUST_USE enum trk_status trk_rewrite_stream(struct trk_rewrite *rewrite,
                                                const struct trk_trace_stream *stream,
                                                struct trk_error *error);

/* Whether it was named. */
bool trk_rewrite_has_stream(const struct trk_rewrite *rewrite, uint32_t stream_id);

/* Write the next event of a named stream. */
TRK_MUST_USE enum trk_status trk_rewrite_event(struct trk_rewrite *rewrite, uint32_t stream_id,
                                               const struct trk_record *record,
                                               struct trk_error *error);

/* End the trace as its source ended, read it again. */
TRK_MUST_USE enum trk_status trk_rewrite_end(struct trk_rewrite *rewrite,
                                             const struct trk_trace_state *source,
                                             struct trk_error *error);

/*
 * Instead of what was written: the source as it is, with all of its streams named before. It is
 * read again. Between trk_rewrite_end and the next.
 */
TRK_MUST_USE enum trk_status trk_rewrite_copy(struct trk_rewrite *rewrite,
                                              const struct trk_input *source,
                                              struct trk_error *error);

/* Let the output get its name if status is TRK_OK, else say why not, in JSON too. Exit codes;
 * frees.
 */
int trk_rewrite_close(struct trk_rewrite *rewrite, enum trk_status status, struct trk_error *error);

/* Options for a copy of a trace: its clock shift, a marker of its own that follows from the name.
 */
struct trk_writer_options trk_rewrite_options(const struct trk_trace *trace);

/*
 * Whether a trace can be rewritten: not when chunks are damaged, which are losses that stand at no
 * place in a stream. An exit code, after a message; with --json an object of the schema too.
 */
int trk_rewrite_check(const struct trk_input *input, const struct trk_options *options,
                      const char *schema);

#endif
