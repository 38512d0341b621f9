/*
 * What is newer than the Vulkan headers of the oldest system that builds this, Debian 12's 1.3.239.
 *
 * VK_EXT_host_image_copy came with 1.3.258, VK_KHR_calibrated_timestamps, which is the EXT one by a
 * new name, with 1.3.269. Where the headers have them, this says nothing.
 */
#ifndef VK_NEWER_H
#define VK_NEWER_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#ifndef VK_EXT_host_image_copy
#define VK_EXT_host_image_copy                1
#define VK_EXT_HOST_IMAGE_COPY_EXTENSION_NAME "VK_EXT_host_image_copy"

#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_FEATURES_EXT ((VkStructureType)1000270000)
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_PROPERTIES_EXT                           \
    ((VkStructureType)1000270001)
#define VK_STRUCTURE_TYPE_MEMORY_TO_IMAGE_COPY_EXT      ((VkStructureType)1000270002)
#define VK_STRUCTURE_TYPE_IMAGE_TO_MEMORY_COPY_EXT      ((VkStructureType)1000270003)
#define VK_STRUCTURE_TYPE_COPY_IMAGE_TO_MEMORY_INFO_EXT ((VkStructureType)1000270004)
#define VK_STRUCTURE_TYPE_COPY_MEMORY_TO_IMAGE_INFO_EXT ((VkStructureType)1000270005)
#define VK_IMAGE_USAGE_HOST_TRANSFER_BIT_EXT            ((VkImageUsageFlags)0x00400000)

typedef VkFlags VkHostImageCopyFlagsEXT;

typedef struct VkPhysicalDeviceHostImageCopyFeaturesEXT {
    VkStructureType sType;
    void *pNext;
    VkBool32 hostImageCopy;
} VkPhysicalDeviceHostImageCopyFeaturesEXT;

typedef struct VkPhysicalDeviceHostImageCopyPropertiesEXT {
    VkStructureType sType;
    void *pNext;
    uint32_t copySrcLayoutCount;
    VkImageLayout *pCopySrcLayouts;
    uint32_t copyDstLayoutCount;
    VkImageLayout *pCopyDstLayouts;
    uint8_t optimalTilingLayoutUUID[VK_UUID_SIZE];
    VkBool32 identicalMemoryTypeRequirements;
} VkPhysicalDeviceHostImageCopyPropertiesEXT;

typedef struct VkMemoryToImageCopyEXT {
    VkStructureType sType;
    const void *pNext;
    const void *pHostPointer;
    uint32_t memoryRowLength;
    uint32_t memoryImageHeight;
    VkImageSubresourceLayers imageSubresource;
    VkOffset3D imageOffset;
    VkExtent3D imageExtent;
} VkMemoryToImageCopyEXT;

typedef struct VkImageToMemoryCopyEXT {
    VkStructureType sType;
    const void *pNext;
    void *pHostPointer;
    uint32_t memoryRowLength;
    uint32_t memoryImageHeight;
    VkImageSubresourceLayers imageSubresource;
    VkOffset3D imageOffset;
    VkExtent3D imageExtent;
} VkImageToMemoryCopyEXT;

typedef struct VkCopyMemoryToImageInfoEXT {
    VkStructureType sType;
    const void *pNext;
    VkHostImageCopyFlagsEXT flags;
    VkImage dstImage;
    VkImageLayout dstImageLayout;
    uint32_t regionCount;
    const VkMemoryToImageCopyEXT *pRegions;
} VkCopyMemoryToImageInfoEXT;

typedef struct VkCopyImageToMemoryInfoEXT {
    VkStructureType sType;
    const void *pNext;
    VkHostImageCopyFlagsEXT flags;
    VkImage srcImage;
    VkImageLayout srcImageLayout;
    uint32_t regionCount;
    const VkImageToMemoryCopyEXT *pRegions;
} VkCopyImageToMemoryInfoEXT;

typedef VkResult(VKAPI_PTR *PFN_vkCopyMemoryToImageEXT)(VkDevice device,
                                                        const VkCopyMemoryToImageInfoEXT *info);
typedef VkResult(VKAPI_PTR *PFN_vkCopyImageToMemoryEXT)(VkDevice device,
                                                        const VkCopyImageToMemoryInfoEXT *info);
#endif

#ifndef VK_KHR_calibrated_timestamps
#define VK_KHR_calibrated_timestamps                1
#define VK_KHR_CALIBRATED_TIMESTAMPS_EXTENSION_NAME "VK_KHR_calibrated_timestamps"

typedef PFN_vkGetCalibratedTimestampsEXT PFN_vkGetCalibratedTimestampsKHR;
#endif

#endif
