/*
 * Goal: what is kept of memory of which little changes is what differs, in the same order whoever
 * changed it, and going back brings back every byte; and a search costs what a program touches, not
 * what there is: the same program has the same states in a page, in a few and in a gibibyte.
 * Method: a pool with a small and a large block, changes at edges; one scenario with three sizes.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scenario_schedule.h"

#define SMALL_BYTES 1008u
#define LARGE_BYTES 1000000u
#define PIECES_MOST 16u

struct seen {
    unsigned char *memory[PIECES_MOST];
    size_t size[PIECES_MOST];
    size_t count;
};

static void see(void *context, void *memory, size_t size_bytes)
{
    struct seen *seen = context;
    cr_assert_lt(seen->count, PIECES_MOST);
    seen->memory[seen->count] = memory;
    seen->size[seen->count++] = size_bytes;
}

struct bench {
    struct scenario_pool pool;
    unsigned char *small, *large;
    struct touched *touched;
};

static struct bench bench_begin(void)
{
    struct bench bench = {0};
    bench.small = scenario_pool_take(&bench.pool, SMALL_BYTES);
    bench.large = scenario_pool_take(&bench.pool, LARGE_BYTES);
    for (uint32_t i = 0; i < SMALL_BYTES; i++)
        bench.small[i] = (unsigned char)i;
    bench.touched = touched_create(&bench.pool);
    cr_assert_not_null(bench.touched);
    return bench;
}

static void bench_end(struct bench *bench)
{
    touched_destroy(bench->touched);
    scenario_pool_deinit(&bench->pool);
}

static void change(struct bench *bench, unsigned char *memory, size_t size_bytes, int value)
{
    touched_note(bench->touched, memory, size_bytes);
    memset(memory, value, size_bytes);
}

static bool covered(const struct seen *seen, const unsigned char *byte)
{
    for (size_t i = 0; i < seen->count; i++)
        if (byte >= seen->memory[i] && byte < seen->memory[i] + seen->size[i])
            return true;
    return false;
}

struct change_case {
    const char *name;
    bool large;
    size_t first, size_bytes;
};

static const struct change_case cases[] = {
    {"the first byte", false, 0, 1},
    {"the last byte", false, SMALL_BYTES - 1, 1},
    {"over a chunk's end", false, 250, 12},
    {"all of a block", false, 0, SMALL_BYTES},
    {"deep in a large block", true, 700001, 300},
    {"the end of a large block", true, LARGE_BYTES - 40, 40},
};

Test(touched, keeps_what_differs)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench bench = bench_begin();
        unsigned char *memory = (cases[i].large ? bench.large : bench.small) + cases[i].first;
        unsigned char before[SMALL_BYTES];
        memcpy(before, memory, cases[i].size_bytes);
        struct seen seen = {0};
        touched_note(bench.touched, memory, cases[i].size_bytes);
        touched_pieces(bench.touched, see, &seen);
        cr_expect_eq(seen.count, 0, "%s: touched and the same", cases[i].name);
        change(&bench, memory, cases[i].size_bytes, 0xa5);
        touched_pieces(bench.touched, see, &seen);
        cr_expect(covered(&seen, memory) && covered(&seen, memory + cases[i].size_bytes - 1),
                  "%s: not kept", cases[i].name);
        cr_expect_leq(seen.count, cases[i].size_bytes / 256 + 2, "%s: too much", cases[i].name);
        touched_reset(bench.touched);
        cr_expect_arr_eq(memory, before, cases[i].size_bytes, "%s: not put back", cases[i].name);
        seen.count = 0;
        touched_pieces(bench.touched, see, &seen);
        cr_expect_eq(seen.count, 0, "%s: the same again", cases[i].name);
        bench_end(&bench);
    }
}

Test(touched, order_of_changes_does_not_matter)
{
    struct bench one = bench_begin();
    struct seen up = {0}, down = {0};
    change(&one, one.small + 3, 1, 7);
    change(&one, one.large + 500000, 1, 7);
    change(&one, one.large + 100, 1, 7);
    touched_pieces(one.touched, see, &up);
    touched_reset(one.touched);
    change(&one, one.large + 100, 1, 7);
    change(&one, one.large + 500000, 1, 7);
    change(&one, one.small + 3, 1, 7);
    touched_pieces(one.touched, see, &down);
    cr_assert_eq(up.count, 3);
    cr_assert_eq(down.count, 3);
    cr_assert_arr_eq(up.memory, down.memory, 3 * sizeof up.memory[0]);
    bench_end(&one);
}

Test(touched, elsewhere_is_nobodys)
{
    struct bench bench = bench_begin();
    unsigned char other[8] = {0};
    struct seen seen = {0};
    touched_note(bench.touched, other, sizeof other);
    touched_note(bench.touched, NULL, 8);
    touched_note(NULL, other, sizeof other);
    memset(other, 1, sizeof other);
    touched_pieces(bench.touched, see, &seen);
    cr_assert_eq(seen.count, 0);
    bench_end(&bench);
}

Test(touched, states_do_not_depend_on_the_size_of_memory)
{
    /* Pages, and which one is the second that is touched; a far one has no bytes until then. */
    static const unsigned pages[][2] = {{2, 1}, {65, 64}, {262144, 1}, {262144, 900}};
    uint64_t states = 0, schedules = 0;
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        struct trk_scenario *scenario = NULL;
        struct trk_scenario_fault fault;
        struct trk_scenario_report report;
        struct schedule_request request = {0};
        char text[1024];
        int length = snprintf(
            text, sizeof text,
            "{\"scenario\": 1, \"name\": \"large\", \"memory\": {\"A\": {\"at\": \"0x200000000\", "
            "\"size\": \"%uP\"}}, \"threads\": {\"guest\": [\"store A 8 1\", \"store A+%uP 8 2\"], "
            "\"render\": [\"upload A 1P\", \"upload A+%uP 1P\"], "
            "\"reader\": [\"gpu_read A 8\", \"gpu_read A+%uP 8\"]}, \"schedule\": \"explore\"}",
            pages[i][0], pages[i][1], pages[i][1], pages[i][1]);
        cr_assert_eq(trk_scenario_parse(&scenario, text, (size_t)length, &fault), TRK_OK, "%s",
                     fault.text);
        cr_assert_eq(schedule_scenario(scenario, &request, &report), TRK_OK);
        if (i == 0) {
            states = request.explored.states;
            schedules = report.schedules;
        }
        cr_expect_eq(request.explored.states, states, "%u pages: %" PRIu64 " states", pages[i][0],
                     request.explored.states);
        cr_expect_eq(report.schedules, schedules, "%u pages", pages[i][0]);
        trk_scenario_destroy(scenario);
    }
}
