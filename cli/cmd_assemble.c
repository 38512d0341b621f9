/* trk assemble: a trace from its text form. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "json_out.h"
#include "options.h"
#include "out_file.h"
#include "recorder/text.h"
#include "terminal.h"

#define SCHEMA "trk-assemble/1"

static const struct trk_option assemble_options[] = {
    TRK_OUT_FILE_OPTIONS,
    {.name = "json", .about = "One JSON object, schema " SCHEMA "."},
    {.name = NULL},
};

static enum trk_status system_error(struct trk_error *error)
{
    return trk_error_set_errno(error, TRK_E_SYSTEM, errno, "cannot read");
}

/*
 * The next line; false at the end. Not whole: it is too long or holds a NUL, which is known before
 * all of it is read, for it may have no end.
 */
static bool take_line(FILE *in, char *line, bool *whole)
{
    size_t length = 0;
    int byte;
    while ((byte = getc_unlocked(in)) != EOF && byte != '\n') {
        if (byte == 0 || length == TRK_TEXT_LINE_MAX) {
            *whole = false;
            return true;
        }
        line[length++] = (char)byte;
    }
    line[length] = 0;
    return byte == '\n' || length > 0;
}

static enum trk_status take_lines(FILE *in, struct trk_assemble *assemble, struct trk_error *error)
{
    char *line = malloc(TRK_TEXT_LINE_MAX + 1);
    bool whole = true;
    uint64_t number = 0;
    enum trk_status status =
        line ? TRK_OK : trk_error_set(error, TRK_E_MEMORY, "no memory for a line");
    while (status == TRK_OK && take_line(in, line, &whole)) {
        number++;
        status = whole ? trk_assemble_line(assemble, line, error)
                       : trk_error_set(error, TRK_E_ARGUMENT,
                                       "line %" PRIu64 ": it is too long or holds a NUL", number);
    }
    if (status == TRK_OK && ferror(in)) {
        status = system_error(error);
    }
    free(line);
    return status;
}

/* Read the text, write the trace, read that again. */
static enum trk_status assemble(FILE *in, const struct trk_out_file *out, struct trk_digest *digest,
                                bool *ended, struct trk_error *error)
{
    struct trk_assemble *assemble;
    if (trk_assemble_create(&assemble, out->fd) != TRK_OK) {
        return trk_error_set(error, TRK_E_MEMORY, "out of memory");
    }
    enum trk_status status = take_lines(in, assemble, error);
    if (status == TRK_OK) {
        status = trk_assemble_finish(assemble, digest, ended, error);
    }
    trk_assemble_destroy(assemble);
    if (status == TRK_OK && *ended) {
        status = trk_trace_verify(out->reopen, digest, error);
    }
    return status;
}

static void print_json(const struct trk_options *options, const struct trk_digest *digest,
                       bool ended, const struct trk_error *error)
{
    cJSON *object = trk_json_out_object(SCHEMA);
    trk_json_out_text(object, "path", options->operands[0]);
    trk_json_out_text(object, "output", trk_options_text(options, "output"));
    cJSON_AddBoolToObject(object, "complete", !error && ended);
    if (error) {
        trk_json_out_error(object, error);
    } else {
        trk_json_out_number(object, "records", digest->records);
        cJSON_AddBoolToObject(object, "ended", ended);
    }
    trk_json_out_print(object);
}

static int run_assemble(const struct trk_options *options)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_out_file out;
    struct trk_digest digest = {0};
    bool ended = false;
    const char *path = options->operands[0];
    int code = trk_out_file_open(&out, options);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    bool json = trk_options_flag(options, "json") && strcmp(out.path, "-") != 0;
    FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    enum trk_status status =
        in ? assemble(in, &out, &digest, &ended, &error) : system_error(&error);
    if (in && in != stdin) {
        fclose(in);
    }
    if (status == TRK_OK) {
        code = trk_out_file_keep(&out, options);
        if (code == TRK_EXIT_OK && json) {
            print_json(options, &digest, ended, NULL);
        }
        return code;
    }
    error.status = status;
    trk_out_file_close(&out);
    if (json) {
        print_json(options, &digest, ended, &error);
    }
    return trk_terminal_error("assemble", path, &error);
}

const struct trk_command trk_cmd_assemble = {
    .name = "assemble",
    .about = "make a trace from its text form",
    .operands = "TEXT -o G",
    .text =
        "Reads what trk dump --text prints and writes the trace again: byte for byte the same "
        "where "
        "nothing was changed and the same zstd compresses. Traces can so be edited, and made by "
        "hand. Time stamps lose the low bits that `shift` says.\n\n"
        "A text without an `end` makes a trace without one. Lines that begin with # are comments.",
    .examples = "trk dump --text trace.trk >trace.txt\ntrk assemble trace.txt -o again.trk",
    .exits = "0 when G stands; 2 when a line is not understood, with its number; 3 when the text "
             "ends before it has begun.",
    .schema = SCHEMA,
    .options = assemble_options,
    .operands_least = 1,
    .operands_most = 1,
    .run = run_assemble,
};
