/*
 * Goal: the guest stack walk believes a frame only in the stack, above the last one, readable, and
 * with a return address in a module; and ends after twenty.
 * Method: stacks made up in memory, one fault each; the lines are counted and the first is read.
 *
 * Rules: [M-61].
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "crash_parts.h"
#include "track/address.h"

#define PAGE        TRK_HOST_PAGE_BYTES
#define STACK_PAGES 300u /* more than a walk may see */
#define MODULE_AT   UINT64_C(0x7e0000000000)
#define MODULE_BASE (MODULE_AT - 0x1000)
#define MODULE_SIZE UINT64_C(0x2000)

static unsigned char *stack;
static struct crash_text text;

/* A frame at an offset of the stack, whose caller's is at `next`. */
static void put_frame(size_t offset, uint64_t next, uint64_t return_addr)
{
    uint64_t frame[2] = {next, return_addr};
    memcpy(stack + offset, frame, sizeof frame);
}

static uint64_t at(size_t offset)
{
    return (uint64_t)(uintptr_t)stack + offset;
}

/* `count` frames, each `step` bytes above the last. */
static void put_frames(unsigned count, size_t step)
{
    for (unsigned i = 0; i < count; i++)
        put_frame(i * step, at((i + 1) * step), MODULE_AT + 16 * i);
}

static unsigned walk(uint64_t stack_addr, uint64_t frame_addr)
{
    unsigned lines = 0;
    memset(&text, 0, sizeof text);
    trk_crash_walk(&text, stack_addr, frame_addr);
    for (size_t i = 0; i < text.used; i++)
        lines += text.bytes[i] == '\n';
    return lines > 0 ? lines - 1 : 0; /* without the headline */
}

static void setup(void)
{
    stack =
        mmap(NULL, STACK_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(stack, MAP_FAILED);
    cr_assert_eq(trk_crash_module_add("game.elf", MODULE_BASE, MODULE_AT, MODULE_SIZE), TRK_OK);
}

static void teardown(void)
{
    trk_crash_module_remove(MODULE_BASE);
    munmap(stack, STACK_PAGES * PAGE);
}

TestSuite(crash_walk, .init = setup, .fini = teardown);

Test(crash_walk, line)
{
    put_frames(1, 64);
    cr_expect_eq(walk(at(0), at(0)), 1);
    cr_expect_str_eq(text.bytes, "Guest stack walk:\n#0  0x00007e0000000000 +0x1000 game.elf\n");
}

Test(crash_walk, at_most_twenty)
{
    put_frames(25, 64);
    cr_expect_eq(walk(at(0), at(0)), 20);
    cr_expect(strstr(text.bytes, "#19 0x") != NULL);
}

Test(crash_walk, strictly_above)
{
    put_frames(5, 64);
    put_frame(2 * 64, at(2 * 64), MODULE_AT); /* its own caller */
    cr_expect_eq(walk(at(0), at(0)), 3);
    put_frame(2 * 64, at(64), MODULE_AT);
    cr_expect_eq(walk(at(0), at(0)), 3);
    cr_expect_eq(walk(at(64), at(0)), 0, "below the stack pointer");
}

Test(crash_walk, within_a_mebibyte)
{
    size_t far = (1u << 20) - 16;
    put_frame(0, at(far), MODULE_AT);
    put_frame(far, at(far + 64), MODULE_AT);
    put_frame(far + 64, at(far + 128), MODULE_AT);
    cr_expect_eq(walk(at(0), at(0)), 2);
    put_frame(0, at(far + 1), MODULE_AT);
    cr_expect_eq(walk(at(0), at(0)), 1);
    cr_expect_eq(walk(at(0), UINT64_MAX - 8), 0);
}

Test(crash_walk, readable)
{
    put_frames(5, PAGE);
    mprotect(stack + 3 * PAGE, PAGE, PROT_NONE);
    cr_expect_eq(walk(at(0), at(0)), 3);
    /* One of its two words can be read. */
    put_frame(2 * PAGE, at(3 * PAGE - 8), MODULE_AT);
    cr_expect_eq(walk(at(0), at(0)), 3);
}

Test(crash_walk, return_addresses_in_modules)
{
    static const uint64_t outside[] = {MODULE_AT - 1, MODULE_AT + MODULE_SIZE, 0, UINT64_MAX};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        put_frames(5, 64);
        put_frame(64, at(128), outside[i]);
        cr_expect_eq(walk(at(0), at(0)), 1, "0x%llx", (unsigned long long)outside[i]);
    }
    put_frames(2, 64);
    put_frame(64, 0, MODULE_AT + MODULE_SIZE - 1);
    cr_expect_eq(walk(at(0), at(0)), 2, "its last byte");
}

/* The host's own code is a module too, once it was noted. */
Test(crash_walk, host_modules)
{
    struct crash_place place;
    uint64_t here;
    void (*function)(void) = teardown;
    memcpy(&here, &function, sizeof here);
    trk_crash_modules_refresh();
    cr_assert(trk_crash_module_find(here, &place));
    cr_expect_str_eq(place.module, "(program)");
    trk_crash_modules_refresh();
    cr_expect(trk_crash_module_find(here, &place));
    cr_expect(trk_crash_module_find(MODULE_AT, &place), "the guest's stay");
}

Test(crash_walk, module_table_refuses)
{
    struct crash_place place;
    cr_expect_eq(trk_crash_module_add(NULL, 0, 1, 1), TRK_E_ARGUMENT);
    cr_expect_eq(trk_crash_module_add("x", 0, 1, 0), TRK_E_ARGUMENT);
    cr_expect_eq(trk_crash_module_add("x", 0, UINT64_MAX, 2), TRK_E_ARGUMENT);
    unsigned added = 0;
    while (added <= TRK_CRASH_SEGMENTS_MAX &&
           trk_crash_module_add("many", 0x5000, 0x6000 + added, 1) == TRK_OK)
        added++;
    cr_expect_leq(added, TRK_CRASH_SEGMENTS_MAX);
    cr_expect_eq(trk_crash_module_add("one more", 0, 1, 1), TRK_E_MEMORY);
    trk_crash_module_remove(0x5000);
    cr_expect_not(trk_crash_module_find(0x6000, &place));
    char name[200];
    memset(name, 'a', sizeof name);
    memcpy(name + sizeof name - 5, "\x1b.so", 5);
    cr_assert_eq(trk_crash_module_add(name, 0x5000, 0x6000, 1), TRK_OK);
    cr_assert(trk_crash_module_find(0x6000, &place));
    cr_expect_eq(strlen(place.module), TRK_CRASH_NAME_BYTES - 1);
    cr_expect_str_eq(place.module + TRK_CRASH_NAME_BYTES - 5, "?.so");
    trk_crash_module_remove(0x5000);
}
