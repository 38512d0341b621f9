/*
 * Goal: a shape joins and widens ranges as it says, and never over a page whose two sides differ.
 * Method: a table of three ranges under each shape, with and without a differing page in the gap.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "replayer/content.h"
#include "schedule.h"

#define PAGE UINT64_C(4096)

struct shape_case {
    const char *name;
    enum trk_policy_shape shape;
    uint64_t bytes;
    uint64_t differs; /* a bit a page */
    size_t count;
    struct region regions[3];
};

/* Of the pages 9, 2 and 3, and 5. */
static const struct shape_case shape_cases[] = {
    {"as recorded", TRK_SHAPE_PER_RANGE, 0, 0, 3, {{9, 10}, {2, 4}, {5, 6}}},
    {"a gap that is too wide", TRK_SHAPE_COALESCE, PAGE - 1, 0, 3, {{2, 4}, {5, 6}, {9, 10}}},
    {"a gap that is not", TRK_SHAPE_COALESCE, PAGE, 0, 2, {{2, 6}, {9, 10}}},
    {"a gap that differs", TRK_SHAPE_COALESCE, PAGE, 1u << 4, 3, {{2, 4}, {5, 6}, {9, 10}}},
    {"any gap", TRK_SHAPE_WHOLE, 0, 0, 1, {{2, 10}}},
    {"any gap but one", TRK_SHAPE_WHOLE, 0, 1u << 7, 2, {{2, 6}, {9, 10}}},
    {"granules of four", TRK_SHAPE_GRANULE, 4 * PAGE, 0, 1, {{0, 12}}},
    {"a granule cut", TRK_SHAPE_GRANULE, 4 * PAGE, 1u << 1 | 1u << 10, 1, {{2, 10}}},
};

Test(shapes, cases)
{
    for (size_t i = 0; i < sizeof shape_cases / sizeof *shape_cases; i++) {
        const struct shape_case *given = &shape_cases[i];
        struct region regions[3] = {
            {9 * PAGE, 10 * PAGE}, {2 * PAGE, 4 * PAGE}, {5 * PAGE, 6 * PAGE}};
        struct shape shape = {
            .shape = given->shape,
            .bytes = given->bytes,
            .differs = &given->differs,
            .mirror_bytes = 64 * PAGE,
        };
        size_t count = shape_regions(&shape, regions, 3);
        cr_assert_eq(count, given->count, "%s: %zu", given->name, count);
        for (size_t k = 0; k < count; k++) {
            cr_expect_eq(regions[k].first, given->regions[k].first * PAGE, "%s %zu", given->name,
                         k);
            cr_expect_eq(regions[k].end, given->regions[k].end * PAGE, "%s %zu", given->name, k);
        }
    }
}

/* A part of a content is the same part of the whole, wherever it begins. */
Test(shapes, contents_have_places)
{
    unsigned char whole[64], part[64];
    for (int gpu = 0; gpu < 2; gpu++) {
        (gpu ? trk_content_gpu : trk_content_store)(whole, 0, sizeof whole, 7);
        for (size_t first = 0; first < sizeof whole; first++) {
            for (size_t size = 0; size <= sizeof whole - first; size++) {
                (gpu ? trk_content_gpu : trk_content_store)(part, first, size, 7);
                cr_assert_eq(memcmp(part, whole + first, size), 0, "%zu +%zu", first, size);
            }
        }
    }
    trk_content_store(part, 0, sizeof part, 8);
    trk_content_store(whole, 0, sizeof whole, 7);
    cr_expect_neq(memcmp(part, whole, sizeof part), 0);
}
