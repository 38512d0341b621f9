/*
 * Goal: a limit of trust is read strictly, and divides decisions the way recorder/trust.h says: by
 * number, or by frame, page and ordinal; without one every decision is trusted and nothing noted.
 *
 * Method: texts that are limits and texts that are none; a session in the test's own process, with
 * decisions asked about in a known order, and the events that they leave. Criterion runs each test
 * in a process of its own.
 */
#define _GNU_SOURCE /* gettid */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "capture_support.h"
#include "capture_trust.h"

#define A UINT64_C(0x200010000)
#define B UINT64_C(0x200011000)

Test(capture_trust, reads_limits)
{
    static const struct {
        const char *text;
        struct trk_trust_limit limit;
    } cases[] = {
        {"0", {.number = 0}},
        {"7", {.number = 7}},
        {"0012", {.number = 12}},
        {"0x10", {.number = 16}},
        {"18446744073709551615", {.number = UINT64_MAX}},
        {"0xffffffffffffffff", {.number = UINT64_MAX}},
        {"5:0x200010000:2", {.keyed = true, .frame = 5, .page_addr = A, .ordinal = 2}},
        {"0:4096:0", {.keyed = true, .page_addr = 4096}},
        {"0xa:0:0xffffffff", {.keyed = true, .frame = 10, .ordinal = UINT32_MAX}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trk_trust_limit limit, want = cases[i].limit;
        cr_expect(trk_trust_limit_read(cases[i].text, &limit), "%s", cases[i].text);
        cr_expect_eq(limit.keyed, want.keyed, "%s", cases[i].text);
        cr_expect_eq(limit.frame, want.frame, "%s", cases[i].text);
        cr_expect_eq(limit.page_addr, want.page_addr, "%s", cases[i].text);
        cr_expect_eq(limit.ordinal, want.ordinal, "%s", cases[i].text);
        if (!want.keyed)
            cr_expect_eq(limit.number, want.number, "%s", cases[i].text);
    }
}

Test(capture_trust, refuses_what_is_no_limit)
{
    static const char *const texts[] = {
        "",
        "x",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1\n",
        "1.0",
        "0x",
        "0xg",
        "0X10",
        "0xAB",
        "1a",
        "1:2",
        "1:2:3:4",
        ":1:2",
        "1::3",
        "1:2:",
        "1:2:3:",
        "::",
        "1:2:3 ",
        "1,2,3",
        "1:-2:3",
        "1:0x:3",
        "18446744073709551616",
        "0x10000000000000000",
        "1:2:4294967296",
        "18446744073709551616:1:1",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct trk_trust_limit limit;
        cr_expect_not(trk_trust_limit_read(texts[i], &limit), "'%s'", texts[i]);
    }
}

Test(capture_trust, a_bad_limit_refuses_the_session)
{
    struct trk_record_session session;
    struct trk_error error = {0};
    capture_support_offer(&session, 256);
    setenv("TRK_TRUST_LIMIT", "5:6", 1);
    cr_assert_eq(trk_capture_open(&error), TRK_E_ARGUMENT);
    cr_expect(strstr(error.text, "TRK_TRUST_LIMIT: '5:6'") != NULL, "%s", error.text);
    cr_expect_not(trk_capture_active());
    cr_expect(trk_capture_trust(0, A), "what is not recorded is trusted");
    setenv("TRK_TRUST_LIMIT", "5", 1);
    cr_expect_eq(trk_capture_open(&error), TRK_OK, "%s", error.text);
}

/* The decisions that this thread has noted. */
static size_t decisions(const struct trk_record_session *session, struct trk_event *out,
                        size_t capacity)
{
    struct trk_record records[64];
    size_t count = 0;
    uint32_t ring = capture_support_ring_of(session, (uint32_t)gettid());
    size_t got = capture_support_take(session, ring, records, sizeof records / sizeof records[0]);
    for (size_t i = 0; i < got; i++)
        if (records[i].event.type == TRK_EVENT_DECISION && count < capacity)
            out[count++] = records[i].event;
    return count;
}

Test(capture_trust, by_number_the_first_ones)
{
    struct trk_record_session session;
    struct trk_event noted[8];
    setenv("TRK_TRUST_LIMIT", "3", 1);
    capture_support_join(&session, 256);
    for (uint32_t i = 0; i < 6; i++)
        cr_expect_eq(trk_capture_trust(2, i % 2 == 0 ? A + 100 : B), i < 3, "decision %u", i);
    cr_assert_eq(decisions(&session, noted, 8), 6);
    for (uint32_t i = 0; i < 6; i++) {
        cr_expect_eq(noted[i].argument, i % 2 == 0 ? A : B, "the page of decision %u", i);
        cr_expect_eq(noted[i].page, 2, "the tracker of decision %u", i);
        cr_expect_eq(noted[i].context, i < 3 ? TRK_DECISION_SKIP : TRK_DECISION_DISTRUST,
                     "decision %u", i);
    }
}

Test(capture_trust, by_key_the_lesser_ones)
{
    /* In this order; what a page's ordinal is depends on what stands before. */
    static const struct {
        uint32_t frame;
        uint64_t page_addr;
        bool trusted; /* with the limit frame 2, page B, ordinal 1 */
    } asked[] = {
        {1, B, true},           {1, B, true},
        {1, B + 0x1000, true},                 /* any page, in a frame before */
        {2, B, true},                          /* ordinal 0 */
        {2, A, true},           {2, A, true},  /* a page before */
        {2, B, false},          {2, B, false}, /* ordinals 1 and 2 */
        {2, B + 0x1000, false},                /* a page behind */
        {3, A, false},                         /* a frame behind */
    };
    struct trk_record_session session;
    setenv("TRK_TRUST_LIMIT", "2:0x200011000:1", 1);
    capture_support_join(&session, 256);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        if (i == 0 || asked[i].frame != asked[i - 1].frame)
            trk_capture_frame(asked[i].frame);
        cr_expect_eq(trk_capture_trust(0, asked[i].page_addr), asked[i].trusted, "decision %zu", i);
    }
}

Test(capture_trust, without_a_limit_all_and_nothing_is_noted)
{
    struct trk_record_session session;
    struct trk_event noted[8];
    setenv("TRK_TRUST_LIMIT", "", 1);
    capture_support_join(&session, 256);
    for (uint32_t i = 0; i < 4; i++)
        cr_expect(trk_capture_trust(0, A));
    trk_capture_frame(0); /* so that there is a ring */
    cr_expect_eq(decisions(&session, noted, 8), 0);
}
