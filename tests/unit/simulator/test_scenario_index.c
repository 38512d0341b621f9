/*
 * Goal: each of many words is found under its own number, and no other is.
 * Method: thousands of words, also such that begin as others do; a look after each is added.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "scenario_index.h"

#define WORDS 3000u

static char words[WORDS][16];

Test(scenario_index, finds_each)
{
    struct scenario_pool pool = {0};
    struct scenario_index index = {0};
    for (uint32_t i = WORDS; i-- > 0;) { /* what begins as another comes first */
        snprintf(words[i], sizeof words[i], "%.*s%u", (int)(i % 3), "ab", i);
        size_t length = strlen(words[i]);
        cr_assert_eq(scenario_index_find(&index, words[i], length), SCENARIO_INDEX_NONE);
        cr_assert(scenario_index_add(&index, &pool, words[i], WORDS - i));
        cr_assert_eq(scenario_index_find(&index, words[i], length), WORDS - i);
    }
    cr_expect_eq(index.count, WORDS);
    for (uint32_t i = 0; i < WORDS; i++)
        cr_expect_eq(scenario_index_find(&index, words[i], strlen(words[i])), WORDS - i, "%s",
                     words[i]);
    scenario_pool_deinit(&pool);
}

/* A word is the bytes given, neither less nor more. */
Test(scenario_index, whole_words)
{
    struct scenario_pool pool = {0};
    struct scenario_index index = {0};
    cr_assert(scenario_index_add(&index, &pool, "abc", 1));
    cr_assert(scenario_index_add(&index, &pool, "", 2));
    cr_expect_eq(scenario_index_find(&index, "abcd", 3), 1);
    cr_expect_eq(scenario_index_find(&index, "abcd", 4), SCENARIO_INDEX_NONE);
    cr_expect_eq(scenario_index_find(&index, "abc", 2), SCENARIO_INDEX_NONE);
    cr_expect_eq(scenario_index_find(&index, "abc", 0), 2);
    scenario_pool_deinit(&pool);
}
