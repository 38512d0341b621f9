#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "fault_loader.h"

#define IMAGES_MAX     16u
#define EXTENSIONS_MAX 256u

struct known_image {
    VkImage image;
    VkDeviceMemory memory;
    VkDeviceSize offset, texel_bytes;
};

static struct {
    PFN_vkEnumerateDeviceExtensionProperties extensions;
    PFN_vkGetPhysicalDeviceFeatures2 features;
    PFN_vkGetPhysicalDeviceProperties2 properties;
    PFN_vkGetPhysicalDeviceImageFormatProperties formats;
    PFN_vkCreateDevice create_device;
    PFN_vkCreateImage create_image;
    PFN_vkBindImageMemory bind;
    PFN_vkMapMemory map;
    PFN_vkUnmapMemory unmap;
    PFN_vkGetImageSubresourceLayout layout;
    struct known_image images[IMAGES_MAX];
    uint32_t count;
} host;

void fault_host_copy_device(PFN_vkGetDeviceProcAddr find, VkDevice device)
{
    host.map = (PFN_vkMapMemory)find(device, "vkMapMemory");
    host.unmap = (PFN_vkUnmapMemory)find(device, "vkUnmapMemory");
    host.layout = (PFN_vkGetImageSubresourceLayout)find(device, "vkGetImageSubresourceLayout");
}

/* ---- what the device says of itself ---------------------------------------------------------- */

static VKAPI_ATTR VkResult VKAPI_CALL host_extensions(VkPhysicalDevice device, const char *layer,
                                                      uint32_t *count, VkExtensionProperties *list)
{
    VkResult result = host.extensions(device, layer, count, list);
    if (list != NULL && result == VK_SUCCESS) {
        VkExtensionProperties more = {.specVersion = 1};
        memcpy(more.extensionName, VK_EXT_HOST_IMAGE_COPY_EXTENSION_NAME,
               sizeof VK_EXT_HOST_IMAGE_COPY_EXTENSION_NAME);
        list[*count] = more; /* the callers leave room for one more */
    }
    *count += layer == NULL;
    return result;
}

static void *chain_find(void *chain, VkStructureType type)
{
    VkBaseOutStructure *at = chain;
    while (at != NULL && at->sType != type) {
        at = at->pNext;
    }
    return at;
}

static VKAPI_ATTR void VKAPI_CALL host_features(VkPhysicalDevice device,
                                                VkPhysicalDeviceFeatures2 *features)
{
    VkPhysicalDeviceHostImageCopyFeaturesEXT *ours =
        chain_find(features->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_FEATURES_EXT);
    host.features(device, features);
    if (ours != NULL) {
        ours->hostImageCopy = VK_TRUE;
    }
}

static VKAPI_ATTR void VKAPI_CALL host_properties(VkPhysicalDevice device,
                                                  VkPhysicalDeviceProperties2 *properties)
{
    VkPhysicalDeviceHostImageCopyPropertiesEXT *ours = chain_find(
        properties->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_PROPERTIES_EXT);
    host.properties(device, properties);
    if (ours != NULL) {
        ours->copySrcLayoutCount = ours->copyDstLayoutCount = 1;
        ours->pCopySrcLayouts[0] = ours->pCopyDstLayouts[0] = VK_IMAGE_LAYOUT_GENERAL;
    }
}

/* The count of parameters is Vulkan's. */
#define FORMATS_PARAMETERS                                                                         \
    VkPhysicalDevice device, VkFormat format, VkImageType type, VkImageTiling tiling,              \
        VkImageUsageFlags usage, VkImageCreateFlags flags, VkImageFormatProperties *limits

/* NOLINTNEXTLINE(readability-function-size): as above */
static VKAPI_ATTR VkResult VKAPI_CALL host_formats(FORMATS_PARAMETERS)
{
    return host.formats(device, format, type, tiling, usage & ~VK_IMAGE_USAGE_HOST_TRANSFER_BIT_EXT,
                        flags, limits);
}

static VKAPI_ATTR VkResult VKAPI_CALL host_create_device(VkPhysicalDevice physical,
                                                         const VkDeviceCreateInfo *info,
                                                         const VkAllocationCallbacks *callbacks,
                                                         VkDevice *device)
{
    const char *names[EXTENSIONS_MAX];
    VkDeviceCreateInfo create = *info;
    create.enabledExtensionCount = 0;
    create.ppEnabledExtensionNames = names;
    for (uint32_t i = 0; i < info->enabledExtensionCount && i < EXTENSIONS_MAX; i++) {
        const char *name = info->ppEnabledExtensionNames[i];
        if (strcmp(name, VK_EXT_HOST_IMAGE_COPY_EXTENSION_NAME) != 0) {
            names[create.enabledExtensionCount++] = name;
        }
    }
    return host.create_device(physical, &create, callbacks, device);
}

/* ---- images ---------------------------------------------------------------------------------- */

static VkDeviceSize texel_bytes(VkFormat format)
{
    switch (format) {
    case VK_FORMAT_R8_UINT:
        return 1;
    case VK_FORMAT_R16_UINT:
        return 2;
    case VK_FORMAT_R32_UINT:
        return 4;
    case VK_FORMAT_R32G32_UINT:
        return 8;
    default:
        return 16;
    }
}

static VKAPI_ATTR VkResult VKAPI_CALL host_create_image(VkDevice device,
                                                        const VkImageCreateInfo *info,
                                                        const VkAllocationCallbacks *callbacks,
                                                        VkImage *image)
{
    VkImageCreateInfo create = *info;
    const VkImageUsageFlags asked = info->usage & VK_IMAGE_USAGE_HOST_TRANSFER_BIT_EXT;
    if (asked != 0) {
        create.usage &= ~VK_IMAGE_USAGE_HOST_TRANSFER_BIT_EXT;
        create.tiling = VK_IMAGE_TILING_LINEAR;
    }
    VkResult result = host.create_image(device, &create, callbacks, image);
    if (result == VK_SUCCESS && asked != 0 && host.count < IMAGES_MAX) {
        host.images[host.count++] =
            (struct known_image){.image = *image, .texel_bytes = texel_bytes(info->format)};
    }
    return result;
}

static struct known_image *image_known(VkImage image)
{
    for (uint32_t i = host.count; i > 0; i--) { /* handles are used again */
        if (host.images[i - 1].image == image) {
            return &host.images[i - 1];
        }
    }
    return NULL;
}

static VKAPI_ATTR VkResult VKAPI_CALL host_bind(VkDevice device, VkImage image,
                                                VkDeviceMemory memory, VkDeviceSize offset)
{
    struct known_image *known = image_known(image);
    if (known != NULL) {
        known->memory = memory;
        known->offset = offset;
    }
    return host.bind(device, image, memory, offset);
}

/* ---- copies ---------------------------------------------------------------------------------- */

struct rows {
    uint8_t *memory;
    VkOffset3D offset;
    VkExtent3D extent;
};

/* Row by row; the image must be one that said that the host copies it. */
static VkResult rows_copy(VkDevice device, VkImage image, const struct rows *rows, int up)
{
    const struct known_image *known = image_known(image);
    const VkImageSubresource all = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT};
    VkSubresourceLayout layout;
    void *mapped = NULL;
    if (known == NULL) {
        return VK_ERROR_UNKNOWN;
    }
    host.layout(device, image, &all, &layout);
    VkResult result = host.map(device, known->memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    const size_t row_bytes = (size_t)(rows->extent.width * known->texel_bytes);
    for (uint32_t row = 0; result == VK_SUCCESS && row < rows->extent.height; row++) {
        uint8_t *there = (uint8_t *)mapped + known->offset + layout.offset +
                         ((uint64_t)rows->offset.y + row) * layout.rowPitch +
                         (uint64_t)rows->offset.x * known->texel_bytes;
        uint8_t *here = rows->memory + row * row_bytes;
        memcpy(up ? there : here, up ? here : there, row_bytes);
    }
    if (result == VK_SUCCESS) {
        host.unmap(device, known->memory);
    }
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL host_up(VkDevice device,
                                              const VkCopyMemoryToImageInfoEXT *info)
{
    VkResult result = VK_SUCCESS;
    for (uint32_t i = 0; i < info->regionCount && result == VK_SUCCESS; i++) {
        const VkMemoryToImageCopyEXT *region = &info->pRegions[i];
        const struct rows rows = {(uint8_t *)(uintptr_t)region->pHostPointer, region->imageOffset,
                                  region->imageExtent};
        result = rows_copy(device, info->dstImage, &rows, 1);
    }
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL host_down(VkDevice device,
                                                const VkCopyImageToMemoryInfoEXT *info)
{
    VkResult result = VK_SUCCESS;
    for (uint32_t i = 0; i < info->regionCount && result == VK_SUCCESS; i++) {
        const VkImageToMemoryCopyEXT *region = &info->pRegions[i];
        const struct rows rows = {region->pHostPointer, region->imageOffset, region->imageExtent};
        result = rows_copy(device, info->srcImage, &rows, 0);
    }
    return result;
}

#define HOST_CALLS(X)                                                                              \
    X(EnumerateDeviceExtensionProperties, extensions)                                              \
    X(GetPhysicalDeviceFeatures2, features)                                                        \
    X(GetPhysicalDeviceProperties2, properties)                                                    \
    X(GetPhysicalDeviceImageFormatProperties, formats)                                             \
    X(CreateDevice, create_device)                                                                 \
    X(CreateImage, create_image)                                                                   \
    X(BindImageMemory, bind)

PFN_vkVoidFunction fault_host_copy(const char *name, PFN_vkVoidFunction real)
{
#define HOST_CALL(call, ours)                                                                      \
    if (strcmp(name, "vk" #call) == 0) {                                                           \
        host.ours = (PFN_vk##call)real;                                                            \
        return (PFN_vkVoidFunction)host_##ours;                                                    \
    }
    HOST_CALLS(HOST_CALL)
#undef HOST_CALL
    if (strcmp(name, "vkCopyMemoryToImageEXT") == 0) {
        return (PFN_vkVoidFunction)host_up;
    }
    return strcmp(name, "vkCopyImageToMemoryEXT") == 0 ? (PFN_vkVoidFunction)host_down : NULL;
}
