#include "gpu_internal.h"

#include <string.h>

static const VkMemoryPropertyFlags memory_host =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

/* The first type among `allowed` that has all of `wanted` and nothing of `unwanted`. */
static uint32_t memory_type(const struct trk_gpu *gpu, uint32_t allowed,
                            VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags unwanted)
{
    for (uint32_t i = 0; i < gpu->memory.memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = gpu->memory.memoryTypes[i].propertyFlags;
        if ((allowed >> i & 1u) != 0 && (flags & wanted) == wanted && (flags & unwanted) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

/* What the use would like best, then what it can do with. */
uint32_t gpu_memory_choose(const struct trk_gpu *gpu, uint32_t allowed, enum gpu_memory memory)
{
    const VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    const VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    const struct {
        VkMemoryPropertyFlags wanted, unwanted;
    } choices[][3] = {
        [GPU_DEVICE] = {{local, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT}, {local, 0}, {0, 0}},
        [GPU_UPLOAD] = {{memory_host, local}, {memory_host, 0}, {memory_host, 0}},
        [GPU_READBACK] = {{memory_host | cached, local},
                          {memory_host | cached, 0},
                          {memory_host, 0}},
        [GPU_DIRECT] = {{memory_host | local, 0},
                        {memory_host | local, 0},
                        {memory_host | local, 0}},
    };
    uint32_t type = UINT32_MAX;
    for (int i = 0; i < 3 && type == UINT32_MAX; i++) {
        type = memory_type(gpu, allowed, choices[memory][i].wanted, choices[memory][i].unwanted);
    }
    return type;
}

bool gpu_memory_direct(const struct trk_gpu *gpu)
{
    return gpu_memory_choose(gpu, UINT32_MAX, GPU_DIRECT) != UINT32_MAX;
}

/* Without memory. All queues may use it: who may when follows from the order of submissions. */
static VkResult buffer_create(struct trk_gpu *gpu, struct gpu_buffer *buffer, uint64_t size_bytes,
                              const void *next)
{
    VkBufferCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .pNext = next,
        .size = size_bytes,
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
        .sharingMode =
            gpu->family_count > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
        .queueFamilyIndexCount = gpu->family_count > 1 ? gpu->family_count : 0,
        .pQueueFamilyIndices = gpu->families,
    };
    buffer->size_bytes = size_bytes;
    VkResult result = gpu->api.CreateBuffer(gpu->device, &create, NULL, &buffer->buffer);
    if (result != VK_SUCCESS) {
        buffer->buffer = VK_NULL_HANDLE;
    }
    return result;
}

enum trk_status gpu_memory_none(const struct trk_gpu *gpu, struct trk_error *error, VkResult result,
                                uint64_t size_bytes)
{
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY) {
        return trk_error_set(error, TRK_E_MEMORY, "%.60s has no %llu MiB left",
                             gpu->info.device_name,
                             (unsigned long long)((size_bytes + (1u << 20) - 1) >> 20));
    }
    return trk_vk_result(error, "vkAllocateMemory", result);
}

enum trk_status gpu_buffer_init(struct trk_gpu *gpu, struct gpu_buffer *buffer,
                                enum gpu_memory memory, uint64_t size_bytes,
                                struct trk_error *error)
{
    static const char *const names[] = {"trk device", "trk upload", "trk readback", "trk direct"};
    VkMemoryRequirements needs;
    VkResult result = buffer_create(gpu, buffer, size_bytes, NULL);
    if (result != VK_SUCCESS) {
        return trk_vk_result(error, "vkCreateBuffer", result);
    }
    gpu->api.GetBufferMemoryRequirements(gpu->device, buffer->buffer, &needs);
    VkMemoryAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = needs.size,
        .memoryTypeIndex = gpu_memory_choose(gpu, needs.memoryTypeBits, memory),
    };
    if (allocate.memoryTypeIndex == UINT32_MAX) {
        return trk_error_set(error, TRK_E_UNSUPPORTED, "%.80s has no memory for a buffer like %s",
                             gpu->info.device_name, names[memory]);
    }
    result = gpu->api.AllocateMemory(gpu->device, &allocate, NULL, &buffer->memory);
    if (result != VK_SUCCESS) {
        buffer->memory = VK_NULL_HANDLE;
        return gpu_memory_none(gpu, error, result, size_bytes);
    }
    void *host = NULL;
    result = gpu->api.BindBufferMemory(gpu->device, buffer->buffer, buffer->memory, 0);
    if (result == VK_SUCCESS && memory != GPU_DEVICE) {
        result = gpu->api.MapMemory(gpu->device, buffer->memory, 0, VK_WHOLE_SIZE, 0, &host);
    }
    buffer->host = host;
    gpu_name(gpu, VK_OBJECT_TYPE_BUFFER, (uint64_t)(uintptr_t)buffer->buffer, names[memory]);
    return trk_vk_result(error, "binding a buffer", result);
}

enum trk_status gpu_buffer_import(struct trk_gpu *gpu, struct gpu_buffer *buffer, void *host,
                                  uint64_t size_bytes, struct trk_error *error)
{
    const VkExternalMemoryHandleTypeFlagBits type =
        VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = type,
    };
    VkMemoryHostPointerPropertiesEXT properties = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT,
    };
    VkImportMemoryHostPointerInfoEXT import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
        .handleType = type,
        .pHostPointer = host,
    };
    VkMemoryRequirements needs;
    VkResult result =
        gpu->api.GetMemoryHostPointerPropertiesEXT(gpu->device, type, host, &properties);
    if (result == VK_SUCCESS) {
        result = buffer_create(gpu, buffer, size_bytes, &external);
    }
    if (result != VK_SUCCESS) {
        return trk_error_set(error, TRK_E_UNSUPPORTED,
                             "%.60s does not take guest memory as its own: VkResult %d",
                             gpu->info.device_name, (int)result);
    }
    gpu->api.GetBufferMemoryRequirements(gpu->device, buffer->buffer, &needs);
    VkMemoryAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = &import,
        .allocationSize = size_bytes,
        .memoryTypeIndex =
            memory_type(gpu, needs.memoryTypeBits & properties.memoryTypeBits, memory_host, 0),
    };
    if (allocate.memoryTypeIndex == UINT32_MAX || needs.size > size_bytes) {
        return trk_error_set(error, TRK_E_UNSUPPORTED, "%.80s has no coherent memory for an import",
                             gpu->info.device_name);
    }
    result = gpu->api.AllocateMemory(gpu->device, &allocate, NULL, &buffer->memory);
    if (result != VK_SUCCESS) {
        buffer->memory = VK_NULL_HANDLE;
        return gpu_memory_none(gpu, error, result, size_bytes);
    }
    result = gpu->api.BindBufferMemory(gpu->device, buffer->buffer, buffer->memory, 0);
    gpu_name(gpu, VK_OBJECT_TYPE_BUFFER, (uint64_t)(uintptr_t)buffer->buffer, "trk guest memory");
    return trk_vk_result(error, "binding imported memory", result);
}

/* Nothing that uses it may be pending. */
void gpu_buffer_deinit(struct trk_gpu *gpu, struct gpu_buffer *buffer)
{
    if (buffer->buffer != VK_NULL_HANDLE) {
        gpu->api.DestroyBuffer(gpu->device, buffer->buffer, NULL);
    }
    if (buffer->memory != VK_NULL_HANDLE) {
        gpu->api.FreeMemory(gpu->device, buffer->memory, NULL); /* unmaps too */
    }
    memset(buffer, 0, sizeof *buffer);
}
