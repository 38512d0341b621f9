/*
 * What the tracker said of its pages: storage by region.
 */
#include "said.h"

#include <stdlib.h>
#include <string.h>

#include "track/address.h"

struct said_region {
    uint64_t key;
    struct said_page pages[TRK_REGION_BYTES / TRK_HOST_PAGE_BYTES];
};

static uint64_t key_of(uint32_t tracker, uint64_t guest_addr)
{
    return (uint64_t)(tracker + 1) << 40 | guest_addr / TRK_REGION_BYTES;
}

void said_deinit(struct said *said)
{
    for (size_t i = 0; i < said->slot_count; i++)
        free(said->slots[i]);
    free(said->slots);
    *said = (struct said){0};
}

static size_t place_of(struct said_region *const *slots, size_t slot_count, uint64_t key)
{
    size_t place = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (slot_count - 1);
    while (slots[place] != NULL && slots[place]->key != key)
        place = (place + 1) & (slot_count - 1);
    return place;
}

static struct said_region *region_find(const struct said *said, uint64_t key)
{
    return said->slot_count == 0 ? NULL : said->slots[place_of(said->slots, said->slot_count, key)];
}

static enum trk_status grow(struct said *said)
{
    size_t slot_count = said->slot_count ? 2 * said->slot_count : 64;
    struct said_region **slots = calloc(slot_count, sizeof(struct said_region *));
    if (slots == NULL)
        return TRK_E_MEMORY;
    for (size_t i = 0; i < said->slot_count; i++) {
        if (said->slots[i] != NULL)
            slots[place_of(slots, slot_count, said->slots[i]->key)] = said->slots[i];
    }
    free(said->slots);
    said->slots = slots;
    said->slot_count = slot_count;
    return TRK_OK;
}

/* NULL with TRK_OK: there are too many, this one is not followed. */
static enum trk_status region_touch(struct said *said, uint64_t key, struct said_region **out)
{
    *out = region_find(said, key);
    if (*out != NULL || said->count == SAID_REGIONS_MAX)
        return TRK_OK;
    if (2 * said->count >= said->slot_count && grow(said) != TRK_OK)
        return TRK_E_MEMORY;
    struct said_region *region = calloc(1, sizeof *region);
    if (region == NULL)
        return TRK_E_MEMORY;
    region->key = key;
    said->slots[place_of(said->slots, said->slot_count, key)] = region;
    said->count++;
    *out = region;
    return TRK_OK;
}

static struct said_page *page_of(struct said_region *region, uint64_t guest_addr)
{
    return &region->pages[guest_addr % TRK_REGION_BYTES / TRK_HOST_PAGE_BYTES];
}

enum trk_status said_set(struct said *said, const struct said_change *change, unsigned from,
                         enum said_state to)
{
    said->trackers |= 1u << change->tracker;
    for (uint64_t at = change->first_addr; at < change->end_addr;) {
        uint64_t stop = (at / TRK_REGION_BYTES + 1) * TRK_REGION_BYTES;
        struct said_region *region;
        if (region_touch(said, key_of(change->tracker, at), &region) != TRK_OK)
            return TRK_E_MEMORY;
        for (; at < change->end_addr && at < stop; at += TRK_HOST_PAGE_BYTES) {
            struct said_page *page = region == NULL ? NULL : page_of(region, at);
            if (page == NULL || page->state == to || !(from & SAID_FROM(page->state)))
                continue;
            page->event = change->event + 1;
            page->stream = change->stream;
            page->op = change->op;
            page->state = (uint8_t)to;
        }
    }
    return TRK_OK;
}

enum trk_status said_protect(struct said *said, const struct said_change *change)
{
    said->trackers |= 1u << change->tracker;
    for (uint64_t at = change->first_addr; at < change->end_addr; at += TRK_HOST_PAGE_BYTES) {
        struct said_region *region;
        if (region_touch(said, key_of(change->tracker, at), &region) != TRK_OK)
            return TRK_E_MEMORY;
        if (region != NULL)
            page_of(region, at)->protect = change->event + 1;
    }
    return TRK_OK;
}

enum trk_status said_watch(struct said *said, const struct said_change *change, bool taken)
{
    said->trackers |= 1u << change->tracker;
    for (uint64_t at = change->first_addr; at < change->end_addr; at += TRK_HOST_PAGE_BYTES) {
        struct said_region *region;
        if (region_touch(said, key_of(change->tracker, at), &region) != TRK_OK)
            return TRK_E_MEMORY;
        struct said_page *page = region == NULL ? NULL : page_of(region, at);
        if (page != NULL)
            page->watches = (int16_t)(page->watches + (taken ? 1 : -1));
    }
    return TRK_OK;
}

bool said_watched(const struct said *said, uint64_t *guest_addr)
{
    *guest_addr = UINT64_MAX;
    for (size_t i = 0; i < said->slot_count; i++) {
        const struct said_region *region = said->slots[i];
        uint64_t first_addr =
            region == NULL ? 0 : (region->key & ((UINT64_C(1) << 40) - 1)) * TRK_REGION_BYTES;
        for (uint64_t at = 0; region != NULL && at < TRK_REGION_BYTES; at += TRK_HOST_PAGE_BYTES)
            if (region->pages[at / TRK_HOST_PAGE_BYTES].watches > 0 &&
                first_addr + at < *guest_addr)
                *guest_addr = first_addr + at;
    }
    return *guest_addr != UINT64_MAX;
}

void said_forget(struct said *said, uint32_t tracker)
{
    for (size_t i = 0; i < said->slot_count; i++) {
        struct said_region *region = said->slots[i];
        if (region != NULL && region->key >> 40 == tracker + 1)
            memset(region->pages, 0, sizeof region->pages);
    }
}

const struct said_page *said_find(const struct said *said, uint64_t guest_addr)
{
    for (uint32_t tracker = 0; tracker < SAID_TRACKERS && said->trackers >> tracker != 0;
         tracker++) {
        if (!(said->trackers & 1u << tracker))
            continue;
        struct said_region *region = region_find(said, key_of(tracker, guest_addr));
        if (region != NULL)
            return page_of(region, guest_addr);
    }
    return NULL;
}
