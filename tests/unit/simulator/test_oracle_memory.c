/*
 * Goal: the oracle's memory follows the bytes that are touched, not the length of the trace, and
 * has a limit beyond that; what no longer fits is unknown and nothing false.
 *
 * Method: made-up events straight into the oracle, the heap counted before and after.
 */
#include <criterion/criterion.h>
#include <malloc.h>

#include "judge.h"

#define A       UINT64_C(0x200000000)
#define PAGE    UINT64_C(4096)
#define STREAMS 4u
#define MIB     (UINT64_C(1) << 20)

static uint64_t heap_bytes(void)
{
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

static uint64_t number;

static void take(struct judge *judge, uint32_t stream, const struct trk_event *event)
{
    struct trk_trace_event one = {.number = number, .stream = stream, .event = *event};
    struct finding finding;
    number++;
    cr_assert_eq(judge_take(judge, &one, &finding), TRK_OK);
    cr_assert_not(finding.found, "event %llu", (unsigned long long)one.number);
}

static void witness(struct judge *judge, uint32_t stream, uint8_t type, uint64_t guest_addr,
                    uint32_t stamp)
{
    struct trk_event event = {.type = type, .argument = guest_addr, .seq = 64, .domain = stamp};
    take(judge, stream, &event);
}

static void copy(struct judge *judge, uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_event event = {.type = TRK_EVENT_COPY_BEGIN, .argument = guest_addr};
    trk_event_set_size(&event, size_bytes);
    take(judge, 0, &event);
    event.type = TRK_EVENT_COPY_END;
    take(judge, 0, &event);
}

/* What the oracle has taken after so many rounds over 64 pages: stores, an edge, a copy, checks. */
static uint64_t after_rounds(uint32_t rounds)
{
    struct judge judge;
    uint64_t before = heap_bytes();
    number = 0;
    cr_assert_eq(judge_init(&judge, STREAMS, 1), TRK_OK);
    for (uint32_t round = 1; round <= rounds; round++) {
        uint32_t stream = 1 + round % (STREAMS - 1);
        uint64_t page_addr = A + round * UINT64_C(2654435761) % 64 * PAGE;
        struct trk_event edge = {.type = TRK_EVENT_SIGNAL, .domain = stream, .argument = round};
        for (uint64_t line = 0; line < 16; line++)
            witness(&judge, stream, TRK_EVENT_WITNESS_STORE,
                    page_addr + (line * 7 + round) % 64 * 64, round);
        take(&judge, stream, &edge);
        edge.type = TRK_EVENT_AWAIT;
        take(&judge, 0, &edge);
        copy(&judge, page_addr, PAGE);
        witness(&judge, 0, TRK_EVENT_WITNESS_CHECK, page_addr + round % 64 * 64, round);
        edge = (struct trk_event){.type = TRK_EVENT_SIGNAL, .domain = 9, .argument = round};
        take(&judge, 0, &edge);
        edge.type = TRK_EVENT_AWAIT;
        for (uint32_t i = 1; i < STREAMS; i++)
            take(&judge, i, &edge);
    }
    cr_expect_eq(judge.checks, rounds);
    cr_expect_eq(judge.unknown, 0);
    uint64_t taken = heap_bytes() - before;
    judge_deinit(&judge);
    return taken;
}

Test(oracle_memory, ten_times_as_long_is_not_ten_times_as_much)
{
    if (heap_bytes() == 0)
        cr_skip_test("the allocator counts nothing, as a sanitizer's");
    uint64_t shorter = after_rounds(2000), longer = after_rounds(20000);
    cr_expect_geq(shorter, 64 * PAGE / 64, "it keeps something: %llu bytes",
                  (unsigned long long)shorter);
    cr_expect_leq(longer, shorter + shorter / 10, "%llu bytes, then %llu",
                  (unsigned long long)shorter, (unsigned long long)longer);
}

/* More pages than there is room for: the first ones are known, the last ones are not. */
Test(oracle_memory, has_a_limit)
{
    struct judge judge;
    uint64_t before = heap_bytes(), pages = SHADOW_PAGES_MAX;
    number = 0;
    cr_assert_eq(judge_init(&judge, STREAMS, 1), TRK_OK);
    for (uint64_t i = 0; i < pages; i++)
        witness(&judge, 0, TRK_EVENT_WITNESS_STORE, A + i * PAGE, 1);
    cr_expect_leq(heap_bytes() - before, 256 * MIB);
    cr_expect(versions_limited(judge.versions));
    witness(&judge, 0, TRK_EVENT_WITNESS_CHECK, A, 1);
    cr_expect_eq(judge.unknown, 0);
    witness(&judge, 0, TRK_EVENT_WITNESS_CHECK, A + (pages - 1) * PAGE, 1);
    cr_expect_eq(judge.unknown, 1);
    judge_deinit(&judge);
}
