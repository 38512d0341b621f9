#include "replayer/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vk_instance.h"
#include "vk_internal.h"

_Static_assert(TRK_DEVICE_MEMORY_TYPES_MAX == VK_MAX_MEMORY_TYPES, "memory types");
_Static_assert(TRK_DEVICE_HEAPS_MAX == VK_MAX_MEMORY_HEAPS, "memory heaps");

static const struct trk_device_extension extensions[TRK_DEVICE_EXTENSIONS] = {
    {.name = "VK_EXT_external_memory_host", .use = "policy import"},
    {.name = "VK_EXT_host_image_copy", .use = "policy host-copy"},
    {.name = "VK_EXT_calibrated_timestamps", .use = "device time on the host's clock"},
    {.name = "VK_KHR_calibrated_timestamps", .use = "device time on the host's clock"},
};

struct listing {
    struct trk_vk_api api;
    VkInstance instance;
    VkPhysicalDevice devices[TRK_VK_DEVICES_MAX];
    uint32_t count, in_all;
};

static const char *kind_name(VkPhysicalDeviceType type)
{
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return "processor";
    default:
        return "other";
    }
}

static void properties_take(struct trk_device *out, const VkPhysicalDeviceProperties *properties)
{
    snprintf(out->name, sizeof out->name, "%s", properties->deviceName);
    snprintf(out->driver, sizeof out->driver, "driver 0x%x", properties->driverVersion);
    out->kind = kind_name(properties->deviceType);
    out->vendor_id = properties->vendorID;
    out->device_id = properties->deviceID;
    out->driver_version = properties->driverVersion;
    out->api_version[0] = VK_API_VERSION_MAJOR(properties->apiVersion);
    out->api_version[1] = VK_API_VERSION_MINOR(properties->apiVersion);
    out->api_version[2] = VK_API_VERSION_PATCH(properties->apiVersion);
    out->supported = properties->apiVersion >= VK_API_VERSION_1_2;
    out->timestamp_period_ns = (double)properties->limits.timestampPeriod;
}

/* What drivers since 1.2 tell of themselves, and how host memory has to lie to be imported. */
static void more_take(struct trk_device *out, const struct trk_vk_api *api, VkPhysicalDevice device)
{
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT,
    };
    VkPhysicalDeviceDriverProperties driver = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
        .pNext = out->extensions[0].there ? &host : NULL,
    };
    VkPhysicalDeviceProperties2 all = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
        .pNext = &driver,
    };
    if (!out->supported || api->GetPhysicalDeviceProperties2 == NULL) {
        return;
    }
    api->GetPhysicalDeviceProperties2(device, &all);
    /* 127 bytes each leave room for the blank and the end. */
    snprintf(out->driver, sizeof out->driver, "%.127s %.127s", driver.driverName,
             driver.driverInfo);
    out->import_alignment_bytes = host.minImportedHostPointerAlignment;
}

/* One flag of ours for each of Vulkan's that the device has. */
static uint32_t flags_of(uint32_t flags, const uint32_t (*pairs)[2], size_t count)
{
    uint32_t out = 0;
    for (size_t i = 0; i < count; i++) {
        out |= (flags & pairs[i][0]) != 0 ? pairs[i][1] : 0;
    }
    return out;
}

static void families_take(struct trk_device *out, const struct trk_vk_api *api,
                          VkPhysicalDevice device)
{
    static const uint32_t pairs[][2] = {{VK_QUEUE_GRAPHICS_BIT, TRK_DEVICE_GRAPHICS},
                                        {VK_QUEUE_COMPUTE_BIT, TRK_DEVICE_COMPUTE},
                                        {VK_QUEUE_TRANSFER_BIT, TRK_DEVICE_TRANSFER},
                                        {VK_QUEUE_SPARSE_BINDING_BIT, TRK_DEVICE_SPARSE}};
    VkQueueFamilyProperties families[TRK_DEVICE_FAMILIES_MAX];
    out->family_count = TRK_DEVICE_FAMILIES_MAX;
    api->GetPhysicalDeviceQueueFamilyProperties(device, &out->family_count, families);
    for (uint32_t i = 0; i < out->family_count; i++) {
        out->families[i] = (struct trk_device_family){
            .queues = families[i].queueCount,
            .flags = flags_of(families[i].queueFlags, pairs, sizeof pairs / sizeof pairs[0]),
            .timestamp_bits = families[i].timestampValidBits,
        };
    }
}

static void memory_take(struct trk_device *out, const struct trk_vk_api *api,
                        VkPhysicalDevice device)
{
    static const uint32_t pairs[][2] = {
        {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, TRK_DEVICE_LOCAL},
        {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, TRK_DEVICE_HOST_VISIBLE},
        {VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, TRK_DEVICE_HOST_COHERENT},
        {VK_MEMORY_PROPERTY_HOST_CACHED_BIT, TRK_DEVICE_HOST_CACHED},
        {VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT, TRK_DEVICE_LAZY}};
    VkPhysicalDeviceMemoryProperties memory;
    api->GetPhysicalDeviceMemoryProperties(device, &memory);
    out->memory_type_count = memory.memoryTypeCount;
    out->heap_count = memory.memoryHeapCount;
    for (uint32_t i = 0; i < memory.memoryTypeCount; i++) {
        out->memory_types[i] = (struct trk_device_memory_type){
            .heap = memory.memoryTypes[i].heapIndex,
            .flags = flags_of(memory.memoryTypes[i].propertyFlags, pairs,
                              sizeof pairs / sizeof pairs[0]),
        };
    }
    for (uint32_t i = 0; i < memory.memoryHeapCount; i++) {
        out->heaps[i] = (struct trk_device_heap){
            .size_bytes = memory.memoryHeaps[i].size,
            .local = (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0,
        };
    }
}

static enum trk_status extensions_take(struct trk_device *out, const struct trk_vk_api *api,
                                       VkPhysicalDevice device, struct trk_error *error)
{
    uint32_t count = 0;
    VkResult result = api->EnumerateDeviceExtensionProperties(device, NULL, &count, NULL);
    VkExtensionProperties *all = calloc((size_t)count + 1, sizeof *all);
    if (all == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for %u extensions", count);
    }
    if (result == VK_SUCCESS) {
        result = api->EnumerateDeviceExtensionProperties(device, NULL, &count, all);
    }
    memcpy(out->extensions, extensions, sizeof extensions);
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++) {
        for (size_t k = 0; k < TRK_DEVICE_EXTENSIONS; k++) {
            if (strcmp(all[i].extensionName, extensions[k].name) == 0) {
                out->extensions[k].there = true;
                out->extensions[k].version = all[i].specVersion;
            }
        }
    }
    free(all);
    return trk_vk_result(error, "vkEnumerateDeviceExtensionProperties", result);
}

static enum trk_status device_take(struct trk_device *out, const struct trk_vk_api *api,
                                   VkPhysicalDevice device, struct trk_error *error)
{
    VkPhysicalDeviceProperties properties;
    api->GetPhysicalDeviceProperties(device, &properties);
    properties_take(out, &properties);
    families_take(out, api, device);
    memory_take(out, api, device);
    enum trk_status status = extensions_take(out, api, device, error);
    more_take(out, api, device);
    return status;
}

static enum trk_status listing_open(struct listing *listing, struct trk_error *error)
{
    enum trk_status status = trk_vk_loader_open(&listing->api, error);
    if (status == TRK_OK) {
        status = trk_vk_instance_create(&listing->api, &listing->instance, error);
    }
    if (status == TRK_OK) {
        status = trk_vk_instance_devices(&listing->api, listing->instance, listing->devices,
                                         &listing->count, &listing->in_all, error);
    }
    if (status == TRK_OK && listing->count == 0) {
        status = trk_error_set(error, TRK_E_UNSUPPORTED, "no Vulkan: no driver has a device");
    }
    return status;
}

static void listing_close(struct listing *listing)
{
    if (listing->instance != VK_NULL_HANDLE && listing->api.DestroyInstance != NULL) {
        listing->api.DestroyInstance(listing->instance, NULL);
    }
    trk_vk_loader_close(&listing->api);
}

static enum trk_status listing_take(const struct listing *listing, struct trk_device **out,
                                    struct trk_error *error)
{
    struct trk_device *devices = calloc(listing->count, sizeof *devices);
    if (devices == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for %u devices", listing->count);
    }
    enum trk_status status = TRK_OK;
    for (uint32_t i = 0; status == TRK_OK && i < listing->count; i++) {
        devices[i].number = i;
        status = device_take(&devices[i], &listing->api, listing->devices[i], error);
    }
    if (status != TRK_OK) {
        free(devices);
        return status;
    }
    *out = devices;
    return TRK_OK;
}

enum trk_status trk_devices_list(struct trk_device **out, uint32_t *count, uint32_t *in_all,
                                 struct trk_error *error)
{
    struct listing listing = {.count = 0};
    TRK_VK_LEAKS_IGNORE();
    enum trk_status status = listing_open(&listing, error);
    TRK_VK_LEAKS_COUNT();
    if (status == TRK_OK) {
        status = listing_take(&listing, out, error);
    }
    *count = listing.count;
    *in_all = listing.in_all;
    listing_close(&listing);
    return status;
}
