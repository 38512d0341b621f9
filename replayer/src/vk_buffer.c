#include "vk_internal.h"

#include <stdio.h>
#include <stdlib.h>

/* A memory type among `allowed` that has all of `flags`, or UINT32_MAX. */
static uint32_t buffer_memory_type(const struct trk_vk *vk, uint32_t allowed,
                                   VkMemoryPropertyFlags flags)
{
    for (uint32_t i = 0; i < vk->memory.memoryTypeCount; i++) {
        if ((allowed >> i & 1u) != 0 &&
            (vk->memory.memoryTypes[i].propertyFlags & flags) == flags) {
            return i;
        }
    }
    return UINT32_MAX;
}

uint32_t trk_vk_memory_local(const struct trk_vk *vk, uint32_t allowed)
{
    uint32_t type = buffer_memory_type(vk, allowed, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    return type != UINT32_MAX ? type : buffer_memory_type(vk, allowed, 0);
}

/* First what the use would like best, then what it can do with. */
static uint32_t buffer_choose_type(const struct trk_vk *vk, uint32_t allowed,
                                   enum trk_vk_memory memory)
{
    const VkMemoryPropertyFlags host =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t type = UINT32_MAX;
    switch (memory) {
    case TRK_VK_DEVICE_LOCAL:
        return trk_vk_memory_local(vk, allowed);
    case TRK_VK_READBACK:
        type = buffer_memory_type(vk, allowed, host | VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
        return type != UINT32_MAX ? type : buffer_memory_type(vk, allowed, host);
    case TRK_VK_UPLOAD:
        break;
    }
    return buffer_memory_type(vk, allowed, host);
}

static enum trk_status buffer_bind(struct trk_vk *vk, struct trk_vk_buffer *buffer,
                                   enum trk_vk_memory memory, struct trk_error *error)
{
    VkMemoryRequirements needs;
    vk->api.GetBufferMemoryRequirements(vk->device, buffer->buffer, &needs);
    VkMemoryAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = needs.size,
        .memoryTypeIndex = buffer_choose_type(vk, needs.memoryTypeBits, memory),
    };
    if (allocate.memoryTypeIndex == UINT32_MAX) {
        return trk_error_set(error, TRK_E_UNSUPPORTED, "%.80s has no memory for such a buffer",
                             vk->info.device_name);
    }
    buffer->properties = vk->memory.memoryTypes[allocate.memoryTypeIndex].propertyFlags;
    VkResult result = vk->api.AllocateMemory(vk->device, &allocate, NULL, &buffer->memory);
    if (result != VK_SUCCESS) {
        buffer->memory = VK_NULL_HANDLE;
        return trk_vk_result(error, "vkAllocateMemory", result);
    }
    result = vk->api.BindBufferMemory(vk->device, buffer->buffer, buffer->memory, 0);
    if (result == VK_SUCCESS && memory != TRK_VK_DEVICE_LOCAL) {
        result = vk->api.MapMemory(vk->device, buffer->memory, 0, VK_WHOLE_SIZE, 0, &buffer->host);
    }
    return trk_vk_result(error, "binding a buffer", result);
}

enum trk_status trk_vk_buffer_create(struct trk_vk *vk, struct trk_vk_buffer **out,
                                     enum trk_vk_memory memory, uint64_t size_bytes,
                                     struct trk_error *error)
{
    if (size_bytes == 0) {
        return trk_error_set(error, TRK_E_ARGUMENT, "a Vulkan buffer of no bytes");
    }
    struct trk_vk_buffer *buffer = calloc(1, sizeof *buffer);
    if (buffer == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for a Vulkan buffer");
    }
    buffer->size_bytes = size_bytes;
    VkBufferCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = size_bytes,
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 (memory == TRK_VK_DEVICE_LOCAL ? VK_BUFFER_USAGE_STORAGE_BUFFER_BIT : 0u),
        .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
    };
    VkResult result = vk->api.CreateBuffer(vk->device, &create, NULL, &buffer->buffer);
    enum trk_status status = TRK_OK;
    if (result != VK_SUCCESS) {
        buffer->buffer = VK_NULL_HANDLE;
        status = trk_vk_result(error, "vkCreateBuffer", result);
    } else {
        status = buffer_bind(vk, buffer, memory, error);
    }
    if (status != TRK_OK) {
        trk_vk_buffer_destroy(vk, buffer);
        return status;
    }
    *out = buffer;
    return TRK_OK;
}

void trk_vk_buffer_describe(const struct trk_vk_buffer *buffer, char *out, size_t size)
{
    static const struct {
        VkMemoryPropertyFlags flag;
        const char *name;
    } names[] = {
        {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, "device_local"},
        {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, "host_visible"},
        {VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, "host_coherent"},
        {VK_MEMORY_PROPERTY_HOST_CACHED_BIT, "host_cached"},
    };
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof names[0] && used < size; i++) {
        if ((buffer->properties & names[i].flag) != 0) {
            int more =
                snprintf(out + used, size - used, "%s%s", used > 0 ? " " : "", names[i].name);
            used += more > 0 ? (size_t)more : 0;
        }
    }
}

/* No submission that uses the buffer may be pending. */
void trk_vk_buffer_destroy(struct trk_vk *vk, struct trk_vk_buffer *buffer)
{
    if (buffer == NULL) {
        return;
    }
    vk->api.DestroyBuffer(vk->device, buffer->buffer, NULL);
    vk->api.FreeMemory(vk->device, buffer->memory, NULL); /* unmaps too */
    free(buffer);
}

void *trk_vk_buffer_host(struct trk_vk_buffer *buffer)
{
    return buffer->host;
}
