/*
 * Goal: a machine without a Vulkan driver, and a device number that does not exist, are reported
 * as something the machine lacks, and nothing is leaked or printed.
 * Method: the loader is pointed at no driver at all by its own environment variables.
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/devices.h"
#include "replayer/vk.h"

Test(vk_open, no_driver)
{
    struct trk_vk *vk = NULL;
    struct trk_error error = {.status = TRK_OK};
    setenv("VK_ICD_FILENAMES", "/nonexistent/driver.json", 1);
    setenv("VK_DRIVER_FILES", "/nonexistent/driver.json", 1);
    cr_expect_eq(trk_vk_open(&vk, 0, &error), TRK_E_UNSUPPORTED);
    cr_expect_eq(error.status, TRK_E_UNSUPPORTED);
    cr_expect_not_null(strstr(error.text, "Vulkan"));
    cr_expect_null(vk);
    struct trk_device *devices = NULL;
    uint32_t count = 1, in_all = 1;
    cr_expect_eq(trk_devices_list(&devices, &count, &in_all, &error), TRK_E_UNSUPPORTED);
    cr_expect_str_eq(error.text, "no Vulkan: there is no driver");
    cr_expect_null(devices);
    cr_expect_eq(count + in_all, 0);
}

Test(vk_open, no_such_device)
{
    struct trk_vk *vk = NULL;
    struct trk_error error = {.status = TRK_OK};
    cr_expect_eq(trk_vk_open(&vk, UINT32_MAX, &error), TRK_E_UNSUPPORTED);
    cr_expect_not_null(strstr(error.text, "Vulkan"));
    cr_expect_null(vk);
    cr_expect_eq(trk_vk_open(&vk, UINT32_MAX, NULL), TRK_E_UNSUPPORTED, "the detail is optional");
}

Test(vk_open, close_nothing)
{
    trk_vk_close(NULL);
    trk_vk_buffer_destroy(NULL, NULL);
}
