/*
 * Goal: bytes arrive where copies and fills put them, in the order recorded, on a real driver.
 * Method: a small plan of copies and fills runs on the device and on plain memory; the readback is
 * compared byte for byte. Repeated, so that command buffers are used again.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

#define SIZE  (64u * 1024u)
#define WORDS (SIZE / 4u)

struct vk_fixture {
    struct trk_vk *vk;
    struct trk_vk_buffer *upload, *local, *readback;
};

static void fixture_open(struct vk_fixture *fixture)
{
    fixture->vk = device_or_skip();
    cr_assert_eq(trk_vk_buffer_create(fixture->vk, &fixture->upload, TRK_VK_UPLOAD, SIZE, NULL),
                 TRK_OK);
    cr_assert_eq(
        trk_vk_buffer_create(fixture->vk, &fixture->local, TRK_VK_DEVICE_LOCAL, SIZE, NULL),
        TRK_OK);
    cr_assert_eq(trk_vk_buffer_create(fixture->vk, &fixture->readback, TRK_VK_READBACK, SIZE, NULL),
                 TRK_OK);
}

static void fixture_close(struct vk_fixture *fixture)
{
    trk_vk_buffer_destroy(fixture->vk, fixture->readback);
    trk_vk_buffer_destroy(fixture->vk, fixture->local);
    trk_vk_buffer_destroy(fixture->vk, fixture->upload);
    trk_vk_close(fixture->vk);
}

Test(vk, describes_itself)
{
    struct trk_vk *vk = device_or_skip();
    const struct trk_vk_info *info = trk_vk_info(vk);
    cr_assert_not_null(info);
    cr_expect_str_not_empty(info->device_name);
    cr_expect_str_not_empty(info->driver);
    cr_expect_geq(info->device_count, 1);
    struct trk_vk *other = NULL;
    struct trk_error error;
    cr_expect_eq(trk_vk_open(&other, info->device_count, &error), TRK_E_UNSUPPORTED);
    cr_expect_not_null(strstr(error.text, "this machine has"), "%s", error.text);
    trk_vk_close(vk);
}

Test(vk, mappings)
{
    struct vk_fixture fixture;
    fixture_open(&fixture);
    struct trk_vk_buffer *none = NULL;
    cr_expect_not_null(trk_vk_buffer_host(fixture.upload));
    cr_expect_not_null(trk_vk_buffer_host(fixture.readback));
    cr_expect_null(trk_vk_buffer_host(fixture.local));
    cr_expect_eq(trk_vk_buffer_create(fixture.vk, &none, TRK_VK_UPLOAD, 0, NULL), TRK_E_ARGUMENT);
    cr_expect_null(none);
    fixture_close(&fixture);
}

/* Copy all, fill a part, copy a part over the fill, all without a barrier asked for. */
static void run_plan(struct vk_fixture *fixture, uint32_t round)
{
    static uint32_t expected[WORDS];
    uint32_t *words = trk_vk_buffer_host(fixture->upload);
    for (uint32_t i = 0; i < WORDS; i++) {
        words[i] = i * 2654435761u + round;
    }
    memcpy(expected, words, SIZE);
    for (uint32_t i = 1024; i < 4096; i++) {
        expected[i] = round;
    }
    memcpy(&expected[2048], &words[100], 512 * 4);
    const struct trk_vk_region all = {0, 0, SIZE};
    const struct trk_vk_region part = {400, 8192, 2048};
    uint64_t tick = 0;
    cr_assert_eq(trk_vk_copy(fixture->vk, fixture->upload, fixture->local, &all, NULL), TRK_OK);
    cr_assert_eq(trk_vk_fill(fixture->vk, fixture->local, 4096, 12288, round, NULL), TRK_OK);
    cr_assert_eq(trk_vk_copy(fixture->vk, fixture->upload, fixture->local, &part, NULL), TRK_OK);
    if (round % 2 == 1) { /* the rest in a submission of its own */
        cr_assert_eq(trk_vk_submit(fixture->vk, &tick, NULL), TRK_OK);
    }
    cr_assert_eq(trk_vk_copy(fixture->vk, fixture->local, fixture->readback, &all, NULL), TRK_OK);
    cr_assert_eq(trk_vk_submit(fixture->vk, &tick, NULL), TRK_OK);
    cr_assert_eq(trk_vk_wait(fixture->vk, tick, NULL), TRK_OK);
    cr_assert_arr_eq((char *)trk_vk_buffer_host(fixture->readback), (char *)expected, SIZE,
                     "round %u", round);
}

Test(vk, bytes_arrive_in_order)
{
    struct vk_fixture fixture;
    fixture_open(&fixture);
    for (uint32_t round = 0; round < 20; round++) {
        run_plan(&fixture, round);
    }
    fixture_close(&fixture);
}

/* Closing waits for what is pending. */
Test(vk, close_while_running)
{
    struct vk_fixture fixture;
    uint64_t tick = 0;
    fixture_open(&fixture);
    for (uint32_t i = 0; i < 16; i++) {
        cr_assert_eq(trk_vk_fill(fixture.vk, fixture.local, 0, SIZE, i, NULL), TRK_OK);
    }
    cr_assert_eq(trk_vk_submit(fixture.vk, &tick, NULL), TRK_OK);
    cr_expect_eq(trk_vk_wait(fixture.vk, tick + 1, NULL), TRK_E_ARGUMENT, "not yet submitted");
    cr_assert_eq(trk_vk_wait(fixture.vk, tick, NULL), TRK_OK);
    cr_assert_eq(trk_vk_fill(fixture.vk, fixture.local, 0, SIZE, 1, NULL), TRK_OK);
    fixture_close(&fixture); /* with a command buffer open */
}
