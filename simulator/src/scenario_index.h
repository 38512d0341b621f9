/*
 * Words and their numbers, found without looking at all of them.
 *
 * A file may hold very many names; whatever is looked up once a name goes through here.
 */
#ifndef SIMULATOR_SCENARIO_INDEX_H
#define SIMULATOR_SCENARIO_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scenario_pool.h"

/* All zero: empty. The words are not copied, and must outlive it. */
struct scenario_index {
    struct scenario_index_slot *slots;
    size_t capacity, count;
};

/* The number of the first length bytes of word; SCENARIO_INDEX_NONE: it is not there. */
#define SCENARIO_INDEX_NONE UINT32_MAX
uint32_t scenario_index_find(const struct scenario_index *index, const char *word, size_t length);
/* Add a word that is not there yet; false: no memory. */
bool scenario_index_add(struct scenario_index *index, struct scenario_pool *pool, const char *word,
                        uint32_t number);

#endif
