/*
 * Goal: a device's clocks are told where the driver's library says them, and zeros else.
 * Method: a library of that name made for the test, found by LD_LIBRARY_PATH.
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <stdlib.h>

#include "replayer/gpu_clock.h"

Test(gpu_clock, known)
{
    struct trk_gpu_clock clock = {0};
    for (unsigned i = 0; i < 2; i++) { /* the library is closed behind each look */
        cr_assert(trk_gpu_clock_read(&clock, "Fast One"));
        cr_expect_eq(clock.core_mhz, 1980);
        cr_expect_eq(clock.memory_mhz, 3201);
        cr_expect_eq(clock.temperature_celsius, 41);
    }
}

Test(gpu_clock, not_known)
{
    static const char *const names[] = {"Silent One", "Fast", "Fast One and more", ""};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct trk_gpu_clock clock = {.core_mhz = 1, .memory_mhz = 1, .temperature_celsius = 1};
        cr_expect_not(trk_gpu_clock_read(&clock, names[i]), "%s", names[i]);
        cr_expect_eq(clock.core_mhz + clock.memory_mhz + clock.temperature_celsius, 0);
    }
}

Test(gpu_clock, library_fails)
{
    struct trk_gpu_clock clock = {.core_mhz = 1};
    setenv("FAKE_NVML_FAILS", "1", 1);
    cr_expect_not(trk_gpu_clock_read(&clock, "Fast One"));
    cr_expect_eq(clock.core_mhz, 0);
}
