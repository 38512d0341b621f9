/* A plan and a policy on a device: what passes need, made once. */
#include <stdlib.h>
#include <string.h>

#include "replay_internal.h"

static const struct replay_path *const replay_paths[] = {
    [TRK_PATH_COPY] = &replay_path_copy,
    [TRK_PATH_SCATTER] = &replay_path_scatter,
    [TRK_PATH_IMPORT] = &replay_path_import,
    [TRK_PATH_DIRECT] = &replay_path_direct,
    [TRK_PATH_HOST_COPY] = &replay_path_host_copy,
    [TRK_PATH_IMPORT_SCATTER] = &replay_path_import_scatter,
    [TRK_PATH_FETCH] = &replay_path_fetch,
};

static enum trk_status replay_able(const struct trk_replay *replay, struct trk_error *error)
{
    static const char *const names[] = {"universal", "compute-only", "transfer-only"};
    if (!replay->gpu->queues[replay->policy.queue].here) {
        return trk_error_set(error, TRK_E_UNSUPPORTED, "%.60s has no %s queue",
                             replay->gpu->info.device_name, names[replay->policy.queue]);
    }
    enum trk_status status = replay->path->able(replay->gpu, replay->policy.queue, error);
    if (status == TRK_OK && replay->path->host_images && replay->plan->image_count == 0) {
        return trk_error_set(error, TRK_E_UNSUPPORTED,
                             "%s is for images, and the trace copies none", replay->path->name);
    }
    if (replay->plan->image_count > 0 && replay->path->up == NULL) {
        return trk_error_set(error, TRK_E_UNSUPPORTED,
                             "%s has no way for the images that the trace copies",
                             replay->path->name);
    }
    if (replay->plan->image_count > 0 && !replay->gpu->queues[replay->policy.queue].texels) {
        return trk_error_set(error, TRK_E_UNSUPPORTED,
                             "%.60s has no copies of single rows of images on its %s queue",
                             replay->gpu->info.device_name, names[replay->policy.queue]);
    }
    return status;
}

/* The GPU's own writes that a shader made are made by one, whatever the policy. */
static enum trk_status replay_dispatches(struct trk_replay *replay, struct trk_error *error)
{
    const struct trk_plan *plan = replay->plan;
    const struct fill_target target = {
        .api = &replay->gpu->api,
        .device = replay->gpu->device,
        .buffer = replay->mirror->buffer,
        .size_bytes = plan->mirror_bytes,
        .window_bytes = replay_scatter_window(replay->gpu),
    };
    for (size_t i = 0; i < plan->item_count; i++) {
        if (plan->items[i].dispatch != 0) {
            return fill_shader_open(&replay->dispatches, &target, error);
        }
    }
    return TRK_OK;
}

static enum trk_status replay_schedule(struct trk_replay *replay, struct trk_error *error)
{
    struct schedule_options options = {
        .policy = &replay->policy,
        .up_in_place = replay->path->up_in_place,
        .down_in_place = replay->path->down_in_place,
        .entries = replay->path->entries,
        .window_bytes = replay_scatter_window(replay->gpu),
    };
    enum trk_status status = TRK_OK;
    if (replay->policy.shape == TRK_SHAPE_AUTO || replay->policy.slow > 0) {
        status = trk_gpu_cost(replay->gpu, replay->policy.queue, &options.cost, error);
    }
    return status == TRK_OK ? schedule_make(&replay->schedule, replay->plan, &options, error)
                            : status;
}

/* As many slots as the ring has room for, and as can be of use. */
static uint32_t replay_slots(const struct trk_replay *replay)
{
    uint64_t count = replay->policy.ring_bytes / replay->schedule.slot_bytes;
    count = count < replay->schedule.chunks_most ? count : replay->schedule.chunks_most;
    count = count < REPLAY_SLOTS_MAX ? count : REPLAY_SLOTS_MAX;
    return count < 2 ? 2 : (uint32_t)count;
}

static enum trk_status replay_rings(struct trk_replay *replay, struct trk_error *error)
{
    struct trk_gpu *gpu = replay->gpu;
    const struct trk_plan *plan = replay->plan;
    const uint64_t bytes = replay->slot_count * replay->schedule.slot_bytes;
    enum trk_status status = TRK_OK;
    if (replay->path->staged) {
        status = gpu_buffer_init(gpu, &replay->upload, GPU_UPLOAD, bytes, error);
    }
    if (status == TRK_OK && !replay->path->imported && plan->downloads > 0) {
        status = gpu_buffer_init(gpu, &replay->readback, GPU_READBACK, bytes, error);
    }
    const bool lands = replay->path->fetches ? plan->downloads > 0 : !replay->path->imported;
    if (status == TRK_OK && replay->path->entries && lands) {
        status = gpu_buffer_init(gpu, &replay->landing, GPU_DEVICE, bytes, error);
    }
    if (status == TRK_OK && replay->path->entries) {
        status = gpu_buffer_init(gpu, &replay->tables, GPU_UPLOAD,
                                 replay->slot_count * REPLAY_TABLE_BYTES, error);
    }
    return status == TRK_OK ? gpu_buffer_init(gpu, &replay->scratch, GPU_DEVICE,
                                              replay_images_scratch(plan), error)
                            : status;
}

static enum trk_status replay_commands(struct trk_replay *replay, struct trk_error *error)
{
    enum trk_status status =
        gpu_commands_init(replay->gpu, &replay->writes, TRK_QUEUE_UNIVERSAL, error);
    for (uint32_t i = 0; i < replay->slot_count && status == TRK_OK; i++) {
        replay->slots[i].offset = i * replay->schedule.slot_bytes;
        replay->slots[i].table = i * REPLAY_TABLE_BYTES;
        status =
            gpu_commands_init(replay->gpu, &replay->slots[i].commands, replay->policy.queue, error);
    }
    for (size_t i = 0; i < replay->schedule.chunk_count; i++) {
        size_t pieces = replay->schedule.chunks[i].piece_count;
        replay->copy_capacity = pieces > replay->copy_capacity ? pieces : replay->copy_capacity;
    }
    replay->copies = malloc((replay->copy_capacity + 1) * sizeof *replay->copies);
    return status == TRK_OK && replay->copies == NULL
               ? trk_error_set(error, TRK_E_MEMORY, "no memory for a submit's regions")
               : status;
}

static enum trk_status replay_open(struct trk_replay *replay, struct trk_error *error)
{
    enum trk_status status = replay_able(replay, error);
    if (status == TRK_OK) {
        status = replay_ground_take(replay, error);
    }
    if (status == TRK_OK) {
        status = replay_schedule(replay, error);
    }
    if (status == TRK_OK) {
        replay->slot_count = replay_slots(replay);
        status = replay_rings(replay, error);
    }
    if (status == TRK_OK) {
        status = replay_commands(replay, error);
    }
    if (status == TRK_OK && replay->path->entries) {
        status = replay_scatter_open(replay, error);
    }
    if (status == TRK_OK) {
        status = replay_dispatches(replay, error);
    }
    if (status == TRK_OK) {
        status = replay_times_init(replay, error);
    }
    if (status == TRK_OK) {
        replay->pool_made = true;
        status =
            copy_pool_init(&replay->pool, replay->policy.threads,
                           replay->path->staged ? replay->slot_count * replay->schedule.slot_bytes
                                                : replay->plan->mirror_bytes,
                           error);
    }
    return status;
}

enum trk_status trk_replay_create(struct trk_replay **out, struct trk_gpu *gpu,
                                  const struct trk_plan *plan,
                                  const struct trk_transfer_policy *policy, struct trk_error *error)
{
    struct trk_replay *replay = calloc(1, sizeof *replay);
    if (replay == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for a replay");
    }
    replay->gpu = gpu;
    replay->plan = plan;
    replay->policy = *policy;
    replay->path = replay_paths[policy->path];
    enum trk_status status = replay_open(replay, error);
    if (status != TRK_OK) {
        trk_replay_destroy(replay);
        return status;
    }
    *out = replay;
    return TRK_OK;
}

void trk_replay_destroy(struct trk_replay *replay)
{
    if (replay == NULL) {
        return;
    }
    struct trk_gpu *gpu = replay->gpu;
    (void)gpu_wait(gpu, gpu->value, NULL); /* a lost device has nothing pending */
    if (replay->pool_made) {
        copy_pool_deinit(&replay->pool);
    }
    replay_times_deinit(replay);
    replay_scatter_close(replay);
    fill_shader_close(&replay->dispatches);
    for (uint32_t i = 0; i < replay->slot_count; i++) {
        gpu_commands_deinit(gpu, &replay->slots[i].commands);
    }
    gpu_commands_deinit(gpu, &replay->writes);
    gpu_buffer_deinit(gpu, &replay->scratch);
    gpu_buffer_deinit(gpu, &replay->tables);
    gpu_buffer_deinit(gpu, &replay->landing);
    gpu_buffer_deinit(gpu, &replay->readback);
    gpu_buffer_deinit(gpu, &replay->upload);
    replay_ground_give(replay);
    schedule_deinit(&replay->schedule);
    free(replay->copies);
    free(replay);
}

enum trk_status trk_replay_pass(struct trk_replay *replay, struct trk_replay_pass *out,
                                struct trk_error *error)
{
    struct trk_replay_times *frames = out->frames;
    struct trk_replay_place *places = out->places;
    memset(out, 0, sizeof *out);
    out->frames = frames;
    out->places = places;
    enum trk_status status = replay_run(replay, out, error);
    out->regions = replay->schedule.regions;
    out->moved_bytes = replay->schedule.moved_bytes;
    out->submits = replay->submits;
    return status == TRK_OK ? replay_stamps_read(replay, out, error) : status;
}
