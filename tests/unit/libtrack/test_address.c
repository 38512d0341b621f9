/*
 * Goal: a range is valid exactly when [M-1] [M-2] say so, and packing [M-4] is exact both ways.
 * Method: tables of every edge of both bands, one below, on and above; packing round trips.
 */
#include <criterion/criterion.h>

#include "track/address.h"

#define TIB (UINT64_C(1) << 40)
#define GIB (UINT64_C(1) << 30)

struct range_case {
    const char *name;
    uint64_t first, size;
    bool both, low; /* valid under low+extended, under low */
};

static const struct range_case range_cases[] = {
    {"empty at zero", 0, 0, false, false},
    {"empty inside the low band", 0x200000000, 0, false, false},
    {"empty inside the arena", TRK_ARENA_FIRST, 0, false, false},
    {"byte 0", 0, 1, false, false},
    {"byte 1: page 0 in part", 1, 1, false, false},
    {"last byte of page 0", 4095, 1, false, false},
    {"page 0 whole", 0, 4096, false, false},
    {"from page 0 into page 1", 4095, 2, false, false},
    {"first valid byte", 4096, 1, true, true},
    {"whole low band", 4096, TIB - 4096, true, true},
    {"whole low band and one more", 4096, TIB - 4095, false, false},
    {"from 0 to the low band's end", 0, TIB, false, false},
    {"last byte of the low band", TIB - 1, 1, true, true},
    {"ends at the low band's end", TIB - 4096, 4096, true, true},
    {"one over the low band's end", TIB - 4096, 4097, false, false},
    {"two bytes over the low band's end", TIB - 1, 2, false, false},
    {"first byte behind the low band", TIB, 1, false, false},
    {"between the bands", 4 * TIB, 4096, false, false},
    {"byte before the arena", 8 * TIB - 1, 1, false, false},
    {"into the arena from before", 8 * TIB - 1, 2, false, false},
    {"first byte of the arena", 8 * TIB, 1, true, false},
    {"whole arena", 8 * TIB, 512 * GIB, true, false},
    {"whole arena and one more", 8 * TIB, 512 * GIB + 1, false, false},
    {"last byte of the arena", 8 * TIB + 512 * GIB - 1, 1, true, false},
    {"one over the arena's end", 8 * TIB + 512 * GIB - 1, 2, false, false},
    {"first byte behind the arena", 8 * TIB + 512 * GIB, 1, false, false},
    {"from the low band to the arena", TIB - 1, 7 * TIB + 2, false, false},
    {"last byte of all", UINT64_MAX, 1, false, false},
    {"wraps to 0", UINT64_MAX, 2, false, false},
    {"size wraps from the low band", 4096, UINT64_MAX, false, false},
    {"size wraps to the low band", 8192, UINT64_MAX - 4095, false, false},
    {"size wraps exactly", 4096, UINT64_MAX - 4095, false, false},
    {"size wraps from the arena", 8 * TIB, UINT64_MAX - 8 * TIB + 8192, false, false},
    {"sign bit", UINT64_C(1) << 63, 1, false, false},
};

Test(address, ranges)
{
    for (size_t i = 0; i < sizeof range_cases / sizeof range_cases[0]; i++) {
        const struct range_case *c = &range_cases[i];
        cr_expect_eq(trk_range_valid(TRK_ARENA_LOW_EXTENDED, c->first, c->size), c->both,
                     "%s, low+extended", c->name);
        cr_expect_eq(trk_range_valid(TRK_ARENA_LOW, c->first, c->size), c->low, "%s, low", c->name);
    }
}

struct pack_case {
    const char *name;
    uint64_t guest_addr;
    bool valid;
    uint32_t index;
};

static const struct pack_case pack_cases[] = {
    {"byte 0", 0, false, 0},
    {"last byte of page 0", 4095, false, 0},
    {"first valid byte", 4096, true, 0},
    {"last byte of the first guest page", 16383, true, 0},
    {"second guest page", 16384, true, 1},
    {"low window", 0x200000000, true, 0x80000},
    {"last byte of the low band", TIB - 1, true, 67108863},
    {"behind the low band", TIB, false, 0},
    {"before the arena", 8 * TIB - 1, false, 0},
    {"first byte of the arena", 8 * TIB, true, 67108864},
    {"last byte of the arena", 8 * TIB + 512 * GIB - 1, true, 100663295},
    {"behind the arena", 8 * TIB + 512 * GIB, false, 0},
    {"last byte of all", UINT64_MAX, false, 0},
};

Test(address, page_index)
{
    cr_assert_eq(TRK_PAGE_INDEX_COUNT, 100663296u);
    for (size_t i = 0; i < sizeof pack_cases / sizeof pack_cases[0]; i++) {
        const struct pack_case *c = &pack_cases[i];
        uint32_t index = 0xdeadbeef;
        enum trk_status status = trk_page_index(c->guest_addr, &index);
        cr_expect_eq(status, c->valid ? TRK_OK : TRK_E_RANGE, "%s", c->name);
        cr_expect_eq(index, c->valid ? c->index : 0xdeadbeef, "%s: index %u", c->name, index);
    }
}

struct unpack_case {
    const char *name;
    uint64_t offset;
    bool valid;
    uint64_t guest_addr;
};

static const struct unpack_case unpack_cases[] = {
    {"offset 0", 0, false, 0},
    {"last offset of page 0", 4095, false, 0},
    {"first valid offset", 4096, true, 4096},
    {"last of the low band", TIB - 1, true, TIB - 1},
    {"first of the arena", TIB, true, 8 * TIB},
    {"last of the arena", TIB + 512 * GIB - 1, true, 8 * TIB + 512 * GIB - 1},
    {"behind the arena", TIB + 512 * GIB, false, 0},
    {"an arena address is no offset", 8 * TIB, false, 0},
    {"largest", UINT64_MAX, false, 0},
};

Test(address, guest_address)
{
    for (size_t i = 0; i < sizeof unpack_cases / sizeof unpack_cases[0]; i++) {
        const struct unpack_case *c = &unpack_cases[i];
        uint64_t guest_addr = 77;
        enum trk_status status = trk_guest_address(c->offset, &guest_addr);
        cr_expect_eq(status, c->valid ? TRK_OK : TRK_E_RANGE, "%s", c->name);
        cr_expect_eq(guest_addr, c->valid ? c->guest_addr : 77, "%s", c->name);
    }
}

Test(address, packing_round_trip)
{
    /* A stride that is no multiple of a page meets every alignment, in both bands. */
    for (uint32_t index = 1; index < TRK_PAGE_INDEX_COUNT; index += 9973) {
        uint64_t offset = (uint64_t)index * TRK_GUEST_PAGE_BYTES + index % TRK_GUEST_PAGE_BYTES;
        uint64_t guest_addr = 0;
        uint32_t again = 0;
        cr_assert_eq(trk_guest_address(offset, &guest_addr), TRK_OK);
        cr_assert(trk_range_valid(TRK_ARENA_LOW_EXTENDED, guest_addr, 1));
        cr_assert_eq(trk_page_index(guest_addr, &again), TRK_OK);
        cr_assert_eq(again, index, "index %u came back as %u", index, again);
    }
}

Test(address, regions)
{
    static const struct {
        uint64_t guest_addr;
        uint32_t region;
    } cases[] = {
        {4096, 0},
        {TRK_REGION_BYTES - 1, 0},
        {TRK_REGION_BYTES, 1},
        {0x200000000, 2048},
        {TIB - 1, 262143},
        {8 * TIB, 262144},
        {8 * TIB + 512 * GIB - 1, 393215},
    };
    cr_assert_eq(TRK_REGION_COUNT, 393216u);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t region = trk_region_index(cases[i].guest_addr);
        cr_expect_eq(region, cases[i].region, "address %#lx", (unsigned long)cases[i].guest_addr);
        uint64_t first = trk_region_address(region);
        cr_expect(first <= cases[i].guest_addr && cases[i].guest_addr - first < TRK_REGION_BYTES);
    }
}
