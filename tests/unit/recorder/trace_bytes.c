/*
 * Goal: numbers and checksums are written and read exactly as docs/format.md says [F-1] [F-7].
 * Method: tables of known encodings and of encodings that must be refused; published check values
 * of CRC32C; the instruction compared with the table at every length and alignment.
 */
#include <criterion/criterion.h>

#include "bytes.h"
#include "crc32c.h"

struct leb_case {
    const char *name;
    uint64_t value;
    size_t size_bytes;
    uint8_t bytes[TRK_BYTES_LEB_MAX];
};

static const struct leb_case leb_cases[] = {
    {"zero", 0, 1, {0}},
    {"largest of one byte", 127, 1, {0x7f}},
    {"smallest of two", 128, 2, {0x80, 0x01}},
    {"largest of two", 16383, 2, {0xff, 0x7f}},
    {"32 bits", 0xffffffff, 5, {0xff, 0xff, 0xff, 0xff, 0x0f}},
    {"sign bit", UINT64_C(1) << 63, 10, {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}},
    {"all ones", UINT64_MAX, 10, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}},
};

Test(bytes, leb_both_ways)
{
    for (size_t i = 0; i < sizeof leb_cases / sizeof leb_cases[0]; i++) {
        const struct leb_case *c = &leb_cases[i];
        uint8_t bytes[TRK_BYTES_LEB_MAX];
        uint8_t *end = trk_bytes_put_leb(bytes, c->value);
        cr_assert_eq((size_t)(end - bytes), c->size_bytes, "%s", c->name);
        cr_expect_arr_eq(bytes, c->bytes, c->size_bytes, "%s", c->name);
        uint64_t value = 77;
        cr_expect_eq(trk_bytes_get_leb(bytes, end, &value), end, "%s", c->name);
        cr_expect_eq(value, c->value, "%s", c->name);
        for (size_t cut = 0; cut < c->size_bytes; cut++) {
            cr_expect_null(trk_bytes_get_leb(bytes, bytes + cut, &value), "%s cut to %zu", c->name,
                           cut);
        }
    }
}

Test(bytes, leb_refuses_more_than_64_bits)
{
    static const uint8_t bit_64[10] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2};
    static const uint8_t eleven[11] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                       0x80, 0x80, 0x80, 0x80, 0};
    uint64_t value;
    cr_expect_null(trk_bytes_get_leb(bit_64, bit_64 + sizeof bit_64, &value));
    cr_expect_null(trk_bytes_get_leb(eleven, eleven + sizeof eleven, &value));
}

Test(bytes, zigzag_both_ways)
{
    static const struct {
        int64_t plain;
        uint64_t folded;
    } cases[] = {
        {0, 0}, {-1, 1}, {1, 2}, {-2, 3}, {INT64_MAX, UINT64_MAX - 1}, {INT64_MIN, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect_eq(trk_bytes_zigzag(cases[i].plain), cases[i].folded);
        cr_expect_eq(trk_bytes_unzigzag(cases[i].folded), cases[i].plain);
    }
}

Test(bytes, fixed_widths_are_little_endian)
{
    uint8_t bytes[8];
    static const uint8_t expected[8] = {8, 7, 6, 5, 4, 3, 2, 1};
    trk_bytes_put64(bytes, UINT64_C(0x0102030405060708));
    cr_expect_arr_eq(bytes, expected, 8);
    cr_expect_eq(trk_bytes_get64(bytes), UINT64_C(0x0102030405060708));
    cr_expect_eq(trk_bytes_get32(bytes), UINT32_C(0x05060708));
    cr_expect_eq(trk_bytes_get16(bytes), 0x0708);
}

/* Check values from RFC 3720, appendix B.4, and the customary "123456789". */
Test(crc32c, published_values)
{
    uint8_t zeros[32] = {0};
    uint8_t ones[32];
    uint8_t rising[32];
    for (unsigned i = 0; i < 32; i++) {
        ones[i] = 0xff;
        rising[i] = (uint8_t)i;
    }
    uint32_t (*const ways[])(uint32_t, const void *, size_t) = {trk_crc32c_update,
                                                                trk_crc32c_update_table};
    for (size_t i = 0; i < 2; i++) {
        cr_expect_eq(ways[i](0, "", 0), 0);
        cr_expect_eq(ways[i](0, "123456789", 9), 0xe3069283);
        cr_expect_eq(ways[i](0, zeros, 32), 0x8a9136aa);
        cr_expect_eq(ways[i](0, ones, 32), 0x62a8ab43);
        cr_expect_eq(ways[i](0, rising, 32), 0x46dd794e);
    }
}

Test(crc32c, both_ways_agree_and_parts_add_up)
{
    uint8_t bytes[96];
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * i + 17 * i);
    }
    for (size_t first = 0; first < 8; first++) {
        for (size_t size = 0; first + size <= sizeof bytes; size++) {
            uint32_t whole = trk_crc32c_update_table(0, bytes + first, size);
            cr_assert_eq(trk_crc32c_update(0, bytes + first, size), whole);
            uint32_t part = trk_crc32c_update(0, bytes + first, size / 3);
            part = trk_crc32c_update(part, bytes + first + size / 3, size - size / 3);
            cr_assert_eq(part, whole);
        }
    }
}
