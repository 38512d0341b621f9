#include "contents.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "input.h"
#include "number.h"
#include "terminal.h"
#include "text_lines.h"

void trk_contents_deinit(struct trk_contents *contents)
{
    free(contents->list);
    *contents = (struct trk_contents){.list = NULL};
}

bool trk_contents_add(struct trk_contents *contents, const struct trk_content *content)
{
    if (contents->count == contents->capacity) {
        size_t capacity = contents->capacity == 0 ? 1024 : contents->capacity * 2;
        struct trk_content *list = realloc(contents->list, capacity * sizeof *list);
        if (list == NULL) {
            return false;
        }
        contents->list = list;
        contents->capacity = capacity;
    }
    contents->list[contents->count++] = *content;
    return true;
}

static int compare(const void *left, const void *right)
{
    const struct trk_content *a = left, *b = right;
    if (a->frame != b->frame) {
        return a->frame < b->frame ? -1 : 1;
    }
    return (a->guest_addr > b->guest_addr) - (a->guest_addr < b->guest_addr);
}

void trk_contents_sort(struct trk_contents *contents)
{
    if (contents->count > 0) {
        qsort(contents->list, contents->count, sizeof contents->list[0], compare);
    }
}

/* ---- a file ---------------------------------------------------------------------------------- */

enum trk_content_words trk_contents_place(char *text, struct trk_content_place *out)
{
    char *range = strstr(text, ",range:"), *plus = range != NULL ? strchr(range, '+') : NULL;
    if (strncmp(text, "frame:", 6) != 0 || plus == NULL) {
        return TRK_CONTENT_FORM;
    }
    *range = *plus = '\0';
    bool good = trk_number_parse(text + 6, &out->frame) &&
                trk_number_parse(range + 7, &out->guest_addr) &&
                trk_number_parse(plus + 1, &out->size_bytes);
    return good ? TRK_CONTENT_GOOD : TRK_CONTENT_NUMBER;
}

/* Why a line is none; NULL: it is one. It is changed. */
static const char *read_line(char *line, struct trk_content *out)
{
    struct trk_content_place place;
    char *hash = strstr(line, ",hash:");
    if (hash != NULL) {
        *hash = '\0';
    }
    enum trk_content_words words = trk_contents_place(line, &place);
    if (hash == NULL || words == TRK_CONTENT_FORM) {
        return "expected frame:N,range:A+4096,hash:H";
    }
    if (words == TRK_CONTENT_NUMBER) {
        return "frame, address and size must be numbers";
    }
    if (place.size_bytes != TRK_CONTENTS_PAGE_BYTES ||
        place.guest_addr % TRK_CONTENTS_PAGE_BYTES != 0 || place.guest_addr >= UINT64_C(1) << 46) {
        return "the range must be one page of 4096 bytes";
    }
    *out = (struct trk_content){.frame = place.frame, .guest_addr = place.guest_addr};
    if (strncmp(hash + 6, "0x", 2) != 0 || strlen(hash + 6) != 18 ||
        !trk_number_parse(hash + 6, &out->hash)) {
        return "the hash must be 0x and 16 hexadecimal digits";
    }
    return NULL;
}

static int refuse(const char *path, uint64_t line, const char *why)
{
    trk_terminal_say("bisect", "--symptom: %s, line %" PRIu64 ": %s", path, line, why);
    return TRK_EXIT_USAGE;
}

static int read_lines(struct trk_contents *out, FILE *file, const char *path)
{
    struct trk_text_lines lines = {.file = file};
    char *line;
    while ((line = trk_text_lines_next(&lines)) != NULL) {
        struct trk_content content;
        line[strcspn(line, "\r")] = '\0';
        if (line[0] == '\0' || line[0] == '#') {
            continue;
        }
        const char *why = read_line(line, &content);
        if (why != NULL) {
            return refuse(path, lines.number, why);
        }
        if (out->count == TRK_CONTENTS_MOST) {
            return refuse(path, lines.number, "there are too many lines before it");
        }
        if (!trk_contents_add(out, &content)) {
            trk_terminal_say("bisect", "no memory for the lines of %s", path);
            return TRK_EXIT_ENVIRONMENT;
        }
    }
    return lines.why != NULL ? refuse(path, lines.number, lines.why) : TRK_EXIT_OK;
}

int trk_contents_load(struct trk_contents *out, const char *path)
{
    struct stat there;
    *out = (struct trk_contents){.list = NULL};
    if (trk_input_is_named_pipe(path)) {
        trk_terminal_say("bisect", "--symptom: %s: " TRK_INPUT_NAMED_PIPE, path);
        return TRK_EXIT_USAGE;
    }
    FILE *file = fopen(path, "re");
    if (file != NULL && fstat(fileno(file), &there) == 0 && S_ISDIR(there.st_mode)) {
        fclose(file);
        file = NULL;
        errno = EISDIR;
    }
    if (file == NULL) {
        trk_terminal_say("bisect",
                         "--symptom: %s: %s; expected such a file, or frame:N,range:A+S, such as "
                         "frame:12,range:0x200010000+4096",
                         path, strerror(errno));
        return TRK_EXIT_USAGE;
    }
    int code = read_lines(out, file, path);
    if (code == TRK_EXIT_OK && ferror(file)) {
        trk_terminal_say("bisect", "--symptom: %s: %s", path, strerror(errno));
        code = TRK_EXIT_ENVIRONMENT;
    }
    if (code == TRK_EXIT_OK && out->count == 0) {
        trk_terminal_say("bisect", "--symptom: %s: it has no line", path);
        code = TRK_EXIT_USAGE;
    }
    fclose(file);
    trk_contents_sort(out);
    return code;
}
