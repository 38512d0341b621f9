#include "gpu_internal.h"

#include <string.h>

enum trk_status gpu_commands_init(struct trk_gpu *gpu, struct gpu_commands *commands,
                                  enum trk_policy_queue queue, struct trk_error *error)
{
    VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
        .queueFamilyIndex = gpu->queues[queue].family,
    };
    commands->queue = queue;
    VkResult result = gpu->api.CreateCommandPool(gpu->device, &pool, NULL, &commands->pool);
    if (result != VK_SUCCESS) {
        commands->pool = VK_NULL_HANDLE;
        return trk_vk_result(error, "vkCreateCommandPool", result);
    }
    VkCommandBufferAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = commands->pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    result = gpu->api.AllocateCommandBuffers(gpu->device, &allocate, &commands->buffer);
    return trk_vk_result(error, "vkAllocateCommandBuffers", result);
}

/* Nothing of it may be pending. */
void gpu_commands_deinit(struct trk_gpu *gpu, struct gpu_commands *commands)
{
    if (commands->pool != VK_NULL_HANDLE) {
        gpu->api.DestroyCommandPool(gpu->device, commands->pool, NULL);
    }
    memset(commands, 0, sizeof *commands);
}

enum trk_status gpu_commands_begin(struct trk_gpu *gpu, struct gpu_commands *commands, bool ordered,
                                   struct trk_error *error)
{
    VkCommandBufferBeginInfo begin = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    enum trk_status status = gpu_wait(gpu, commands->value, error);
    if (status != TRK_OK) {
        return status;
    }
    VkResult result = gpu->api.BeginCommandBuffer(commands->buffer, &begin);
    if (result == VK_SUCCESS && ordered) {
        gpu_commands_barrier(gpu, commands);
    }
    return trk_vk_result(error, "vkBeginCommandBuffer", result);
}

void gpu_commands_barrier(struct trk_gpu *gpu, const struct gpu_commands *commands)
{
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
    };
    gpu->api.CmdPipelineBarrier(commands->buffer, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &barrier, 0, NULL, 0,
                                NULL);
}

void gpu_commands_for_host(struct trk_gpu *gpu, const struct gpu_commands *commands)
{
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_HOST_READ_BIT,
    };
    gpu->api.CmdPipelineBarrier(commands->buffer, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
}

void gpu_commands_copy(struct trk_gpu *gpu, const struct gpu_commands *commands, VkBuffer source,
                       VkBuffer target, const VkBufferCopy *copy)
{
    gpu->api.CmdCopyBuffer(commands->buffer, source, target, 1, copy);
}

void gpu_commands_label(struct trk_gpu *gpu, const struct gpu_commands *commands, const char *text)
{
    VkDebugUtilsLabelEXT label = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
        .pLabelName = text,
    };
    if (gpu->info.labels && gpu->api.CmdBeginDebugUtilsLabelEXT != NULL) {
        gpu->api.CmdBeginDebugUtilsLabelEXT(commands->buffer, &label);
    }
}

void gpu_commands_label_end(struct trk_gpu *gpu, const struct gpu_commands *commands)
{
    if (gpu->info.labels && gpu->api.CmdBeginDebugUtilsLabelEXT != NULL &&
        gpu->api.CmdEndDebugUtilsLabelEXT != NULL) {
        gpu->api.CmdEndDebugUtilsLabelEXT(commands->buffer);
    }
}

enum trk_status gpu_commands_submit(struct trk_gpu *gpu, struct gpu_commands *commands,
                                    struct trk_error *error)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const uint64_t before = gpu->value, after = gpu->value + 1;
    const bool waits = before > 0 && gpu->last_queue != commands->queue;
    VkTimelineSemaphoreSubmitInfo timeline = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = waits ? 1 : 0,
        .pWaitSemaphoreValues = &before,
        .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = &after,
    };
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .pNext = &timeline,
        .waitSemaphoreCount = waits ? 1 : 0,
        .pWaitSemaphores = &gpu->timeline,
        .pWaitDstStageMask = &stage,
        .commandBufferCount = 1,
        .pCommandBuffers = &commands->buffer,
        .signalSemaphoreCount = 1,
        .pSignalSemaphores = &gpu->timeline,
    };
    VkResult result = gpu->api.EndCommandBuffer(commands->buffer);
    if (result == VK_SUCCESS) {
        result =
            gpu->api.QueueSubmit(gpu->queues[commands->queue].queue, 1, &submit, VK_NULL_HANDLE);
    }
    if (result != VK_SUCCESS) {
        return trk_vk_result(error, "vkQueueSubmit", result);
    }
    gpu->value = after;
    gpu->last_queue = commands->queue;
    commands->value = after;
    return TRK_OK;
}

enum trk_status gpu_wait(struct trk_gpu *gpu, uint64_t value, struct trk_error *error)
{
    VkSemaphoreWaitInfo wait = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
        .semaphoreCount = 1,
        .pSemaphores = &gpu->timeline,
        .pValues = &value,
    };
    if (value == 0) {
        return TRK_OK;
    }
    VkResult result = gpu->api.WaitSemaphores(gpu->device, &wait, GPU_TIMEOUT_NS);
    return trk_vk_result(error, "vkWaitSemaphores", result);
}
