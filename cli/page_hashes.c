#include "page_hashes.h"

#include <stdlib.h>

#include "track/address.h"

/* Two slots a page: what was uploaded last, and what it was when it was armed. */
static uint64_t key_of(uint64_t guest_addr, bool armed)
{
    return (guest_addr / TRK_HOST_PAGE_BYTES * 2 + armed) + 1;
}

static size_t place_of(const struct trk_page_hashes *hashes, uint64_t key)
{
    size_t at = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (hashes->slot_count - 1);
    while (hashes->slots[at].page != 0 && hashes->slots[at].page != key) {
        at = (at + 1) & (hashes->slot_count - 1);
    }
    return at;
}

static bool make_room(struct trk_page_hashes *hashes)
{
    if (2 * (hashes->count + 1) <= hashes->slot_count) {
        return true;
    }
    struct trk_page_hashes larger = *hashes;
    larger.slot_count = hashes->slot_count > 0 ? 2 * hashes->slot_count : 1024;
    larger.slots = calloc(larger.slot_count, sizeof larger.slots[0]);
    if (!larger.slots) {
        return false;
    }
    for (size_t i = 0; i < hashes->slot_count; i++) {
        if (hashes->slots[i].page != 0) {
            larger.slots[place_of(&larger, hashes->slots[i].page)] = hashes->slots[i];
        }
    }
    free(hashes->slots);
    *hashes = larger;
    return true;
}

/* Keep a hash; whether the same was there, and whether any was. */
static bool keep(struct trk_page_hashes *hashes, uint64_t key, uint64_t hash, bool *known)
{
    size_t at = place_of(hashes, key);
    *known = hashes->slots[at].page != 0;
    bool same = *known && hashes->slots[at].hash == hash;
    hashes->count += !*known;
    hashes->slots[at].page = key;
    hashes->slots[at].hash = hash;
    return same;
}

bool trk_page_hashes_note(struct trk_page_hashes *hashes, const struct trk_event *event)
{
    bool known;
    if (event->type != TRK_EVENT_PAGE) {
        return true;
    }
    if (!make_room(hashes)) {
        return false;
    }
    uint64_t hash = trk_event_size(event); /* the pair, as one number */
    if (event->flags == TRK_PAGE_ARMED) {
        (void)keep(hashes, key_of(event->argument, true), hash, &known);
        return true;
    }
    hashes->hashed++;
    hashes->redundant += keep(hashes, key_of(event->argument, false), hash, &known);
    size_t armed = place_of(hashes, key_of(event->argument, true));
    hashes->moved += hashes->slots[armed].page != 0 && hashes->slots[armed].hash != hash;
    return true;
}

void trk_page_hashes_deinit(struct trk_page_hashes *hashes)
{
    free(hashes->slots);
    *hashes = (struct trk_page_hashes){.slots = NULL};
}
