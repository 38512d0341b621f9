/*
 * A compute shader that fills a part of a buffer with a word: what a dispatch of a guest stands
 * for.
 *
 * window   bytes of the buffer that a shader sees at once; each has a set of descriptors.
 */
#ifndef FILL_SHADER_H
#define FILL_SHADER_H

#include "vk_loader.h"

struct fill_shader {
    const struct trk_vk_api *api;
    VkDevice device;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkShaderModule module;
    VkPipeline pipeline;
    VkDescriptorPool pool;
    VkDescriptorSet *sets;
    uint64_t window_bytes;
    uint32_t windows;
};

struct fill_target {
    const struct trk_vk_api *api; /* outlives the shader, as the device does */
    VkDevice device;
    VkBuffer buffer;
    uint64_t size_bytes;
    uint64_t window_bytes; /* whole words, aligned as descriptors have to be */
};

/* *shader must be zero; fill_shader_close in any case. */
enum trk_status fill_shader_open(struct fill_shader *shader, const struct fill_target *target,
                                 struct trk_error *error);
void fill_shader_close(struct fill_shader *shader);

struct fill_range {
    uint64_t offset, size_bytes; /* whole words */
    uint32_t word;
};

/* A dispatch for each window that the range meets. */
void fill_shader_record(const struct fill_shader *shader, VkCommandBuffer commands,
                        const struct fill_range *range);

#endif
