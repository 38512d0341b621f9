/*
 * Goal: the demo notices every wrong byte of a slot.
 * Method: a stored slot and a filled one are read back whole, then with each byte changed in turn,
 * then as a mixture of two stores at each place where it can be cut.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "demo_pattern.h"

static const uint32_t stamps[] = {1, 2, 255, 256, 0x01010101u, 0x7fffffffu, UINT32_MAX};

Test(pattern, whole_slots)
{
    uint32_t slot[DEMO_SLOT_WORDS];
    for (size_t i = 0; i < sizeof stamps / sizeof *stamps; i++) {
        demo_pattern_store(slot, stamps[i]);
        cr_expect_eq(demo_pattern_load(slot), stamps[i], "stored %u", stamps[i]);
        for (uint32_t k = 0; k < DEMO_SLOT_WORDS; k++) {
            slot[k] = stamps[i];
        }
        cr_expect_eq(demo_pattern_load(slot), stamps[i], "filled with %u", stamps[i]);
    }
    memset(slot, 0, sizeof slot);
    cr_expect_eq(demo_pattern_load(slot), 0, "never written");
}

Test(pattern, one_wrong_byte)
{
    uint32_t slot[DEMO_SLOT_WORDS];
    unsigned char *bytes = (unsigned char *)slot;
    demo_pattern_store(slot, 258);
    for (uint32_t i = 0; i < DEMO_SLOT_BYTES; i++) {
        bytes[i] ^= 0x10;
        cr_expect_eq(demo_pattern_load(slot), 0, "byte %u", i);
        bytes[i] ^= 0x10;
    }
    for (uint32_t i = 0; i < DEMO_SLOT_WORDS; i++) {
        slot[i] = 258;
    }
    for (uint32_t i = 0; i < DEMO_SLOT_BYTES; i++) {
        bytes[i] ^= 0x10;
        cr_expect_eq(demo_pattern_load(slot), 0, "byte %u of a fill", i);
        bytes[i] ^= 0x10;
    }
}

Test(pattern, torn_slots)
{
    uint32_t older[DEMO_SLOT_WORDS];
    uint32_t slot[DEMO_SLOT_WORDS];
    demo_pattern_store(older, 300);
    for (uint32_t cut = 1; cut < DEMO_SLOT_WORDS; cut++) {
        demo_pattern_store(slot, 301);
        memcpy(slot + cut, older + cut, (DEMO_SLOT_WORDS - cut) * sizeof *slot);
        cr_expect_eq(demo_pattern_load(slot), 0, "cut at %u", cut);
    }
}

Test(pattern, dice_follow_the_seed)
{
    struct demo_dice one = demo_dice_make(7, 1);
    struct demo_dice same = demo_dice_make(7, 1);
    struct demo_dice other_player = demo_dice_make(7, 2);
    struct demo_dice other_seed = demo_dice_make(8, 1);
    unsigned differ_player = 0;
    unsigned differ_seed = 0;
    for (unsigned i = 0; i < 100; i++) {
        uint32_t roll = demo_dice_roll(&one, 1000);
        cr_expect_lt(roll, 1000);
        cr_expect_eq(roll, demo_dice_roll(&same, 1000));
        differ_player += roll != demo_dice_roll(&other_player, 1000);
        differ_seed += roll != demo_dice_roll(&other_seed, 1000);
    }
    cr_expect_gt(differ_player, 90);
    cr_expect_gt(differ_seed, 90);
}
