#include "second_places.h"

#include <stdbool.h>
#include <string.h>

#include "second_types.h"

/* The regions that an event is about, if it takes no hold. */
static uint32_t places_of(const struct second_event *event)
{
    const char *words = NULL;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        words = types[t].id == event->type ? types[t].words : words;
    }
    if (words == NULL) {
        return 0x7fffff;
    }
    bool held = strchr(words, 'h') != NULL && (event->type != 9 || event->domain >> 28 != 0);
    if (strchr(words, 'a') == NULL || held) {
        return 0;
    }
    uint64_t size = strchr(words, 's') != NULL   ? (uint64_t)event->domain << 32 | event->seq
                    : strchr(words, 'S') != NULL ? event->seq
                                                 : 1;
    uint64_t last = event->argument + (size == 0 ? 0 : size - 1);
    last = last < event->argument ? UINT64_MAX : last;
    uint32_t places = 0;
    for (uint64_t r = event->argument >> 22; r <= last >> 22 && places != 0x7fffff; r++) {
        places |= 1u << r % 23;
    }
    return places;
}

uint32_t second_places(const struct second_event *events, uint64_t count)
{
    uint32_t places = 0x800000;
    for (uint64_t i = 0; i < count; i++) {
        places |= places_of(&events[i]);
    }
    return places;
}
