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
        char picked[64] = "";
        cr_assert_eq(trk_range_parse(cases[i].text, &range, &error), TRK_OK, "%s: %s",
                     cases[i].text, error.text);
        for (size_t j = 0; j < count; j++) {
            if (trk_range_has(&range, &events[j])) {
                size_t length = strlen(picked);
                cr_assert_lt(length, sizeof picked - 20);
                snprintf(picked + length, sizeof picked - length, "%zu", j);
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

/* What is told of a range that nothing was in. */
Test(range, closest)
{
    static const struct {
        const char *text, *closest;
    } cases[] = {
        {"99", "the last event is 8"},
        {"frame:7-9", "the last frame is 2"},
        {"region:0xc00000", "no event is about the 4 MiB from 0xc00000; closest are 0x400000"},
        {"region:0x080000800000",
         "no event is about the 4 MiB from 0x80000800000; closest are 0x80000400000"},
        {"time:5s-6s", "the last event is at 8.000 us"},
    };
    struct trk_trace_event events[16];
    size_t count = make_events(events);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char closest[TRK_RANGE_CLOSEST_BYTES];
        struct trk_range range;
        cr_assert_eq(trk_range_parse(cases[i].text, &range, NULL), TRK_OK);
        range.ticks_a_microsecond = 1;
        for (size_t j = 0; j < count; j++) {
            events[j].tsc = j;
            cr_expect(!trk_range_has(&range, &events[j]), "%s", cases[i].text);
        }
        trk_range_closest(&range, closest);
        cr_expect_str_eq(closest, cases[i].closest);
    }
    struct trk_range range = trk_range_all();
    char closest[TRK_RANGE_CLOSEST_BYTES];
    trk_range_closest(&range, closest);
    cr_expect_str_eq(closest, "the trace has no events");
    /* The frames of a part begin anywhere: the closest one may be the first. */
    cr_assert_eq(trk_range_parse("frame:3", &range, NULL), TRK_OK);
    for (uint64_t frame = 7; frame < 10; frame++) {
        const struct trk_trace_event event = {
            .number = frame, .event = {.type = TRK_EVENT_FRAME, .argument = frame}};
        cr_expect(!trk_range_has(&range, &event));
    }
    trk_range_closest(&range, closest);
    cr_expect_str_eq(closest, "the closest frame is 7");
    /* The last number that a frame can have is one like others. */
    const struct trk_trace_event last = {
        .number = 10, .event = {.type = TRK_EVENT_FRAME, .argument = UINT64_MAX}};
    cr_assert_eq(trk_range_parse("frame:18446744073709551615", &range, NULL), TRK_OK);
    cr_expect(trk_range_has(&range, &last));
}

/* One piece of a list, or where it has a gap. */
Test(range, joins)
{
    static const struct {
        const char *list;
        uint64_t first, last; /* of the piece */
        const char *why;      /* NULL: it is one */
    } cases[] = {
        {"5-9", 5, 9, NULL},
        {"10-12\n5-9\n7", 5, 12, NULL},
        {"3\n4\n5", 3, 5, NULL},
        {"5-9\n9-/3", 0, 0, "a gap behind event 9"},
        {"5-5/7", 5, 5, NULL},
        {"5-9/50", 5, 5, NULL},
        {"11-53/50\n54-55", 0, 0, "a gap behind event 11"},
        {"8-\n2-9", 2, UINT64_MAX, NULL},
        {"8-\n2-6", 0, 0, "a gap behind event 6"},
        {"1-9/2", 0, 0, "a gap behind event 1"},
        {"0-4/2\n1\n3", 0, 4, NULL},
        {"0-10/3\n1\n2", 0, 0, "a gap behind event 3"},
        {"0-20/3\n1-20/3\n2-20/3", 0, 20, NULL},
        {"0-20/3\n1-20/3\n2-16/3", 0, 0, "a gap behind event 16"},
        {"0-10/2\n1-3\n5-20", 0, 20, NULL},
        {"0-/2\n1-/2", 0, 0, "goes on in steps"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[] = "/tmp/trk-range-XXXXXX", text[64];
        struct trk_range range;
        struct trk_error error = {.text = ""};
        int fd = mkstemp(path);
        cr_assert(fd >= 0 && write(fd, cases[i].list, strlen(cases[i].list)) > 0);
        snprintf(text, sizeof text, "@%s", path);
        cr_assert_eq(trk_range_parse(text, &range, &error), TRK_OK, "%s", error.text);
        enum trk_status status = trk_range_join(&range, &error);
        if (cases[i].why != NULL) {
            cr_expect_eq(status, TRK_E_ARGUMENT, "case %zu", i);
            cr_expect_not_null(strstr(error.text, cases[i].why), "case %zu: %s", i, error.text);
        } else {
            cr_expect(status == TRK_OK && range.kind == TRK_RANGE_EVENTS, "case %zu: %s", i,
                      error.text);
            cr_expect(range.first == cases[i].first && range.last == cases[i].last, "case %zu", i);
        }
        trk_range_free(&range);
        unlink(path);
        close(fd);
    }
    struct trk_range steps;
    cr_assert_eq(trk_range_parse("5-10/2", &steps, NULL), TRK_OK);
    cr_expect_eq(trk_range_join(&steps, NULL), TRK_E_ARGUMENT);
    cr_assert_eq(trk_range_parse("frame:5-6/2", &steps, NULL), TRK_OK);
    cr_expect_eq(trk_range_join(&steps, NULL), TRK_OK);
}
