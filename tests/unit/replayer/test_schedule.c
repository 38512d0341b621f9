/*
 * Goal: what the host copies of a submit comes in parts that its threads can share, and covers
 * what is asked for, once.
 * Method: an upload and a download of one range each, of sizes around a part's and a batch's.
 */
#include <criterion/criterion.h>

#include "schedule.h"

#define MIRROR_BYTES (UINT64_C(64) << 20)
#define BATCH_BYTES  (UINT64_C(16) << 20)
#define FIRST        UINT64_C(8192)

/* The parts' bytes, which must go on where the part before ended. */
static uint64_t covered(const struct schedule *schedule)
{
    uint64_t at = FIRST;
    for (size_t i = 0; i < schedule->part_count; i++) {
        const struct schedule_piece *part = &schedule->parts[i];
        cr_expect_eq(part->offset, at, "part %zu", i);
        cr_expect_gt(part->size_bytes, 0);
        cr_expect_leq(part->size_bytes, SCHEDULE_PART_BYTES);
        at += part->size_bytes;
    }
    return at - FIRST;
}

static void one_range(uint64_t size_bytes, enum trk_plan_kind kind)
{
    const struct trk_plan_item item = {
        .offset = FIRST, .size_bytes = size_bytes, .kind = (uint16_t)kind};
    const struct trk_plan_group group = {
        .kind = kind, .first_item = 0, .item_count = 1, .bytes = size_bytes};
    const struct trk_plan plan = {.items = &item,
                                  .item_count = 1,
                                  .groups = &group,
                                  .group_count = 1,
                                  .mirror_bytes = MIRROR_BYTES};
    const struct trk_transfer_policy policy = {
        .threads = 8, .ring_bytes = BATCH_BYTES, .batch_bytes = BATCH_BYTES};
    const struct schedule_options options = {.policy = &policy};
    struct schedule schedule = {0};
    struct trk_error error = {.text = ""};
    cr_assert_eq(schedule_make(&schedule, &plan, &options, &error), TRK_OK, "%s", error.text);
    cr_expect_eq(schedule.chunk_count, (size_bytes + BATCH_BYTES - 1) / BATCH_BYTES);
    cr_expect_eq(schedule.piece_count, schedule.chunk_count);
    cr_expect_eq(covered(&schedule), size_bytes);
    for (size_t i = 0; i < schedule.chunk_count;
         i++) { /* each chunk's own, from its slot's start */
        const struct schedule_chunk *chunk = &schedule.chunks[i];
        cr_expect_eq(schedule.parts[chunk->first_part].stage, 0);
        const struct schedule_piece *last =
            &schedule.parts[chunk->first_part + chunk->part_count - 1];
        cr_expect_eq(last->stage + last->size_bytes, chunk->moved_bytes);
    }
    schedule_deinit(&schedule);
}

Test(schedule, parts)
{
    static const uint64_t sizes[] = {1,
                                     4096,
                                     SCHEDULE_PART_BYTES - 1,
                                     SCHEDULE_PART_BYTES,
                                     SCHEDULE_PART_BYTES + 1,
                                     7 * SCHEDULE_PART_BYTES + 4096,
                                     BATCH_BYTES,
                                     BATCH_BYTES + SCHEDULE_PART_BYTES,
                                     3 * BATCH_BYTES};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        one_range(sizes[i], TRK_PLAN_UPLOAD);
        one_range(sizes[i], TRK_PLAN_DOWNLOAD);
    }
}
