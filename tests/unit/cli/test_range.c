/*
 * Goal: a range picks exactly the events it names; what is not a range is refused.
 * Method: each range runs over one small list of events, and the picked numbers are compared.
 */
#define _GNU_SOURCE /* mkstemp */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "range.h"
#include "track/address.h"

#define ARENA_REGION ((uint32_t)((TRK_LOW_END >> 22) + 1))

/* 0 before any frame; 1 frame 0; 2 in it; 3 frame 1; 4 a lock of the region at 0x400000; 5 frame 2;
 * 6 a store that ends in that region; 7 one that ends just before it; 8 a range in the arena. */
static size_t make_events(struct trk_trace_event events[16])
{
    struct trk_event list[] = {
        {.type = TRK_EVENT_MARK},
        {.type = TRK_EVENT_FRAME, .argument = 0},
        {.type = TRK_EVENT_GPU_COMPLETE, .argument = 0x400000},
        {.type = TRK_EVENT_FRAME, .argument = 1},
        {.type = TRK_EVENT_LOCK, .domain = trk_domain(TRK_DOMAIN_REGION, 0, 1), .seq = 5},
        {.type = TRK_EVENT_FRAME, .argument = 2},
        {.type = TRK_EVENT_WITNESS_STORE, .argument = 0x3fffff, .seq = 2},
        {.type = TRK_EVENT_WITNESS_STORE, .argument = 0x3ffffe, .seq = 2},
        {.type = TRK_EVENT_RANGE,
         .domain = trk_domain(TRK_DOMAIN_REGION, 0, ARENA_REGION),
         .page = 3,
         .pages = 1},
    };
    size_t count = sizeof list / sizeof list[0];
    for (size_t i = 0; i < count; i++) {
        events[i] = (struct trk_trace_event){.number = i, .event = list[i]};
    }
    return count;
}

Test(range, picks)
{
    static const struct {
        const char *text, *picked;
    } cases[] = {
        {"0", "0"},
        {"4", "4"},
        {"2-4", "234"},
        {"2-2", "2"},
        {"6-", "678"},
        {"0-8/3", "036"},
        {"1-/4", "15"},
        {"0x2-0x3", "23"},
        {"99", ""},
        {"5-18446744073709551615", "5678"},
        {"frame:0", "12"},
        {"frame:1-2", "345678"},
        {"frame:2-", "5678"},
        {"frame:0-2/2", "125678"},
        {"frame:3", ""},
        {"region:0x400000", "46"},
        {"region:0x7fffff", "46"},
        {"region:0x3fffff", "67"},
        {"region:0x080000400000", "8"},
        {"region:0x080000000000", ""},
    };
    struct trk_trace_event events[16];
    size_t count = make_events(events);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trk_range range;
        struct trk_error error = {.text = ""};
        char picked[20] = "";
        cr_assert_eq(trk_range_parse(cases[i].text, &range, &error), TRK_OK, "%s: %s",
                     cases[i].text, error.text);
        for (size_t j = 0; j < count; j++) {
            if (trk_range_has(&range, &events[j])) {
                snprintf(picked + strlen(picked), sizeof picked - strlen(picked), "%zu", j);
            }
            if (trk_range_ends_at(&range, &events[j])) {
                break;
            }
        }
        cr_expect_str_eq(picked, cases[i].picked, "%s gave '%s'", cases[i].text, picked);
    }
}

Test(range, refused)
{
    static const char *const cases[] = {
        "",
        "-",
        "-5",
        "x",
        "5-3",
        "1-x",
        "1--2",
        "1-2/0",
        "1-2/",
        "1-2/x",
        "1-2-3",
        "1,2",
        "frame:",
        "frame:x",
        "frame:2-1",
        "frames:1",
        "region:",
        "region:5",
        "region:0x",
        "region:0x0",
        "region:0x060000000000",
        "time:2s-1s",
        "time:1s",
        "time:5-6",
        "time:1.5ns-2ns",
        "time:.5s-",
        "@no such file",
        "@/dev/zero",
        "@/dev/null",
        "1 -2",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trk_range range;
        struct trk_error error = {.text = ""};
        cr_expect_eq(trk_range_parse(cases[i], &range, &error), TRK_E_ARGUMENT, "'%s'", cases[i]);
        cr_expect_not_null(strstr(error.text, cases[i]), "'%s' said '%s'", cases[i], error.text);
    }
}

/* A set's lines: each is read whole or refused by its number, whatever its bytes are. */
Test(range, lines)
{
    char longest[300];
    memset(longest, '3', sizeof longest);
    memcpy(longest, "1 #", 3);
    longest[sizeof longest - 1] = '\0';
    const struct {
        const char *text;
        size_t size;
        const char *why; /* NULL: it is taken */
    } cases[] = {
        {"1\n# none\n\n3-4 # two\r\n6", 22, NULL}, {"1\n\0002\n", 5, "line 2: it is no text"},
        {"1\0", 2, "line 1: it is no text"},       {longest, 255, NULL},
        {longest, 256, "line 1: it is too long"},  {longest, 299, "line 1: it is too long"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[] = "/tmp/trk-range-XXXXXX", text[64];
        struct trk_range range;
        struct trk_error error = {.text = ""};
        int fd = mkstemp(path);
        cr_assert(fd >= 0 && write(fd, cases[i].text, cases[i].size) == (ssize_t)cases[i].size);
        snprintf(text, sizeof text, "@%s", path);
        enum trk_status status = trk_range_parse(text, &range, &error);
        cr_expect_eq(status, cases[i].why == NULL ? TRK_OK : TRK_E_ARGUMENT, "case %zu: %s", i,
                     error.text);
        cr_expect(cases[i].why == NULL || strstr(error.text, cases[i].why) != NULL,
                  "case %zu says '%s'", i, error.text);
        cr_expect(cases[i].why != NULL || range.set_count == (i == 0 ? 3 : 1), "case %zu", i);
        trk_range_free(&range);
        unlink(path);
        close(fd);
    }
}
