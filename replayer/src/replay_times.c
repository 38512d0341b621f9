/* The two clocks: the host's, that stands while guest memory changes, and the queues' timestamps.
 */
#include <stdlib.h>
#include <time.h>

#include "replay_internal.h"

static uint64_t clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void replay_clock_start(struct trk_replay *replay)
{
    if (replay->clock_begin == 0) {
        replay->clock_begin = clock_now();
    }
}

void replay_clock_stop(struct trk_replay *replay)
{
    if (replay->clock_begin != 0) {
        replay->host_ns += clock_now() - replay->clock_begin;
        replay->clock_begin = 0;
    }
}

/* Whether the host copies some images itself: the device's stamps would leave these out. */
static bool times_by_host(const struct trk_replay *replay)
{
    const struct schedule *schedule = &replay->schedule;
    bool by_host = false;
    for (size_t i = 0; i < schedule->chunk_count && !by_host; i++) {
        by_host = schedule->chunks[i].images && replay->path->host_images;
    }
    return by_host;
}

enum trk_status replay_times_init(struct trk_replay *replay, struct trk_error *error)
{
    struct trk_gpu *gpu = replay->gpu;
    const size_t chunks = replay->schedule.chunk_count;
    replay->brackets = calloc(replay->plan->frame_count + 1, sizeof *replay->brackets);
    if (replay->brackets == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the times of frames");
    }
    if (!gpu->queues[replay->policy.queue].times || chunks == 0 || replay->path->up == NULL ||
        times_by_host(replay)) {
        return TRK_OK;
    }
    replay->stamp_capacity = chunks < UINT32_MAX / 2 ? (uint32_t)chunks : UINT32_MAX / 2;
    VkQueryPoolCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = 2 * replay->stamp_capacity,
    };
    replay->stamps = calloc(replay->stamp_capacity, sizeof *replay->stamps);
    replay->ticks = calloc((size_t)replay->stamp_capacity * 4, sizeof *replay->ticks);
    if (replay->stamps == NULL || replay->ticks == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for %u timestamps", create.queryCount);
    }
    VkResult result = gpu->api.CreateQueryPool(gpu->device, &create, NULL, &replay->queries);
    if (result != VK_SUCCESS) {
        replay->queries = VK_NULL_HANDLE;
    }
    return trk_vk_result(error, "vkCreateQueryPool", result);
}

void replay_times_deinit(struct trk_replay *replay)
{
    if (replay->queries != VK_NULL_HANDLE) {
        replay->gpu->api.DestroyQueryPool(replay->gpu->device, replay->queries, NULL);
        replay->queries = VK_NULL_HANDLE;
    }
    free(replay->stamps);
    free(replay->ticks);
    free(replay->brackets);
    replay->stamps = NULL;
    replay->ticks = NULL;
    replay->brackets = NULL;
}

enum trk_status replay_times_reset(struct trk_replay *replay, struct trk_error *error)
{
    replay->stamp_count = 0;
    if (replay->queries == VK_NULL_HANDLE) {
        return TRK_OK;
    }
    enum trk_status status = gpu_commands_begin(replay->gpu, &replay->writes, true, error);
    if (status == TRK_OK) {
        replay->gpu->api.CmdResetQueryPool(replay->writes.buffer, replay->queries, 0,
                                           2 * replay->stamp_capacity);
        status = gpu_commands_submit(replay->gpu, &replay->writes, error);
    }
    return status == TRK_OK ? gpu_wait(replay->gpu, replay->gpu->value, error) : status;
}

enum trk_status replay_times_pair(const struct trk_replay *replay, struct trk_clock_pair *pair,
                                  struct trk_error *error)
{
    const bool both = replay->queries != VK_NULL_HANDLE && replay->gpu->read_clocks != NULL;
    return both ? gpu_calibration_read(replay->gpu, pair, error) : TRK_OK;
}

void replay_times_begin(struct trk_replay *replay, const struct gpu_commands *commands,
                        const struct trk_plan_group *group)
{
    if (replay->stamp_count < replay->stamp_capacity) {
        replay->stamps[replay->stamp_count] = (struct replay_stamp){
            .frame = group->frame, .event = replay->plan->items[group->first_item].event};
        replay->gpu->api.CmdWriteTimestamp(commands->buffer, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                                           replay->queries, 2 * replay->stamp_count);
    }
}

void replay_times_end(struct trk_replay *replay, const struct gpu_commands *commands)
{
    if (replay->stamp_count < replay->stamp_capacity) {
        replay->gpu->api.CmdWriteTimestamp(commands->buffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                           replay->queries, 2 * replay->stamp_count + 1);
        replay->stamps[replay->stamp_count++].submit_ns = gpu_host_clock(replay->gpu);
    }
}
