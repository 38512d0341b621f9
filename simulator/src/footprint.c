/* Notes of what a step touches. */
#include "footprint.h"

struct footprint_notes footprint_notes;

/* Keys behind the last bit share bits by their hashes. */
static uint32_t bit_new(struct footprint_table *table, uint64_t key, uint64_t hash)
{
    uint32_t shared = FOOTPRINT_BITS - FOOTPRINT_NEEDS;
    if (key >> 56 > FOOTPRINT_NEED_LAST)
        return 2 * (table->count < shared ? table->count++ : (uint32_t)(hash >> 40) % shared);
    table->full |= table->need_count == FOOTPRINT_NEEDS;
    return 1 + 2 * (table->full ? 0 : table->need_count++);
}

/* The key's bit; the same from now on. */
static uint32_t footprint_bit_of(struct footprint_table *table, uint64_t key)
{
    uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t place = (uint32_t)(hash >> 51) & (FOOTPRINT_KEYS - 1);
    uint32_t tried = 0;
    while (table->keys[place] != 0 && table->keys[place] != key && tried++ < FOOTPRINT_KEYS / 2)
        place = (place + 1) & (FOOTPRINT_KEYS - 1);
    if (table->keys[place] == key)
        return table->bits[place];
    uint32_t bit = bit_new(table, key, hash);
    /* A key that finds no place gets the same bit each time, since none is left then. */
    if (table->keys[place] == 0) {
        table->keys[place] = key;
        table->bits[place] = (uint16_t)bit;
    }
    return bit;
}

void footprint_note_slow(uint64_t key, bool write)
{
    struct footprint *footprint = footprint_notes.footprint;
    uint32_t bit = footprint_bit_of(footprint_notes.table, key);
    footprint_bit(write ? footprint->write : footprint->read, bit);
}

void footprint_takes(enum footprint_kind kind, uint64_t which)
{
    struct footprint *footprint = footprint_notes.footprint;
    if (footprint == NULL)
        return;
    uint32_t bit = footprint_bit_of(footprint_notes.table, footprint_key(kind, which));
    footprint_bit(footprint->write, bit);
    footprint_bit(footprint->take, bit);
}

void footprint_needs(enum footprint_need need, enum footprint_kind kind, uint64_t which)
{
    struct footprint *footprint = footprint_notes.footprint;
    if (footprint == NULL)
        return;
    footprint->need = (uint8_t)need;
    footprint->need_bit =
        (uint16_t)footprint_bit_of(footprint_notes.table, footprint_key(kind, which));
}

void footprint_opens(enum footprint_kind kind, uint64_t which)
{
    struct footprint *footprint = footprint_notes.footprint;
    if (footprint == NULL)
        return;
    footprint->opens = true;
    footprint->open_bit =
        (uint16_t)footprint_bit_of(footprint_notes.table, footprint_key(kind, which));
}
