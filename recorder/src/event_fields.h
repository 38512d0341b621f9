/* Fields of events as a list that grows. Of event_text.c and event_text_detail.c. */
#ifndef RECORDER_EVENT_FIELDS_H
#define RECORDER_EVENT_FIELDS_H

#include <assert.h>

#include "recorder/event_text.h"

/* A list of fields that grows. */
struct fields {
    struct trk_event_field *at;
    size_t count;
};

static inline void add(struct fields *fields, enum trk_event_field_kind kind, enum trk_event_key id,
                       uint64_t number, const char *word)
{
    assert(fields->count < TRK_EVENT_FIELDS_MOST);
    fields->at[fields->count++] = (struct trk_event_field){
        .id = id, .key = trk_event_key_name(id), .kind = kind, .number = number, .word = word};
}

static inline void add_number(struct fields *fields, enum trk_event_key id, uint64_t number)
{
    add(fields, TRK_FIELD_NUMBER, id, number, NULL);
}

static inline void add_address(struct fields *fields, enum trk_event_key id, uint64_t guest_addr)
{
    add(fields, TRK_FIELD_ADDRESS, id, guest_addr, NULL);
}

static inline void add_word(struct fields *fields, enum trk_event_key id, const char *word)
{
    add(fields, TRK_FIELD_WORD, id, 0, word);
}

static inline void add_flag(struct fields *fields, enum trk_event_key id, bool set)
{
    if (set) {
        add(fields, TRK_FIELD_FLAG, id, 1, NULL);
    }
}

#define WORD_OF(words, value) word_of(words, sizeof(words) / sizeof(words)[0], value)

static inline const char *word_of(const char *const *words, size_t count, uint64_t value)
{
    return value < count && words[value] ? words[value] : "?";
}

/* What says more of the event beside it: FAULT_AT and those behind it. */
void trk_event_fields_detail(struct fields *fields, const struct trk_event *event);

/* The event's fields by their own names. */
void trk_event_fields_raw(struct fields *fields, const struct trk_event *event);

#endif
