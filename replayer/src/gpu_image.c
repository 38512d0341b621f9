#include "gpu_internal.h"

#include <string.h>

static const VkImageSubresourceRange image_all = {
    .aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .levelCount = 1, .layerCount = 1};

/* Formats of whole numbers, which every device has: no bit is anything else than a bit. */
static VkFormat image_format(uint32_t texel_bytes)
{
    switch (texel_bytes) {
    case 1:
        return VK_FORMAT_R8_UINT;
    case 2:
        return VK_FORMAT_R16_UINT;
    case 4:
        return VK_FORMAT_R32_UINT;
    case 8:
        return VK_FORMAT_R32G32_UINT;
    default:
        return VK_FORMAT_R32G32B32A32_UINT;
    }
}

static enum trk_status image_bind(struct trk_gpu *gpu, struct gpu_image *image,
                                  struct trk_error *error)
{
    VkMemoryRequirements needs;
    gpu->api.GetImageMemoryRequirements(gpu->device, image->image, &needs);
    const VkMemoryAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = needs.size,
        .memoryTypeIndex = gpu_memory_choose(gpu, needs.memoryTypeBits, GPU_DEVICE),
    };
    if (allocate.memoryTypeIndex == UINT32_MAX) {
        return trk_error_set(error, TRK_E_UNSUPPORTED, "%.80s has no memory for an image",
                             gpu->info.device_name);
    }
    VkResult result = gpu->api.AllocateMemory(gpu->device, &allocate, NULL, &image->memory);
    if (result != VK_SUCCESS) {
        image->memory = VK_NULL_HANDLE;
        return gpu_memory_none(gpu, error, result, needs.size);
    }
    result = gpu->api.BindImageMemory(gpu->device, image->image, image->memory, 0);
    gpu_name(gpu, VK_OBJECT_TYPE_IMAGE, (uint64_t)(uintptr_t)image->image, "trk image");
    return trk_vk_result(error, "binding an image", result);
}

enum trk_status gpu_image_init(struct trk_gpu *gpu, struct gpu_image *image,
                               struct trk_error *error)
{
    const VkImageCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = image_format(image->texel_bytes),
        .extent = {image->width, image->height, 1},
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                 (image->host_copied ? VK_IMAGE_USAGE_HOST_TRANSFER_BIT_EXT : 0u),
        .sharingMode =
            gpu->family_count > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
        .queueFamilyIndexCount = gpu->family_count > 1 ? gpu->family_count : 0,
        .pQueueFamilyIndices = gpu->families,
    };
    if (image->width > gpu->limits.image_side || image->height > gpu->limits.image_side) {
        return trk_error_set(
            error, TRK_E_UNSUPPORTED, "%.60s has no images of %u x %u texels; its largest have %u",
            gpu->info.device_name, image->width, image->height, gpu->limits.image_side);
    }
    VkImageFormatProperties limits;
    if (image->host_copied && gpu->api.GetPhysicalDeviceImageFormatProperties(
                                  gpu->physical, create.format, create.imageType, create.tiling,
                                  create.usage, 0, &limits) != VK_SUCCESS) {
        return trk_error_set(error, TRK_E_UNSUPPORTED,
                             "%.60s has no host copies of images of %u-byte texels",
                             gpu->info.device_name, image->texel_bytes);
    }
    VkResult result = gpu->api.CreateImage(gpu->device, &create, NULL, &image->image);
    if (result != VK_SUCCESS) {
        image->image = VK_NULL_HANDLE;
        return trk_vk_result(error, "vkCreateImage", result);
    }
    return image_bind(gpu, image, error);
}

/* Nothing that uses it may be pending. */
void gpu_image_deinit(struct trk_gpu *gpu, struct gpu_image *image)
{
    if (image->image != VK_NULL_HANDLE) {
        gpu->api.DestroyImage(gpu->device, image->image, NULL);
    }
    if (image->memory != VK_NULL_HANDLE) {
        gpu->api.FreeMemory(gpu->device, image->memory, NULL);
    }
    memset(image, 0, sizeof *image);
}

void gpu_image_prepare(struct trk_gpu *gpu, const struct gpu_commands *commands,
                       const struct gpu_image *image)
{
    const VkImageMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
        .newLayout = VK_IMAGE_LAYOUT_GENERAL,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = image->image,
        .subresourceRange = image_all,
    };
    gpu->api.CmdPipelineBarrier(commands->buffer, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1,
                                &barrier);
}

/* The rest of a row, whole rows, the beginning of one; how many of these there are. */
static uint32_t image_regions(const struct gpu_image *image, const struct gpu_image_span *span,
                              VkBufferImageCopy regions[GPU_IMAGE_REGIONS])
{
    uint64_t at = span->offset / image->texel_bytes, left = span->size_bytes / image->texel_bytes;
    uint64_t buffer_offset = span->buffer_offset;
    uint32_t count = 0;
    while (left > 0) {
        const uint64_t x = at % image->width, room = image->width - x;
        const bool whole = x == 0 && left >= image->width;
        const uint64_t rows = whole ? left / image->width : 1;
        const uint64_t width = whole ? image->width : left < room ? left : room;
        regions[count++] = (VkBufferImageCopy){
            .bufferOffset = buffer_offset,
            .imageSubresource = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .layerCount = 1},
            .imageOffset = {(int32_t)x, (int32_t)(at / image->width), 0},
            .imageExtent = {(uint32_t)width, (uint32_t)rows, 1},
        };
        at += width * rows;
        left -= width * rows;
        buffer_offset += width * rows * image->texel_bytes;
    }
    return count;
}

void gpu_image_copy(struct trk_gpu *gpu, const struct gpu_commands *commands,
                    const struct gpu_image *image, const struct gpu_image_span *span, bool up)
{
    VkBufferImageCopy regions[GPU_IMAGE_REGIONS];
    const uint32_t count = image_regions(image, span, regions);
    if (up) {
        gpu->api.CmdCopyBufferToImage(commands->buffer, span->buffer, image->image,
                                      VK_IMAGE_LAYOUT_GENERAL, count, regions);
    } else {
        gpu->api.CmdCopyImageToBuffer(commands->buffer, image->image, VK_IMAGE_LAYOUT_GENERAL,
                                      span->buffer, count, regions);
    }
}

enum trk_status gpu_image_host_copy(struct trk_gpu *gpu, const struct gpu_image *image,
                                    const struct gpu_image_span *span, bool up,
                                    struct trk_error *error)
{
    VkBufferImageCopy regions[GPU_IMAGE_REGIONS];
    VkMemoryToImageCopyEXT to[GPU_IMAGE_REGIONS];
    VkImageToMemoryCopyEXT from[GPU_IMAGE_REGIONS];
    const uint32_t count = image_regions(image, span, regions);
    for (uint32_t i = 0; i < count; i++) {
        to[i] = (VkMemoryToImageCopyEXT){
            .sType = VK_STRUCTURE_TYPE_MEMORY_TO_IMAGE_COPY_EXT,
            .pHostPointer = span->host + regions[i].bufferOffset,
            .imageSubresource = regions[i].imageSubresource,
            .imageOffset = regions[i].imageOffset,
            .imageExtent = regions[i].imageExtent,
        };
        from[i] = (VkImageToMemoryCopyEXT){
            .sType = VK_STRUCTURE_TYPE_IMAGE_TO_MEMORY_COPY_EXT,
            .pHostPointer = span->host + regions[i].bufferOffset,
            .imageSubresource = regions[i].imageSubresource,
            .imageOffset = regions[i].imageOffset,
            .imageExtent = regions[i].imageExtent,
        };
    }
    if (up) {
        const VkCopyMemoryToImageInfoEXT info = {
            .sType = VK_STRUCTURE_TYPE_COPY_MEMORY_TO_IMAGE_INFO_EXT,
            .dstImage = image->image,
            .dstImageLayout = VK_IMAGE_LAYOUT_GENERAL,
            .regionCount = count,
            .pRegions = to,
        };
        return trk_vk_result(error, "vkCopyMemoryToImageEXT",
                             gpu->api.CopyMemoryToImageEXT(gpu->device, &info));
    }
    const VkCopyImageToMemoryInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_MEMORY_INFO_EXT,
        .srcImage = image->image,
        .srcImageLayout = VK_IMAGE_LAYOUT_GENERAL,
        .regionCount = count,
        .pRegions = from,
    };
    return trk_vk_result(error, "vkCopyImageToMemoryEXT",
                         gpu->api.CopyImageToMemoryEXT(gpu->device, &info));
}
