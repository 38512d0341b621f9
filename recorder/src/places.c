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

struct trk_places_met trk_places_meet(const struct trk_record *records, size_t count)
{
    bool matters[256]; /* by type: it may have a place, or tells of losses */
    struct trk_places_met met = {.dropped = 0};
    uint64_t seen = UINT64_MAX; /* the last region: most events are about the same one */
    for (size_t i = 0; i < 256; i++) {
        const struct trk_event event = {.type = (uint8_t)i};
        bool placed = trk_schema_table[i].argument == TRK_SCHEMA_ARGUMENT_ADDRESS;
        matters[i] = (placed && !trk_event_in_hold(&event)) || i == TRK_EVENT_DROP;
    }
    for (size_t i = 0; i < count; i++) {
        const struct trk_event *event = &records[i].event;
        if (TRK_LIKELY(!matters[event->type])) {
            continue;
        }
        if (event->type == TRK_EVENT_DROP) {
            met.dropped += event->argument;
            continue;
        }
        uint64_t size_bytes = trk_schema_size(&trk_schema_table[event->type], event);
        uint64_t last = event->argument + size_bytes - (size_bytes > 0);
        bool same = event->argument >> SHIFT == seen && last >> SHIFT == seen;
        if ((!same || last < event->argument) && !trk_event_in_hold(event)) {
            met.places |= range(event->argument, size_bytes);
            seen = event->argument >> SHIFT;
        }
    }
    return met;
}

bool trk_places_lack(uint32_t places, uint32_t met)
{
    return (places & SAID) != 0 && (met & ~places) != 0;
}

bool trk_places_may_have(uint32_t places, uint64_t guest_addr)
{
    return (places & SAID) == 0 || (places & bit_of(guest_addr)) != 0;
}
