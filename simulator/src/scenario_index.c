/* Words and their numbers: a table with open places, at most half full. */
#include "scenario_index.h"

#include <string.h>

#define FIRST_CAPACITY 16u

struct scenario_index_slot {
    const char *word; /* NULL: empty */
    size_t length;
    uint32_t number;
};

/* FNV-1a. */
static uint64_t hash(const char *word, size_t length)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++)
        value = (value ^ (unsigned char)word[i]) * UINT64_C(0x100000001b3);
    return value ^ value >> 32;
}

/* Where a word is, or would go. */
static struct scenario_index_slot *slot_of(const struct scenario_index *index, const char *word,
                                           size_t length)
{
    size_t place = (size_t)hash(word, length) % index->capacity;
    for (;; place = (place + 1) % index->capacity) {
        struct scenario_index_slot *slot = &index->slots[place];
        if (slot->word == NULL || (slot->length == length && memcmp(slot->word, word, length) == 0))
            return slot;
    }
}

uint32_t scenario_index_find(const struct scenario_index *index, const char *word, size_t length)
{
    if (index->count == 0)
        return SCENARIO_INDEX_NONE;
    const struct scenario_index_slot *slot = slot_of(index, word, length);
    return slot->word != NULL ? slot->number : SCENARIO_INDEX_NONE;
}

static bool widen(struct scenario_index *index, struct scenario_pool *pool)
{
    struct scenario_index wider = {.count = index->count};
    wider.capacity = index->capacity == 0 ? FIRST_CAPACITY : index->capacity * 2;
    wider.slots = scenario_pool_take(pool, wider.capacity * sizeof *wider.slots);
    if (wider.slots == NULL)
        return false;
    for (size_t i = 0; i < index->capacity; i++) {
        const struct scenario_index_slot *slot = &index->slots[i];
        if (slot->word != NULL)
            *slot_of(&wider, slot->word, slot->length) = *slot;
    }
    *index = wider;
    return true;
}

bool scenario_index_add(struct scenario_index *index, struct scenario_pool *pool, const char *word,
                        uint32_t number)
{
    if (index->count * 2 >= index->capacity && !widen(index, pool))
        return false;
    size_t length = strlen(word);
    *slot_of(index, word, length) = (struct scenario_index_slot){word, length, number};
    index->count++;
    return true;
}
