/*
 * A Vulkan instance and the devices that it finds.
 */
#ifndef VK_INSTANCE_H
#define VK_INSTANCE_H

#include "vk_loader.h"

/*
 * Drivers keep small allocations for good and are unloaded with them, so that the leak checker can
 * name no place for them. What they allocate on opening is not ours to free.
 */
#if defined(__SANITIZE_ADDRESS__)
#define TRK_VK_LEAKS_CHECKED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TRK_VK_LEAKS_CHECKED
#endif
#endif

#ifdef TRK_VK_LEAKS_CHECKED
#include <sanitizer/lsan_interface.h>
#define TRK_VK_LEAKS_IGNORE() __lsan_disable()
#define TRK_VK_LEAKS_COUNT()  __lsan_enable()
#else
#define TRK_VK_LEAKS_IGNORE() ((void)0)
#define TRK_VK_LEAKS_COUNT()  ((void)0)
#endif

/* More physical devices than any machine has; further ones are counted, not opened. */
#define TRK_VK_DEVICES_MAX 64u

/*
 * Create an instance and find its entry points.
 *
 * @return TRK_OK; TRK_E_UNSUPPORTED: there is no driver; else as the loader answers. *out is
 *         VK_NULL_HANDLE where there is nothing to destroy.
 */
enum trk_status trk_vk_instance_create(struct trk_vk_api *api, VkInstance *out,
                                       struct trk_error *error);

/* The devices in the loader's order, at most TRK_VK_DEVICES_MAX, and how many there are in all. */
enum trk_status trk_vk_instance_devices(const struct trk_vk_api *api, VkInstance instance,
                                        VkPhysicalDevice *devices, uint32_t *count,
                                        uint32_t *in_all, struct trk_error *error);

#endif
