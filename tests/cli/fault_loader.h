/*
 * Host copies of images for a device that has none: what the failing loader adds on order.
 *
 * Images that the host copies get a linear layout and are reached through their memory. Nothing
 * here is fast, nor right for other images than a replay's.
 */
#ifndef FAULT_LOADER_H
#define FAULT_LOADER_H

#include "vk_newer.h"

/* The entry point of that name in place of the machine's own, `real`; NULL: it stays. */
PFN_vkVoidFunction fault_host_copy(const char *name, PFN_vkVoidFunction real);

/* A device was made: where its own entry points are found. */
void fault_host_copy_device(PFN_vkGetDeviceProcAddr find, VkDevice device);

/*
 * Clocks that are read together: what the failing loader changes on order. WHAT: backwards and
 * fast, the device's clock in these readings; apart, they are a second apart from its time stamps;
 * wide, the deviation is; raw, host-alone: there is no CLOCK_MONOTONIC, no device; khr: the
 * extension has its newer name; a VkResult: the N-th reading gives it.
 */
void fault_clocks_order(const char *what, unsigned long number);
/* The name that the machine's own loader knows. */
const char *fault_clocks_name(const char *name);
/* As fault_host_copy. */
PFN_vkVoidFunction fault_clocks(const char *name, PFN_vkVoidFunction real);

/* What a loader exports, and all that is looked for in it. */
PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance, const char *name);

#endif
