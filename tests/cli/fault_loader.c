/*
 * A Vulkan loader that hands all to the machine's own one, and fails on order.
 *
 * TRK_FAULT_LOADER=PATH  the machine's libvulkan.so.1
 * TRK_FAULT=CALL:N:RESULT  the N-th call of that name gives this VkResult and is not made. A lost
 *     device (-4) stays lost: nothing of it is submitted or waited for any more. Of queries, the
 *     N-th pair is not there; RESULT is not used.
 * TRK_FAULT=leak:N:0  the N-th buffer is not destroyed.
 * TRK_FAULT=drop:BYTES:0  regions of so many bytes are not copied between buffers.
 * TRK_FAULT=stamp:N:TICKS  the N-th pair of queries ends so many ticks later.
 * TRK_FAULT=clocks:N:WHAT  see fault_loader.h.
 * TRK_FAULT=hide:0:NAME  devices do not have the extension NAME; several: NAME,NAME.
 * TRK_FAULT=host-copy:0:on  devices have VK_EXT_host_image_copy.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault_loader.h"

static struct {
    PFN_vkGetInstanceProcAddr find;
    PFN_vkGetDeviceProcAddr find_of_device;
    PFN_vkDeviceWaitIdle idle;
    VkDevice device;
    PFN_vkQueueSubmit submit;
    PFN_vkWaitSemaphores wait;
    PFN_vkAllocateMemory allocate;
    PFN_vkGetQueryPoolResults queries;
    PFN_vkCmdCopyBuffer copy;
    PFN_vkDestroyBuffer destroy;
    PFN_vkEnumerateDeviceExtensionProperties extensions;
    char call[32], text[64];
    unsigned long number;
    int result;
    int lost;
} fault;

static void fault_read(void)
{
    const char *path = getenv("TRK_FAULT_LOADER"), *order = getenv("TRK_FAULT");
    void *loader = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
    void *symbol = loader != NULL ? dlsym(loader, "vkGetInstanceProcAddr") : NULL;
    memcpy(&fault.find, &symbol, sizeof symbol);
    if (order != NULL &&
        sscanf(order, "%31[^:]:%lu:%63s", fault.call, &fault.number, fault.text) == 3) {
        fault.result = atoi(fault.text);
        if (strcmp(fault.call, "clocks") == 0) {
            fault_clocks_order(fault.text, fault.number);
        }
    }
}

/* Whether this call of that name is the one. */
static int fault_now(const char *call)
{
    return strcmp(call, fault.call) == 0 && fault.number > 0 && --fault.number == 0;
}

static VkResult fault_given(void)
{
    if (fault.result == VK_ERROR_DEVICE_LOST) { /* nothing runs on it any more */
        (void)fault.idle(fault.device);
        fault.lost = 1;
    }
    return (VkResult)fault.result;
}

static VKAPI_ATTR VkResult VKAPI_CALL fault_submit(VkQueue queue, uint32_t count,
                                                   const VkSubmitInfo *submits, VkFence fence)
{
    if (fault_now("submit")) {
        return fault_given();
    }
    return fault.lost ? VK_ERROR_DEVICE_LOST : fault.submit(queue, count, submits, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL fault_wait(VkDevice device, const VkSemaphoreWaitInfo *info,
                                                 uint64_t timeout_ns)
{
    if (fault_now("wait")) {
        return fault_given();
    }
    return fault.lost ? VK_ERROR_DEVICE_LOST : fault.wait(device, info, timeout_ns);
}

static VKAPI_ATTR VkResult VKAPI_CALL fault_allocate(VkDevice device,
                                                     const VkMemoryAllocateInfo *info,
                                                     const VkAllocationCallbacks *callbacks,
                                                     VkDeviceMemory *memory)
{
    return fault_now("allocate") ? fault_given() : fault.allocate(device, info, callbacks, memory);
}

/* The count of parameters is Vulkan's. */
#define QUERIES_PARAMETERS                                                                         \
    VkDevice device, VkQueryPool pool, uint32_t first, uint32_t count, size_t bytes, void *data,   \
        VkDeviceSize stride, VkQueryResultFlags flags

/* Values and what says that they are there, two words a query. */
/* NOLINTNEXTLINE(readability-function-size): as above */
static VKAPI_ATTR VkResult VKAPI_CALL fault_queries(QUERIES_PARAMETERS)
{
    VkResult result = fault.queries(device, pool, first, count, bytes, data, stride, flags);
    const size_t lost = fault.number;
    if (strcmp(fault.call, "queries") == 0 && lost > 0 && 2 * lost <= count) {
        ((uint64_t *)data)[4 * (lost - 1) + 3] = 0;
        return VK_NOT_READY;
    }
    if (strcmp(fault.call, "stamp") == 0 && lost > 0 && 2 * lost <= count) {
        ((uint64_t *)data)[4 * (lost - 1) + 2] += (uint64_t)atoll(fault.text);
    }
    return result;
}

static VKAPI_ATTR void VKAPI_CALL fault_copy(VkCommandBuffer commands, VkBuffer from, VkBuffer to,
                                             uint32_t count, const VkBufferCopy *regions)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(fault.call, "drop") != 0 || regions[i].size != fault.number) {
            fault.copy(commands, from, to, 1, &regions[i]);
        }
    }
}

static VKAPI_ATTR void VKAPI_CALL fault_destroy(VkDevice device, VkBuffer buffer,
                                                const VkAllocationCallbacks *callbacks)
{
    if (!fault_now("leak")) {
        fault.destroy(device, buffer, callbacks);
    }
}

static VKAPI_ATTR VkResult VKAPI_CALL fault_extensions(VkPhysicalDevice device, const char *layer,
                                                       uint32_t *count, VkExtensionProperties *list)
{
    VkResult result = fault.extensions(device, layer, count, list);
    const uint32_t all = list != NULL ? *count : 0;
    for (uint32_t i = 0, kept = 0; i < all; i++) {
        if (strcmp(fault.call, "hide") != 0 || strstr(fault.text, list[i].extensionName) == NULL) {
            list[kept++] = list[i];
        }
        *count = kept;
    }
    return result;
}

static PFN_vkVoidFunction fault_added(const char *name, PFN_vkVoidFunction real)
{
    return strcmp(fault.call, "host-copy") == 0 ? fault_host_copy(name, real)
           : strcmp(fault.call, "clocks") == 0  ? fault_clocks(name, real)
                                                : NULL;
}

#define FAULT_CALLS(X)                                                                             \
    X(QueueSubmit, submit)                                                                         \
    X(WaitSemaphores, wait)                                                                        \
    X(AllocateMemory, allocate)                                                                    \
    X(GetQueryPoolResults, queries)                                                                \
    X(CmdCopyBuffer, copy)                                                                         \
    X(DestroyBuffer, destroy)

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL fault_find_of_device(VkDevice device,
                                                                     const char *name)
{
    name = fault_clocks_name(name);
    PFN_vkVoidFunction real = fault.find_of_device(device, name);
    fault.device = device;
    if (strcmp(name, "vkDeviceWaitIdle") == 0) {
        fault.idle = (PFN_vkDeviceWaitIdle)real;
    }
#define FAULT_CALL(call, ours)                                                                     \
    if (strcmp(name, "vk" #call) == 0) {                                                           \
        fault.ours = (PFN_vk##call)real;                                                           \
        return (PFN_vkVoidFunction)fault_##ours;                                                   \
    }
    FAULT_CALLS(FAULT_CALL)
#undef FAULT_CALL
    fault_host_copy_device(fault.find_of_device, device);
    PFN_vkVoidFunction added = fault_added(name, real);
    return added != NULL ? added : real;
}

__attribute__((visibility("default"))) VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
vkGetInstanceProcAddr(VkInstance instance, const char *name)
{
    if (fault.find == NULL) {
        fault_read();
    }
    name = fault_clocks_name(name);
    PFN_vkVoidFunction real = fault.find != NULL ? fault.find(instance, name) : NULL;
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) {
        fault.find_of_device = (PFN_vkGetDeviceProcAddr)real;
        return (PFN_vkVoidFunction)fault_find_of_device;
    }
    PFN_vkVoidFunction added = fault_added(name, real);
    if (added != NULL) {
        return added;
    }
    if (strcmp(name, "vkEnumerateDeviceExtensionProperties") == 0) {
        fault.extensions = (PFN_vkEnumerateDeviceExtensionProperties)real;
        return (PFN_vkVoidFunction)fault_extensions;
    }
    return real;
}
