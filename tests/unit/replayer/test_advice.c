/*
 * Goal: what is said of a trace's copies is what is in them.
 * Method: plans written down by hand, whose answers can be counted.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "replayer/advice.h"

#define PAGE UINT64_C(4096)

struct sketch {
    struct trk_plan plan;
    struct trk_plan_item items[32], stores[32];
    struct trk_plan_group groups[16];
};

static void add_group(struct sketch *sketch, enum trk_plan_kind kind)
{
    sketch->plan.items = sketch->items;
    sketch->plan.stores = sketch->stores;
    sketch->plan.groups = sketch->groups;
    sketch->groups[sketch->plan.group_count++] = (struct trk_plan_group){
        .kind = kind,
        .first_item = sketch->plan.item_count,
        .first_store = sketch->plan.store_count,
    };
}

static struct trk_plan_group *last_group(struct sketch *sketch)
{
    return &sketch->groups[sketch->plan.group_count - 1];
}

static void add_item(struct sketch *sketch, uint64_t offset, uint64_t size_bytes)
{
    sketch->items[sketch->plan.item_count++] =
        (struct trk_plan_item){.offset = offset, .size_bytes = size_bytes};
    last_group(sketch)->item_count++;
}

/* Before the last group. */
static void add_store(struct sketch *sketch, uint64_t offset, uint64_t size_bytes)
{
    sketch->stores[sketch->plan.store_count++] =
        (struct trk_plan_item){.offset = offset, .size_bytes = size_bytes};
    last_group(sketch)->store_count++;
}

Test(advice, classes)
{
    cr_expect_eq(trk_advice_class(0), 0);
    cr_expect_eq(trk_advice_class(1), 1);
    cr_expect_eq(trk_advice_class(4095), 12);
    cr_expect_eq(trk_advice_class(4096), 13);
    cr_expect_eq(trk_advice_class(UINT64_MAX), TRK_ADVICE_CLASSES - 1);
    for (uint32_t i = 0; i < TRK_ADVICE_CLASSES; i++) {
        cr_expect_eq(trk_advice_class(trk_advice_class_least(i)), i);
    }
}

/* Ranges in any order; neighbours are by place. One that lies in another makes no gap. */
Test(advice, gaps)
{
    struct sketch sketch = {.plan = {.mirror_bytes = 64 * PAGE, .witnessed = true}};
    struct trk_advice advice;
    add_group(&sketch, TRK_PLAN_UPLOAD);
    add_item(&sketch, 8 * PAGE, PAGE);
    add_item(&sketch, 0, PAGE);
    add_item(&sketch, PAGE, 4 * PAGE);
    add_item(&sketch, 2 * PAGE, PAGE);
    add_group(&sketch, TRK_PLAN_UPLOAD);
    add_item(&sketch, 60 * PAGE, 2);
    cr_assert_eq(trk_advice_make(&advice, &sketch.plan, NULL), TRK_OK);
    cr_expect_eq(advice.up.ranges, 5);
    cr_expect_eq(advice.up.groups, 2);
    cr_expect_eq(advice.up.moved_bytes, 7 * PAGE + 2);
    cr_expect_eq(advice.up.gaps[0], 2, "touching, and inside");
    cr_expect_eq(advice.up.gaps[trk_advice_class(3 * PAGE)], 1);
    cr_expect_eq(advice.up.gap_bytes[trk_advice_class(3 * PAGE)], 3 * PAGE);
    cr_expect_eq(advice.up.sizes[trk_advice_class(PAGE)], 3);
    cr_expect_eq(advice.up.sizes[trk_advice_class(2)], 1);
    cr_expect_eq(advice.up.changed_bytes, 6 * PAGE + 2, "a page went up twice in one group");
    cr_expect_eq(advice.down.ranges, 0);
}

/* Bytes count as changed the first time, and then where somebody wrote since. */
Test(advice, changed)
{
    struct sketch sketch = {.plan = {.mirror_bytes = 4 * PAGE, .witnessed = true}};
    struct trk_advice advice;
    add_group(&sketch, TRK_PLAN_UPLOAD);
    add_item(&sketch, 0, 2 * PAGE); /* all new */
    add_group(&sketch, TRK_PLAN_UPLOAD);
    add_store(&sketch, 100, 3);
    add_store(&sketch, 60, 8);  /* over a word's end */
    add_item(&sketch, 0, PAGE); /* 11 bytes */
    add_group(&sketch, TRK_PLAN_GPU_WRITE);
    add_item(&sketch, PAGE + 1, 130);
    add_group(&sketch, TRK_PLAN_DOWNLOAD);
    add_item(&sketch, PAGE, PAGE); /* 130 bytes */
    add_group(&sketch, TRK_PLAN_UPLOAD);
    add_item(&sketch, PAGE, PAGE); /* nothing */
    cr_assert_eq(trk_advice_make(&advice, &sketch.plan, NULL), TRK_OK);
    cr_expect_eq(advice.up.moved_bytes, 4 * PAGE);
    cr_expect_eq(advice.up.changed_bytes, 2 * PAGE + 11, "%lu", advice.up.changed_bytes);
    cr_expect_eq(advice.down.moved_bytes, PAGE);
    cr_expect_eq(advice.down.changed_bytes, 130, "%lu", advice.down.changed_bytes);
    sketch.plan.witnessed = false;
    cr_assert_eq(trk_advice_make(&advice, &sketch.plan, NULL), TRK_OK);
    cr_expect_eq(advice.up.changed_bytes, TRK_NOT_KNOWN);
}

Test(advice, nothing)
{
    const struct trk_plan plan = {.witnessed = true};
    struct trk_advice advice;
    cr_assert_eq(trk_advice_make(&advice, &plan, NULL), TRK_OK);
    cr_expect_eq(advice.up.moved_bytes, 0);
    cr_expect_eq(advice.up.changed_bytes, 0);
}

Test(advice, predictions)
{
    const struct trk_gpu_cost cost = {.region_ns = 3000, .byte_ns = 0.02};
    const struct trk_replay_pass pass = {.regions = 1000, .moved_bytes = 1000000, .submits = 4};
    struct trk_transfer_policy policy = {.path = TRK_PATH_COPY};
    cr_expect_float_eq(trk_advice_predict_ns(&cost, &policy, &pass), 3020000, 1e-3);
    policy.slow = 0.05;
    cr_expect_float_eq(trk_advice_predict_ns(&cost, &policy, &pass), 3171000, 1e-3);
    policy = (struct trk_transfer_policy){.path = TRK_PATH_SCATTER};
    cr_expect_float_eq(trk_advice_predict_ns(&cost, &policy, &pass), 32000, 1e-3);
    policy.path = TRK_PATH_DIRECT;
    cr_expect_lt(trk_advice_predict_ns(&cost, &policy, &pass), 0);
}
