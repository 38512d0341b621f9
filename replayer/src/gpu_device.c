/*
 * The logical device: up to three queues, what is optional where it is there, one timeline.
 */
#include "gpu_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vk_instance.h"

#define FAMILIES_MAX      32u
#define EXTENSIONS_IN_USE 5u
/* Layouts that host copies may use: more than there are. */
#define LAYOUTS_MAX 64u

static enum trk_status device_describe(struct trk_gpu *gpu, struct trk_error *error)
{
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT import = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT,
    };
    VkPhysicalDeviceDriverProperties driver = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
        .pNext = &import,
    };
    VkPhysicalDeviceProperties2 all = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
        .pNext = &driver,
    };
    gpu->api.GetPhysicalDeviceProperties(gpu->physical, &all.properties);
    snprintf(gpu->info.device_name, sizeof gpu->info.device_name, "%s", all.properties.deviceName);
    if (all.properties.apiVersion < VK_API_VERSION_1_2) {
        return trk_error_set(error, TRK_E_UNSUPPORTED,
                             "%.80s has Vulkan %u.%u; replaying needs 1.2", gpu->info.device_name,
                             VK_API_VERSION_MAJOR(all.properties.apiVersion),
                             VK_API_VERSION_MINOR(all.properties.apiVersion));
    }
    gpu->api.GetPhysicalDeviceProperties2(gpu->physical, &all);
    snprintf(gpu->info.driver, sizeof gpu->info.driver, "%.127s %.127s", driver.driverName,
             driver.driverInfo);
    gpu->info.vendor_id = all.properties.vendorID;
    gpu->info.device_id = all.properties.deviceID;
    gpu->info.api_version = all.properties.apiVersion;
    gpu->info.tick_ns = (double)all.properties.limits.timestampPeriod;
    gpu->limits.storage_range = all.properties.limits.maxStorageBufferRange;
    gpu->limits.storage_alignment = all.properties.limits.minStorageBufferOffsetAlignment;
    gpu->limits.image_side = all.properties.limits.maxImageDimension2D;
    gpu->limits.import_alignment = import.minImportedHostPointerAlignment;
    gpu->api.GetPhysicalDeviceMemoryProperties(gpu->physical, &gpu->memory);
    gpu->info.direct = gpu_memory_direct(gpu);
    return TRK_OK;
}

/* What kind of queue a family has; false: none that is used here. */
static bool family_kind(const VkQueueFamilyProperties *family, enum trk_policy_queue *kind)
{
    const VkQueueFlags able = family->queueFlags;
    if (family->queueCount == 0) {
        return false;
    }
    if ((able & VK_QUEUE_COMPUTE_BIT) != 0) {
        *kind = (able & VK_QUEUE_GRAPHICS_BIT) != 0 ? TRK_QUEUE_UNIVERSAL : TRK_QUEUE_COMPUTE;
        return true;
    }
    *kind = TRK_QUEUE_TRANSFER;
    /* A family of video units may copy, too: nobody means that one. */
    return (able & VK_QUEUE_TRANSFER_BIT) != 0 && (able & ~(VkQueueFlags)0x1f) == 0 &&
           (able & VK_QUEUE_GRAPHICS_BIT) == 0;
}

static enum trk_status device_families(struct trk_gpu *gpu, struct trk_error *error)
{
    VkQueueFamilyProperties families[FAMILIES_MAX];
    uint32_t count = FAMILIES_MAX;
    gpu->api.GetPhysicalDeviceQueueFamilyProperties(gpu->physical, &count, families);
    for (uint32_t i = 0; i < count; i++) {
        enum trk_policy_queue kind = TRK_QUEUE_UNIVERSAL;
        if (!family_kind(&families[i], &kind) || gpu->queues[kind].here) {
            continue;
        }
        uint32_t bits = families[i].timestampValidBits;
        gpu->queues[kind] = (struct gpu_queue){
            .here = true,
            .times = bits > 0,
            .family = i,
            .texels = families[i].minImageTransferGranularity.width == 1 &&
                      families[i].minImageTransferGranularity.height == 1,
            .valid_bits = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1,
        };
        gpu->families[gpu->family_count++] = i;
    }
    if (!gpu->queues[TRK_QUEUE_UNIVERSAL].here) { /* a device that only computes */
        gpu->queues[TRK_QUEUE_UNIVERSAL] = gpu->queues[TRK_QUEUE_COMPUTE];
        gpu->queues[TRK_QUEUE_COMPUTE].here = false;
    }
    return gpu->queues[TRK_QUEUE_UNIVERSAL].here
               ? TRK_OK
               : trk_error_set(error, TRK_E_UNSUPPORTED, "%.80s has no queue that can compute",
                               gpu->info.device_name);
}

/* The extension, and those that it needs beside Vulkan 1.2. */
static const char *const host_copy_names[] = {
    VK_EXT_HOST_IMAGE_COPY_EXTENSION_NAME,
    VK_KHR_COPY_COMMANDS_2_EXTENSION_NAME,
    VK_KHR_FORMAT_FEATURE_FLAGS_2_EXTENSION_NAME,
};

static uint32_t device_host_copy_part(const char *name)
{
    for (size_t i = 0; i < sizeof host_copy_names / sizeof *host_copy_names; i++) {
        if (strcmp(name, host_copy_names[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

static bool layouts_general(const VkImageLayout *layouts, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < LAYOUTS_MAX; i++) {
        if (layouts[i] == VK_IMAGE_LAYOUT_GENERAL) {
            return true;
        }
    }
    return false;
}

/* Whether the device does what the extension names, in the layout that our images have. */
static bool device_host_copies(const struct trk_gpu *gpu)
{
    VkImageLayout from[LAYOUTS_MAX], to[LAYOUTS_MAX];
    VkPhysicalDeviceHostImageCopyFeaturesEXT features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_FEATURES_EXT,
    };
    VkPhysicalDeviceFeatures2 all_features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
        .pNext = &features,
    };
    VkPhysicalDeviceHostImageCopyPropertiesEXT layouts = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_PROPERTIES_EXT,
        .copySrcLayoutCount = LAYOUTS_MAX,
        .pCopySrcLayouts = from,
        .copyDstLayoutCount = LAYOUTS_MAX,
        .pCopyDstLayouts = to,
    };
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
        .pNext = &layouts,
    };
    if (gpu->api.GetPhysicalDeviceFeatures2 == NULL) {
        return false;
    }
    gpu->api.GetPhysicalDeviceFeatures2(gpu->physical, &all_features);
    gpu->api.GetPhysicalDeviceProperties2(gpu->physical, &properties);
    return features.hostImageCopy && layouts_general(from, layouts.copySrcLayoutCount) &&
           layouts_general(to, layouts.copyDstLayoutCount);
}

static void device_extensions(struct trk_gpu *gpu)
{
    uint32_t count = 0;
    if (gpu->api.EnumerateDeviceExtensionProperties(gpu->physical, NULL, &count, NULL) !=
        VK_SUCCESS) {
        return;
    }
    VkExtensionProperties *list = calloc((size_t)count + 1, sizeof *list);
    if (list != NULL &&
        gpu->api.EnumerateDeviceExtensionProperties(gpu->physical, NULL, &count, list) >= 0) {
        for (uint32_t i = 0; i < count; i++) {
            const char *name = list[i].extensionName;
            gpu->info.import |= strcmp(name, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME) == 0;
            gpu->host_copy_parts += device_host_copy_part(name);
            gpu_calibration_listed(gpu, name);
        }
    }
    free(list);
    gpu->info.host_copy =
        gpu->host_copy_parts == sizeof host_copy_names / sizeof *host_copy_names &&
        device_host_copies(gpu);
}

static enum trk_status device_create(struct trk_gpu *gpu, struct trk_error *error)
{
    const float priority = 1.0f;
    const char *extensions[EXTENSIONS_IN_USE];
    VkDeviceQueueCreateInfo queues[GPU_QUEUES];
    VkPhysicalDeviceHostImageCopyFeaturesEXT host_copy = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_FEATURES_EXT,
        .hostImageCopy = VK_TRUE,
    };
    VkPhysicalDeviceTimelineSemaphoreFeatures features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .pNext = gpu->info.host_copy ? &host_copy : NULL,
        .timelineSemaphore = VK_TRUE, /* mandatory in 1.2 */
    };
    VkDeviceCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &features,
        .queueCreateInfoCount = gpu->family_count,
        .pQueueCreateInfos = queues,
        .ppEnabledExtensionNames = extensions,
    };
    for (uint32_t i = 0; i < gpu->family_count; i++) {
        queues[i] = (VkDeviceQueueCreateInfo){
            .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
            .queueFamilyIndex = gpu->families[i],
            .queueCount = 1,
            .pQueuePriorities = &priority,
        };
    }
    if (gpu->info.import) {
        extensions[create.enabledExtensionCount++] = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
    }
    for (size_t i = 0; gpu->info.host_copy && i < sizeof host_copy_names / sizeof(char *); i++) {
        extensions[create.enabledExtensionCount++] = host_copy_names[i];
    }
    if (gpu->info.calibrated != NULL) {
        extensions[create.enabledExtensionCount++] = gpu->info.calibrated;
    }
    VkResult result = gpu->api.CreateDevice(gpu->physical, &create, NULL, &gpu->device);
    if (result != VK_SUCCESS) {
        gpu->device = VK_NULL_HANDLE;
        return trk_vk_result(error, "vkCreateDevice", result);
    }
    enum trk_status status = trk_vk_loader_device(&gpu->api, gpu->device, error);
    if (status == TRK_OK) {
        status = trk_vk_loader_replay(&gpu->api, gpu->device, error);
    }
    gpu->info.import = gpu->info.import && gpu->limits.import_alignment > 0 &&
                       gpu->api.GetMemoryHostPointerPropertiesEXT != NULL;
    gpu->info.host_copy = gpu->info.host_copy && gpu->api.CopyMemoryToImageEXT != NULL &&
                          gpu->api.CopyImageToMemoryEXT != NULL;
    gpu_calibration_find(gpu);
    for (uint32_t i = 0; status == TRK_OK && i < GPU_QUEUES; i++) {
        if (gpu->queues[i].here) {
            gpu->api.GetDeviceQueue(gpu->device, gpu->queues[i].family, 0, &gpu->queues[i].queue);
        }
    }
    return status;
}

static enum trk_status device_timeline(struct trk_gpu *gpu, struct trk_error *error)
{
    VkSemaphoreTypeCreateInfo type = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
        .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
    };
    VkSemaphoreCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
        .pNext = &type,
    };
    VkResult result = gpu->api.CreateSemaphore(gpu->device, &create, NULL, &gpu->timeline);
    if (result != VK_SUCCESS) {
        gpu->timeline = VK_NULL_HANDLE;
        return trk_vk_result(error, "vkCreateSemaphore", result);
    }
    gpu_name(gpu, VK_OBJECT_TYPE_SEMAPHORE, (uint64_t)(uintptr_t)gpu->timeline, "trk timeline");
    return TRK_OK;
}

static enum trk_status device_open(struct trk_gpu *gpu, const struct trk_gpu_options *options,
                                   struct trk_error *error)
{
    enum trk_status status = gpu_instance_open(gpu, options, error);
    if (status == TRK_OK) {
        status = device_describe(gpu, error);
    }
    if (status == TRK_OK) {
        status = device_families(gpu, error);
    }
    if (status == TRK_OK) {
        device_extensions(gpu);
        gpu_calibration_choose(gpu);
        status = device_create(gpu, error);
    }
    return status == TRK_OK ? device_timeline(gpu, error) : status;
}

enum trk_status trk_gpu_open(struct trk_gpu **out, const struct trk_gpu_options *options,
                             struct trk_error *error)
{
    struct trk_gpu *gpu = calloc(1, sizeof *gpu);
    if (gpu == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for a Vulkan device");
    }
    TRK_VK_LEAKS_IGNORE();
    enum trk_status status = device_open(gpu, options, error);
    TRK_VK_LEAKS_COUNT();
    if (status != TRK_OK) {
        trk_gpu_close(gpu);
        return status;
    }
    *out = gpu;
    return TRK_OK;
}

void trk_gpu_end(struct trk_gpu *gpu)
{
    if (gpu != NULL && gpu->device != VK_NULL_HANDLE && gpu->api.DestroyDevice != NULL) {
        if (gpu->timeline != VK_NULL_HANDLE) {
            (void)gpu->api.DeviceWaitIdle(gpu->device);
            gpu->api.DestroySemaphore(gpu->device, gpu->timeline, NULL);
        }
        gpu->api.DestroyDevice(gpu->device, NULL);
        gpu->device = VK_NULL_HANDLE;
    }
}

void trk_gpu_close(struct trk_gpu *gpu)
{
    if (gpu == NULL) {
        return;
    }
    trk_gpu_end(gpu);
    gpu_instance_close(gpu);
    free(gpu);
}

const struct trk_gpu_info *trk_gpu_info(const struct trk_gpu *gpu)
{
    return &gpu->info;
}
