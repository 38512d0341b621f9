/*
 * Goal: shadow pages and views: bytes apart stay apart, bytes of one frame are one, what is too
 * fine is forgotten and never judged wrongly.
 *
 * Method: the version check alone, without a trace; a slow twin that keeps one entry a byte for the
 * random part.
 */
#include <criterion/criterion.h>

#include "versions.h"
#include "views.h"

#define A UINT64_C(0x200010000)

static struct order *order;
static struct versions *versions;
static uint64_t now;

static void setup(void)
{
    now = 0;
    cr_assert_eq(order_create(&order, 4), TRK_OK);
    cr_assert_eq(versions_create(&versions, order, 1), TRK_OK);
}

static void teardown(void)
{
    versions_destroy(versions);
    order_destroy(order);
}

static void store(uint32_t stream, uint64_t guest_addr, uint64_t size_bytes, uint32_t stamp)
{
    struct access access = {now++, stream, guest_addr, size_bytes};
    struct shadow_store made = {.stamp = stamp};
    cr_assert_eq(versions_store(versions, &access, &made), TRK_OK);
}

static bool stale(uint32_t stream, uint64_t guest_addr, uint64_t size_bytes, uint32_t seen)
{
    struct finding finding = {.agent = TRK_AGENT_CPU,
                              .check = {now++, stream, guest_addr, size_bytes},
                              .stamped = true,
                              .seen = seen};
    return versions_check(versions, &finding) == VERSIONS_STALE;
}

/* Whether an upload now would lose the GPU's newest bytes. */
static bool upload_loses(uint64_t guest_addr)
{
    struct access access = {now++, 0, guest_addr, 64};
    struct shadow_copy told = {.begin = access.event};
    struct finding lost;
    cr_assert_eq(versions_copy(versions, &access, &told, TRK_COPY_UP, &lost), TRK_OK);
    return lost.found;
}

static void gpu_write(uint64_t guest_addr)
{
    struct access access = {now++, 0, guest_addr, 64};
    struct shadow_store made = {.stamp = 1, .flags = SHADOW_STORE_GPU};
    cr_assert_eq(versions_store(versions, &access, &made), TRK_OK);
}

static void map(uint64_t guest_addr, uint64_t size_bytes, uint64_t frame, unsigned flags)
{
    struct access access = {now++, 0, guest_addr, size_bytes};
    cr_assert_eq(versions_map(versions, &access, frame, flags), TRK_OK);
}

Test(versions, bytes_apart, .init = setup, .fini = teardown)
{
    store(0, A + 100, 8, 5);
    cr_expect_not(stale(0, A + 92, 8, 1));
    cr_expect_not(stale(0, A + 108, 8, 1));
    cr_expect(stale(0, A + 107, 8, 1));
    cr_expect(stale(0, A + 93, 8, 1));
    cr_expect_not(stale(0, A + 100, 8, 5));
    cr_expect_not(stale(0, A + 100, 8, 6), "newer than what is known");
    cr_expect_not(stale(1, A + 100, 8, 1), "not ordered before this reader");
}

Test(versions, over_a_page_border, .init = setup, .fini = teardown)
{
    store(0, A + 4090, 12, 5);
    cr_expect(stale(0, A + 4096, 1, 1));
    cr_expect(stale(0, A + 4101, 1, 1));
    cr_expect_not(stale(0, A + 4102, 1, 1));
}

Test(versions, ranges_outside_the_bands, .init = setup, .fini = teardown)
{
    store(0, UINT64_MAX - 4, 8, 5);
    store(0, A, 0, 5);
    store(0, UINT64_C(1) << 41, 8, 5);
    cr_expect_not(stale(0, UINT64_MAX - 4, 8, 1));
    cr_expect_not(stale(0, A, 8, 1));
}

Test(versions, cut_too_fine_is_forgotten, .init = setup, .fini = teardown)
{
    for (uint32_t i = 0; i < SHADOW_SEGMENTS_MAX * 2; i++)
        store(0, A + 8 * i, 4, 5 + i);
    cr_expect_not(stale(0, A, 4, 1), "forgotten");
    store(0, A, 4, 1000);
    cr_expect(stale(0, A, 4, 1), "and known again");
}

/* What a loss leaves in doubt stays so, whatever is lost before or behind it. */
Test(versions, doubt_does_not_shrink, .init = setup, .fini = teardown)
{
    gpu_write(A);
    cr_expect(upload_loses(A));
    gpu_write(A);
    versions_doubt(versions, now);
    cr_expect_not(upload_loses(A), "something may have come between");
    now++;
    gpu_write(A);
    cr_expect(upload_loses(A), "what is lost came before");
    gpu_write(A);
    versions_doubt(versions, UINT64_MAX);
    versions_doubt(versions, 1);
    cr_expect_not(upload_loses(A));
}

/* A smaller stamp is older bytes only where the address still shows the same ones. */
Test(versions, lost_views, .init = setup, .fini = teardown)
{
    map(A, 0x1000, 16, 0);
    store(0, A, 8, 5);
    versions_lose_views(versions, UINT64_MAX);
    cr_expect_not(stale(0, A, 8, 1), "it may show another frame");
    store(0, A, 8, 6);
    cr_expect_not(stale(0, A, 8, 1), "and does so from now on");
    versions_lose_views(versions, now);
    cr_expect_not(stale(0, A, 8, 1), "the store was among the losses");
    store(0, A, 8, 7);
    cr_expect(stale(0, A, 8, 1), "nothing is missing behind the store");
    map(A + 0x100000, 0x1000, 17, 0);
    cr_expect_not(stale(0, A, 8, 1), "what the store wrote to may have been another frame");
    store(0, A, 8, 8);
    cr_expect(stale(0, A, 8, 1));
    map(A + 0x200000, 0x1000, 16, TRK_MAP_ALIAS);
    store(0, A, 8, 9);
    cr_expect_not(stale(0, A + 0x200000, 8, 1), "whether the two are one is not known");
    store(0, A + 0x100000, 8, 10);
    cr_expect(stale(0, A + 0x100000, 8, 1));
    versions_views_astray(versions);
    cr_expect_not(stale(0, A + 0x100000, 8, 1), "what was first is not known");
}

Test(versions, views_of_one_frame, .init = setup, .fini = teardown)
{
    map(A, 0x4000, 16, 0);
    map(A + 0x100000, 0x2000, 17, TRK_MAP_ALIAS);
    store(0, A + 0x1000, 8, 5);
    cr_expect(stale(0, A + 0x100000, 8, 1));
    cr_expect_not(stale(0, A + 0x101000, 8, 1));
    store(0, A + 0x101000, 8, 6);
    cr_expect(stale(0, A + 0x2000, 8, 1));
}

Test(versions, a_fresh_mapping_forgets, .init = setup, .fini = teardown)
{
    map(A, 0x4000, 16, 0);
    store(0, A, 8, 5);
    struct access gone = {now++, 0, A, 0x4000};
    cr_assert_eq(versions_unmap(versions, &gone), TRK_OK);
    map(A + 0x8000, 0x4000, 16, 0);
    cr_expect_not(stale(0, A + 0x8000, 8, 1));
    store(0, A + 0x8000, 8, 2);
    cr_expect(stale(0, A + 0x8000, 8, 1));
}

/* Also one of more pages than are looked up one by one; what is shown elsewhere stays. */
Test(versions, a_large_fresh_mapping_forgets, .init = setup, .fini = teardown)
{
    const uint64_t size_bytes = UINT64_C(1) << 31, far = UINT64_C(3) << 29;
    map(A, size_bytes, 16, 0);
    map(A + 2 * size_bytes, 0x1000, 16, TRK_MAP_ALIAS);
    store(0, A, 8, 5);
    store(0, A + far, 8, 5);
    struct access gone = {now++, 0, A, size_bytes};
    cr_assert_eq(versions_unmap(versions, &gone), TRK_OK);
    map(A + 4 * size_bytes, size_bytes, 16, 0);
    cr_expect(stale(0, A + 4 * size_bytes, 8, 1));
    cr_expect_not(stale(0, A + 4 * size_bytes + far, 8, 1));
}

Test(versions, views_cut_and_kept)
{
    struct views views = {0};
    struct view all = {A, A + 0x10000, 100, 0};
    cr_assert_eq(views_map(&views, &all), TRK_OK);
    uint64_t before = views_key(&views, A + 0x8000);
    cr_assert_eq(views_unmap(&views, A + 0x4000, A + 0x6000), TRK_OK);
    cr_expect_null(views_find(&views, A + 0x4000));
    cr_expect_null(views_find(&views, A + 0x5fff));
    cr_expect_not_null(views_find(&views, A + 0x3fff));
    cr_expect_eq(views_key(&views, A + 0x8000), before, "the rest shows what it showed");
    cr_expect_not(views_show(&views, 104));
    cr_expect(views_show(&views, 103));
    cr_expect(views_show(&views, 106));
    struct view over = {A + 0x3000, A + 0x7000, 500, 0};
    cr_assert_eq(views_map(&views, &over), TRK_OK);
    cr_expect_eq(views_find(&views, A + 0x3000)->frame, 500);
    cr_expect_eq(views_find(&views, A + 0x7000)->frame, 107);
    cr_expect_eq(views.count, 3);
    views_deinit(&views);
}

/* Every byte's newest stamp, by hand, against what the segments say. One stream, so that every
 * store is ordered. */
Test(versions, random_against_bytes, .init = setup, .fini = teardown)
{
    enum { BYTES = 512 };
    uint32_t newest[BYTES] = {0};
    uint64_t random = 12345;
    for (uint32_t step = 1; step <= 3000; step++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t first = (uint32_t)(random >> 40) % (BYTES - 16);
        first -= first % 16; /* few enough segments that nothing is forgotten */
        uint32_t size = 16 + (uint32_t)(random >> 33) % 2 * 16;
        if (first + size > BYTES)
            size = BYTES - first;
        if (random >> 63) {
            store(0, A + first, size, step);
            for (uint32_t i = first; i < first + size; i++)
                newest[i] = step;
            continue;
        }
        uint32_t seen = (uint32_t)(random >> 20) % step + 1;
        bool expected = false;
        for (uint32_t i = first; i < first + size; i++)
            expected |= newest[i] > seen;
        cr_assert_eq(stale(0, A + first, size, seen), expected, "step %u", step);
    }
}
