/* The fields of events that stand beside another one and say more of it. */
#include "event_fields.h"

static const char *const reason_words[] = {NULL,    "asked",    "evicted", "overlap",
                                           "stale", "unmapped", "shutdown"};
static const char *const source_words[] = {NULL, "processor", "instruction", "protection",
                                           "kernel"};
static const char *const result_words[] = {"access", "copy", "map"};

static void fault_at_fields(struct fields *fields, const struct trk_event *event)
{
    add_address(fields, TRK_KEY_PC, event->argument);
    add_address(fields, TRK_KEY_SP, trk_event_size(event));
    if (trk_event_number32(event) != 0)
        add_number(fields, TRK_KEY_TID, trk_event_number32(event));
    if (event->context != 0)
        add_number(fields, TRK_KEY_SIZE, event->context);
    if (event->flags != TRK_SOURCE_NOT_SAID)
        add_word(fields, TRK_KEY_ACCESS_FROM, WORD_OF(source_words, event->flags));
}

void trk_event_fields_detail(struct fields *fields, const struct trk_event *event)
{
    switch (event->type) {
    case TRK_EVENT_FAULT_AT:
        fault_at_fields(fields, event);
        break;
    case TRK_EVENT_SHARED:
        add_number(fields, TRK_KEY_TRACKER, event->context);
        add_number(fields, TRK_KEY_LOCK, trk_event_number32(event));
        add_number(fields, TRK_KEY_HOLD, event->argument);
        add_flag(fields, TRK_KEY_RELEASED, event->flags & 1u);
        break;
    case TRK_EVENT_RESULT:
        add_word(fields, TRK_KEY_OF, WORD_OF(result_words, event->flags));
        add_number(fields, TRK_KEY_ASKED, event->argument);
        add_number(fields, TRK_KEY_SIZE, trk_event_size(event));
        add_number(fields, TRK_KEY_ERRNO, event->context);
        break;
    case TRK_EVENT_OBJECT_DETAIL:
        add_number(fields, TRK_KEY_OBJECT, event->page);
        add_number(fields, TRK_KEY_SERIAL, event->argument);
        add_number(fields, TRK_KEY_SIZE, trk_event_size(event));
        if (event->context != TRK_REASON_NOT_SAID)
            add_word(fields, TRK_KEY_REASON, WORD_OF(reason_words, event->context));
        break;
    default:
        trk_event_fields_raw(fields, event);
    }
}
