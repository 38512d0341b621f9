#include "fake_vk.h"

#include <string.h>

char fake_log[64];
VkResult fake_submit_result, fake_wait_result, fake_begin_result;

static void note(char letter)
{
    size_t used = strlen(fake_log);
    if (used + 1 < sizeof fake_log) {
        fake_log[used] = letter;
        fake_log[used + 1] = '\0';
    }
}

static VkResult VKAPI_CALL fake_reset(VkCommandBuffer commands, VkCommandBufferResetFlags flags)
{
    (void)commands;
    (void)flags;
    return VK_SUCCESS;
}

static VkResult VKAPI_CALL fake_begin(VkCommandBuffer commands,
                                      const VkCommandBufferBeginInfo *begin)
{
    (void)commands;
    (void)begin;
    return fake_begin_result;
}

static VkResult VKAPI_CALL fake_end(VkCommandBuffer commands)
{
    (void)commands;
    return VK_SUCCESS;
}

static VkResult VKAPI_CALL fake_reset_fences(VkDevice device, uint32_t count, const VkFence *fences)
{
    (void)device;
    (void)count;
    (void)fences;
    return VK_SUCCESS;
}

static VkResult VKAPI_CALL fake_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *submits,
                                       VkFence fence)
{
    (void)queue;
    (void)count;
    (void)submits;
    (void)fence;
    note('s');
    return fake_submit_result;
}

static VkResult VKAPI_CALL fake_wait(VkDevice device, uint32_t count, const VkFence *fences,
                                     VkBool32 all, uint64_t timeout_ns)
{
    (void)device;
    (void)count;
    (void)fences;
    (void)all;
    (void)timeout_ns;
    note('w');
    return fake_wait_result;
}

static void VKAPI_CALL fake_copy(VkCommandBuffer commands, VkBuffer source, VkBuffer target,
                                 uint32_t count, const VkBufferCopy *regions)
{
    (void)commands;
    (void)source;
    (void)target;
    (void)count;
    (void)regions;
    note('c');
}

static void VKAPI_CALL fake_fill(VkCommandBuffer commands, VkBuffer target, VkDeviceSize offset,
                                 VkDeviceSize size, uint32_t word)
{
    (void)commands;
    (void)target;
    (void)offset;
    (void)size;
    (void)word;
    note('f');
}

/* The count of parameters is Vulkan's. */
#define BARRIER_PARAMETERS                                                                         \
    VkCommandBuffer commands, VkPipelineStageFlags before, VkPipelineStageFlags after,             \
        VkDependencyFlags flags, uint32_t memory_count, const VkMemoryBarrier *memory,             \
        uint32_t buffer_count, const VkBufferMemoryBarrier *buffers, uint32_t image_count,         \
        const VkImageMemoryBarrier *images

/* NOLINTNEXTLINE(readability-function-size): as above */
static void VKAPI_CALL fake_barrier(BARRIER_PARAMETERS)
{
    (void)commands;
    (void)before;
    (void)after;
    (void)flags;
    (void)memory_count;
    (void)memory;
    (void)buffer_count;
    (void)buffers;
    (void)image_count;
    (void)images;
    note('b');
}

void fake_vk_init(struct trk_vk *vk)
{
    memset(vk, 0, sizeof *vk);
    vk->api.ResetCommandBuffer = fake_reset;
    vk->api.BeginCommandBuffer = fake_begin;
    vk->api.EndCommandBuffer = fake_end;
    vk->api.ResetFences = fake_reset_fences;
    vk->api.QueueSubmit = fake_submit;
    vk->api.WaitForFences = fake_wait;
    vk->api.CmdCopyBuffer = fake_copy;
    vk->api.CmdFillBuffer = fake_fill;
    vk->api.CmdPipelineBarrier = fake_barrier;
    memset(fake_log, 0, sizeof fake_log);
    fake_submit_result = VK_SUCCESS;
    fake_wait_result = VK_SUCCESS;
    fake_begin_result = VK_SUCCESS;
}

struct trk_vk_buffer fake_buffer(uint64_t size_bytes)
{
    return (struct trk_vk_buffer){.size_bytes = size_bytes};
}
