#include "trace_dir.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "number.h"

static enum trk_status system_error(struct trk_error *error, const char *what, const char *path)
{
    return trk_error_set_errno(error, TRK_E_SYSTEM, errno, "%s %.80s", what, path);
}

static enum trk_status too_long(struct trk_error *error)
{
    return trk_error_set(error, TRK_E_ARGUMENT, "the trace directory's path is too long");
}

enum trk_status trk_trace_dir_path(char *out, size_t size, struct trk_error *error)
{
    static const struct {
        const char *variable, *below;
    } places[] = {{"TRK_TRACE_DIR", ""}, {"XDG_DATA_HOME", "/trk"}, {"HOME", "/.local/share/trk"}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *base = getenv(places[i].variable);
        if (base && *base) {
            int length = snprintf(out, size, "%s%s", base, places[i].below);
            return length < 0 || (size_t)length >= size ? too_long(error) : TRK_OK;
        }
    }
    return trk_error_set(error, TRK_E_UNSUPPORTED,
                         "no directory for traces: set TRK_TRACE_DIR, or name a file");
}

/* The n of trk-<n>.trk; false for another name. */
static bool name_number(const char *name, uint64_t *out)
{
    size_t length = strlen(name);
    return length > 8 && strncmp(name, "trk-", 4) == 0 && strcmp(name + length - 4, ".trk") == 0 &&
           name[4] != '0' && trk_number_parse_part(name + 4, length - 8, out) && *out < UINT64_MAX;
}

/* The greatest n in the directory, 0 when there is none. A directory that is absent is empty. */
static enum trk_status greatest(const char *directory, uint64_t *out, struct trk_error *error)
{
    *out = 0;
    DIR *handle = opendir(directory);
    if (!handle) {
        return errno == ENOENT ? TRK_OK : system_error(error, "cannot read", directory);
    }
    for (struct dirent *entry; (entry = readdir(handle));) {
        uint64_t number;
        if (name_number(entry->d_name, &number) && number > *out) {
            *out = number;
        }
    }
    closedir(handle);
    return TRK_OK;
}

static enum trk_status append_name(char *out, size_t size, uint64_t number, struct trk_error *error)
{
    size_t used = strlen(out);
    int length = snprintf(out + used, size - used, "/trk-%" PRIu64 ".trk", number);
    return length < 0 || (size_t)length >= size - used ? too_long(error) : TRK_OK;
}

enum trk_status trk_trace_dir_latest(char *out, size_t size, struct trk_error *error)
{
    uint64_t number;
    enum trk_status status = trk_trace_dir_path(out, size, error);
    if (status == TRK_OK) {
        status = greatest(out, &number, error);
    }
    if (status != TRK_OK) {
        return status;
    }
    if (number == 0) {
        return trk_error_set(error, TRK_E_ARGUMENT, "no file is named and %.70s holds no trace",
                             out);
    }
    return append_name(out, size, number, error);
}

enum trk_status trk_trace_dir_named(char *out, size_t size, const char *operand,
                                    struct trk_error *error)
{
    if (!operand) {
        out[0] = 0;
        return trk_trace_dir_latest(out, size, error);
    }
    int length = snprintf(out, size, "%s", strcmp(operand, "-") == 0 ? "/dev/stdin" : operand);
    return length < 0 || (size_t)length >= size
               ? trk_error_set(error, TRK_E_ARGUMENT, "the path is too long")
               : TRK_OK;
}

/* mkdir -p; traces can tell much about a program, so only the owner may look. */
static enum trk_status create(char *path, struct trk_error *error)
{
    for (char *slash = path + 1; *slash; slash++) {
        if (*slash != '/') {
            continue;
        }
        *slash = 0;
        int failed = mkdir(path, 0777) != 0 && errno != EEXIST;
        enum trk_status status = failed ? system_error(error, "cannot create", path) : TRK_OK;
        *slash = '/';
        if (failed) {
            return status;
        }
    }
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return system_error(error, "cannot create", path);
    }
    return TRK_OK;
}

enum trk_status trk_trace_dir_next(char *out, size_t size, struct trk_error *error)
{
    uint64_t number;
    enum trk_status status = trk_trace_dir_path(out, size, error);
    if (status == TRK_OK) {
        status = create(out, error);
    }
    if (status == TRK_OK) {
        status = greatest(out, &number, error);
    }
    return status == TRK_OK ? append_name(out, size, number + 1, error) : status;
}
