#include "places.h"

#include "recorder/event_text.h"
#include "schema.h"

#define PLACES 23u
#define ALL    ((UINT32_C(1) << PLACES) - 1)
/* The set is there; a file of an older version has 0. */
#define SAID (UINT32_C(1) << PLACES)
/* 4 MiB, for the format: not what libtrack's regions are in a test. */
#define SHIFT 22u

static uint32_t bit_of(uint64_t guest_addr)
{
    return UINT32_C(1) << (guest_addr >> SHIFT) % PLACES;
}

/* From a first byte to a last one. */
static uint32_t range(uint64_t guest_addr, uint64_t size_bytes)
{
    uint64_t last = guest_addr + (size_bytes > 0 ? size_bytes - 1 : 0);
    last = last < guest_addr ? UINT64_MAX : last;
    uint64_t regions = (last >> SHIFT) - (guest_addr >> SHIFT) + 1;
    uint32_t places = 0;
    if (regions >= PLACES) {
        return ALL;
    }
    for (uint64_t i = 0; i < regions; i++) {
        places |= bit_of(guest_addr + (i << SHIFT));
    }
    return places;
}

static uint32_t of_event(const struct trk_event *event)
{
    if (!trk_schema_table[event->type].known) {
        return ALL;
    }
    uint64_t size_bytes;
    if (trk_event_in_hold(event) || !trk_event_range(event, &size_bytes)) {
        return 0;
    }
    return range(event->argument, size_bytes);
}

uint32_t trk_places_of(const struct trk_record *records, size_t count)
{
    uint32_t places = SAID;
    for (size_t i = 0; i < count; i++) {
        places |= of_event(&records[i].event);
    }
    return places;
}

bool trk_places_lack(uint32_t places, const struct trk_record *records, size_t count)
{
    uint32_t needed = 0;
    for (size_t i = 0; i < count; i++) {
        const struct trk_event *event = &records[i].event;
        if (trk_schema_table[event->type].argument == TRK_SCHEMA_ARGUMENT_ADDRESS) {
            needed |= of_event(event);
        }
    }
    return (places & SAID) != 0 && (needed & ~places) != 0;
}

bool trk_places_may_have(uint32_t places, uint64_t guest_addr)
{
    return (places & SAID) == 0 || (places & bit_of(guest_addr)) != 0;
}
