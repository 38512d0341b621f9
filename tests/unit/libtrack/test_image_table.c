/*
 * Goal: the sparse table by 44-bit addresses finds what was set and nothing else, in both bands, in
 * the gap between them and at its ends.
 * Method: a table of ranges that are set one after another, held against a plain list of them.
 *
 * Rules: [M-5].
 */
#include <criterion/criterion.h>

#include "track/address.h"
#include "track/image_table.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
#define G            TRK_GUEST_PAGE_BYTES
#define END          (UINT64_C(1) << TRK_IMAGE_ADDRESS_BITS)

struct entry {
    const char *name;
    uint64_t guest_addr, size_bytes, value;
};

static const struct entry entries[] = {
    {"first page", 0, 1, 1},
    {"low band", UINT64_C(0x200010000), 3 * G, 2},
    {"unaligned, touches two pages", UINT64_C(0x300000000) + G - 1, 2, 3},
    {"low band's end", TRK_LOW_END - G, G, 4},
    {"gap", TRK_LOW_END, 2 * G, 5},
    {"middle of the gap", UINT64_C(0x40000000000), 1025 * G, 6},
    {"arena", TRK_ARENA_FIRST, G, 7},
    {"arena's end and beyond", TRK_ARENA_END - G, 2 * G, 8},
    {"last page", END - 1, 1, 9},
    {"over another", UINT64_C(0x200010000) + G, G, 10},
    {"taken away in the middle", UINT64_C(0x40000000000) + 100 * G, 900 * G, 0},
    {"taken away where nothing is", UINT64_C(0x50000000000), UINT64_C(1) << 40, 0},
};

/* The value of the last of the first `count` entries that touches the page. */
static uint64_t plain(size_t count, uint64_t guest_addr)
{
    uint64_t page = guest_addr / G, value = 0;
    for (size_t i = 0; i < count; i++) {
        const struct entry *e = &entries[i];
        if (e->guest_addr / G <= page && page <= (e->guest_addr + e->size_bytes - 1) / G)
            value = e->value;
    }
    return value;
}

Test(image_table, finds_what_was_set)
{
    struct trk_image_table *table;
    cr_assert_eq(trk_image_table_create(&table, NULL), TRK_OK);
    for (size_t n = 0; n < COUNT(entries); n++) {
        const struct entry *set = &entries[n];
        cr_assert_eq(trk_image_table_set(table, set->guest_addr, set->size_bytes, set->value),
                     TRK_OK);
        for (size_t i = 0; i < COUNT(entries); i++) {
            uint64_t ends[] = {entries[i].guest_addr, entries[i].guest_addr - 1,
                               entries[i].guest_addr + entries[i].size_bytes - 1,
                               entries[i].guest_addr + entries[i].size_bytes + G - 1};
            for (size_t k = 0; k < COUNT(ends); k++) {
                if (ends[k] < END)
                    cr_expect_eq(trk_image_table_get(table, ends[k]), plain(n + 1, ends[k]),
                                 "after %s: %#lx", set->name, (unsigned long)ends[k]);
            }
        }
    }
    trk_image_table_destroy(table);
}

Test(image_table, goes_from_one_to_the_next)
{
    static const struct {
        uint64_t from, to, found;
    } cases[] = {
        {0, END, 0},
        {5, END, 5},
        {G, END, UINT64_C(0x200010000)},
        {UINT64_C(0x200010000) + 3 * G, END, UINT64_C(0x300000000)},
        {UINT64_C(0x200010000) + 3 * G, UINT64_C(0x300000000), UINT64_C(0x300000000)},
        {TRK_LOW_END - 3 * G, END, TRK_LOW_END - G},
        {UINT64_C(0x40000000000) + 100 * G, END, UINT64_C(0x40000000000) + 1000 * G},
        {UINT64_C(0x40000000000) + 1125 * G, END, TRK_ARENA_FIRST},
        {TRK_ARENA_FIRST + G, TRK_ARENA_END - G, TRK_ARENA_END - G},
        {TRK_ARENA_END + 2 * G, UINT64_MAX, END - G},
        {END, UINT64_MAX, UINT64_MAX},
        {8, 8, 8},
    };
    struct trk_image_table *table;
    cr_assert_eq(trk_image_table_create(&table, NULL), TRK_OK);
    cr_expect_eq(trk_image_table_next(table, 0, END), END, "an empty one has none");
    for (size_t n = 0; n < COUNT(entries); n++)
        cr_assert_eq(trk_image_table_set(table, entries[n].guest_addr, entries[n].size_bytes,
                                         entries[n].value),
                     TRK_OK);
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t found = trk_image_table_next(table, cases[i].from, cases[i].to);
        cr_expect_eq(found, cases[i].found, "case %zu: %#lx", i, (unsigned long)found);
    }
    trk_image_table_destroy(table);
}

Test(image_table, ranges_that_are_refused)
{
    struct trk_image_table *table;
    cr_assert_eq(trk_image_table_create(&table, NULL), TRK_OK);
    cr_expect_eq(trk_image_table_set(table, G, 0, 1), TRK_E_RANGE);
    cr_expect_eq(trk_image_table_set(table, END, 1, 1), TRK_E_RANGE);
    cr_expect_eq(trk_image_table_set(table, END - 1, 2, 1), TRK_E_RANGE);
    cr_expect_eq(trk_image_table_set(table, G, UINT64_MAX, 1), TRK_E_RANGE);
    cr_expect_eq(trk_image_table_get(table, END), 0);
    cr_expect_eq(trk_image_table_next(table, 0, END), END);
    trk_image_table_destroy(table);
}
