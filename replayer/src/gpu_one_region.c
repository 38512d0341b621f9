#include "replayer/one_region.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu_internal.h"

struct trk_one_region {
    struct trk_gpu *gpu;
    struct gpu_buffer from, to;
    struct gpu_commands commands;
    VkQueryPool queries; /* VK_NULL_HANDLE: the queue has no timestamps */
};

static uint64_t one_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static enum trk_status one_open(struct trk_one_region *one,
                                const struct trk_one_region_options *options,
                                struct trk_error *error)
{
    struct trk_gpu *gpu = one->gpu;
    const VkQueryPoolCreateInfo queries = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = 2,
    };
    enum trk_status status = gpu_buffer_init(
        gpu, &one->from, options->down ? GPU_DEVICE : GPU_UPLOAD, options->size_bytes, error);
    if (status == TRK_OK) {
        status = gpu_buffer_init(gpu, &one->to, options->down ? GPU_READBACK : GPU_DEVICE,
                                 options->size_bytes, error);
    }
    if (status == TRK_OK) {
        status = gpu_commands_init(gpu, &one->commands, TRK_QUEUE_UNIVERSAL, error);
    }
    if (status == TRK_OK && one->from.host != NULL) {
        memset(one->from.host, 1, options->size_bytes); /* pages that nobody wrote may be one */
    }
    if (status == TRK_OK && gpu->queues[TRK_QUEUE_UNIVERSAL].times) {
        const VkResult result =
            gpu->api.CreateQueryPool(gpu->device, &queries, NULL, &one->queries);
        one->queries = result == VK_SUCCESS ? one->queries : VK_NULL_HANDLE;
        status = trk_vk_result(error, "vkCreateQueryPool", result);
    }
    return status;
}

enum trk_status trk_one_region_create(struct trk_one_region **out, struct trk_gpu *gpu,
                                      const struct trk_one_region_options *options,
                                      struct trk_error *error)
{
    assert(options->size == sizeof *options && options->size_bytes > 0);
    struct trk_one_region *one = calloc(1, sizeof *one);
    if (one == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for a copy in one region");
    }
    one->gpu = gpu;
    const enum trk_status status = one_open(one, options, error);
    if (status != TRK_OK) {
        trk_one_region_destroy(one);
        return status;
    }
    *out = one;
    return TRK_OK;
}

void trk_one_region_destroy(struct trk_one_region *one)
{
    if (one == NULL) {
        return;
    }
    (void)gpu_wait(one->gpu, one->commands.value, NULL); /* a lost device has nothing pending */
    if (one->queries != VK_NULL_HANDLE) {
        one->gpu->api.DestroyQueryPool(one->gpu->device, one->queries, NULL);
    }
    gpu_commands_deinit(one->gpu, &one->commands);
    gpu_buffer_deinit(one->gpu, &one->to);
    gpu_buffer_deinit(one->gpu, &one->from);
    free(one);
}

uint64_t trk_one_region_bytes(const struct trk_one_region *one)
{
    return one->from.size_bytes;
}

static enum trk_status one_record(struct trk_one_region *one, struct trk_error *error)
{
    struct trk_gpu *gpu = one->gpu;
    VkCommandBuffer buffer = one->commands.buffer;
    const VkBufferCopy copy = {0, 0, one->from.size_bytes};
    const enum trk_status status = gpu_commands_begin(gpu, &one->commands, true, error);
    if (status != TRK_OK) {
        return status;
    }
    gpu_commands_label(gpu, &one->commands, "trk one region");
    if (one->queries != VK_NULL_HANDLE) {
        gpu->api.CmdResetQueryPool(buffer, one->queries, 0, 2);
        gpu->api.CmdWriteTimestamp(buffer, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, one->queries, 0);
    }
    gpu_commands_copy(gpu, &one->commands, one->from.buffer, one->to.buffer, &copy);
    if (one->queries != VK_NULL_HANDLE) {
        gpu->api.CmdWriteTimestamp(buffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, one->queries, 1);
    }
    gpu_commands_for_host(gpu, &one->commands);
    gpu_commands_label_end(gpu, &one->commands);
    return gpu_commands_submit(gpu, &one->commands, error);
}

enum trk_status trk_one_region_pass(struct trk_one_region *one, struct trk_replay_times *out,
                                    struct trk_error *error)
{
    struct trk_gpu *gpu = one->gpu;
    const uint64_t begin = one_clock();
    enum trk_status status = one_record(one, error);
    if (status == TRK_OK) {
        status = gpu_wait(gpu, one->commands.value, error);
    }
    *out = (struct trk_replay_times){.host_ns = one_clock() - begin, .device_ns = TRK_NOT_KNOWN};
    if (status != TRK_OK || one->queries == VK_NULL_HANDLE) {
        return status;
    }
    uint64_t ticks[2] = {0, 0};
    const VkResult result =
        gpu->api.GetQueryPoolResults(gpu->device, one->queries, 0, 2, sizeof ticks, ticks,
                                     sizeof *ticks, VK_QUERY_RESULT_64_BIT);
    if (result == VK_SUCCESS) {
        const uint64_t bits = gpu->queues[TRK_QUEUE_UNIVERSAL].valid_bits;
        out->device_ns = (uint64_t)((double)((ticks[1] - ticks[0]) & bits) * gpu->info.tick_ns);
    }
    return result == VK_NOT_READY ? TRK_OK : trk_vk_result(error, "vkGetQueryPoolResults", result);
}
