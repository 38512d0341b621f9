/*
 * Goal: a number is taken whole or refused, and a slip of the fingers finds the word meant.
 * Method: tables of texts with the value or the refusal that each must get.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "nearest.h"
#include "number.h"

struct number_case {
    const char *text;
    bool good;
    uint64_t value;
};

Test(number, plain)
{
    static const struct number_case cases[] = {
        {"0", true, 0},
        {"42", true, 42},
        {"0x10", true, 16},
        {"0XfF", true, 255},
        {"007", true, 7},
        {"18446744073709551615", true, UINT64_MAX},
        {"0xffffffffffffffff", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"0x10000000000000000", false, 0},
        {"", false, 0},
        {"0x", false, 0},
        {"-1", false, 0},
        {"+1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1.5", false, 0},
        {"1e3", false, 0},
        {"ff", false, 0},
        {"0xg", false, 0},
        {"1K", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t value = 99;
        cr_expect_eq(trk_number_parse(cases[i].text, &value), cases[i].good, "'%s'", cases[i].text);
        cr_expect_eq(value, cases[i].good ? cases[i].value : 99, "'%s' gave %" PRIu64,
                     cases[i].text, value);
    }
}

Test(number, size)
{
    static const struct number_case cases[] = {
        {"64", true, 64},           {"64K", true, 65536},
        {"3M", true, 3 << 20},      {"1G", true, 1 << 30},
        {"0x4K", true, 4096},       {"17179869183G", true, UINT64_C(17179869183) << 30},
        {"17179869184G", false, 0}, {"K", false, 0},
        {"1k", false, 0},           {"1KB", false, 0},
        {"1T", false, 0},           {"", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t value = 99;
        cr_expect_eq(trk_number_parse_size(cases[i].text, &value), cases[i].good, "'%s'",
                     cases[i].text);
        cr_expect_eq(value, cases[i].good ? cases[i].value : 99, "'%s' gave %" PRIu64,
                     cases[i].text, value);
    }
}

Test(nearest, words)
{
    static const char *const words[] = {"record", "sim", "info", "dump", "demo", NULL};
    static const struct {
        const char *word, *best;
    } cases[] = {
        {"recrod", "record"}, {"recod", "record"},
        {"sim", "sim"},       {"smi", "sim"},
        {"ifno", "info"},     {"dupm", "dump"},
        {"x", NULL},          {"", NULL},
        {"bench", NULL},      {"an-absurdly-long-word-that-no-command-has-ever-had", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *best = NULL;
        for (size_t j = 0; words[j]; j++) {
            trk_nearest_consider(cases[i].word, words[j], &best);
        }
        if (cases[i].best) {
            cr_expect_not_null(best, "'%s'", cases[i].word);
            cr_expect(best && strcmp(best, cases[i].best) == 0, "'%s'", cases[i].word);
        } else {
            cr_expect_null(best, "'%s' gave %s", cases[i].word, best);
        }
    }
}
