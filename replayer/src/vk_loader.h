/*
 * Vulkan's entry points, found at run time.
 *
 * The headers are those of the build machine, the library is whatever libvulkan.so.1 the running
 * machine has, or none. Optional entry points may be NULL.
 */
#ifndef VK_LOADER_H
#define VK_LOADER_H

#include "track/status.h"
#include "vk_newer.h"

#define TRK_VK_GLOBAL_CALLS(X)                                                                     \
    X(CreateInstance)                                                                              \
    X(EnumerateInstanceVersion)                                                                    \
    X(EnumerateInstanceExtensionProperties)                                                        \
    X(EnumerateInstanceLayerProperties)

#define TRK_VK_INSTANCE_CALLS(X)                                                                   \
    X(DestroyInstance)                                                                             \
    X(EnumeratePhysicalDevices)                                                                    \
    X(EnumerateDeviceExtensionProperties)                                                          \
    X(GetPhysicalDeviceProperties)                                                                 \
    X(GetPhysicalDeviceProperties2)                                                                \
    X(GetPhysicalDeviceFeatures2)                                                                  \
    X(GetPhysicalDeviceImageFormatProperties)                                                      \
    X(GetPhysicalDeviceMemoryProperties)                                                           \
    X(GetPhysicalDeviceQueueFamilyProperties)                                                      \
    X(CreateDevice)                                                                                \
    X(GetDeviceProcAddr)

#define TRK_VK_DEVICE_CALLS(X)                                                                     \
    X(DestroyDevice)                                                                               \
    X(DeviceWaitIdle)                                                                              \
    X(GetDeviceQueue)                                                                              \
    X(QueueSubmit)                                                                                 \
    X(CreateBuffer)                                                                                \
    X(DestroyBuffer)                                                                               \
    X(GetBufferMemoryRequirements)                                                                 \
    X(AllocateMemory)                                                                              \
    X(FreeMemory)                                                                                  \
    X(BindBufferMemory)                                                                            \
    X(MapMemory)                                                                                   \
    X(CreateCommandPool)                                                                           \
    X(DestroyCommandPool)                                                                          \
    X(AllocateCommandBuffers)                                                                      \
    X(BeginCommandBuffer)                                                                          \
    X(EndCommandBuffer)                                                                            \
    X(ResetCommandBuffer)                                                                          \
    X(CreateFence)                                                                                 \
    X(DestroyFence)                                                                                \
    X(ResetFences)                                                                                 \
    X(WaitForFences)                                                                               \
    X(CmdCopyBuffer)                                                                               \
    X(CmdFillBuffer)                                                                               \
    X(CmdPipelineBarrier)                                                                          \
    X(CreateImage)                                                                                 \
    X(DestroyImage)                                                                                \
    X(GetImageMemoryRequirements)                                                                  \
    X(BindImageMemory)                                                                             \
    X(CmdCopyBufferToImage)                                                                        \
    X(CmdCopyImageToBuffer)                                                                        \
    X(CreateShaderModule)                                                                          \
    X(DestroyShaderModule)                                                                         \
    X(CreateDescriptorSetLayout)                                                                   \
    X(DestroyDescriptorSetLayout)                                                                  \
    X(CreateDescriptorPool)                                                                        \
    X(DestroyDescriptorPool)                                                                       \
    X(AllocateDescriptorSets)                                                                      \
    X(UpdateDescriptorSets)                                                                        \
    X(CreatePipelineLayout)                                                                        \
    X(DestroyPipelineLayout)                                                                       \
    X(CreateComputePipelines)                                                                      \
    X(DestroyPipeline)                                                                             \
    X(CmdBindPipeline)                                                                             \
    X(CmdBindDescriptorSets)                                                                       \
    X(CmdPushConstants)                                                                            \
    X(CmdDispatch)

/* What replaying needs beside: Vulkan 1.2, all of it mandatory there. */
#define TRK_VK_REPLAY_CALLS(X)                                                                     \
    X(CreateSemaphore)                                                                             \
    X(DestroySemaphore)                                                                            \
    X(WaitSemaphores)                                                                              \
    X(GetSemaphoreCounterValue)                                                                    \
    X(CreateQueryPool)                                                                             \
    X(DestroyQueryPool)                                                                            \
    X(GetQueryPoolResults)                                                                         \
    X(CmdResetQueryPool)                                                                           \
    X(CmdWriteTimestamp)

/* Optional ones, of extensions: NULL where they are not. */
#define TRK_VK_OPTIONAL_CALLS(X)                                                                   \
    X(GetMemoryHostPointerPropertiesEXT)                                                           \
    X(CopyMemoryToImageEXT)                                                                        \
    X(CopyImageToMemoryEXT)                                                                        \
    X(GetCalibratedTimestampsEXT)                                                                  \
    X(GetCalibratedTimestampsKHR)                                                                  \
    X(SetDebugUtilsObjectNameEXT)                                                                  \
    X(CmdBeginDebugUtilsLabelEXT)                                                                  \
    X(CmdEndDebugUtilsLabelEXT)

struct trk_vk_api {
    void *library;
    PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
#define TRK_VK_MEMBER(name) PFN_vk##name name;
    TRK_VK_GLOBAL_CALLS(TRK_VK_MEMBER)
    TRK_VK_INSTANCE_CALLS(TRK_VK_MEMBER)
    TRK_VK_DEVICE_CALLS(TRK_VK_MEMBER)
    TRK_VK_REPLAY_CALLS(TRK_VK_MEMBER)
    TRK_VK_OPTIONAL_CALLS(TRK_VK_MEMBER)
#undef TRK_VK_MEMBER
};

/* Open the library and find what needs no instance. TRK_E_UNSUPPORTED: there is none. */
enum trk_status trk_vk_loader_open(struct trk_vk_api *api, struct trk_error *error);
void trk_vk_loader_close(struct trk_vk_api *api);

/* Find the entry points of an instance, of a device. TRK_E_UNSUPPORTED names what is missing. */
enum trk_status trk_vk_loader_instance(struct trk_vk_api *api, VkInstance instance,
                                       struct trk_error *error);
enum trk_status trk_vk_loader_device(struct trk_vk_api *api, VkDevice device,
                                     struct trk_error *error);
/* Likewise what replaying needs beside, of a device of Vulkan 1.2. */
enum trk_status trk_vk_loader_replay(struct trk_vk_api *api, VkDevice device,
                                     struct trk_error *error);

#endif
