/* trk recover: a readable trace of a damaged or unfinished one. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "json_out.h"
#include "options.h"
#include "out_file.h"
#include "progress.h"
#include "recorder/recover.h"
#include "spool.h"
#include "terminal.h"
#include "trace_dir.h"

#define SCHEMA "trk-recover/1"

static const struct trk_option recover_options[] = {
    TRK_OUT_FILE_OPTIONS,
    {.name = "json", .about = "One JSON object, schema " SCHEMA "."},
    TRK_PROGRESS_OPTION,
    {.name = NULL},
};

static void print_json(const struct trk_options *options, const char *path,
                       const struct trk_recover_result *result, const struct trk_error *error)
{
    cJSON *object = trk_json_out_object(SCHEMA);
    trk_json_out_text(object, "path", path);
    trk_json_out_text(object, "output", trk_options_text(options, "output"));
    cJSON_AddBoolToObject(object, "complete",
                          !error && !result->cut && !result->state_lost && !result->header_lost &&
                              !result->more_lost && result->dropped == 0);
    if (error) {
        trk_json_out_error(object, error);
    } else {
        trk_json_out_number(object, "bytes", result->bytes);
        trk_json_out_number(object, "chunks", result->chunks);
        trk_json_out_number(object, "chunks_lost", result->chunks_lost);
        trk_json_out_number(object, "events", result->events);
        trk_json_out_number(object, "dropped", result->dropped);
        cJSON_AddBoolToObject(object, "header_lost", result->header_lost);
        cJSON_AddBoolToObject(object, "state_lost", result->state_lost);
        cJSON_AddBoolToObject(object, "cut", result->cut);
        trk_json_out_number(object, "unknown_chunks_left_out", result->unknown_left_out);
        trk_json_out_end(object, result->child_status);
    }
    trk_json_out_print(object);
}

/* What was written goes to standard error when the trace itself takes standard output. */
static void print_text(FILE *out, const struct trk_recover_result *result)
{
    fprintf(out, "chunks     %" PRIu64 " kept, %" PRIu64 " lost\n", result->chunks,
            result->chunks_lost);
    fprintf(out, "events     %" PRIu64 " kept, %" PRIu64 " lost as far as known\n", result->events,
            result->dropped);
    if (result->header_lost) {
        fputs("header     lost: the trace no longer says what it is of\n", out);
    }
    if (result->state_lost) {
        fputs("state      lost: what this part began with; a mark of a loss stands for it\n", out);
    }
    if (result->cut) {
        fputs("end        the recording was cut off: what came behind is not known\n", out);
    }
}

static int run_recover(const struct trk_options *options)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_recover_result result = {.child_status = -1};
    struct trk_out_file out;
    bool json = trk_options_flag(options, "json");
    char path[PATH_MAX] = "";
    const char *operand = options->operand_count > 0 ? options->operands[0] : NULL;
    const char *shown = operand ? operand : path;
    if (trk_trace_dir_named(path, sizeof path, operand, &error) != TRK_OK) {
        return trk_terminal_error("recover", NULL, &error);
    }
    int code = trk_out_file_open(&out, options);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    bool standard = strcmp(out.path, "-") == 0;
    static struct trk_spool spool;
    enum trk_status status = trk_spool_begin(&spool, path, &error);
    if (status == TRK_OK) {
        status = trk_spool_wait(&spool, &error);
    }
    if (status == TRK_OK) {
        const struct trk_trace_watch watch = trk_progress_of_trace();
        status =
            trk_recover_watched(spool.path[0] ? spool.path : path, out.fd, &watch, &result, &error);
        trk_progress_wipe();
    }
    if (status == TRK_OK) {
        status = trk_trace_verify(out.reopen, &result.digest, &error);
    }
    if (status != TRK_OK) {
        error.status = status;
        trk_out_file_close(&out);
        if (json) {
            print_json(options, shown, &result, &error);
        }
        return trk_terminal_error("recover", shown, &error);
    }
    code = trk_out_file_keep(&out, options);
    if (code == TRK_EXIT_OK && result.unknown_left_out > 0) {
        trk_terminal_say("recover",
                         "%s: %" PRIu64 " chunks of kinds that this version does not know are left "
                         "out, the first of kind %u",
                         shown, result.unknown_left_out, result.unknown_kind);
    }
    if (code == TRK_EXIT_OK && json && !standard) {
        print_json(options, shown, &result, NULL);
    } else if (code == TRK_EXIT_OK) {
        print_text(standard ? stderr : stdout, &result);
    }
    return code;
}

const struct trk_command trk_cmd_recover = {
    .name = "recover",
    .about = "make a readable trace of a damaged or unfinished one",
    .operands = "[F] -o G",
    .text =
        "Copies everything of F that is undamaged to the new trace G, as it is, and puts a mark "
        "with their number where events are missing. G has an end; where F has none, that end says "
        "that the recording was cut off. G is read again as a whole before it gets its name, and "
        "nothing is left behind when that fails. F is not changed.\n\n"
        "Where F is a part of a trace, or a flight dump, and the state that it begins with is "
        "damaged, that is said, and a mark of one lost event stands for what came before.\n\n"
        "Chunks of kinds that this version does not know may speak of places in the file: they "
        "stay where no chunk moves, else they are left out, and told.\n\n"
        "The exit code is 0 when G stands, whatever F lacks: trk doctor G and trk sim G say that.",
    .examples = "trk recover killed.trk -o whole.trk\ntrk recover --json damaged.trk -o whole.trk",
    .exits = "0 when G stands; 3 when F is no trace at all.",
    .schema = SCHEMA,
    .options = recover_options,
    .operands_most = 1,
    .run = run_recover,
};
