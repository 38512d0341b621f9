#include "second_state.h"

#include <stdbool.h>

#include "second_order.h"

static bool begun; /* a full one was there */

void second_state_reset(void)
{
    begun = false;
}

struct list {
    const uint8_t *at, *end;
};

static uint64_t take(struct list *list)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        second_must(list->at < list->end && shift < 70, "F-40: a number is missing");
        value |= (uint64_t)(*list->at & 127) << shift;
        if (*list->at++ < 128) {
            return value;
        }
    }
}

static void skip(struct list *list, size_t bytes)
{
    second_must((size_t)(list->end - list->at) >= bytes, "F-37: bytes are missing");
    list->at += bytes;
}

/* F-37 */
static void take_regions(struct list *list)
{
    for (uint64_t left = take(list); left > 0; left--) {
        take(list);
        take(list);
        take(list);
        uint64_t sets = take(list);
        second_must(sets < 256, "F-37: sets");
        for (unsigned i = 0; i < 8; i++) {
            skip(list, sets >> i & 1 ? 128 : 0);
        }
        skip(list, sets & 8 ? 1024 : 0);
        for (uint64_t spans = take(list); spans > 0; spans--) {
            uint64_t first = take(list);
            second_must(first < take(list), "F-37: a span is empty");
        }
    }
}

uint64_t second_state_take(const uint8_t *raw, size_t size, uint64_t (*before)(uint32_t stream))
{
    struct list list = {raw, raw + size};
    uint64_t flags = take(&list);
    uint64_t events = 0;
    second_must(begun || (flags & 1) != 0, "F-40: the first one is full");
    begun = true;
    for (uint64_t left = take(&list); left > 0; left--) {
        uint32_t stream = (uint32_t)take(&list);
        uint64_t ordinal = take(&list);
        second_must(ordinal == before(stream), "F-40: ordinal");
        events += ordinal;
    }
    for (int points = 0; points < 2; points++) {
        for (uint64_t left = 2 * take(&list); left > 0; left--) {
            take(&list);
        }
    }
    for (uint64_t left = 10 * take(&list); left > 0; left--) {
        take(&list);
    }
    for (uint64_t left = take(&list); left > 0; left--) {
        second_must(take(&list) < 16, "F-40: tracker");
        second_must(take(&list) < 4, "F-40: callbacks");
        take_regions(&list);
    }
    second_must(list.at == list.end, "F-40: bytes are left over");
    return events;
}
