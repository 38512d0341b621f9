/*
 * The pages of foreign trackers: storage.
 */
#include "foreign_pages.h"

#include <stdlib.h>

#define TRACKER_SHIFT 56u

static uint64_t key_of(uint32_t tracker, uint64_t number)
{
    return (uint64_t)(tracker + 1) << TRACKER_SHIFT | number;
}

void foreign_pages_deinit(struct foreign_pages *pages)
{
    free(pages->slots);
    *pages = (struct foreign_pages){.slots = NULL};
}

static struct foreign_page *place_of(struct foreign_page *slots, size_t slot_count, uint64_t key)
{
    size_t place = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (slot_count - 1);
    while (slots[place].key != 0 && slots[place].key != key)
        place = (place + 1) & (slot_count - 1);
    return &slots[place];
}

struct foreign_page *foreign_pages_find(const struct foreign_pages *pages, uint32_t tracker,
                                        uint64_t number)
{
    if (pages->slot_count == 0)
        return NULL;
    struct foreign_page *page = place_of(pages->slots, pages->slot_count, key_of(tracker, number));
    return page->key == 0 ? NULL : page;
}

static enum trk_status grow(struct foreign_pages *pages)
{
    size_t slot_count = pages->slot_count ? 2 * pages->slot_count : 64;
    struct foreign_page *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL)
        return TRK_E_MEMORY;
    for (size_t i = 0; i < pages->slot_count; i++) {
        if (pages->slots[i].key != 0)
            *place_of(slots, slot_count, pages->slots[i].key) = pages->slots[i];
    }
    free(pages->slots);
    pages->slots = slots;
    pages->slot_count = slot_count;
    return TRK_OK;
}

enum trk_status foreign_pages_touch(struct foreign_pages *pages, uint32_t tracker, uint64_t number,
                                    uint8_t fresh, struct foreign_page **out)
{
    *out = foreign_pages_find(pages, tracker, number);
    if (*out != NULL || pages->count == FOREIGN_PAGES_MAX)
        return TRK_OK;
    if (2 * pages->count >= pages->slot_count && grow(pages) != TRK_OK)
        return TRK_E_MEMORY;
    uint64_t key = key_of(tracker, number);
    *out = place_of(pages->slots, pages->slot_count, key);
    **out = (struct foreign_page){
        .key = key, .event = TRK_NOT_KNOWN, .protect = TRK_NOT_KNOWN, .states = fresh};
    pages->count++;
    return TRK_OK;
}

void foreign_pages_forget(struct foreign_pages *pages, uint32_t tracker)
{
    for (size_t i = 0; i < pages->slot_count; i++) {
        struct foreign_page *page = &pages->slots[i];
        if (page->key >> TRACKER_SHIFT != tracker + 1)
            continue;
        uint64_t key = page->key; /* the slot stays taken, so that others are found behind it */
        *page = (struct foreign_page){
            .key = key, .event = TRK_NOT_KNOWN, .protect = TRK_NOT_KNOWN, .states = FOREIGN_ANY};
    }
}
