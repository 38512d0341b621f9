/*
 * The sums of generations in a trace whose addresses were moved.
 */
#include "sums.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "track/address.h"

static bool names(const cJSON *list, const char *band)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item) && strcmp(item->valuestring, band) == 0)
            return true;
    }
    return false;
}

void sums_init(struct sums *sums, const char *header_json)
{
    *sums = (struct sums){0};
    cJSON *header = cJSON_Parse(header_json);
    /* Which bands have moved the first versions did not say, and a header that was lost cannot. */
    const cJSON *moved = cJSON_GetObjectItemCaseSensitive(header, "moved");
    bool all =
        moved == NULL && (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(header, "redacted")) ||
                          cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(header, "recovered")));
    sums->low_moved = all || names(moved, "low");
    sums->arena_moved = all || names(moved, "arena");
    cJSON_Delete(header);
}

void sums_deinit(struct sums *sums)
{
    free(sums->slots);
    *sums = (struct sums){0};
}

/* Recorded sums have the even slots, the core's the odd ones: a number may be one of either. */
static size_t place_of(const struct sums_slot *slots, size_t slot_count, uint64_t from, size_t way)
{
    size_t pairs = slot_count / 2;
    size_t place = (size_t)(from * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (pairs - 1);
    while (slots[2 * place + way].from != 0 && slots[2 * place + way].from != from)
        place = (place + 1) & (pairs - 1);
    return 2 * place + way;
}

static enum trk_status grow(struct sums *sums)
{
    size_t slot_count = sums->slot_count ? 2 * sums->slot_count : 128;
    struct sums_slot *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL)
        return TRK_E_MEMORY;
    for (size_t i = 0; i < sums->slot_count; i++) {
        if (sums->slots[i].from != 0)
            slots[place_of(slots, slot_count, sums->slots[i].from, i % 2)] = sums->slots[i];
    }
    free(sums->slots);
    sums->slots = slots;
    sums->slot_count = slot_count;
    return TRK_OK;
}

enum trk_status sums_compare(struct sums *sums, uint64_t guest_addr, uint64_t recorded,
                             uint64_t done, bool *same)
{
    bool moved = guest_addr < TRK_LOW_END ? sums->low_moved : sums->arena_moved;
    *same = recorded == done;
    if (!moved || recorded == 0 || done == 0)
        return TRK_OK;
    if (4 * sums->count >= sums->slot_count && grow(sums) != TRK_OK)
        return TRK_E_MEMORY;
    struct sums_slot *there = &sums->slots[place_of(sums->slots, sums->slot_count, recorded, 0)];
    struct sums_slot *back = &sums->slots[place_of(sums->slots, sums->slot_count, done, 1)];
    *same = there->from == 0 ? back->from == 0 : there->to == done;
    if (*same && there->from == 0) {
        *there = (struct sums_slot){recorded, done};
        *back = (struct sums_slot){done, recorded};
        sums->count++;
    }
    return TRK_OK;
}
