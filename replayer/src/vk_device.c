#include "vk_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vk_instance.h"

#define FAMILIES_MAX 32u

static enum trk_status device_choose(struct trk_vk *vk, uint32_t number, struct trk_error *error)
{
    VkPhysicalDevice devices[TRK_VK_DEVICES_MAX];
    uint32_t opened = 0;
    enum trk_status status = trk_vk_instance_devices(&vk->api, vk->instance, devices, &opened,
                                                     &vk->info.device_count, error);
    if (status != TRK_OK) {
        return status;
    }
    if (number >= opened) {
        return trk_error_set(error, TRK_E_UNSUPPORTED,
                             "no Vulkan device %u: this machine has %u, counted from 0", number,
                             vk->info.device_count);
    }
    vk->physical = devices[number];
    return TRK_OK;
}

static void device_describe(struct trk_vk *vk)
{
    VkPhysicalDeviceProperties properties;
    vk->api.GetPhysicalDeviceProperties(vk->physical, &properties);
    vk->image_side = properties.limits.maxImageDimension2D;
    vk->storage_range = properties.limits.maxStorageBufferRange;
    snprintf(vk->info.device_name, sizeof vk->info.device_name, "%s", properties.deviceName);
    snprintf(vk->info.driver, sizeof vk->info.driver, "driver 0x%x", properties.driverVersion);
    if (vk->api.GetPhysicalDeviceProperties2 == NULL ||
        properties.apiVersion < VK_API_VERSION_1_2) {
        return;
    }
    VkPhysicalDeviceDriverProperties driver = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
    };
    VkPhysicalDeviceProperties2 all = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
        .pNext = &driver,
    };
    vk->api.GetPhysicalDeviceProperties2(vk->physical, &all);
    /* 127 bytes each leave room for the blank and the end. */
    snprintf(vk->info.driver, sizeof vk->info.driver, "%.127s %.127s", driver.driverName,
             driver.driverInfo);
}

/* Graphics and compute families can transfer, whether they say so or not. */
static enum trk_status device_family(struct trk_vk *vk, struct trk_error *error)
{
    const VkQueueFlags able = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
    VkQueueFamilyProperties families[FAMILIES_MAX];
    uint32_t count = FAMILIES_MAX;
    vk->api.GetPhysicalDeviceQueueFamilyProperties(vk->physical, &count, families);
    for (uint32_t i = 0; i < count; i++) {
        if (families[i].queueCount > 0 && (families[i].queueFlags & able) != 0) {
            vk->family = i;
            vk->computes = (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
            return TRK_OK;
        }
    }
    return trk_error_set(error, TRK_E_UNSUPPORTED, "%.80s has no queue that can copy",
                         vk->info.device_name);
}

static enum trk_status device_create(struct trk_vk *vk, struct trk_error *error)
{
    const float priority = 1.0f;
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = vk->family,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    VkDeviceCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
    };
    VkResult result = vk->api.CreateDevice(vk->physical, &create, NULL, &vk->device);
    if (result != VK_SUCCESS) {
        vk->device = VK_NULL_HANDLE;
        return trk_vk_result(error, "vkCreateDevice", result);
    }
    enum trk_status status = trk_vk_loader_device(&vk->api, vk->device, error);
    if (status != TRK_OK) {
        return status;
    }
    vk->api.GetPhysicalDeviceMemoryProperties(vk->physical, &vk->memory);
    vk->api.GetDeviceQueue(vk->device, vk->family, 0, &vk->queue);
    return TRK_OK;
}

static enum trk_status device_open(struct trk_vk *vk, uint32_t device_number,
                                   struct trk_error *error)
{
    enum trk_status status = trk_vk_loader_open(&vk->api, error);
    if (status == TRK_OK) {
        status = trk_vk_instance_create(&vk->api, &vk->instance, error);
    }
    if (status == TRK_OK) {
        status = device_choose(vk, device_number, error);
    }
    if (status == TRK_OK) {
        device_describe(vk);
        status = device_family(vk, error);
    }
    if (status == TRK_OK) {
        status = device_create(vk, error);
    }
    if (status == TRK_OK) {
        status = trk_vk_commands_init(vk, error);
    }
    return status;
}

enum trk_status trk_vk_open(struct trk_vk **out, uint32_t device_number, struct trk_error *error)
{
    struct trk_vk *vk = calloc(1, sizeof *vk);
    if (vk == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for a Vulkan device");
    }
    TRK_VK_LEAKS_IGNORE();
    enum trk_status status = device_open(vk, device_number, error);
    TRK_VK_LEAKS_COUNT();
    if (status != TRK_OK) {
        trk_vk_close(vk);
        return status;
    }
    *out = vk;
    return TRK_OK;
}

void trk_vk_close(struct trk_vk *vk)
{
    if (vk == NULL) {
        return;
    }
    if (vk->device != VK_NULL_HANDLE && vk->api.DestroyDevice != NULL) {
        trk_vk_commands_deinit(vk);
        fill_shader_close(&vk->shader);
        vk->api.DestroyDevice(vk->device, NULL);
    }
    if (vk->instance != VK_NULL_HANDLE && vk->api.DestroyInstance != NULL) {
        vk->api.DestroyInstance(vk->instance, NULL);
    }
    trk_vk_loader_close(&vk->api);
    free(vk);
}

const struct trk_vk_info *trk_vk_info(const struct trk_vk *vk)
{
    return &vk->info;
}

enum trk_status trk_vk_result(struct trk_error *error, const char *call, VkResult result)
{
    switch (result) {
    case VK_SUCCESS:
        return TRK_OK;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        return trk_error_set(error, TRK_E_MEMORY, "%s: out of host memory", call);
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        return trk_error_set(error, TRK_E_MEMORY, "%s: out of device memory", call);
    case VK_ERROR_DEVICE_LOST:
        return trk_error_set(error, TRK_E_SYSTEM, "%s: the device was lost", call);
    case VK_TIMEOUT:
        return trk_error_set(error, TRK_E_SYSTEM, "%s: the device does not answer", call);
    default:
        return trk_error_set(error, TRK_E_SYSTEM, "%s: VkResult %d", call, (int)result);
    }
}
