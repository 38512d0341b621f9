#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the file is; false when there is no place for one. */
static bool find_path(char *out, size_t size, bool *must_be_there)
{
    static const struct {
        const char *variable, *below;
    } places[] = {
        {"TRK_CONFIG", ""}, {"XDG_CONFIG_HOME", "/trk/config"}, {"HOME", "/.config/trk/config"}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *base = getenv(places[i].variable);
        if (base && *base) {
            int length = snprintf(out, size, "%s%s", base, places[i].below);
            *must_be_there = i == 0;
            return length > 0 && (size_t)length < size;
        }
    }
    return false;
}

static char *trimmed(char *text)
{
    while (isspace((unsigned char)*text)) {
        text++;
    }
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        text[--length] = 0;
    }
    return text;
}

static enum trk_status bad_line(const struct trk_config *config, unsigned line, const char *what,
                                struct trk_error *error)
{
    return trk_error_set(error, TRK_E_ARGUMENT, "%.70s:%u: %s", config->path, line, what);
}

static enum trk_status take_line(struct trk_config *out, char *text, unsigned line,
                                 const char **command, struct trk_error *error)
{
    text = trimmed(text);
    if (!*text || *text == '#') {
        return TRK_OK;
    }
    size_t length = strlen(text);
    if (*text == '[') {
        if (length < 3 || text[length - 1] != ']') {
            *command = NULL; /* any */
            return bad_line(out, line, "expected [COMMAND]", error);
        }
        text[length - 1] = 0;
        *command = trimmed(text + 1);
        return TRK_OK;
    }
    if (out->count == TRK_CONFIG_ENTRIES_MOST) {
        return bad_line(out, line, "too many settings", error);
    }
    char *sign = strchr(text, '=');
    char *value = sign != NULL ? sign + 1 : text + length;
    if (sign != NULL) {
        *sign = 0;
    }
    struct trk_config_entry *entry = &out->entries[out->count++];
    *entry = (struct trk_config_entry){
        .command = *command, .name = trimmed(text), .value = trimmed(value), .line = line};
    if (sign == NULL) {
        return bad_line(out, line, "expected name = value", error);
    }
    if (!*entry->name || !*entry->value) {
        return bad_line(out, line, "a name or a value is empty", error);
    }
    return TRK_OK;
}

static enum trk_status take_text(struct trk_config *out, size_t size_bytes, struct trk_error *error)
{
    const char *command = NULL;
    enum trk_status first = TRK_OK;
    unsigned line = 0;
    for (char *zero; (zero = memchr(out->text, 0, size_bytes)) != NULL;) {
        *zero = '\n'; /* what is left of the lines is still read */
        first = first == TRK_OK ? bad_line(out, 1, "no text", error) : first;
    }
    for (char *at = out->text; at;) {
        char *end = strchr(at, '\n');
        if (end) {
            *end = 0;
        }
        struct trk_error *told = first == TRK_OK ? error : NULL;
        enum trk_status status = take_line(out, at, ++line, &command, told);
        first = first == TRK_OK ? status : first;
        at = end ? end + 1 : NULL;
    }
    return first;
}

/* A FIFO would be waited for; a device, such as /dev/null, may stand for no settings. */
static FILE *open_file(const struct trk_config *config, int *reason)
{
    struct stat there;
    int fd = open(config->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    FILE *file = NULL;
    *reason = errno;
    if (fd < 0) {
        return NULL;
    }
    if (fstat(fd, &there) == 0 && (S_ISREG(there.st_mode) || S_ISCHR(there.st_mode))) {
        file = fdopen(fd, "r");
    }
    *reason = 0;
    if (!file) {
        close(fd);
    }
    return file;
}

enum trk_status trk_config_read(struct trk_config *out, struct trk_error *error)
{
    bool must_be_there = false;
    out->count = 0;
    if (!find_path(out->path, sizeof out->path, &must_be_there)) {
        out->path[0] = 0;
        return TRK_OK;
    }
    int reason = 0;
    FILE *file = open_file(out, &reason);
    if (!file) {
        if ((reason == ENOENT || reason == ENOTDIR) && !must_be_there) {
            out->path[0] = 0;
            return TRK_OK;
        }
        return reason != 0
                   ? trk_error_set_errno(error, TRK_E_SYSTEM, reason, "settings %.80s", out->path)
                   : trk_error_set(error, TRK_E_ARGUMENT, "settings %.80s: not a file", out->path);
    }
    size_t got = fread(out->text, 1, TRK_CONFIG_BYTES_MOST + 1, file);
    bool failed = ferror(file) != 0;
    fclose(file);
    const bool whole = !failed && got <= TRK_CONFIG_BYTES_MOST;
    got = got <= TRK_CONFIG_BYTES_MOST ? got : TRK_CONFIG_BYTES_MOST;
    out->text[got] = 0;
    const enum trk_status status = take_text(out, got, whole ? error : NULL);
    return whole ? status
                 : trk_error_set(error, TRK_E_ARGUMENT, "settings %.80s: %s", out->path,
                                 failed ? "cannot be read" : "larger than 64 KiB");
}

const struct trk_config_entry *trk_config_find(const struct trk_config *config, const char *command,
                                               const char *name)
{
    const struct trk_config_entry *best = NULL;
    for (size_t i = 0; i < config->count; i++) {
        const struct trk_config_entry *entry = &config->entries[i];
        bool own = entry->command && strcmp(entry->command, command) == 0;
        if (strcmp(entry->name, name) == 0 &&
            (own || (!entry->command && !(best && best->command)))) {
            best = entry;
        }
    }
    return best;
}
