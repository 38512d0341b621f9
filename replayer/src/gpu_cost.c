/*
 * What a region and a byte cost: copies of the same bytes in one region and in many, on the
 * device's own clock where its queue has one, else on the host's. The median of some rounds counts.
 */
#include "gpu_internal.h"

#include <stdlib.h>
#include <time.h>

#define COST_BYTES   (UINT64_C(8) << 20)
#define COST_REGIONS 1024u
#define COST_ROUNDS  9u

struct cost {
    struct trk_gpu *gpu;
    enum trk_policy_queue queue;
    struct gpu_buffer from, to;
    struct gpu_commands commands;
    VkQueryPool queries;
};

static double cost_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static enum trk_status cost_submit_wait(struct cost *cost, struct trk_error *error)
{
    enum trk_status status = gpu_commands_submit(cost->gpu, &cost->commands, error);
    return status == TRK_OK ? gpu_wait(cost->gpu, cost->commands.value, error) : status;
}

/* Queries are reset where that is certainly possible. */
static enum trk_status cost_reset(struct cost *cost, struct trk_error *error)
{
    struct gpu_commands reset = {.pool = VK_NULL_HANDLE};
    enum trk_status status = gpu_commands_init(cost->gpu, &reset, TRK_QUEUE_UNIVERSAL, error);
    if (status == TRK_OK) {
        status = gpu_commands_begin(cost->gpu, &reset, true, error);
    }
    if (status == TRK_OK) {
        cost->gpu->api.CmdResetQueryPool(reset.buffer, cost->queries, 0, 2);
        status = gpu_commands_submit(cost->gpu, &reset, error);
    }
    if (status == TRK_OK) {
        status = gpu_wait(cost->gpu, reset.value, error);
    }
    gpu_commands_deinit(cost->gpu, &reset);
    return status;
}

/* Copy in so many regions, the ones of 4 KiB apart from each other; the time of the copy. */
static enum trk_status cost_round(struct cost *cost, uint32_t regions, double *ns,
                                  struct trk_error *error)
{
    struct trk_gpu *gpu = cost->gpu;
    const bool times = gpu->queues[cost->queue].times;
    VkBufferCopy copies[COST_REGIONS];
    const uint64_t size = COST_BYTES / (regions > 1 ? 2 * regions : 1);
    for (uint32_t i = 0; i < regions; i++) {
        copies[i] = (VkBufferCopy){.srcOffset = i * size, .dstOffset = 2 * i * size, .size = size};
    }
    if (regions == 1) {
        copies[0].size = COST_BYTES;
    }
    enum trk_status status = times ? cost_reset(cost, error) : TRK_OK;
    double begin = cost_clock();
    if (status == TRK_OK) {
        status = gpu_commands_begin(gpu, &cost->commands, true, error);
    }
    if (status != TRK_OK) {
        return status;
    }
    if (times) {
        gpu->api.CmdWriteTimestamp(cost->commands.buffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                   cost->queries, 0);
    }
    if (regions > 0) {
        gpu->api.CmdCopyBuffer(cost->commands.buffer, cost->from.buffer, cost->to.buffer, regions,
                               copies);
    }
    if (times) {
        gpu->api.CmdWriteTimestamp(cost->commands.buffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                   cost->queries, 1);
    }
    status = cost_submit_wait(cost, error);
    *ns = cost_clock() - begin;
    if (status == TRK_OK && times && regions > 0) {
        uint64_t ticks[2] = {0, 0};
        VkResult result =
            gpu->api.GetQueryPoolResults(gpu->device, cost->queries, 0, 2, sizeof ticks, ticks,
                                         sizeof *ticks, VK_QUERY_RESULT_64_BIT);
        if (result == VK_SUCCESS) {
            *ns = (double)((ticks[1] - ticks[0]) & gpu->queues[cost->queue].valid_bits) *
                  gpu->info.tick_ns;
        }
    }
    return status;
}

static int cost_compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static enum trk_status cost_median(struct cost *cost, uint32_t regions, double *ns,
                                   struct trk_error *error)
{
    double rounds[COST_ROUNDS];
    double warm = 0;
    enum trk_status status = cost_round(cost, regions, &warm, error);
    for (uint32_t i = 0; i < COST_ROUNDS && status == TRK_OK; i++) {
        status = cost_round(cost, regions, &rounds[i], error);
    }
    if (status == TRK_OK) {
        qsort(rounds, COST_ROUNDS, sizeof *rounds, cost_compare);
        *ns = rounds[COST_ROUNDS / 2];
    }
    return status;
}

static enum trk_status cost_open(struct cost *cost, struct trk_error *error)
{
    struct trk_gpu *gpu = cost->gpu;
    VkQueryPoolCreateInfo queries = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = 2,
    };
    enum trk_status status = gpu_buffer_init(gpu, &cost->from, GPU_UPLOAD, COST_BYTES, error);
    if (status == TRK_OK) {
        status = gpu_buffer_init(gpu, &cost->to, GPU_DEVICE, COST_BYTES, error);
    }
    if (status == TRK_OK) {
        status = gpu_commands_init(gpu, &cost->commands, cost->queue, error);
    }
    if (status == TRK_OK && gpu->queues[cost->queue].times) {
        status =
            trk_vk_result(error, "vkCreateQueryPool",
                          gpu->api.CreateQueryPool(gpu->device, &queries, NULL, &cost->queries));
        cost->queries = status == TRK_OK ? cost->queries : VK_NULL_HANDLE;
    }
    return status;
}

static void cost_close(struct cost *cost)
{
    (void)gpu_wait(cost->gpu, cost->commands.value, NULL); /* a lost device has nothing pending */
    if (cost->queries != VK_NULL_HANDLE) {
        cost->gpu->api.DestroyQueryPool(cost->gpu->device, cost->queries, NULL);
    }
    gpu_commands_deinit(cost->gpu, &cost->commands);
    gpu_buffer_deinit(cost->gpu, &cost->to);
    gpu_buffer_deinit(cost->gpu, &cost->from);
}

static enum trk_status cost_measure(struct cost *cost, struct trk_gpu_cost *out,
                                    struct trk_error *error)
{
    double one = 0, many = 0, empty = 0;
    enum trk_status status = cost_open(cost, error);
    if (status == TRK_OK) {
        status = cost_median(cost, 1, &one, error);
    }
    if (status == TRK_OK) {
        status = cost_median(cost, COST_REGIONS, &many, error);
    }
    if (status == TRK_OK) {
        status = cost_median(cost, 0, &empty, error);
    }
    if (status != TRK_OK) {
        return status;
    }
    if (!cost->gpu->queues[cost->queue].times) { /* the host's clock has the submit in it */
        one = one > empty ? one - empty : 0;
        many = many > empty ? many - empty : 0;
    }
    out->byte_ns = one / (double)COST_BYTES;
    out->submit_ns = empty;
    /* The many regions move half as much. */
    double regions = many - one / 2;
    out->region_ns = regions > 0 ? regions / COST_REGIONS : 0;
    out->gap_bytes = out->byte_ns > 0 ? (uint64_t)(out->region_ns / out->byte_ns) : 0;
    return TRK_OK;
}

enum trk_status trk_gpu_cost(struct trk_gpu *gpu, enum trk_policy_queue queue,
                             struct trk_gpu_cost *out, struct trk_error *error)
{
    if (!gpu->queues[queue].here) {
        return trk_error_set(error, TRK_E_UNSUPPORTED, "%.80s has no such queue",
                             gpu->info.device_name);
    }
    if (!gpu->measured[queue]) {
        struct cost cost = {.gpu = gpu, .queue = queue};
        enum trk_status status = cost_measure(&cost, &gpu->costs[queue], error);
        cost_close(&cost);
        if (status != TRK_OK) {
            return status;
        }
        gpu->measured[queue] = true;
    }
    *out = gpu->costs[queue];
    return TRK_OK;
}
