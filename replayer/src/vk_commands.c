#include "vk_internal.h"

enum trk_status trk_vk_commands_init(struct trk_vk *vk, struct trk_error *error)
{
    VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
        .queueFamilyIndex = vk->family,
    };
    VkResult result = vk->api.CreateCommandPool(vk->device, &pool, NULL, &vk->pool);
    if (result != VK_SUCCESS) {
        vk->pool = VK_NULL_HANDLE;
        return trk_vk_result(error, "vkCreateCommandPool", result);
    }
    for (uint32_t i = 0; i < TRK_VK_SLOTS; i++) {
        VkCommandBufferAllocateInfo allocate = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
            .commandPool = vk->pool,
            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
            .commandBufferCount = 1,
        };
        result = vk->api.AllocateCommandBuffers(vk->device, &allocate, &vk->slots[i].commands);
        if (result != VK_SUCCESS) {
            return trk_vk_result(error, "vkAllocateCommandBuffers", result);
        }
        VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
        result = vk->api.CreateFence(vk->device, &fence, NULL, &vk->slots[i].fence);
        if (result != VK_SUCCESS) {
            vk->slots[i].fence = VK_NULL_HANDLE;
            return trk_vk_result(error, "vkCreateFence", result);
        }
    }
    return TRK_OK;
}

void trk_vk_commands_deinit(struct trk_vk *vk)
{
    (void)vk->api.DeviceWaitIdle(vk->device);
    for (uint32_t i = 0; i < TRK_VK_SLOTS; i++) {
        vk->api.DestroyFence(vk->device, vk->slots[i].fence, NULL);
    }
    vk->api.DestroyCommandPool(vk->device, vk->pool, NULL); /* frees its command buffers */
}

static struct trk_vk_slot *commands_slot(struct trk_vk *vk)
{
    return &vk->slots[(vk->submitted + 1) % TRK_VK_SLOTS];
}

static bool commands_shade(const struct trk_vk *vk)
{
    return vk->shader.api != NULL;
}

static VkPipelineStageFlags commands_stages(const struct trk_vk *vk)
{
    return VK_PIPELINE_STAGE_TRANSFER_BIT |
           (commands_shade(vk) ? VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT : 0u);
}

/* What writes there are. */
static VkAccessFlags commands_writes(const struct trk_vk *vk)
{
    return VK_ACCESS_TRANSFER_WRITE_BIT | (commands_shade(vk) ? VK_ACCESS_SHADER_WRITE_BIT : 0u);
}

static void commands_barrier(struct trk_vk *vk, VkPipelineStageFlags stage, VkAccessFlags before,
                             VkAccessFlags after)
{
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = before,
        .dstAccessMask = after,
    };
    vk->api.CmdPipelineBarrier(commands_slot(vk)->commands, commands_stages(vk), stage, 0, 1,
                               &barrier, 0, NULL, 0, NULL);
    vk->access_count = 0;
}

static void commands_order(struct trk_vk *vk)
{
    const VkAccessFlags writes = commands_writes(vk);
    commands_barrier(vk, commands_stages(vk), writes, writes | VK_ACCESS_TRANSFER_READ_BIT);
}

VkCommandBuffer trk_vk_commands_buffer(struct trk_vk *vk)
{
    return commands_slot(vk)->commands;
}

enum trk_status trk_vk_commands_open(struct trk_vk *vk, struct trk_error *error)
{
    if (vk->recording) {
        return TRK_OK;
    }
    struct trk_vk_slot *slot = commands_slot(vk);
    if (slot->tick != 0) {
        enum trk_status status = trk_vk_wait(vk, slot->tick, error);
        if (status != TRK_OK) {
            return status;
        }
    }
    VkResult result = vk->api.ResetCommandBuffer(slot->commands, 0);
    if (result == VK_SUCCESS) {
        VkCommandBufferBeginInfo begin = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
        };
        result = vk->api.BeginCommandBuffer(slot->commands, &begin);
    }
    if (result != VK_SUCCESS) {
        return trk_vk_result(error, "vkBeginCommandBuffer", result);
    }
    vk->recording = true;
    commands_order(vk); /* behind all earlier submissions of the queue */
    return TRK_OK;
}

/* Whether two accesses must not be reordered: same bytes, and one of them writes. */
static bool commands_conflict(const struct trk_vk_access *a, const struct trk_vk_access *b)
{
    return a->object == b->object && (a->write || b->write) && a->first < b->end &&
           b->first < a->end;
}

void trk_vk_commands_note(struct trk_vk *vk, const struct trk_vk_access *accesses, uint32_t count)
{
    bool order = vk->access_count + count > TRK_VK_ACCESSES;
    for (uint32_t i = 0; i < count && !order; i++) {
        for (uint32_t k = 0; k < vk->access_count && !order; k++) {
            order = commands_conflict(&accesses[i], &vk->accesses[k]);
        }
    }
    if (order) {
        commands_order(vk);
    }
    for (uint32_t i = 0; i < count; i++) {
        vk->accesses[vk->access_count++] = accesses[i];
    }
}

static bool commands_inside(const struct trk_vk_buffer *buffer, uint64_t offset,
                            uint64_t size_bytes)
{
    return size_bytes > 0 && offset <= buffer->size_bytes &&
           size_bytes <= buffer->size_bytes - offset;
}

enum trk_status trk_vk_copy(struct trk_vk *vk, struct trk_vk_buffer *source,
                            struct trk_vk_buffer *target, const struct trk_vk_region *region,
                            struct trk_error *error)
{
    if (!commands_inside(source, region->source_offset, region->size_bytes) ||
        !commands_inside(target, region->target_offset, region->size_bytes)) {
        return trk_error_set(error, TRK_E_ARGUMENT, "a copy leaves its Vulkan buffers");
    }
    struct trk_vk_access accesses[2] = {
        {source, region->source_offset, region->source_offset + region->size_bytes, false},
        {target, region->target_offset, region->target_offset + region->size_bytes, true},
    };
    if (commands_conflict(&accesses[0], &accesses[1])) {
        return trk_error_set(error, TRK_E_ARGUMENT, "a copy overlaps itself");
    }
    enum trk_status status = trk_vk_commands_open(vk, error);
    if (status != TRK_OK) {
        return status;
    }
    trk_vk_commands_note(vk, accesses, 2);
    VkBufferCopy copy = {
        .srcOffset = region->source_offset,
        .dstOffset = region->target_offset,
        .size = region->size_bytes,
    };
    vk->api.CmdCopyBuffer(commands_slot(vk)->commands, source->buffer, target->buffer, 1, &copy);
    return TRK_OK;
}

enum trk_status trk_vk_fill(struct trk_vk *vk, struct trk_vk_buffer *target, uint64_t offset,
                            uint64_t size_bytes, uint32_t word, struct trk_error *error)
{
    if (offset % 4 != 0 || size_bytes % 4 != 0 || !commands_inside(target, offset, size_bytes)) {
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "a fill is not aligned to 4 bytes or leaves its Vulkan buffer");
    }
    enum trk_status status = trk_vk_commands_open(vk, error);
    if (status != TRK_OK) {
        return status;
    }
    struct trk_vk_access access = {target, offset, offset + size_bytes, true};
    trk_vk_commands_note(vk, &access, 1);
    vk->api.CmdFillBuffer(commands_slot(vk)->commands, target->buffer, offset, size_bytes, word);
    return TRK_OK;
}

enum trk_status trk_vk_submit(struct trk_vk *vk, uint64_t *tick, struct trk_error *error)
{
    enum trk_status status = trk_vk_commands_open(vk, error);
    if (status != TRK_OK) {
        return status;
    }
    struct trk_vk_slot *slot = commands_slot(vk);
    /* What was written is there for the host to read once the fence has been seen. */
    commands_barrier(vk, VK_PIPELINE_STAGE_HOST_BIT, commands_writes(vk), VK_ACCESS_HOST_READ_BIT);
    vk->recording = false;
    VkResult result = vk->api.EndCommandBuffer(slot->commands);
    if (result == VK_SUCCESS) {
        result = vk->api.ResetFences(vk->device, 1, &slot->fence);
    }
    if (result == VK_SUCCESS) {
        VkSubmitInfo submit = {
            .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
            .commandBufferCount = 1,
            .pCommandBuffers = &slot->commands,
        };
        result = vk->api.QueueSubmit(vk->queue, 1, &submit, slot->fence);
    }
    if (result != VK_SUCCESS) {
        slot->tick = 0; /* its fence will not come */
        return trk_vk_result(error, "vkQueueSubmit", result);
    }
    slot->tick = ++vk->submitted;
    *tick = slot->tick;
    return TRK_OK;
}

enum trk_status trk_vk_wait(struct trk_vk *vk, uint64_t tick, struct trk_error *error)
{
    if (tick > vk->submitted) {
        return trk_error_set(error, TRK_E_ARGUMENT, "tick %llu was never submitted",
                             (unsigned long long)tick);
    }
    /* A slot is used again only after its tick has run, so an unfinished tick still has its own. */
    struct trk_vk_slot *slot = &vk->slots[tick % TRK_VK_SLOTS];
    if (tick <= vk->completed || slot->tick != tick) {
        return TRK_OK;
    }
    VkResult result =
        vk->api.WaitForFences(vk->device, 1, &slot->fence, VK_TRUE, TRK_VK_TIMEOUT_NS);
    if (result != VK_SUCCESS) {
        return trk_vk_result(error, "vkWaitForFences", result);
    }
    vk->completed = tick;
    return TRK_OK;
}
