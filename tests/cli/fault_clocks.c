#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fault_loader.h"

#define EXTENSIONS_MAX 256u
#define SECOND         UINT64_C(1000000000)

static struct {
    char what[32]; /* "": nothing */
    unsigned long number;
    PFN_vkEnumerateDeviceExtensionProperties extensions;
    PFN_vkCreateDevice create_device;
    PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT domains;
    PFN_vkGetCalibratedTimestampsEXT read;
    uint64_t first; /* the device's first reading */
} clocks;

void fault_clocks_order(const char *what, unsigned long number)
{
    strncpy(clocks.what, what, sizeof clocks.what - 1);
    clocks.number = number;
}

static int ordered(const char *what)
{
    return strcmp(clocks.what, what) == 0;
}

/* ---- the newer name -------------------------------------------------------------------------- */

static VKAPI_ATTR VkResult VKAPI_CALL clocks_extensions(VkPhysicalDevice device, const char *layer,
                                                        uint32_t *count,
                                                        VkExtensionProperties *list)
{
    VkResult result = clocks.extensions(device, layer, count, list);
    for (uint32_t i = 0; list != NULL && i < *count; i++) {
        if (strcmp(list[i].extensionName, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) == 0) {
            memcpy(list[i].extensionName, VK_KHR_CALIBRATED_TIMESTAMPS_EXTENSION_NAME,
                   sizeof VK_KHR_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
        }
    }
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL clocks_create_device(VkPhysicalDevice physical,
                                                           const VkDeviceCreateInfo *info,
                                                           const VkAllocationCallbacks *callbacks,
                                                           VkDevice *device)
{
    const char *names[EXTENSIONS_MAX];
    VkDeviceCreateInfo create = *info;
    create.ppEnabledExtensionNames = names;
    for (uint32_t i = 0; i < info->enabledExtensionCount && i < EXTENSIONS_MAX; i++) {
        const char *name = info->ppEnabledExtensionNames[i];
        names[i] = strcmp(name, VK_KHR_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) == 0
                       ? VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME
                       : name;
    }
    return clocks.create_device(physical, &create, callbacks, device);
}

const char *fault_clocks_name(const char *name)
{
    if (ordered("khr") && strcmp(name, "vkGetCalibratedTimestampsKHR") == 0) {
        return "vkGetCalibratedTimestampsEXT";
    }
    if (ordered("khr") && strcmp(name, "vkGetPhysicalDeviceCalibrateableTimeDomainsKHR") == 0) {
        return "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT";
    }
    return name;
}

/* ---- what they say --------------------------------------------------------------------------- */

static VKAPI_ATTR VkResult VKAPI_CALL clocks_domains(VkPhysicalDevice device, uint32_t *count,
                                                     VkTimeDomainEXT *list)
{
    VkResult result = clocks.domains(device, count, list);
    for (uint32_t i = 0; list != NULL && i < *count; i++) {
        if (ordered("raw") && list[i] == VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT) {
            list[i] = VK_TIME_DOMAIN_CLOCK_MONOTONIC_RAW_EXT;
        } else if (ordered("host-alone") && list[i] == VK_TIME_DOMAIN_DEVICE_EXT) {
            list[i] = list[--*count];
        }
    }
    return result;
}

/* The count of parameters is Vulkan's. */
#define READ_PARAMETERS                                                                            \
    VkDevice device, uint32_t count, const VkCalibratedTimestampInfoEXT *wanted, uint64_t *stamps, \
        uint64_t *deviation

static VKAPI_ATTR VkResult VKAPI_CALL clocks_read(READ_PARAMETERS)
{
    if (count != 2) {
        return VK_ERROR_UNKNOWN;
    }
    /* The machine's driver may have one clock of the host alone. */
    VkCalibratedTimestampInfoEXT known[2] = {wanted[0], wanted[1]};
    for (uint32_t i = 0; i < count; i++) {
        if (ordered("raw") && known[i].timeDomain == VK_TIME_DOMAIN_CLOCK_MONOTONIC_RAW_EXT) {
            known[i].timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
        }
    }
    VkResult result = clocks.read(device, count, known, stamps, deviation);
    if (clocks.number > 0 && --clocks.number == 0) {
        return (VkResult)atoi(clocks.what);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t *stamp = &stamps[i];
        if (wanted[i].timeDomain == VK_TIME_DOMAIN_CLOCK_MONOTONIC_RAW_EXT) {
            struct timespec now;
            clock_gettime(CLOCK_MONOTONIC_RAW, &now);
            *stamp = (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
        }
        if (wanted[i].timeDomain != VK_TIME_DOMAIN_DEVICE_EXT) {
            continue;
        }
        clocks.first = clocks.first != 0 ? clocks.first : *stamp;
        if (ordered("backwards")) {
            *stamp = clocks.first - (*stamp - clocks.first);
        } else if (ordered("fast")) {
            *stamp += *stamp - clocks.first;
        } else if (ordered("apart")) {
            *stamp += SECOND;
        }
    }
    *deviation = ordered("wide") ? 10 * SECOND : *deviation;
    return result;
}

PFN_vkVoidFunction fault_clocks(const char *name, PFN_vkVoidFunction real)
{
    if (strcmp(name, "vkGetCalibratedTimestampsEXT") == 0) {
        clocks.read = (PFN_vkGetCalibratedTimestampsEXT)real;
        return real != NULL ? (PFN_vkVoidFunction)clocks_read : NULL;
    }
    if (strcmp(name, "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT") == 0 &&
        (ordered("raw") || ordered("host-alone"))) {
        clocks.domains = (PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)real;
        return (PFN_vkVoidFunction)clocks_domains;
    }
    if (ordered("khr") && strcmp(name, "vkEnumerateDeviceExtensionProperties") == 0) {
        clocks.extensions = (PFN_vkEnumerateDeviceExtensionProperties)real;
        return (PFN_vkVoidFunction)clocks_extensions;
    }
    if (ordered("khr") && strcmp(name, "vkCreateDevice") == 0) {
        clocks.create_device = (PFN_vkCreateDevice)real;
        return (PFN_vkVoidFunction)clocks_create_device;
    }
    return NULL;
}
