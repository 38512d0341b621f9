/* An image of 32-bit texels, copied by whole rows. It is in one layout for all of its life. */
#include "vk_internal.h"

#include <stdlib.h>

#define TEXEL_BYTES 4u

static const VkImageSubresourceRange image_all = {
    .aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .levelCount = 1, .layerCount = 1};

static enum trk_status image_bind(struct trk_vk *vk, struct trk_vk_image *image,
                                  struct trk_error *error)
{
    VkMemoryRequirements needs;
    vk->api.GetImageMemoryRequirements(vk->device, image->image, &needs);
    const VkMemoryAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = needs.size,
        .memoryTypeIndex = trk_vk_memory_local(vk, needs.memoryTypeBits),
    };
    VkResult result = vk->api.AllocateMemory(vk->device, &allocate, NULL, &image->memory);
    if (result != VK_SUCCESS) {
        image->memory = VK_NULL_HANDLE;
        return trk_vk_result(error, "vkAllocateMemory", result);
    }
    result = vk->api.BindImageMemory(vk->device, image->image, image->memory, 0);
    return trk_vk_result(error, "vkBindImageMemory", result);
}

/* From nothing to the layout that copies both ways may use. */
static enum trk_status image_prepare(struct trk_vk *vk, const struct trk_vk_image *image,
                                     struct trk_error *error)
{
    const VkImageMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
        .newLayout = VK_IMAGE_LAYOUT_GENERAL,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = image->image,
        .subresourceRange = image_all,
    };
    enum trk_status status = trk_vk_commands_open(vk, error);
    if (status == TRK_OK) {
        vk->api.CmdPipelineBarrier(trk_vk_commands_buffer(vk), VK_PIPELINE_STAGE_TRANSFER_BIT,
                                   VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0, NULL, 1,
                                   &barrier);
    }
    return status;
}

enum trk_status trk_vk_image_create(struct trk_vk *vk, struct trk_vk_image **out, uint32_t width,
                                    uint32_t height, struct trk_error *error)
{
    const VkImageCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = VK_FORMAT_R32_UINT,
        .extent = {width, height, 1},
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
    };
    if (width == 0 || height == 0 || width > vk->image_side || height > vk->image_side) {
        return trk_error_set(error, TRK_E_ARGUMENT, "an image of %u x %u texels is not possible",
                             width, height);
    }
    struct trk_vk_image *image = calloc(1, sizeof *image);
    if (image == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for an image");
    }
    image->width = width;
    image->height = height;
    VkResult result = vk->api.CreateImage(vk->device, &create, NULL, &image->image);
    enum trk_status status = trk_vk_result(error, "vkCreateImage", result);
    if (status != TRK_OK) {
        image->image = VK_NULL_HANDLE;
    } else {
        status = image_bind(vk, image, error);
    }
    if (status == TRK_OK) {
        status = image_prepare(vk, image, error);
    }
    if (status != TRK_OK) {
        trk_vk_image_destroy(vk, image);
        return status;
    }
    *out = image;
    return TRK_OK;
}

void trk_vk_image_destroy(struct trk_vk *vk, struct trk_vk_image *image)
{
    if (image == NULL) {
        return;
    }
    vk->api.DestroyImage(vk->device, image->image, NULL);
    vk->api.FreeMemory(vk->device, image->memory, NULL);
    free(image);
}

static enum trk_status image_copy(struct trk_vk *vk, const struct trk_vk_image_copy *copy, bool up,
                                  struct trk_error *error)
{
    const struct trk_vk_image *image = copy->image;
    const uint64_t size_bytes = (uint64_t)copy->rows * image->width * TEXEL_BYTES;
    const struct trk_vk_buffer *buffer = copy->buffer;
    if (copy->rows == 0 || copy->first_row > image->height ||
        copy->rows > image->height - copy->first_row || copy->buffer_offset % TEXEL_BYTES != 0 ||
        copy->buffer_offset > buffer->size_bytes ||
        size_bytes > buffer->size_bytes - copy->buffer_offset) {
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "a copy leaves its image or its Vulkan buffer, or is not aligned");
    }
    enum trk_status status = trk_vk_commands_open(vk, error);
    if (status != TRK_OK) {
        return status;
    }
    const struct trk_vk_access accesses[2] = {
        {buffer, copy->buffer_offset, copy->buffer_offset + size_bytes, !up},
        {image, copy->first_row, (uint64_t)copy->first_row + copy->rows, up},
    };
    trk_vk_commands_note(vk, accesses, 2);
    const VkBufferImageCopy region = {
        .bufferOffset = copy->buffer_offset,
        .imageSubresource = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .layerCount = 1},
        .imageOffset = {0, (int32_t)copy->first_row, 0},
        .imageExtent = {image->width, copy->rows, 1},
    };
    VkCommandBuffer commands = trk_vk_commands_buffer(vk);
    if (up) {
        vk->api.CmdCopyBufferToImage(commands, buffer->buffer, image->image,
                                     VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    } else {
        vk->api.CmdCopyImageToBuffer(commands, image->image, VK_IMAGE_LAYOUT_GENERAL,
                                     buffer->buffer, 1, &region);
    }
    return TRK_OK;
}

enum trk_status trk_vk_image_upload(struct trk_vk *vk, const struct trk_vk_image_copy *copy,
                                    struct trk_error *error)
{
    return image_copy(vk, copy, true, error);
}

enum trk_status trk_vk_image_download(struct trk_vk *vk, const struct trk_vk_image_copy *copy,
                                      struct trk_error *error)
{
    return image_copy(vk, copy, false, error);
}
