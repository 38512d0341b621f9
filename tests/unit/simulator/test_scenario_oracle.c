/*
 * Goal: the oracle finds stale and lost bytes by order and provenance, not by value.
 * Method: two or three threads' writes to one frame, step by step.
 * Rules: scenario-format, Verdicts, Order and fine print 5.
 */
#include <criterion/criterion.h>

#include "scenario_oracle.h"

#define THREADS 3u

struct bench {
    struct scenario_pool pool;
    struct oracle oracle;
    struct frame frame;
};

static struct bench *bench_new(uint32_t line_bytes)
{
    static struct bench bench;
    bench = (struct bench){0};
    cr_assert(oracle_init(&bench.oracle, &bench.pool, THREADS, line_bytes));
    bool cuts[FRAME_BYTES];
    memset(cuts, true, sizeof cuts);
    cr_assert(oracle_cut(&bench.oracle, &bench.pool, cuts));
    return &bench;
}

static struct oracle_part part(struct bench *bench, uint32_t first, uint32_t size)
{
    return (struct oracle_part){&bench->frame, first, size};
}

static void put(struct bench *bench, uint32_t thread, enum side side, uint32_t first, uint32_t size)
{
    uint32_t write = oracle_write_begin(&bench->oracle, thread, side == SIDE_GPU, NULL);
    oracle_write(&bench->oracle, part(bench, first, size), side, write, 7); /* all alike */
}

static bool stale(struct bench *bench, uint32_t thread, enum side side, uint32_t first,
                  uint32_t size)
{
    return oracle_read(&bench->oracle, part(bench, first, size), side, thread).found;
}

static void order(struct bench *bench, uint32_t before, uint32_t after)
{
    oracle_join(&bench->oracle, oracle_clock(&bench->oracle, after),
                oracle_clock(&bench->oracle, before));
}

Test(scenario_oracle, own_write_is_ordered)
{
    struct bench *bench = bench_new(1);
    cr_expect_not(stale(bench, 0, SIDE_GPU, 0, 4096), "the fill is current in both copies");
    put(bench, 0, SIDE_GUEST, 8, 8);
    cr_expect(stale(bench, 0, SIDE_GPU, 0, 9));
    cr_expect_not(stale(bench, 0, SIDE_GPU, 0, 8), "the bytes before it");
    cr_expect_not(stale(bench, 0, SIDE_GPU, 16, 8), "the bytes behind it");
    cr_expect_not(stale(bench, 0, SIDE_GUEST, 8, 8));
    scenario_pool_deinit(&bench->pool);
}

Test(scenario_oracle, unordered_write_may_be_missed)
{
    struct bench *bench = bench_new(1);
    put(bench, 0, SIDE_GUEST, 0, 8);
    cr_expect_not(stale(bench, 1, SIDE_GPU, 0, 8));
    order(bench, 0, 1);
    cr_expect(stale(bench, 1, SIDE_GPU, 0, 8));
    scenario_pool_deinit(&bench->pool);
}

/* Behind the newest write, which is unordered, stands one that is ordered and newer than seen. */
Test(scenario_oracle, an_older_write_counts_too)
{
    struct bench *bench = bench_new(1);
    put(bench, 0, SIDE_GUEST, 0, 8);
    order(bench, 0, 2);
    put(bench, 1, SIDE_GUEST, 0, 8);
    cr_expect(stale(bench, 2, SIDE_GPU, 0, 8));
    cr_expect_not(oracle_copy(&bench->oracle, part(bench, 0, 8), SIDE_GPU).found);
    cr_expect_not(stale(bench, 2, SIDE_GPU, 0, 8));
    scenario_pool_deinit(&bench->pool);
}

Test(scenario_oracle, order_is_transitive)
{
    struct bench *bench = bench_new(1);
    put(bench, 0, SIDE_GUEST, 0, 8);
    order(bench, 0, 1);
    order(bench, 1, 2);
    cr_expect(stale(bench, 2, SIDE_GPU, 0, 8));
    put(bench, 0, SIDE_GUEST, 64, 8); /* behind the edge */
    cr_expect_not(stale(bench, 2, SIDE_GPU, 64, 8));
    scenario_pool_deinit(&bench->pool);
}

Test(scenario_oracle, copies_lose_newer_bytes)
{
    struct bench *bench = bench_new(1);
    put(bench, 0, SIDE_GPU, 16, 8);
    struct oracle_finding lost = oracle_copy(&bench->oracle, part(bench, 0, 64), SIDE_GPU);
    cr_expect(lost.found);
    cr_expect_eq(lost.offset, 16);
    cr_expect_not(oracle_gpu_newer(&bench->oracle, part(bench, 0, 64)).found, "they are gone");
    put(bench, 1, SIDE_GUEST, 32, 8);
    put(bench, 0, SIDE_GPU, 40, 8);
    lost = oracle_copy(&bench->oracle, part(bench, 40, 8), SIDE_GUEST);
    cr_expect_not(lost.found, "the newer way");
    lost = oracle_copy(&bench->oracle, part(bench, 0, 64), SIDE_GUEST);
    cr_expect(lost.found);
    cr_expect_eq(lost.offset, 32);
    scenario_pool_deinit(&bench->pool);
}

Test(scenario_oracle, lines_go_together)
{
    struct bench *bench = bench_new(64);
    put(bench, 0, SIDE_GUEST, 60, 2);
    cr_expect(stale(bench, 0, SIDE_GPU, 0, 1), "a part makes the whole line newest");
    cr_expect_not(stale(bench, 0, SIDE_GPU, 64, 64));
    cr_expect_not(oracle_copy(&bench->oracle, part(bench, 0, 1), SIDE_GPU).found);
    cr_expect_not(stale(bench, 0, SIDE_GPU, 0, 64), "and a part makes it current");
    cr_expect_eq(frame_byte(&bench->oracle, &bench->frame, SIDE_GPU, 60), 0,
                 "bytes are copied exactly");
    scenario_pool_deinit(&bench->pool);
}

Test(scenario_oracle, a_download_orders_the_gpus_writes)
{
    struct bench *bench = bench_new(1);
    put(bench, 2, SIDE_GUEST, 4, 4); /* no GPU's: not ordered */
    put(bench, 0, SIDE_GPU, 0, 4);
    put(bench, 0, SIDE_GUEST, 64, 8); /* later than the GPU's: not ordered by it */
    cr_expect_not(stale(bench, 1, SIDE_GUEST, 0, 8));
    oracle_order_gpu(&bench->oracle, part(bench, 0, 8), oracle_clock(&bench->oracle, 1));
    cr_expect(stale(bench, 1, SIDE_GUEST, 0, 8));
    cr_expect_not(stale(bench, 1, SIDE_GPU, 64, 8));
    cr_expect_not(stale(bench, 1, SIDE_GPU, 4, 4));
    scenario_pool_deinit(&bench->pool);
}
