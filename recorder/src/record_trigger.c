#include "record_trigger.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record_text.h"

#define WORD_MOST   64
#define PLACE_BYTES 56u /* frame:A-B with two numbers of 20 digits */

static const char *const names[TRK_TRIGGER_KINDS] = {
    [TRK_TRIGGER_SIGNAL] = "signal",   [TRK_TRIGGER_API] = "api",
    [TRK_TRIGGER_CONTROL] = "control", [TRK_TRIGGER_FAIL] = "fail",
    [TRK_TRIGGER_FATAL] = "fatal",     [TRK_TRIGGER_EXIT] = "exit",
    [TRK_TRIGGER_FRAME] = "frame",     [TRK_TRIGGER_MARK] = "mark",
};

const char *trk_record_trigger_name(enum trk_trigger_kind kind)
{
    return names[kind];
}

/* As numbers are given everywhere: decimal, or hexadecimal behind 0x. */
static bool read_number(const char **at, uint64_t *out)
{
    char *end;
    if (strncmp(*at, "0x", 2) != 0)
        return trk_record_text_number(at, out);
    if (!isxdigit((unsigned char)(*at)[2]))
        return false;
    errno = 0;
    *out = strtoull(*at + 2, &end, 16);
    *at = end;
    return errno == 0;
}

/* frame:A, frame:A-B, frame:A-, mark:N. */
static bool read_place(struct trk_record_trigger *trigger, const char *word)
{
    struct trk_record_trigger_place *out = &trigger->places[trigger->place_count++];
    *out = (struct trk_record_trigger_place){.kind = TRK_TRIGGER_MARK};
    if (strncmp(word, "frame:", 6) == 0) {
        const char *at = word + 6;
        bool good = read_number(&at, &out->first);
        out->last = out->first;
        out->kind = TRK_TRIGGER_FRAME;
        if (good && *at == '-') {
            ++at;
            out->last = UINT64_MAX;
            good = *at == '\0' || read_number(&at, &out->last);
        }
        trigger->wanted[TRK_TRIGGER_FRAME] = true;
        return good && *at == '\0' && out->last >= out->first;
    }
    if (strncmp(word, "mark:", 5) == 0) {
        const char *at = word + 5;
        trigger->wanted[TRK_TRIGGER_MARK] = true;
        bool good = read_number(&at, &out->first);
        out->last = out->first;
        return good && *at == '\0';
    }
    return false;
}

static bool read_word(struct trk_record_trigger *out, const char *word)
{
    for (unsigned kind = 0; kind < TRK_TRIGGER_FRAME; ++kind) {
        if (strcmp(word, names[kind]) == 0) {
            out->wanted[kind] = true;
            return true;
        }
    }
    return read_place(out, word);
}

enum trk_status trk_record_trigger_parse(struct trk_record_trigger *out, const char *text,
                                         struct trk_error *error)
{
    *out = (struct trk_record_trigger){0};
    for (const char *at = text != NULL ? text : TRK_RECORD_TRIGGER_DEFAULT;;) {
        char word[WORD_MOST];
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (out->place_count == TRK_RECORD_TRIGGER_PLACES && strchr(word, ':') != NULL)
            return trk_error_set(error, TRK_E_ARGUMENT, "trigger '%.40s': more than %u places",
                                 word, TRK_RECORD_TRIGGER_PLACES);
        if (length >= sizeof word || !read_word(out, word))
            return trk_error_set(error, TRK_E_ARGUMENT,
                                 "trigger '%.40s' is none of signal, api, control, fail, fatal, "
                                 "exit, frame:A-B, frame:A-, mark:N",
                                 word);
        if (at[length] == '\0')
            return TRK_OK;
        at += length + 1;
    }
}

void trk_record_trigger_fire(struct trk_record_trigger *trigger, enum trk_trigger_kind kind,
                             uint64_t ticks)
{
    if (!trigger->wanted[kind])
        return;
    trigger->times[kind] += 1;
    if (trigger->fired) {
        trigger->others[kind] = trigger->others[kind] || kind != trigger->firing.kind;
        return;
    }
    trigger->fired = true;
    trigger->firing =
        (struct trk_record_firing){.kind = kind, .ticks = ticks, .since_ticks = UINT64_MAX};
}

/* As it was given. */
static void print_place(const struct trk_record_trigger_place *place, char *out, size_t size)
{
    if (place->first == place->last)
        snprintf(out, size, "%s:%" PRIu64, names[place->kind], place->first);
    else if (place->last == UINT64_MAX)
        snprintf(out, size, "%s:%" PRIu64 "-", names[place->kind], place->first);
    else
        snprintf(out, size, "%s:%" PRIu64 "-%" PRIu64, names[place->kind], place->first,
                 place->last);
}

static void fire_place(struct trk_record_trigger *trigger, struct trk_record_trigger_place *place,
                       uint64_t ticks)
{
    place->times += 1;
    if (trigger->fired) /* also another place of the same kind */
        trigger->others[place->kind] = true;
    trk_record_trigger_fire(trigger, place->kind, ticks);
    /* One dump for two firings goes as far back as either wants it. */
    if (place->kind == TRK_TRIGGER_FRAME && place->since < trigger->firing.since_ticks)
        trigger->firing.since_ticks = place->since;
}

static void see_frame(struct trk_record_trigger *trigger, struct trk_record_trigger_place *place,
                      const struct trk_record *record)
{
    uint64_t frame = record->event.argument;
    bool passed = place->times == 0 && (place->earlier || trigger->lost[TRK_TRIGGER_FRAME] > 0);
    if (!place->begun && frame <= place->last) {
        place->earlier = true;
        place->begun = frame >= place->first;
        place->since = record->tsc;
    }
    if (frame <= place->last || (!place->begun && !passed))
        return;
    if (!place->earlier)
        place->since = record->tsc;
    fire_place(trigger, place, record->tsc);
    if (!place->begun && trigger->firing.note[0] == '\0') {
        char word[PLACE_BYTES];
        print_place(place, word, sizeof word);
        snprintf(trigger->firing.note, sizeof trigger->firing.note,
                 "no event of %s came, it is lost or there was none: frame %" PRIu64 " fired", word,
                 frame);
    }
    place->begun = false;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static void see_mark(struct trk_record_trigger *trigger, struct trk_record_trigger_place *place,
                     const struct trk_record *record)
{
    uint64_t mark = record->event.argument;
    if (!place->any || distance(mark, place->first) < distance(place->nearest, place->first))
        place->nearest = mark;
    place->any = true;
    if (mark == place->first)
        fire_place(trigger, place, record->tsc);
}

/* A frame or a mark came. */
static void see_place(struct trk_record_trigger *trigger, enum trk_trigger_kind kind,
                      const struct trk_record *record)
{
    for (size_t i = 0; i < trigger->place_count; ++i) {
        struct trk_record_trigger_place *place = &trigger->places[i];
        if (place->kind == kind && kind == TRK_TRIGGER_FRAME)
            see_frame(trigger, place, record);
        else if (place->kind == kind)
            see_mark(trigger, place, record);
    }
}

void trk_record_trigger_event(struct trk_record_trigger *trigger, const struct trk_record *record)
{
    switch (record->event.type) {
    case TRK_EVENT_FRAME:
        if (!trigger->any_frame)
            trigger->first_frame = record->event.argument;
        trigger->any_frame = true;
        trigger->last_frame = record->event.argument;
        see_place(trigger, TRK_TRIGGER_FRAME, record);
        break;
    case TRK_EVENT_MARK:
        see_place(trigger, TRK_TRIGGER_MARK, record);
        break;
    case TRK_EVENT_FAIL:
        trk_record_trigger_fire(trigger, TRK_TRIGGER_FAIL, record->tsc);
        break;
    case TRK_EVENT_PROTECT:
        if (record->event.flags & TRK_EVENT_FAILED)
            trk_record_trigger_fire(trigger, TRK_TRIGGER_FAIL, record->tsc);
        break;
    default:
        break;
    }
}

void trk_record_trigger_lost(struct trk_record_trigger *trigger, uint32_t type, uint64_t count)
{
    bool any = type == TRK_EVENT_NONE;
    if (any || type == TRK_EVENT_FRAME)
        trigger->lost[TRK_TRIGGER_FRAME] += count;
    if (any || type == TRK_EVENT_MARK)
        trigger->lost[TRK_TRIGGER_MARK] += count;
    if (any || type == TRK_EVENT_FAIL || type == TRK_EVENT_PROTECT)
        trigger->lost[TRK_TRIGGER_FAIL] += count;
}

void trk_record_trigger_end(struct trk_record_trigger *trigger, bool by_signal, uint64_t ticks)
{
    for (size_t i = 0; i < trigger->place_count; ++i) {
        if (trigger->places[i].begun)
            fire_place(trigger, &trigger->places[i], ticks);
        trigger->places[i].begun = false;
    }
    if (by_signal)
        trk_record_trigger_fire(trigger, TRK_TRIGGER_FATAL, ticks);
    trk_record_trigger_fire(trigger, TRK_TRIGGER_EXIT, ticks);
}

/* The end of the sentence about what never fired. */
static void say_lost(const struct trk_record_trigger *trigger, enum trk_trigger_kind kind,
                     char *out, size_t size)
{
    size_t used = strlen(out);
    if (trigger->lost[kind] > 0 && used < size)
        snprintf(out + used, size - used,
                 "; %" PRIu64 " events were lost that may have been what it waits for",
                 trigger->lost[kind]);
}

static bool place_unmet(const struct trk_record_trigger *trigger,
                        const struct trk_record_trigger_place *place, char *out, size_t size)
{
    char closest[48];
    char word[PLACE_BYTES];
    if (place->times > 0)
        return false;
    print_place(place, word, sizeof word);
    if (place->kind == TRK_TRIGGER_FRAME && trigger->any_frame && !place->earlier)
        snprintf(closest, sizeof closest, "the first frame was %" PRIu64, trigger->first_frame);
    else if (place->kind == TRK_TRIGGER_FRAME && trigger->any_frame)
        snprintf(closest, sizeof closest, "the last frame was %" PRIu64, trigger->last_frame);
    else if (place->kind == TRK_TRIGGER_MARK && place->any)
        snprintf(closest, sizeof closest, "the nearest mark was %" PRIu64, place->nearest);
    else
        snprintf(closest, sizeof closest, "no %s came", names[place->kind]);
    snprintf(out, size, "trigger %s never fired: %s", word, closest);
    return true;
}

bool trk_record_trigger_unmet(const struct trk_record_trigger *trigger, size_t i, char *out,
                              size_t size)
{
    static const char *const plain[TRK_TRIGGER_FRAME] = {
        [TRK_TRIGGER_SIGNAL] = "no SIGUSR2 came",
        [TRK_TRIGGER_API] = "the program asked for nothing",
        [TRK_TRIGGER_CONTROL] = "no snapshot was asked for",
        [TRK_TRIGGER_FAIL] = "no operation failed fast",
        [TRK_TRIGGER_FATAL] = "no signal ended the command",
        [TRK_TRIGGER_EXIT] = "the recording was cut off",
    };
    bool is_place = i >= TRK_TRIGGER_KINDS && i - TRK_TRIGGER_KINDS < trigger->place_count;
    if (is_place) {
        const struct trk_record_trigger_place *place = &trigger->places[i - TRK_TRIGGER_KINDS];
        if (!place_unmet(trigger, place, out, size))
            return false;
        say_lost(trigger, place->kind, out, size);
        return true;
    }
    if (i >= TRK_TRIGGER_FRAME || !trigger->wanted[i] || trigger->times[i] > 0)
        return false;
    snprintf(out, size, "trigger %s never fired: %s", names[i], plain[i]);
    say_lost(trigger, (enum trk_trigger_kind)i, out, size);
    return true;
}
