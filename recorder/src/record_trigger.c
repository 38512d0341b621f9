#include "record_trigger.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MOST 64

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

/* A decimal number at *at, which moves behind it. */
static bool read_number(const char **at, uint64_t *out)
{
    const char *digit = *at;
    uint64_t number = 0;
    for (; *digit >= '0' && *digit <= '9'; ++digit) {
        uint64_t next = number * 10 + (uint64_t)(*digit - '0');
        if (number > (UINT64_MAX - 9) / 10)
            return false;
        number = next;
    }
    bool any = digit != *at;
    *at = digit;
    *out = number;
    return any;
}

/* frame:A, frame:A-B, mark:N. */
static bool read_place(struct trk_record_trigger *out, const char *word)
{
    if (strncmp(word, "frame:", 6) == 0) {
        const char *at = word + 6;
        bool good = read_number(&at, &out->frame_first);
        out->frame_last = out->frame_first;
        if (good && *at == '-') {
            ++at;
            good = read_number(&at, &out->frame_last);
        }
        out->wanted[TRK_TRIGGER_FRAME] = true;
        return good && *at == '\0' && out->frame_last >= out->frame_first;
    }
    if (strncmp(word, "mark:", 5) == 0) {
        const char *at = word + 5;
        out->wanted[TRK_TRIGGER_MARK] = true;
        return read_number(&at, &out->mark) && *at == '\0';
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
    *out = (struct trk_record_trigger){.since_ticks = UINT64_MAX};
    for (const char *at = text != NULL ? text : TRK_RECORD_TRIGGER_DEFAULT;;) {
        char word[WORD_MOST];
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (length >= sizeof word || !read_word(out, word))
            return trk_error_set(error, TRK_E_ARGUMENT,
                                 "trigger '%.40s' is none of signal, api, control, fail, fatal, "
                                 "exit, frame:A-B, mark:N",
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
    if (trigger->fired)
        return;
    trigger->fired = true;
    trigger->kind = kind;
    trigger->ticks = ticks;
    trigger->since_ticks = kind == TRK_TRIGGER_FRAME ? trigger->frames_since : UINT64_MAX;
}

static void see_frame(struct trk_record_trigger *trigger, const struct trk_record *record)
{
    uint64_t frame = record->event.argument;
    trigger->any_frame = true;
    trigger->last_frame = frame;
    if (!trigger->frames_begun && frame >= trigger->frame_first && frame <= trigger->frame_last) {
        trigger->frames_begun = true;
        trigger->frames_since = record->tsc;
    }
    if (trigger->frames_begun && frame > trigger->frame_last) {
        trigger->frames_begun = false;
        trk_record_trigger_fire(trigger, TRK_TRIGGER_FRAME, record->tsc);
    }
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static void see_mark(struct trk_record_trigger *trigger, const struct trk_record *record)
{
    uint64_t mark = record->event.argument;
    if (!trigger->any_mark ||
        distance(mark, trigger->mark) < distance(trigger->nearest_mark, trigger->mark))
        trigger->nearest_mark = mark;
    trigger->any_mark = true;
    if (mark == trigger->mark)
        trk_record_trigger_fire(trigger, TRK_TRIGGER_MARK, record->tsc);
}

void trk_record_trigger_event(struct trk_record_trigger *trigger, const struct trk_record *record)
{
    switch (record->event.type) {
    case TRK_EVENT_FRAME:
        see_frame(trigger, record);
        break;
    case TRK_EVENT_MARK:
        see_mark(trigger, record);
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

void trk_record_trigger_end(struct trk_record_trigger *trigger, bool by_signal, uint64_t ticks)
{
    if (trigger->frames_begun) {
        trigger->frames_begun = false;
        trk_record_trigger_fire(trigger, TRK_TRIGGER_FRAME, ticks);
    }
    if (by_signal)
        trk_record_trigger_fire(trigger, TRK_TRIGGER_FATAL, ticks);
    trk_record_trigger_fire(trigger, TRK_TRIGGER_EXIT, ticks);
}

bool trk_record_trigger_unmet(const struct trk_record_trigger *trigger, enum trk_trigger_kind kind,
                              char *out, size_t size)
{
    static const char *const plain[TRK_TRIGGER_KINDS] = {
        [TRK_TRIGGER_SIGNAL] = "no SIGUSR2 came",
        [TRK_TRIGGER_API] = "the program asked for nothing",
        [TRK_TRIGGER_CONTROL] = "no snapshot was asked for",
        [TRK_TRIGGER_FAIL] = "no operation failed fast",
        [TRK_TRIGGER_FATAL] = "no signal ended the command",
        [TRK_TRIGGER_EXIT] = "the recording was cut off",
        [TRK_TRIGGER_FRAME] = "no frame came",
        [TRK_TRIGGER_MARK] = "no mark came",
    };
    if (!trigger->wanted[kind] || trigger->times[kind] > 0)
        return false;
    if (kind == TRK_TRIGGER_FRAME && trigger->any_frame)
        snprintf(out, size, "the last frame was %" PRIu64, trigger->last_frame);
    else if (kind == TRK_TRIGGER_MARK && trigger->any_mark)
        snprintf(out, size, "the nearest mark was %" PRIu64, trigger->nearest_mark);
    else
        snprintf(out, size, "%s", plain[kind]);
    return true;
}
