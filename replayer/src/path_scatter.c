/*
 * One linear copy, then a shader that puts the pieces in their places; for read-backs the other way
 * round. Or the shader alone, which reads staging, or imported guest memory, over the link.
 *
 * A shader sees a window of the mirror at once; each window and slot has a set of descriptors.
 */
#include <stdlib.h>
#include <string.h>

#include "replay_internal.h"
#include "scatter_words.h"

#define WINDOW_ROUND (UINT64_C(1) << 20)
#define BINDINGS     3u

struct scatter {
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkShaderModule module;
    VkPipeline pipeline;
    VkDescriptorPool pool;
    uint64_t window_bytes;
    uint32_t windows;
    VkDescriptorSet *up, *down; /* by slot and window */
};

uint64_t replay_scatter_window(const struct trk_gpu *gpu)
{
    uint64_t range = gpu->limits.storage_range;
    return range > WINDOW_ROUND ? range - range % WINDOW_ROUND : WINDOW_ROUND;
}

static enum trk_status scatter_pipeline(struct trk_gpu *gpu, struct scatter *scatter,
                                        struct trk_error *error)
{
    VkDescriptorSetLayoutBinding bindings[BINDINGS];
    for (uint32_t i = 0; i < BINDINGS; i++) {
        bindings[i] = (VkDescriptorSetLayoutBinding){
            .binding = i,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        };
    }
    VkDescriptorSetLayoutCreateInfo set_layout = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = BINDINGS,
        .pBindings = bindings,
    };
    VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = 4};
    VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = &scatter->set_layout,
        .pushConstantRangeCount = 1,
        .pPushConstantRanges = &push,
    };
    VkShaderModuleCreateInfo module = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = sizeof scatter_words,
        .pCode = scatter_words,
    };
    VkResult result =
        gpu->api.CreateDescriptorSetLayout(gpu->device, &set_layout, NULL, &scatter->set_layout);
    if (result == VK_SUCCESS) {
        result = gpu->api.CreatePipelineLayout(gpu->device, &layout, NULL, &scatter->layout);
    }
    if (result == VK_SUCCESS) {
        result = gpu->api.CreateShaderModule(gpu->device, &module, NULL, &scatter->module);
    }
    if (result == VK_SUCCESS) {
        VkComputePipelineCreateInfo pipeline = {
            .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
            .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                      .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                      .module = scatter->module,
                      .pName = "main"},
            .layout = scatter->layout,
        };
        result = gpu->api.CreateComputePipelines(gpu->device, VK_NULL_HANDLE, 1, &pipeline, NULL,
                                                 &scatter->pipeline);
    }
    if (result == VK_SUCCESS) {
        gpu_name(gpu, VK_OBJECT_TYPE_PIPELINE, (uint64_t)(uintptr_t)scatter->pipeline,
                 "trk scatter");
    }
    return trk_vk_result(error, "making the scatter shader", result);
}

static void scatter_set(struct trk_replay *replay, VkDescriptorSet set,
                        const VkDescriptorBufferInfo infos[BINDINGS])
{
    VkWriteDescriptorSet writes[BINDINGS];
    for (uint32_t i = 0; i < BINDINGS; i++) {
        writes[i] = (VkWriteDescriptorSet){
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
            .dstSet = set,
            .dstBinding = i,
            .descriptorCount = 1,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .pBufferInfo = &infos[i],
        };
    }
    replay->gpu->api.UpdateDescriptorSets(replay->gpu->device, BINDINGS, writes, 0, NULL);
}

/* Of one slot and window: pieces come from the landing, from the slot itself, or from the same
 * window of guest memory. */
static void scatter_fill(struct trk_replay *replay, uint32_t slot, uint32_t window)
{
    struct scatter *scatter = replay->scatter;
    const uint64_t mirror_bytes = replay->plan->mirror_bytes;
    const uint64_t first = window * scatter->window_bytes;
    const uint64_t left = mirror_bytes - first;
    const uint64_t range = left < scatter->window_bytes ? left : scatter->window_bytes;
    const uint32_t at = slot * scatter->windows + window;
    VkDescriptorBufferInfo place = {replay->mirror->buffer, first, range};
    VkDescriptorBufferInfo table = {replay->tables.buffer, replay->slots[slot].table,
                                    REPLAY_TABLE_BYTES};
    VkDescriptorBufferInfo stage = {replay->landing.buffer, replay->slots[slot].offset,
                                    replay->schedule.slot_bytes};
    if (replay->path->imported) {
        stage = (VkDescriptorBufferInfo){replay->ground->imported.buffer, first, range};
    }
    VkDescriptorBufferInfo source = stage;
    if (replay->path->fetches) {
        source.buffer = replay->upload.buffer;
        stage.buffer =
            stage.buffer != VK_NULL_HANDLE ? stage.buffer : source.buffer; /* none lands */
    }
    const VkDescriptorBufferInfo up[BINDINGS] = {source, place, table};
    const VkDescriptorBufferInfo down[BINDINGS] = {place, stage, table};
    scatter_set(replay, scatter->up[at], up);
    scatter_set(replay, scatter->down[at], down);
}

static enum trk_status scatter_sets(struct trk_replay *replay, struct trk_error *error)
{
    struct trk_gpu *gpu = replay->gpu;
    struct scatter *scatter = replay->scatter;
    const uint32_t count = replay->slot_count * scatter->windows;
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2 * count * BINDINGS};
    VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = 2 * count,
        .poolSizeCount = 1,
        .pPoolSizes = &size,
    };
    scatter->up = calloc(count, sizeof(VkDescriptorSet));
    scatter->down = calloc(count, sizeof(VkDescriptorSet));
    if (scatter->up == NULL || scatter->down == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for %u sets of descriptors", count);
    }
    VkResult result = gpu->api.CreateDescriptorPool(gpu->device, &pool, NULL, &scatter->pool);
    for (uint32_t i = 0; i < 2 * count && result == VK_SUCCESS; i++) {
        VkDescriptorSetAllocateInfo allocate = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
            .descriptorPool = scatter->pool,
            .descriptorSetCount = 1,
            .pSetLayouts = &scatter->set_layout,
        };
        VkDescriptorSet *set = i < count ? &scatter->up[i] : &scatter->down[i - count];
        result = gpu->api.AllocateDescriptorSets(gpu->device, &allocate, set);
    }
    if (result != VK_SUCCESS) {
        return trk_vk_result(error, "making sets of descriptors", result);
    }
    for (uint32_t slot = 0; slot < replay->slot_count; slot++) {
        for (uint32_t window = 0; window < scatter->windows; window++) {
            scatter_fill(replay, slot, window);
        }
    }
    return TRK_OK;
}

enum trk_status replay_scatter_open(struct trk_replay *replay, struct trk_error *error)
{
    struct scatter *scatter = calloc(1, sizeof *scatter);
    if (scatter == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the scatter shader");
    }
    replay->scatter = scatter;
    scatter->window_bytes = replay_scatter_window(replay->gpu);
    scatter->windows = (uint32_t)((replay->plan->mirror_bytes + scatter->window_bytes - 1) /
                                  scatter->window_bytes);
    enum trk_status status = scatter_pipeline(replay->gpu, scatter, error);
    return status == TRK_OK ? scatter_sets(replay, error) : status;
}

void replay_scatter_close(struct trk_replay *replay)
{
    struct trk_gpu *gpu = replay->gpu;
    struct scatter *scatter = replay->scatter;
    if (scatter == NULL) {
        return;
    }
    gpu->api.DestroyDescriptorPool(gpu->device, scatter->pool, NULL);
    gpu->api.DestroyPipeline(gpu->device, scatter->pipeline, NULL);
    gpu->api.DestroyShaderModule(gpu->device, scatter->module, NULL);
    gpu->api.DestroyPipelineLayout(gpu->device, scatter->layout, NULL);
    gpu->api.DestroyDescriptorSetLayout(gpu->device, scatter->set_layout, NULL);
    free(scatter->up);
    free(scatter->down);
    free(scatter);
    replay->scatter = NULL;
}

/* ---- recording ------------------------------------------------------------------------------- */

static void scatter_table(struct trk_replay *replay, const struct schedule_chunk *chunk,
                          const struct replay_slot *slot)
{
    memcpy(replay->tables.host + slot->table, replay->schedule.entries + chunk->first_entry,
           chunk->entry_count * sizeof(struct schedule_entry));
}

static void scatter_dispatch(struct trk_replay *replay, const struct schedule_chunk *chunk,
                             const struct replay_slot *slot, const VkDescriptorSet *sets)
{
    struct trk_gpu *gpu = replay->gpu;
    const struct scatter *scatter = replay->scatter;
    VkCommandBuffer buffer = slot->commands.buffer;
    const size_t row = (size_t)(slot - replay->slots) * scatter->windows;
    gpu->api.CmdBindPipeline(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, scatter->pipeline);
    for (size_t i = 0; i < chunk->dispatch_count; i++) {
        const struct schedule_dispatch *dispatch =
            &replay->schedule.dispatches[chunk->first_dispatch + i];
        gpu->api.CmdBindDescriptorSets(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, scatter->layout, 0,
                                       1, &sets[row + dispatch->window], 0, NULL);
        gpu->api.CmdPushConstants(buffer, scatter->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4,
                                  &dispatch->first);
        gpu->api.CmdDispatch(buffer, dispatch->count, 1, 1);
    }
}

static void scatter_barrier(struct trk_replay *replay, const struct replay_slot *slot, bool up)
{
    const VkPipelineStageFlags copy = VK_PIPELINE_STAGE_TRANSFER_BIT;
    const VkPipelineStageFlags shader = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = up ? VK_ACCESS_TRANSFER_WRITE_BIT : VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = up ? VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT
                            : VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
    };
    replay->gpu->api.CmdPipelineBarrier(slot->commands.buffer, up ? copy : shader,
                                        up ? shader : copy, 0, 1, &barrier, 0, NULL, 0, NULL);
}

static void scatter_up(struct trk_replay *replay, const struct schedule_chunk *chunk,
                       const struct replay_slot *slot)
{
    scatter_table(replay, chunk, slot);
    if (!replay->path->imported) {
        VkBufferCopy copy = {slot->offset, slot->offset, chunk->staged_bytes};
        replay_copy_loose(replay, chunk, slot, true);
        gpu_commands_copy(replay->gpu, &slot->commands, replay->upload.buffer,
                          replay->landing.buffer, &copy);
        scatter_barrier(replay, slot, true);
    }
    scatter_dispatch(replay, chunk, slot, replay->scatter->up);
}

static bool scatter_loose(const struct trk_replay *replay, const struct schedule_chunk *chunk)
{
    bool loose = false;
    for (size_t i = 0; i < chunk->piece_count && !loose; i++) {
        loose = !schedule_in_units(&replay->schedule.pieces[chunk->first_piece + i]);
    }
    return loose;
}

/* The host's writes are there: it made them before the submit. */
static void fetch_up(struct trk_replay *replay, const struct schedule_chunk *chunk,
                     const struct replay_slot *slot)
{
    scatter_table(replay, chunk, slot);
    if (scatter_loose(replay, chunk)) { /* they write the buffer that the shader writes */
        replay_copy_loose(replay, chunk, slot, true);
        scatter_barrier(replay, slot, true);
    }
    scatter_dispatch(replay, chunk, slot, replay->scatter->up);
}

static void scatter_down(struct trk_replay *replay, const struct schedule_chunk *chunk,
                         const struct replay_slot *slot)
{
    VkBufferCopy copy = {slot->offset, slot->offset, chunk->staged_bytes};
    scatter_table(replay, chunk, slot);
    scatter_dispatch(replay, chunk, slot, replay->scatter->down);
    scatter_barrier(replay, slot, false);
    gpu_commands_copy(replay->gpu, &slot->commands, replay->landing.buffer, replay->readback.buffer,
                      &copy);
    if (scatter_loose(replay,
                      chunk)) { /* they overwrite what the linear copy left in their places */
        gpu_commands_barrier(replay->gpu, &slot->commands);
        replay_copy_loose(replay, chunk, slot, false);
    }
}

/* ---- the paths ------------------------------------------------------------------------------- */

static enum trk_status scatter_able(const struct trk_gpu *gpu, enum trk_policy_queue queue,
                                    struct trk_error *error)
{
    if (queue == TRK_QUEUE_TRANSFER) {
        return trk_error_set(error, TRK_E_UNSUPPORTED, "a transfer queue runs no shader");
    }
    return gpu->limits.storage_alignment <= WINDOW_ROUND
               ? TRK_OK
               : trk_error_set(error, TRK_E_UNSUPPORTED, "%.60s aligns storage buffers too widely",
                               gpu->info.device_name);
}

static enum trk_status import_scatter_able(const struct trk_gpu *gpu, enum trk_policy_queue queue,
                                           struct trk_error *error)
{
    enum trk_status status = replay_path_import.able(gpu, queue, error);
    return status == TRK_OK ? scatter_able(gpu, queue, error) : status;
}

const struct replay_path replay_path_scatter = {
    .name = "scatter",
    .staged = true,
    .entries = true,
    .mirror = GPU_DEVICE,
    .able = scatter_able,
    .up = scatter_up,
    .down = scatter_down,
};

const struct replay_path replay_path_fetch = {
    .name = "fetch",
    .staged = true,
    .entries = true,
    .fetches = true,
    .mirror = GPU_DEVICE,
    .able = scatter_able,
    .up = fetch_up,
    .down = scatter_down,
};

/* Read-backs go as imported ones do: a shader would write gaps, or need a second table. */
static void import_scatter_down(struct trk_replay *replay, const struct schedule_chunk *chunk,
                                const struct replay_slot *slot)
{
    replay_path_import.down(replay, chunk, slot);
}

/* Pieces that no shader can move are copied by commands. */
static void import_scatter_up(struct trk_replay *replay, const struct schedule_chunk *chunk,
                              const struct replay_slot *slot)
{
    bool loose = false;
    scatter_up(replay, chunk, slot);
    for (size_t i = 0; i < chunk->piece_count; i++) {
        const struct schedule_piece *piece = &replay->schedule.pieces[chunk->first_piece + i];
        VkBufferCopy copy = {piece->offset, piece->offset, piece->size_bytes};
        if (!schedule_in_units(piece)) {
            if (!loose) { /* they write the buffer that the shader has written */
                scatter_barrier(replay, slot, false);
            }
            loose = true;
            gpu_commands_copy(replay->gpu, &slot->commands, replay->ground->imported.buffer,
                              replay->mirror->buffer, &copy);
        }
    }
}

const struct replay_path replay_path_import_scatter = {
    .name = "import+scatter",
    .up_in_place = true,
    .down_in_place = true,
    .entries = true,
    .imported = true,
    .mirror = GPU_DEVICE,
    .able = import_scatter_able,
    .up = import_scatter_up,
    .down = import_scatter_down,
};
