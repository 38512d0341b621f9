#define _GNU_SOURCE /* O_PATH */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "json_out.h"
#include "progress.h"
#include "spool.h"
#include "terminal.h"
#include "trace_dir.h"

static enum trk_status system_error(struct trk_error *error, const char *what)
{
    return trk_error_set_errno(error, TRK_E_SYSTEM, errno, "%s", what);
}

/* Whether a trace may begin with these bytes: what is none must not be copied first. */
static enum trk_status look_at_head(const char *bytes, size_t size, struct trk_error *error)
{
    struct trk_trace *trace = NULL;
    enum trk_status status = trk_trace_open_bytes(&trace, bytes, size, error);
    if (status == TRK_OK) {
        trk_trace_close(trace);
    }
    return status == TRK_E_INCOMPLETE ? TRK_OK : status;
}

/* A scenario file is a common mistake: what was refused as a trace is told as what it is. */
static enum trk_status refused_as(enum trk_status status, const char *bytes, size_t size,
                                  struct trk_error *error)
{
    size_t at = 0;
    while (at < size && strchr(" \t\r\n", bytes[at]) != NULL && bytes[at] != 0) {
        at++;
    }
    return status == TRK_E_DAMAGED && at < size && bytes[at] == '{'
               ? trk_error_set(error, status,
                               "this is no .trk file but JSON; a scenario is run by its name: trk "
                               "sim FILE.json")
               : status;
}

/* Copy what fd still gives into a nameless file. */
static enum trk_status spool(struct trk_input *input, int fd, struct trk_error *error)
{
    static char buffer[1 << 16];
    size_t got;
    enum trk_status status = trk_spool_read(fd, buffer, TRK_INPUT_HEAD_BYTES, &got, error);
    if (status == TRK_OK) {
        status = refused_as(look_at_head(buffer, got, error), buffer, got, error);
    }
    if (status == TRK_OK) {
        input->fd = trk_spool_open(error);
        status = input->fd >= 0 ? TRK_OK : error->status;
    }
    while (status == TRK_OK && got > 0) {
        status = trk_spool_write(input->fd, buffer, got, &input->bytes, error);
        if (status == TRK_OK) {
            status = trk_spool_read(fd, buffer, sizeof buffer, &got, error);
        }
    }
    return status;
}

/* Open what fd refers to, which is the caller's. */
static enum trk_status open_trace(struct trk_input *input, int fd, struct trk_error *error)
{
    struct stat stat;
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && (flags & O_PATH) != 0) { /* it holds the place of one that was closed */
        errno = EBADF;
        flags = -1;
    }
    if (flags < 0 || fstat(fd, &stat) != 0) {
        return system_error(error, "cannot read");
    }
    if (S_ISDIR(stat.st_mode)) {
        return trk_error_set(error, TRK_E_ARGUMENT, "is a directory, not a trace");
    }
    if (S_ISREG(stat.st_mode) && lseek(fd, 0, SEEK_CUR) == 0) {
        input->bytes = (uint64_t)stat.st_size;
    } else {
        enum trk_status status = spool(input, fd, error);
        if (status != TRK_OK) {
            return status;
        }
        fd = input->fd;
    }
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    bool named = input->fd < 0 && fd != STDIN_FILENO;
    enum trk_status status = trk_trace_open(&input->trace, named ? input->path : path, error);
    if (status == TRK_OK) {
        trk_trace_on_progress(input->trace, trk_progress_of_trace());
    }
    char head[64];
    ssize_t got = status == TRK_E_DAMAGED ? pread(fd, head, sizeof head, 0) : 0;
    return refused_as(status, head, got > 0 ? (size_t)got : 0, error);
}

enum trk_status trk_input_open_named(struct trk_input *input, const char *name,
                                     struct trk_error *error)
{
    size_t length = name ? strlen(name) : 0;
    *input = (struct trk_input){.fd = -1};
    if (!name) {
        enum trk_status status = trk_trace_dir_latest(input->path, sizeof input->path, error);
        if (status != TRK_OK) {
            input->path[0] = 0;
            return status;
        }
    } else if (length >= sizeof input->path) {
        return trk_error_set(error, TRK_E_ARGUMENT, "the path is too long");
    } else {
        memcpy(input->path, name, length + 1);
    }
    bool standard = strcmp(input->path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(input->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return system_error(error, "cannot open");
    }
    enum trk_status status = open_trace(input, fd, error);
    if (!standard) {
        close(fd);
    }
    return status;
}

bool trk_input_is_named_pipe(const char *path)
{
    struct stat info;
    struct statfs place;
    int fd = open(path, O_PATH | O_CLOEXEC);
    bool named = fd >= 0 && fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode) &&
                 fstatfs(fd, &place) == 0 && place.f_type != PIPEFS_MAGIC;
    if (fd >= 0) {
        close(fd);
    }
    return named;
}

static enum trk_status open_operand(struct trk_input *input, const struct trk_options *options,
                                    bool quick, struct trk_error *error)
{
    const char *operand = options->operand_count > 0 ? options->operands[0] : NULL;
    if (operand != NULL && options->command->no_named_pipe && trk_input_is_named_pipe(operand)) {
        *input = (struct trk_input){.fd = -1};
        snprintf(input->path, sizeof input->path, "%s", operand);
        return trk_error_set(error, TRK_E_ARGUMENT, TRK_INPUT_NAMED_PIPE);
    }
    enum trk_status status = trk_input_open_named(input, operand, error);
    if (status == TRK_OK) {
        status =
            quick ? trk_trace_scan_quick(input->trace, error) : trk_trace_scan(input->trace, error);
        trk_trace_judge(input->trace, !options->command->judges_nothing);
    }
    return status;
}

static int open_input(struct trk_input *out, const struct trk_options *options, const char *schema,
                      bool quick)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    enum trk_status status = open_operand(out, options, quick, &error);
    if (status == TRK_OK) {
        return TRK_EXIT_OK;
    }
    error.status = status;
    int code = trk_input_fail(out, options, schema, &error);
    trk_input_close(out);
    return code;
}

int trk_input_open(struct trk_input *out, const struct trk_options *options, const char *schema)
{
    return open_input(out, options, schema, false);
}

int trk_input_open_quick(struct trk_input *out, const struct trk_options *options,
                         const char *schema)
{
    return open_input(out, options, schema, true);
}

void trk_input_print_refusal(const struct trk_input *input, const struct trk_options *options,
                             const char *schema, const struct trk_error *error)
{
    const char *operand = options->operand_count > 0 ? options->operands[0] : NULL;
    const char *path = input->path[0] ? input->path : operand;
    if (trk_options_flag(options, "json")) {
        cJSON *object = trk_json_out_object(schema);
        trk_json_out_text(object, "path", path);
        cJSON_AddBoolToObject(object, "complete", false);
        trk_json_out_error(object, error);
        if (options->command->json_lines) {
            trk_json_out_print_line(object);
        } else {
            trk_json_out_print(object);
        }
    }
    trk_terminal_flush();
}

int trk_input_fail(const struct trk_input *input, const struct trk_options *options,
                   const char *schema, const struct trk_error *error)
{
    const char *path = input->path[0] ? input->path : NULL;
    trk_input_print_refusal(input, options, schema, error);
    return trk_terminal_error(options->command->name, path, error);
}

int trk_input_report(const struct trk_input *input, const struct trk_options *options)
{
    trk_progress_wipe();
    struct trk_trace_state state = trk_trace_state(input->trace);
    if (state.complete) {
        return TRK_EXIT_OK;
    }
    const char *name = options->command->name;
    /* A file that just stops has its damage there: that is what the last line says. */
    bool only_stops =
        !state.ended && state.damaged_chunks == 0 && state.first_damage_offset == input->bytes;
    if (!only_stops && (state.damaged_chunks > 0 || state.first_damage_offset != TRK_NOT_KNOWN)) {
        trk_terminal_say(name, "%s: damaged at byte %" PRIu64 ": %s", input->path,
                         state.first_damage_offset, state.damage);
    }
    if (state.dropped > 0) {
        /* Dropped by the recorder, or lost with a damaged chunk: the count holds both. */
        trk_terminal_say(name, "%s: %" PRIu64 " events are missing", input->path, state.dropped);
    }
    if (state.order_gaps > 0) {
        trk_terminal_say(name, "%s: the order of %" PRIu64 " events is a guess", input->path,
                         state.order_gaps);
    }
    if (!state.ended) {
        trk_terminal_say(name,
                         "%s: incomplete: the file ends at byte %" PRIu64 " without its end mark",
                         input->path, input->bytes);
    } else if (state.cut) {
        trk_terminal_say(name, "%s: incomplete: the recording was cut off", input->path);
    } else if (state.whole) {
        trk_terminal_say(name,
                         "%s: incomplete: its header was lost before a repair: the trace does not "
                         "say what it is of",
                         input->path);
    } else if (state.dropped == 0 && state.damaged_chunks == 0) {
        trk_terminal_say(name, "%s: incomplete%s%s", input->path, state.damage[0] ? ": " : "",
                         state.damage);
    }
    return TRK_EXIT_DAMAGED;
}

void trk_input_close(struct trk_input *input)
{
    if (input->trace) {
        trk_trace_close(input->trace);
        input->trace = NULL;
    }
    if (input->fd >= 0) {
        close(input->fd);
        input->fd = -1;
    }
}

int trk_input_fail_lacks(const struct trk_input *input, const struct trk_options *options,
                         const char *schema, const struct trk_error *error)
{
    const int damage = trk_input_report(input, options);
    const int code = trk_input_fail(input, options, schema, error);
    return damage != TRK_EXIT_OK && code == TRK_EXIT_USAGE ? damage : code;
}
