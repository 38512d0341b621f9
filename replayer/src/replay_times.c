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
    replay->stamps = NULL;
    replay->ticks = NULL;
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

void replay_times_begin(struct trk_replay *replay, const struct gpu_commands *commands,
                        const struct trk_plan_group *group)
{
    if (replay->stamp_count < replay->stamp_capacity) {
        replay->stamps[replay->stamp_count] =
            (struct replay_stamp){group->frame, replay->plan->items[group->first_item].event};
        replay->gpu->api.CmdWriteTimestamp(commands->buffer, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                                           replay->queries, 2 * replay->stamp_count);
    }
}

void replay_times_end(struct trk_replay *replay, const struct gpu_commands *commands)
{
    if (replay->stamp_count < replay->stamp_capacity) {
        replay->gpu->api.CmdWriteTimestamp(commands->buffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                           replay->queries, 2 * replay->stamp_count + 1);
        replay->stamp_count++;
    }
}

struct span {
    uint64_t begin, end; /* ticks since the first timestamp */
};

static int span_compare(const void *a, const void *b)
{
    uint64_t left = ((const struct span *)a)->begin, right = ((const struct span *)b)->begin;
    return left < right ? -1 : left > right;
}

/* How long any of them was under way: submits overlap where one begins before another has ended. */
static uint64_t spans_busy(struct span *spans, size_t count)
{
    uint64_t busy = 0, until = 0;
    qsort(spans, count, sizeof *spans, span_compare);
    for (size_t i = 0; i < count; i++) {
        uint64_t begin = spans[i].begin > until ? spans[i].begin : until;
        if (spans[i].end > begin) {
            busy += spans[i].end - begin;
            until = spans[i].end;
        }
    }
    return busy;
}

/* The submits of one frame, from `first` on; gives the first one behind. */
static uint32_t times_frame(struct trk_replay *replay, uint32_t first, struct span *spans,
                            struct trk_replay_pass *pass)
{
    const uint64_t bits = replay->gpu->queues[replay->policy.queue].valid_bits;
    const uint32_t frame = replay->stamps[first].frame;
    size_t count = 0;
    uint32_t at = first;
    for (; at < replay->stamp_count && replay->stamps[at].frame == frame; at++) {
        const uint64_t *tick = &replay->ticks[(size_t)at * 4]; /* value, there, value, there */
        if (tick[1] == 0 || tick[3] == 0) {
            if (pass->lost_timestamps++ == 0) {
                pass->lost_frame = replay->plan->frames[frame].number;
                pass->lost_event = replay->stamps[at].event;
            }
            continue;
        }
        uint64_t begin = (tick[0] - replay->ticks[0]) & bits;
        spans[count++] = (struct span){begin, begin + ((tick[2] - tick[0]) & bits)};
    }
    uint64_t ns = (uint64_t)((double)spans_busy(spans, count) * replay->gpu->info.tick_ns);
    pass->all.device_ns += ns;
    if (pass->frames != NULL) {
        pass->frames[frame].device_ns = ns;
    }
    return at;
}

enum trk_status replay_times_read(struct trk_replay *replay, struct trk_replay_pass *pass,
                                  struct trk_error *error)
{
    const bool none = replay->queries == VK_NULL_HANDLE;
    pass->all.device_ns = none ? TRK_NOT_KNOWN : 0; /* none: also where nothing is copied */
    for (size_t i = 0; pass->frames != NULL && i < replay->plan->frame_count; i++) {
        pass->frames[i].device_ns = pass->all.device_ns;
    }
    if (none || replay->stamp_count == 0) {
        return TRK_OK;
    }
    VkResult result = replay->gpu->api.GetQueryPoolResults(
        replay->gpu->device, replay->queries, 0, 2 * replay->stamp_count,
        (size_t)replay->stamp_count * 4 * sizeof *replay->ticks, replay->ticks,
        2 * sizeof *replay->ticks, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
    if (result != VK_SUCCESS && result != VK_NOT_READY) {
        return trk_vk_result(error, "vkGetQueryPoolResults", result);
    }
    struct span *spans = malloc(((size_t)replay->stamp_count + 1) * sizeof *spans);
    if (spans == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the times");
    }
    for (uint32_t at = 0; at < replay->stamp_count;) {
        at = times_frame(replay, at, spans, pass);
    }
    free(spans);
    return TRK_OK;
}
