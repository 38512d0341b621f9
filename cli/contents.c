#include "contents.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "terminal.h"
#include "text_lines.h"

#define PAGE_BYTES 4096u

void trk_contents_deinit(struct trk_contents *contents)
{
    free(contents->list);
    *contents = (struct trk_contents){.list = NULL};
}

static bool add(struct trk_contents *contents, const struct trk_content *content)
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

static void sort(struct trk_contents *contents)
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
    if (place.size_bytes != PAGE_BYTES || place.guest_addr % PAGE_BYTES != 0 ||
        place.guest_addr >= UINT64_C(1) << 46) {
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
        if (!add(out, &content)) {
            trk_terminal_say("bisect", "no memory for the lines of %s", path);
            return TRK_EXIT_ENVIRONMENT;
        }
    }
    return lines.why != NULL ? refuse(path, lines.number, lines.why) : TRK_EXIT_OK;
}

int trk_contents_load(struct trk_contents *out, const char *path)
{
    *out = (struct trk_contents){.list = NULL};
    FILE *file = fopen(path, "re");
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
    sort(out);
    return code;
}

/* ---- a trace --------------------------------------------------------------------------------- */

/* What each page holds, by its address. */
struct held {
    struct {
        uint64_t page; /* number + 1; 0: free */
        uint64_t hash;
    } * slots;
    size_t slot_count, count;
};

static size_t place_of(const struct held *held, uint64_t page)
{
    size_t at = (size_t)(page * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (held->slot_count - 1);
    while (held->slots[at].page != 0 && held->slots[at].page != page) {
        at = (at + 1) & (held->slot_count - 1);
    }
    return at;
}

static bool make_room(struct held *held)
{
    if (2 * held->count < held->slot_count) {
        return true;
    }
    struct held larger = {.slot_count = held->slot_count == 0 ? 1024 : 2 * held->slot_count,
                          .count = held->count};
    larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
    if (larger.slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < held->slot_count; i++) {
        if (held->slots[i].page != 0) {
            larger.slots[place_of(&larger, held->slots[i].page)] = held->slots[i];
        }
    }
    free(held->slots);
    *held = larger;
    return true;
}

/* Note an uploaded page; false: no memory. */
static bool note(struct held *held, const struct trk_event *event)
{
    if (event->type != TRK_EVENT_PAGE || event->flags != TRK_PAGE_COPIED) {
        return true;
    }
    if (!make_room(held)) {
        return false;
    }
    uint64_t page = event->argument / PAGE_BYTES + 1;
    size_t at = place_of(held, page);
    held->count += held->slots[at].page == 0;
    held->slots[at].page = page;
    held->slots[at].hash = trk_event_size(event); /* the pair, as one number */
    return true;
}

static bool find(const struct held *held, uint64_t guest_addr, uint64_t *hash)
{
    size_t at = held->slot_count > 0 ? place_of(held, guest_addr / PAGE_BYTES + 1) : 0;
    if (held->slot_count == 0 || held->slots[at].page == 0) {
        return false;
    }
    *hash = held->slots[at].hash;
    return true;
}

/* Take over what was uploaded in a frame that is over, and forget it. */
static bool take_frame(struct trk_contents *out, struct held *held, uint64_t frame)
{
    for (size_t i = 0; i < held->slot_count; i++) {
        struct trk_content content = {frame, (held->slots[i].page - 1) * PAGE_BYTES,
                                      held->slots[i].hash};
        if (held->slots[i].page != 0 && !add(out, &content)) {
            return false;
        }
    }
    if (held->slot_count > 0) {
        memset(held->slots, 0, held->slot_count * sizeof held->slots[0]);
    }
    held->count = 0;
    return true;
}

enum trk_status trk_contents_of_trace(struct trk_contents *out, struct trk_trace *trace,
                                      struct trk_error *error)
{
    struct held held = {.slots = NULL};
    struct trk_trace_event event;
    enum trk_status status;
    uint64_t frame = TRK_NOT_KNOWN;
    bool room = true;
    *out = (struct trk_contents){.list = NULL};
    while ((status = trk_trace_next(trace, &event, error)) == TRK_OK && room) {
        if (event.event.type == TRK_EVENT_FRAME) {
            room = frame == TRK_NOT_KNOWN || take_frame(out, &held, frame);
            frame = event.event.argument;
        }
        room = room && (frame == TRK_NOT_KNOWN || note(&held, &event.event));
    }
    if (status == TRK_E_END) {
        status = TRK_OK;
        room = frame == TRK_NOT_KNOWN || take_frame(out, &held, frame);
    }
    free(held.slots);
    sort(out);
    return room ? status : trk_error_set(error, TRK_E_MEMORY, "no memory for the contents");
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Hold the lines of a frame that is over against what the pages have. */
static void compare_frame(const struct trk_contents *contents, const struct held *held,
                          uint64_t frame, const struct trk_content_other *events,
                          struct trk_contents_compared *out)
{
    size_t at = 0, end = contents->count;
    while (at < end) {
        size_t middle = at + (end - at) / 2;
        if (contents->list[middle].frame < frame) {
            at = middle + 1;
        } else {
            end = middle;
        }
    }
    for (; at < contents->count && contents->list[at].frame == frame; at++) {
        uint64_t hash;
        bool known = find(held, contents->list[at].guest_addr, &hash);
        bool same = known && hash == contents->list[at].hash;
        out->unknown += !known;
        out->same += same;
        if (known && !same && out->other_count < contents->count) { /* a frame may come twice */
            out->others[out->other_count++] =
                (struct trk_content_other){at, events->first_event, events->last_event};
        }
    }
}

enum trk_status trk_contents_compare(const struct trk_contents *contents, struct trk_trace *trace,
                                     struct trk_contents_compared *out, struct trk_error *error)
{
    struct held held = {.slots = NULL};
    struct trk_content_other events = {.first_event = 0};
    struct trk_trace_event event;
    enum trk_status status = TRK_OK;
    uint64_t frame = TRK_NOT_KNOWN;
    bool room = true;
    while (room && (status = trk_trace_next(trace, &event, error)) == TRK_OK) {
        if (event.event.type == TRK_EVENT_FRAME) {
            if (frame != TRK_NOT_KNOWN) {
                compare_frame(contents, &held, frame, &events, out);
            }
            frame = event.event.argument;
            events.first_event = event.number;
        }
        room = note(&held, &event.event);
        events.last_event = event.number;
    }
    if (status == TRK_E_END && frame != TRK_NOT_KNOWN) {
        compare_frame(contents, &held, frame, &events, out);
    }
    free(held.slots);
    status = status == TRK_E_END ? TRK_OK : status;
    return room ? status : trk_error_set(error, TRK_E_MEMORY, "no memory for the contents");
}
