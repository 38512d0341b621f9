/*
 * What is remembered of each byte: storage. Judging stands in versions.c.
 */
#include "shadow.h"

#include <stdlib.h>
#include <string.h>

struct shadow {
    struct shadow_page **slots; /* open addressing, a power of two */
    size_t slot_count, page_count;
    uint64_t bytes; /* of pages and their segments */
    bool limited;
};

#define SLOTS_AT_FIRST 1024u

enum trk_status shadow_create(struct shadow **out)
{
    struct shadow *shadow = calloc(1, sizeof *shadow);
    if (shadow == NULL)
        return TRK_E_MEMORY;
    shadow->slot_count = SLOTS_AT_FIRST;
    shadow->slots = calloc(SLOTS_AT_FIRST, sizeof(struct shadow_page *));
    if (shadow->slots == NULL) {
        free(shadow);
        return TRK_E_MEMORY;
    }
    *out = shadow;
    return TRK_OK;
}

void shadow_destroy(struct shadow *shadow)
{
    if (shadow == NULL)
        return;
    for (size_t i = 0; i < shadow->slot_count; i++) {
        if (shadow->slots[i] != NULL)
            free(shadow->slots[i]->segments);
        free(shadow->slots[i]);
    }
    free(shadow->slots);
    free(shadow);
}

static size_t slot_find(struct shadow_page *const *slots, size_t slot_count, uint64_t key)
{
    size_t place = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (slot_count - 1);
    while (slots[place] != NULL && slots[place]->key != key)
        place = (place + 1) & (slot_count - 1);
    return place;
}

struct shadow_page *shadow_find(const struct shadow *shadow, uint64_t key)
{
    return shadow->slots[slot_find(shadow->slots, shadow->slot_count, key)];
}

struct shadow_page *shadow_next(const struct shadow *shadow, size_t *at)
{
    while (*at < shadow->slot_count) {
        struct shadow_page *page = shadow->slots[(*at)++];
        if (page != NULL)
            return page;
    }
    return NULL;
}

static enum trk_status shadow_grow(struct shadow *shadow)
{
    size_t slot_count = 2 * shadow->slot_count;
    struct shadow_page **slots = calloc(slot_count, sizeof(struct shadow_page *));
    if (slots == NULL)
        return TRK_E_MEMORY;
    for (size_t i = 0; i < shadow->slot_count; i++) {
        if (shadow->slots[i] != NULL)
            slots[slot_find(slots, slot_count, shadow->slots[i]->key)] = shadow->slots[i];
    }
    free(shadow->slots);
    shadow->slots = slots;
    shadow->slot_count = slot_count;
    return TRK_OK;
}

enum trk_status shadow_touch(struct shadow *shadow, uint64_t key, struct shadow_page **out)
{
    *out = shadow_find(shadow, key);
    if (*out != NULL)
        return TRK_OK;
    if (shadow->page_count == SHADOW_PAGES_MAX || shadow->bytes >= SHADOW_BYTES_MAX) {
        shadow->limited = true;
        return TRK_OK;
    }
    if (2 * shadow->page_count >= shadow->slot_count && shadow_grow(shadow) != TRK_OK)
        return TRK_E_MEMORY;
    struct shadow_page *page = calloc(1, sizeof *page);
    if (page == NULL)
        return TRK_E_MEMORY;
    page->segments = calloc(1, sizeof *page->segments);
    if (page->segments == NULL) {
        free(page);
        return TRK_E_MEMORY;
    }
    page->key = key;
    page->capacity = 1;
    shadow_forget(page);
    shadow->slots[slot_find(shadow->slots, shadow->slot_count, key)] = page;
    shadow->page_count++;
    shadow->bytes += sizeof *page + sizeof *page->segments;
    *out = page;
    return TRK_OK;
}

bool shadow_limited(const struct shadow *shadow)
{
    return shadow->limited;
}

void shadow_forget(struct shadow_page *page)
{
    memset(page->segments, 0, sizeof *page->segments);
    page->segments[0].end = SHADOW_PAGE_BYTES;
    page->count = 1;
    page->clean_count = 0;
}

/* Make `at` a border between segments. */
static enum trk_status split(struct shadow *shadow, struct shadow_page *page, uint32_t at)
{
    uint32_t i = 0;
    while (i < page->count && page->segments[i].end <= at)
        i++;
    if (i == page->count || page->segments[i].first == at)
        return TRK_OK;
    if (page->count == page->capacity) {
        uint32_t capacity = 2 * page->capacity;
        struct shadow_segment *grown = realloc(page->segments, capacity * sizeof *grown);
        if (grown == NULL)
            return TRK_E_MEMORY;
        page->segments = grown;
        shadow->bytes += (capacity - page->capacity) * sizeof *grown;
        page->capacity = capacity;
    }
    memmove(page->segments + i + 1, page->segments + i, (page->count - i) * sizeof *page->segments);
    page->segments[i].end = at;
    page->segments[i + 1].first = at;
    page->count++;
    return TRK_OK;
}

enum trk_status shadow_cut(struct shadow *shadow, struct shadow_page *page, uint32_t first,
                           uint32_t end, struct shadow_part *part)
{
    part->count = 0;
    if (page->count + 2 > SHADOW_SEGMENTS_MAX ||
        (page->count == page->capacity && shadow->bytes >= SHADOW_BYTES_MAX)) {
        shadow_forget(page);
        shadow->limited = true;
    }
    if (split(shadow, page, first) != TRK_OK || split(shadow, page, end) != TRK_OK)
        return TRK_E_MEMORY;
    uint32_t i = 0;
    while (page->segments[i].first < first)
        i++;
    part->segments = page->segments + i;
    while (i < page->count && page->segments[i].first < end) {
        i++;
        part->count++;
    }
    return TRK_OK;
}

void shadow_join(struct shadow_page *page)
{
    uint32_t kept = 0;
    for (uint32_t i = 1; i < page->count; i++) {
        if (memcmp(&page->segments[kept].history, &page->segments[i].history,
                   sizeof(struct shadow_history)) == 0) {
            page->segments[kept].end = page->segments[i].end;
        } else {
            kept++;
            if (kept != i)
                page->segments[kept] = page->segments[i];
        }
    }
    page->count = kept + 1;
}

void shadow_add_store(struct shadow_history *history, const struct shadow_store *store)
{
    memmove(history->stores + 1, history->stores, (SHADOW_STORES - 1) * sizeof *store);
    history->stores[0] = *store;
    history->overwritten = history->doubted = 0;
    history->store_count += history->store_count < SHADOW_STORES;
}

static void add_copy(struct shadow_copy *copies, uint32_t *count, const struct shadow_copy *copy)
{
    memmove(copies + 1, copies, (SHADOW_COPIES - 1) * sizeof *copy);
    copies[0] = *copy;
    *count += *count < SHADOW_COPIES;
}

void shadow_add_up(struct shadow_history *history, const struct shadow_copy *copy)
{
    for (uint32_t i = 0; i < history->down_count; i++) {
        if (copy->begin < history->down[i].end)
            history->down_up_end[i] = copy->end;
    }
    add_copy(history->up, &history->up_count, copy);
}

/* Whether the oldest copy home kept is the one that put other bytes over the newest store. */
static bool keep_oldest(const struct shadow_history *history)
{
    const struct shadow_copy *oldest = &history->down[SHADOW_COPIES - 1];
    const struct shadow_store *store = &history->stores[0];
    return history->down_count == SHADOW_COPIES && history->store_count > 0 &&
           !(store->flags & SHADOW_STORE_GPU) && oldest->begin > store->event &&
           !(oldest->flags & (SHADOW_COPY_FETCHED | SHADOW_COPY_ENDED)) &&
           history->down_up_end[SHADOW_COPIES - 1] <= store->event;
}

void shadow_add_down(struct shadow_history *history, const struct shadow_copy *copy)
{
    if (keep_oldest(history)) {
        history->down[0] = *copy;
    } else {
        add_copy(history->down, &history->down_count, copy);
        memmove(history->down_up_end + 1, history->down_up_end,
                (SHADOW_COPIES - 1) * sizeof *history->down_up_end);
    }
    history->down_up_end[0] = history->up_count > 0 ? history->up[0].end : 0;
}

void shadow_add_clean(struct shadow_page *page, const struct shadow_clean *clean)
{
    memmove(page->cleans + 1, page->cleans, (SHADOW_CLEANS - 1) * sizeof *clean);
    page->cleans[0] = *clean;
    page->clean_count += page->clean_count < SHADOW_CLEANS;
}
