#include "fill_shader.h"

#include <stdlib.h>
#include <string.h>

#include "fill_words.h"
#include "vk_internal.h"

#define WORD_BYTES 4u
#define LANES      256u
/* Words that a lane writes, as long as the workgroups suffice. */
#define LANE_WORDS    4u
#define WORKGROUP_MAX 65535u /* that every device has to take */

struct fill_push {
    uint32_t first, count, word;
};

static VkResult shader_layout(struct fill_shader *shader)
{
    const struct trk_vk_api *api = shader->api;
    const VkDescriptorSetLayoutBinding binding = {
        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
        .descriptorCount = 1,
        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
    };
    const VkDescriptorSetLayoutCreateInfo set_layout = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = 1,
        .pBindings = &binding,
    };
    const VkPushConstantRange push = {
        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        .size = sizeof(struct fill_push),
    };
    const VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = &shader->set_layout,
        .pushConstantRangeCount = 1,
        .pPushConstantRanges = &push,
    };
    VkResult result =
        api->CreateDescriptorSetLayout(shader->device, &set_layout, NULL, &shader->set_layout);
    return result == VK_SUCCESS
               ? api->CreatePipelineLayout(shader->device, &layout, NULL, &shader->layout)
               : result;
}

static VkResult shader_pipeline(struct fill_shader *shader)
{
    const struct trk_vk_api *api = shader->api;
    const VkShaderModuleCreateInfo module = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = sizeof fill_words,
        .pCode = fill_words,
    };
    VkResult result = api->CreateShaderModule(shader->device, &module, NULL, &shader->module);
    if (result != VK_SUCCESS) {
        return result;
    }
    const VkComputePipelineCreateInfo pipeline = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = shader->module,
                  .pName = "main"},
        .layout = shader->layout,
    };
    return api->CreateComputePipelines(shader->device, VK_NULL_HANDLE, 1, &pipeline, NULL,
                                       &shader->pipeline);
}

static VkResult shader_sets(struct fill_shader *shader, const struct fill_target *target)
{
    const struct trk_vk_api *api = shader->api;
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, shader->windows};
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = shader->windows,
        .poolSizeCount = 1,
        .pPoolSizes = &size,
    };
    VkResult result = api->CreateDescriptorPool(shader->device, &pool, NULL, &shader->pool);
    for (uint32_t i = 0; i < shader->windows && result == VK_SUCCESS; i++) {
        const uint64_t first = i * shader->window_bytes, left = target->size_bytes - first;
        const VkDescriptorSetAllocateInfo allocate = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
            .descriptorPool = shader->pool,
            .descriptorSetCount = 1,
            .pSetLayouts = &shader->set_layout,
        };
        const VkDescriptorBufferInfo info = {
            target->buffer, first, left < shader->window_bytes ? left : shader->window_bytes};
        result = api->AllocateDescriptorSets(shader->device, &allocate, &shader->sets[i]);
        const VkWriteDescriptorSet write = {
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
            .dstSet = shader->sets[i],
            .descriptorCount = 1,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .pBufferInfo = &info,
        };
        if (result == VK_SUCCESS) {
            api->UpdateDescriptorSets(shader->device, 1, &write, 0, NULL);
        }
    }
    return result;
}

enum trk_status fill_shader_open(struct fill_shader *shader, const struct fill_target *target,
                                 struct trk_error *error)
{
    shader->api = target->api;
    shader->device = target->device;
    shader->window_bytes = target->window_bytes;
    shader->windows =
        (uint32_t)((target->size_bytes + target->window_bytes - 1) / target->window_bytes);
    shader->sets = calloc(shader->windows, sizeof(VkDescriptorSet));
    if (shader->sets == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the fill shader");
    }
    VkResult result = shader_layout(shader);
    if (result == VK_SUCCESS) {
        result = shader_pipeline(shader);
    }
    if (result == VK_SUCCESS) {
        result = shader_sets(shader, target);
    }
    return trk_vk_result(error, "making the fill shader", result);
}

void fill_shader_close(struct fill_shader *shader)
{
    const struct trk_vk_api *api = shader->api;
    if (api != NULL) {
        api->DestroyDescriptorPool(shader->device, shader->pool, NULL);
        api->DestroyPipeline(shader->device, shader->pipeline, NULL);
        api->DestroyShaderModule(shader->device, shader->module, NULL);
        api->DestroyPipelineLayout(shader->device, shader->layout, NULL);
        api->DestroyDescriptorSetLayout(shader->device, shader->set_layout, NULL);
    }
    free(shader->sets);
    memset(shader, 0, sizeof *shader);
}

void fill_shader_record(const struct fill_shader *shader, VkCommandBuffer commands,
                        const struct fill_range *range)
{
    const struct trk_vk_api *api = shader->api;
    const uint64_t end = range->offset + range->size_bytes;
    uint64_t at = range->offset;
    api->CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, shader->pipeline);
    while (at < end) {
        const uint64_t window = at / shader->window_bytes;
        const uint64_t stop = (window + 1) * shader->window_bytes;
        const uint64_t size_bytes = (end < stop ? end : stop) - at;
        const struct fill_push push = {
            (uint32_t)((at - window * shader->window_bytes) / WORD_BYTES),
            (uint32_t)(size_bytes / WORD_BYTES),
            range->word,
        };
        uint32_t groups = push.count / (LANES * LANE_WORDS) + 1;
        groups = groups < WORKGROUP_MAX ? groups : WORKGROUP_MAX;
        api->CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, shader->layout, 0, 1,
                                   &shader->sets[window], 0, NULL);
        api->CmdPushConstants(commands, shader->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push,
                              &push);
        api->CmdDispatch(commands, groups, 1, 1);
        at += size_bytes;
    }
}
