/*
 * Which clock of the host the driver reads together with the device's, and reading them.
 */
#include "gpu_internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Readings of which the one with the least deviation is taken; one as good as this ends them. */
#define TRIES             16u
#define DEVIATION_GOOD_NS UINT64_C(500)

/* The best one first. */
static const struct {
    VkTimeDomainEXT domain;
    clockid_t clock;
    const char *name;
} host_clocks[] = {
    {VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT, CLOCK_MONOTONIC, "CLOCK_MONOTONIC"},
    {VK_TIME_DOMAIN_CLOCK_MONOTONIC_RAW_EXT, CLOCK_MONOTONIC_RAW, "CLOCK_MONOTONIC_RAW"},
};
#define HOST_CLOCKS (sizeof host_clocks / sizeof *host_clocks)

void gpu_calibration_listed(struct trk_gpu *gpu, const char *extension)
{
    if (strcmp(extension, VK_KHR_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) == 0) {
        gpu->info.calibrated = VK_KHR_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
    } else if (gpu->info.calibrated == NULL &&
               strcmp(extension, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) == 0) {
        gpu->info.calibrated = VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
    }
}

/* Whether the extension is the newer name of the two. */
static bool calibration_newer(const struct trk_gpu *gpu)
{
    return strcmp(gpu->info.calibrated, VK_KHR_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) == 0;
}

/* The domains that the driver reads; free() them. */
static VkTimeDomainEXT *domains_list(const struct trk_gpu *gpu, uint32_t *count)
{
    PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT ask =
        (PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)gpu->api.GetInstanceProcAddr(
            gpu->instance, calibration_newer(gpu)
                               ? "vkGetPhysicalDeviceCalibrateableTimeDomainsKHR"
                               : "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT");
    *count = 0;
    if (ask == NULL || ask(gpu->physical, count, NULL) != VK_SUCCESS) {
        return NULL;
    }
    VkTimeDomainEXT *domains = calloc((size_t)*count + 1, sizeof *domains);
    if (domains != NULL && ask(gpu->physical, count, domains) < 0) {
        *count = 0;
    }
    return domains;
}

void gpu_calibration_choose(struct trk_gpu *gpu)
{
    uint32_t count = 0;
    bool device = false, host = false;
    gpu->host_clock = CLOCK_MONOTONIC;
    if (gpu->info.calibrated == NULL) {
        return;
    }
    VkTimeDomainEXT *domains = domains_list(gpu, &count);
    for (uint32_t i = 0; domains != NULL && i < count; i++) {
        device |= domains[i] == VK_TIME_DOMAIN_DEVICE_EXT;
    }
    for (size_t k = 0; k < HOST_CLOCKS && !host; k++) {
        for (uint32_t i = 0; domains != NULL && i < count && !host; i++) {
            if (domains[i] == host_clocks[k].domain) {
                host = true;
                gpu->host_domain = host_clocks[k].domain;
                gpu->host_clock = host_clocks[k].clock;
                gpu->info.host_clock = host_clocks[k].name;
            }
        }
    }
    free(domains);
    if (!device || !host) {
        gpu->info.calibrated = NULL;
        gpu->host_clock = CLOCK_MONOTONIC;
    }
}

void gpu_calibration_find(struct trk_gpu *gpu)
{
    if (gpu->info.calibrated != NULL) {
        gpu->read_clocks = calibration_newer(gpu) ? gpu->api.GetCalibratedTimestampsKHR
                                                  : gpu->api.GetCalibratedTimestampsEXT;
    }
    if (gpu->read_clocks == NULL) {
        gpu->info.calibrated = NULL;
    }
}

uint64_t gpu_host_clock(const struct trk_gpu *gpu)
{
    struct timespec now;
    clock_gettime(gpu->host_clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

enum trk_status gpu_calibration_read(const struct trk_gpu *gpu, struct trk_clock_pair *out,
                                     struct trk_error *error)
{
    const VkCalibratedTimestampInfoEXT wanted[2] = {
        {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
         .timeDomain = VK_TIME_DOMAIN_DEVICE_EXT},
        {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, .timeDomain = gpu->host_domain},
    };
    out->deviation_ns = UINT64_MAX;
    for (uint32_t i = 0; i < TRIES && out->deviation_ns > DEVIATION_GOOD_NS; i++) {
        uint64_t stamps[2] = {0, 0}, deviation = 0;
        const VkResult result = gpu->read_clocks(gpu->device, 2, wanted, stamps, &deviation);
        if (result != VK_SUCCESS) {
            return trk_vk_result(error, "vkGetCalibratedTimestamps", result);
        }
        if (i == 0 || deviation < out->deviation_ns) {
            *out = (struct trk_clock_pair){stamps[0], stamps[1], deviation};
        }
    }
    return TRK_OK;
}
