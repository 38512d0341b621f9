/*
 * Goal: the host's threads bring every byte to its place and no other, and do each thing once.
 * Method: pieces of odd sizes and places, both ways of writing, with one thread and with some,
 * between images that are compared whole.
 */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <string.h>

#include "copy_ahead.h"
#include "copy_pool.h"

#define IMAGE_BYTES (512u << 10)

static uint8_t from[IMAGE_BYTES], to[IMAGE_BYTES], wanted[IMAGE_BYTES];

static void fill(void)
{
    for (size_t i = 0; i < IMAGE_BYTES; i++) {
        from[i] = (uint8_t)(i * 31 + (i >> 8));
    }
    memset(to, 0xee, sizeof to);
    memset(wanted, 0xee, sizeof wanted);
}

Test(copy_pool, ahead)
{
    static const size_t sizes[] = {1, 63, 64, 65, 100, 4096, 4100, 65536, 65600, 200000};
    for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
        for (unsigned way = 0; way < 16; way++) {
            const size_t at = 64 + (way & 1 ? 5 : 0), source = way & 2 ? 3 : 0;
            const uint8_t *next = way & 4 ? from + IMAGE_BYTES / 2 : NULL;
            fill();
            memcpy(wanted + at, from + source, sizes[size]);
            copy_ahead(to + at, from + source, sizes[size], next, (way & 8) != 0);
            copy_ahead_end();
            cr_assert_arr_eq(to, wanted, IMAGE_BYTES, "%zu bytes, way %u", sizes[size], way);
        }
    }
}

/* Pages of every second place, the last first; one of an odd size. */
static size_t make_parts(struct schedule_piece *parts, bool down)
{
    size_t count = 0;
    for (size_t page = 64; page-- > 0; count++) {
        const size_t size = page == 7 ? 1000 : 4096;
        parts[count] = (struct schedule_piece){
            .offset = page * 8192, .stage = count * 4096, .size_bytes = size};
        if (down) {
            memcpy(wanted + page * 8192, from + count * 4096, size);
        } else {
            memcpy(wanted + count * 4096, from + page * 8192, size);
        }
    }
    return count;
}

Test(copy_pool, parts)
{
    static const uint32_t threads[] = {1, 3, 12};
    for (unsigned i = 0; i < 6; i++) {
        struct schedule_piece parts[64];
        struct copy_pool pool;
        const bool down = i >= 3;
        fill();
        struct copy_job job = {.parts = parts, .down = down};
        job.count = make_parts(parts, down);
        job.guest = down ? to : from;
        job.staged = down ? from : to;
        cr_assert_eq(copy_pool_init(&pool, threads[i % 3], i % 2 * IMAGE_BYTES, NULL), TRK_OK);
        copy_pool_await(&pool, copy_pool_give(&pool, &job));
        copy_pool_deinit(&pool);
        cr_expect_arr_eq(to, wanted, IMAGE_BYTES, "%u threads, %s", threads[i % 3],
                         down ? "down" : "up");
    }
}

/* Around the caches: few threads where the ring is kept there, more where it is not. */
Test(copy_pool, around)
{
    static const struct {
        uint32_t threads;
        uint64_t ring_bytes, cache_bytes;
        bool around;
    } cases[] = {
        {1, 64, 256, true}, {2, 64, 256, true},  {3, 64, 256, false}, {3, 65, 256, true},
        {8, 65, 256, true}, {9, 65, 256, false}, {3, 64, 0, true},    {9, 64, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect_eq(copy_around(cases[i].threads, cases[i].ring_bytes, cases[i].cache_bytes),
                     cases[i].around, "case %zu", i);
    }
}

static void count_one(void *context, size_t number)
{
    atomic_uint *done = context;
    atomic_fetch_add(&done[number], 1);
}

Test(copy_pool, each)
{
    for (uint32_t threads = 1; threads <= 5; threads += 2) {
        atomic_uint done[100] = {0};
        struct copy_pool pool;
        cr_assert_eq(copy_pool_init(&pool, threads, 0, NULL), TRK_OK);
        for (size_t round = 1; round <= 2 * COPY_JOBS_MAX; round++) {
            copy_pool_each(&pool, round % 100, count_one, done);
        }
        copy_pool_deinit(&pool);
        for (size_t i = 0; i < 100; i++) { /* rounds 1 to 128, of which 100 does nothing */
            const unsigned times =
                (i < 99 ? 99 - (unsigned)i : 0) + (i < 28 ? 28 - (unsigned)i : 0);
            cr_expect_eq(atomic_load(&done[i]), times, "%zu: %u, not %u times", i,
                         atomic_load(&done[i]), times);
        }
    }
}
